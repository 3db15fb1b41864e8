// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Programs that are kernels of their own: they fill two vectors, add them, and multiply them as
 * matrices. Each value is computed once, whatever the launch's geometry is.
 */
#include "gpumon_gpu.h"

#define MOST	  65536
#define SIZE_IF_0 256

/* 0: length of the vectors, and rows and columns of the matrices */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} sizes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST);
	__type(key, __u32);
	__type(value, __u64);
} left SEC(".maps"), right SEC(".maps"), result SEC(".maps");

static __u64 value_at(void *map, __u32 index)
{
	__u64 *value = bpf_map_lookup_elem(map, &index);

	return value ? *value : 0;
}

static __u64 count_threads(void)
{
	__u64 x, y, z, blocks;

	bpf_get_grid_dim(&x, &y, &z);
	blocks = x * y * z;
	bpf_get_block_dim(&x, &y, &z);
	return blocks * x * y * z;
}

static void set_value(void *map, __u32 index, __u64 value)
{
	__u64 *at = bpf_map_lookup_elem(map, &index);

	if (at)
		*at = value;
}

/* Leaves values alone that --set has set. */
SEC("gpu/run")
int fill(void *ctx)
{
	__u64 step = count_threads();

	if (!gpumon_thread() && !value_at(&sizes, 0))
		set_value(&sizes, 0, SIZE_IF_0);
	for (__u64 i = gpumon_thread(); i < MOST; i += step) {
		if (!value_at(&left, i))
			set_value(&left, i, i + 1);
		if (!value_at(&right, i))
			set_value(&right, i, 2 * i + 1);
	}
	return 0;
}

SEC("gpu/run")
int vector_add(void *ctx)
{
	__u64 n = value_at(&sizes, 0), step = count_threads();

	for (__u64 i = gpumon_thread(); i < n; i += step)
		set_value(&result, i, value_at(&left, i) + value_at(&right, i));
	return 0;
}

SEC("gpu/run")
int matrix_multiply(void *ctx)
{
	__u64 n = value_at(&sizes, 0), step = count_threads();

	for (__u64 at = gpumon_thread(); at < n * n; at += step) {
		__u64 row = at / n, column = at % n, sum = 0;

		for (__u64 k = 0; k < n; k++)
			sum += value_at(&left, row * n + k) * value_at(&right, k * n + column);
		set_value(&result, at, sum);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
