// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Writes a record for each thread into a small ring, and a line of text for two of each kernel. */
/* bpf_printk() puts the text on the stack, and the compiler makes one call of the two below. */
#define BPF_NO_GLOBAL_DATA
#include "gpumon_gpu.h"

struct record {
	__u64 thread;
	__u64 pid;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16384);
	__type(value, struct record);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} exits SEC(".maps");

SEC("gpu/exit")
int ring_exit(void *ctx)
{
	struct record record = { .thread = gpumon_thread(),
				 .pid = bpf_get_current_pid_tgid() >> 32 };

	bpf_ringbuf_output(&records, &record, sizeof(record), 0);
	gpumon_count(&exits, 0, 1);
	if (record.thread == 0)
		bpf_printk("thread %d ends", 0);
	else if (record.thread == 1)
		bpf_printk("and %d, the last", 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
