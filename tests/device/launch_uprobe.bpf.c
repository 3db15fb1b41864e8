// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The usual way to find what launched a kernel, for comparison: a uprobe that sends each stack. */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define DEPTH 128

struct hit {
	__u64 time_ns;
	__u64 pid_tgid;
	__s64 size;
	__u64 stack[DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} hits SEC(".maps");

/* Hits that did not fit the ring. */
__u64 lost;

SEC("uprobe")
int launch(void *registers)
{
	struct hit *hit = bpf_ringbuf_reserve(&hits, sizeof(*hit), 0);

	if (!hit) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	hit->time_ns = bpf_ktime_get_ns();
	hit->pid_tgid = bpf_get_current_pid_tgid();
	hit->size = bpf_get_stack(registers, hit->stack, sizeof(hit->stack), BPF_F_USER_STACK);
	bpf_ringbuf_submit(hit, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
