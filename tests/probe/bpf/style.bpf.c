// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Programs as bpftime's users write them: its sections, its helpers by number, its types of maps.
 * Beside them one for the CPU, which shares a map.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

static void (*const puts_gpu)(const char *text) = (void *)501;
static __u64 (*const timer)(void) = (void *)502;
static long (*const block_index)(__u64 *x, __u64 *y, __u64 *z) = (void *)503;
static long (*const thread_index)(__u64 *x, __u64 *y, __u64 *z) = (void *)505;
static __u64 (*const lane)(void) = (void *)511;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} begun SEC(".maps"), spent SEC(".maps");

struct {
	__uint(type, 1502);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} by_thread SEC(".maps");

struct {
	__uint(type, 1503);
	__uint(max_entries, 10);
	__uint(key_size, 4);
	__uint(value_size, 8);
	__uint(map_flags, BPF_F_MMAPABLE);
} buckets SEC(".maps");

struct exit_record {
	__u64 x, y, z, ns;
};

struct {
	__uint(type, 1527);
	__uint(max_entries, 16);
	__type(key, __u32);
	__uint(value_size, 1024);
} ring SEC(".maps");

/* Of the CPU alone: there is no such type on a GPU, and nothing asks for it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} events SEC(".maps");

const volatile __u64 limit = 1000;
static const char format[] = "took %llu ns\n";
__u64 calls = 7;
static __u64 seen[4];

static __attribute__((noinline)) __u64 block_key(void)
{
	__u64 x, y, z;

	block_index(&x, &y, &z);
	return x;
}

static __attribute__((noinline)) __u64 key_of_lane(__u64 extra)
{
	return block_key() * 32 + lane() + extra;
}

SEC("kprobe/_Z9vectorAddPKfS0_Pf,_Z6matmulPfS_S_i")
int cuda__a_name_with_more_than_fifteen_letters(void *ctx)
{
	__u64 key = key_of_lane(0), now = timer();

	bpf_map_update_elem(&begun, &key, &now, BPF_ANY);
	__sync_fetch_and_add(&calls, 1);
	return 0;
}

SEC("kretprobe/_Z9vectorAddPKfS0_Pf")
int cuda__exit(void *ctx)
{
	__u64 key = key_of_lane(0), *start = bpf_map_lookup_elem(&begun, &key), *sum, took;

	if (!start)
		return 0;
	took = timer() - *start;
	if (took > limit)
		bpf_trace_printk(format, sizeof(format), took);
	sum = bpf_map_lookup_elem(&spent, &key);
	if (sum)
		__sync_fetch_and_add(sum, took);
	else
		bpf_map_update_elem(&spent, &key, &took, BPF_ANY);
	bpf_map_delete_elem(&begun, &key);
	seen[key & 3]++;
	return 0;
}

/* A second one in the same section. */
SEC("kretprobe/_Z9vectorAddPKfS0_Pf")
int cuda__exit_record(void *ctx)
{
	struct exit_record record;

	thread_index(&record.x, &record.y, &record.z);
	record.ns = timer();
	bpf_perf_event_output(ctx, &ring, 0, &record, sizeof(record));
	return 0;
}

SEC("kretprobe/_Z9vectorAddPKfS0_Pf")
int cuda__by_thread(void *ctx)
{
	__u32 key = 0;
	__u64 *count = bpf_map_lookup_elem(&by_thread, &key);

	if (count)
		*count += 1;
	return 0;
}

SEC("kprobe/__memcapture")
int cuda__memory(void *ctx)
{
	__u32 key = lane() % 10;
	__u64 *count = bpf_map_lookup_elem(&buckets, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

SEC("kprobe/__directly_run")
int cuda__run(void *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&buckets, &key), sum = 0;

	puts_gpu("runs\n");
	if (!n)
		return 0;
	for (__u64 i = 0; i < *n; i++)
		sum = sum * 31 + (i ^ (sum >> 7));
	*n = sum;
	return 0;
}

static __attribute__((noinline)) int cpu_part(void *ctx)
{
	__u32 key = 1;
	__u64 now = bpf_ktime_get_ns();

	return bpf_map_update_elem(&buckets, &key, &now, BPF_ANY);
}

SEC("uprobe//usr/lib/libcudart.so:cudaLaunchKernel")
int launch(void *ctx)
{
	bpf_perf_event_output(ctx, &events, 0, ctx, 8);
	return cpu_part(ctx);
}

char LICENSE[] SEC("license") = "GPL";
