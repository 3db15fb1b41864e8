// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Uprobes on the functions of one process that start GPU work or wait for it. Hits are numbered per
 * thread and have stacks.
 *
 * No kernel structures are read, so no BTF is needed. Since 6.0 these programs can be preempted:
 * shared data is changed by atomic operations, and each thread has its own entry.
 */
#include "uprobe_stack.bpf.h"

/* The initial value of a thread's entry, which is too large for a program's stack. */
static const struct uprobe_thread empty_thread;

/* --- threads and calls */

static __noinline void announce(struct uprobe_thread *thread, __u32 host_tid)
{
	struct uprobe_thread_event event = {
		.type = UPROBE_THREAD,
		.tid = thread->tid,
		.host_tid = host_tid,
	};

	bpf_get_current_comm(event.comm, sizeof(event.comm));
	/* If there is no room, its next hit tries again. */
	if (!bpf_ringbuf_output(&events, &event, sizeof(event), wake()))
		thread->announced = 1;
}

static __noinline struct uprobe_thread *new_thread(__u32 host_tid)
{
	struct bpf_pidns_info ids = {};
	struct uprobe_thread *thread;

	if (bpf_map_update_elem(&threads, &host_tid, &empty_thread, BPF_NOEXIST))
		return NULL;
	thread = bpf_map_lookup_elem(&threads, &host_tid);
	if (!thread)
		return NULL;
	if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &ids, sizeof(ids)) ||
	    ids.tgid != target_pid)
		thread->foreign = 1;
	thread->tid = ids.pid;
	return thread;
}

static __always_inline void send_hit(const struct uprobe_hit *hit)
{
	count(bpf_ringbuf_output(&events, (void *)hit, sizeof(*hit), wake()) ? UPROBE_LOST_RING :
									       UPROBE_SENT);
}

static long look_up_range(__u32 index, struct walk *walk)
{
	struct uprobe_places *p = &walk->thread->places;
	const struct uprobe_ranges *now = &ranges[walk->ranges & 1];
	const struct uprobe_range *range;

	if (index >= now->count || index >= UPROBE_RANGES)
		return 1;
	range = &now->all[index];
	if (p->ra >= range->start && p->ra < range->end)
		p->ra_file = range->file;
	if (p->ip >= range->start && p->ip < range->end)
		p->ip_file = range->file;
	if (p->inner >= range->start && p->inner < range->end)
		p->inner_file = range->file;
	return 0;
}

/* Does the caller belong to the library of the last hit, or of the last nested function? */
static __noinline bool called_within(struct uprobe_thread *thread, __u64 ra)
{
	struct uprobe_places *p = &thread->places;
	struct walk walk = { .thread = thread, .ranges = ranges_now };

	p->ra = ra;
	p->ip = thread->ip;
	p->inner = thread->inner;
	p->ra_file = p->ip_file = p->inner_file = 0;
	bpf_loop(UPROBE_RANGES, look_up_range, &walk, 0);
	return p->ra_file && (p->ra_file == p->ip_file || p->ra_file == p->inner_file);
}

/*
 * Is this call nested in the call of the last hit? As long as that call runs, its return address
 * stays in its place on the stack, and the caller is in the same library. Both conditions are
 * needed: an unused slot of the stack may keep the address for long, and the API has functions that
 * are not probed.
 */
static __noinline bool nested(struct uprobe_thread *thread, __u64 sp, __u64 ra, __u64 ip)
{
	if (sp >= thread->sp || !called_within(thread, ra))
		return false;
#if defined(__TARGET_ARCH_x86)
	/* If the return is probed, the kernel has replaced the address. */
	if (!thread->waiting) {
		__u64 now;

		if (bpf_probe_read_user(&now, sizeof(now), (void *)thread->sp) || now != thread->ra)
			return false;
	}
#endif
	thread->inner = ip;
	return true;
}

SEC("uprobe")
int enter(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), cookie = bpf_get_attach_cookie(ctx);
	__u32 host_tid = (__u32)bpf_get_current_pid_tgid(), flags = cookie >> 32;
	__u64 sp = PT_REGS_SP(ctx), ra = 0;
	struct uprobe_hit *hit;
	struct uprobe_thread *thread;

	if (!stopped)
		count(UPROBE_SEEN);
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&ra, sizeof(ra), (void *)sp);
#else
	ra = PT_REGS_RET(ctx);
