// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A record for each thread, far more than there is room for. */
#include "gpumon_gpu.h"

struct record {
	__u64 thread;
	__u64 ns; /* GPU's clock */
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
	__type(value, struct record);
} records SEC(".maps");

SEC("gpu/exit")
int threadrecord_exit(void *ctx)
{
	struct record record = { .thread = gpumon_thread(), .ns = bpf_get_globaltimer() };

	bpf_ringbuf_output(&records, &record, sizeof(record), 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
