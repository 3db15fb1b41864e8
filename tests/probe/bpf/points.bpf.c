// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A program at each place, functions in the same section and in .text, and static maps. */
#include "../../../bpf/gpu/gpumon_gpu.h"

static struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps"), second SEC(".maps");

/* Kept from being optimised into a number. */
volatile const __u32 which = 3;
volatile __u32 chosen SEC(".data.chosen") = 5;
__u32 table[8];

static __attribute__((noinline, section("gpu/entry"))) __u64 beside(__u64 a)
{
	return gpumon_count(&first, a, 1) + table[a & 7];
}

/* Others can see it: called by its name, not by its place. */
__attribute__((noinline)) __u64 in_text(__u64 a)
{
	return gpumon_count(&second, a & 3, beside(a));
}

SEC("gpu/entry")
int entry(void *ctx)
{
	return in_text(beside(which));
}

SEC("gpu/entry/void f<int, 4>(int*),*gemm?")
int entry_of_some(void *ctx)
{
	return in_text(chosen);
}

SEC("gpu/exit")
int exit_all(void *ctx)
{
	return 0;
}

SEC("gpu/memory/_Z*")
int memory(struct gpumon_context *ctx)
{
	return gpumon_count(&first, ctx->flags & 3, ctx->size);
}

SEC("gpu/atomic")
int atomic(struct gpumon_context *ctx)
{
	return gpumon_count(&first, 1, ctx->address & 1);
}

SEC("gpu/barrier")
int at_barrier(struct gpumon_context *ctx)
{
	return gpumon_count(&first, 1, ctx->line);
}

SEC("gpu/function/_Z3addii")
int function(void *ctx)
{
	return 0;
}

SEC("gpu/function_exit/_Z3addii")
int function_exit(void *ctx)
{
	return 0;
}

SEC("gpu/run")
int run(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