#endif
	thread = bpf_map_lookup_elem(&threads, &host_tid);
	if (!thread)
		thread = new_thread(host_tid);
	if (!thread) {
		if (!stopped)
			count(UPROBE_LOST_THREAD);
		return 0;
	}
	if (thread->foreign) {
		if (!stopped)
			count(UPROBE_FOREIGN);
		return 0;
	}
	/* A function that only jumps to this one leaves the stack unchanged. */
	if (nested(thread, sp, ra, PT_REGS_IP(ctx)) ||
	    (thread->jumps_to == (__u32)cookie && thread->sp == sp && thread->ra == ra)) {
		thread->jumps_to = UPROBE_NOWHERE;
		if (!stopped)
			count(UPROBE_NESTED);
		return 0;
	}
	thread->sp = sp;
	thread->ra = ra;
	thread->ip = thread->inner = PT_REGS_IP(ctx);
	thread->waiting = flags & UPROBE_BLOCKING;
	thread->jumps_to = flags & UPROBE_THUNK ? flags >> UPROBE_THUNK_SHIFT : UPROBE_NOWHERE;
	if (stopped)
		return 0;
	if (!thread->announced)
		announce(thread, host_tid);
	if (thread->pending.time_ns) {
		count(UPROBE_RETURN_UNSEEN);
		send_hit(&thread->pending);
		thread->pending.time_ns = 0;
	}
	thread->number++;

	hit = &thread->hit;
	hit->type = UPROBE_HIT;
	hit->function = (__u32)cookie;
	hit->time_ns = now;
	hit->number = thread->number;
	hit->duration_ns = 0;
	hit->tid = thread->tid;
	hit->host_tid = host_tid;
	hit->flags = flags;
	hit->stack = 0;
	if (with_stacks)
		hit->stack = take_stack(ctx, thread, ra);
	if (flags & UPROBE_BLOCKING)
		thread->pending = *hit;
	else
		send_hit(hit);
	return 0;
}

SEC("uretprobe")
int leave(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), cookie = bpf_get_attach_cookie(ctx);
	__u32 host_tid = (__u32)bpf_get_current_pid_tgid();
	struct uprobe_thread *thread = bpf_map_lookup_elem(&threads, &host_tid);

	if (!thread)
		return 0;
#if defined(__TARGET_ARCH_x86)
	/* The return has popped the address. */
	if (PT_REGS_SP(ctx) != thread->sp + sizeof(__u64))
#else
	if (PT_REGS_SP(ctx) != thread->sp)
#endif
		return 0;
	thread->waiting = 0;
	if (!thread->pending.time_ns || thread->pending.function != (__u32)cookie)
		return 0;
	thread->pending.duration_ns = now - thread->pending.time_ns;
	send_hit(&thread->pending);
	thread->pending.time_ns = 0;
	return 0;
}

/* --- what happens to the process */

static __always_inline void tell(__u32 type)
{
	__u64 event = type;

	bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
}

/* The dynamic linker is about to change the mappings, or has just done it. */
SEC("uprobe")
int linker(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&linker_changes, 1);
	tell(UPROBE_LINKER);
	return 0;
}

/* Runs for every thread of the machine, since tids are reused. */
SEC("raw_tp/sched_process_exit")
int thread_exit(void *ctx)
{
	__u32 host_tid = (__u32)bpf_get_current_pid_tgid();
	struct uprobe_thread *thread = bpf_map_lookup_elem(&threads, &host_tid);

	if (!thread)
		return 0;
	if (thread->pending.time_ns) {
		count(UPROBE_RETURN_UNSEEN);
		send_hit(&thread->pending);
	}
	bpf_map_delete_elem(&threads, &host_tid);
	return 0;
}

/* From here on, all addresses belong to another program. */
SEC("raw_tp/sched_process_exec")
int exec(void *ctx)
{
	struct bpf_pidns_info ids = {};

	if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &ids, sizeof(ids)) ||
	    ids.tgid != target_pid)
		return 0;
	stopped = 1;
	tell(UPROBE_EXEC);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
