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

/*
 * Is it a function's own library that calls, be it the function of a hit, or one that
 * was called within it?
 */
static __noinline bool called_within(struct uprobe_thread *thread, const struct uprobe_call *call,
				     __u64 ra)
{
	struct uprobe_places *p = &thread->places;
	struct walk walk = { .thread = thread, .ranges = ranges_now };

	p->ra = ra;
	p->ip = call->ip;
	p->inner = call->inner;
	p->ra_file = p->ip_file = p->inner_file = 0;
	bpf_loop(UPROBE_RANGES, look_up_range, &walk, 0);
	return p->ra_file && (p->ra_file == p->ip_file || p->ra_file == p->inner_file);
}

/*
 * May a call be going on still? Its return address is where it was then; but an unused place on the
 * stack may keep it for long.
 */
static __noinline bool may_be_within(const struct uprobe_call *call, __u64 sp)
{
	if (!call->ip || sp >= call->sp)
		return false;
#if defined(__TARGET_ARCH_x86)
	/* Of a call whose return is probed, it is the kernel's address. */
	if (!call->waiting) {
		__u64 now;

		if (bpf_probe_read_user(&now, sizeof(now), (void *)call->sp) || now != call->ra)
			return false;
	}
#endif
	return true;
}

/*
 * It is if the one who calls now is the same library, or if that library has the frame below the
 * place: another library may lie in between. Neither the place nor the library alone would do:
 * the API has functions that are not probed.
 *
 * False with walk.missed: it is not known, userspace will see it in a copy of the stack.
 */
static __noinline bool nested(struct pt_regs *ctx, struct uprobe_thread *thread,
			      struct uprobe_call *call, __u64 ra)
{
	struct uprobe_walk *w = &thread->walk;

	w->missed = 0;
	if (!may_be_within(call, PT_REGS_SP(ctx)))
		return false;
	if (!called_within(thread, call, ra)) {
		walk_stack(ctx, thread, ra, call);
		if (!w->below || !called_within(thread, call, w->below))
			return false;
	}
	call->inner = PT_REGS_IP(ctx);
	return true;
}

/* One that blocks, and of which no return was seen. */
static __always_inline void give_up_return(struct uprobe_call *call)
{
	if (!call->pending.time_ns)
		return;
	count(UPROBE_RETURN_UNSEEN);
	send_hit(&call->pending);
	call->pending.time_ns = 0;
}

static __always_inline void begin_call(struct pt_regs *ctx, struct uprobe_call *call, __u64 ra,
				       __u32 flags)
{
	call->sp = PT_REGS_SP(ctx);
	call->ra = ra;
	call->ip = call->inner = PT_REGS_IP(ctx);
	call->waiting = flags & UPROBE_BLOCKING;
}

/* At its return, or now. */
static __always_inline void send_in_time(struct uprobe_call *call, const struct uprobe_hit *hit)
{
	if (hit->flags & UPROBE_BLOCKING)
		call->pending = *hit;
	else
		send_hit(hit);
}

static __always_inline struct uprobe_hit *make_hit(struct uprobe_thread *thread, __u64 cookie,
						   __u64 now, __u32 host_tid)
{
	struct uprobe_hit *hit = &thread->hit;

	hit->type = UPROBE_HIT;
	hit->function = (__u32)cookie;
	hit->time_ns = now;
	hit->number = thread->number;
	hit->duration_ns = 0;
	hit->tid = thread->tid;
	hit->host_tid = host_tid;
	hit->flags = cookie >> 32;
	hit->stack = 0;
	return hit;
}

/*
 * A rule was missing for the walk that nested() made. A copy of the stack goes to userspace, which counts
 * the hit, or does not; the last hit stays what it was. False: there is no room.
 */
static __noinline bool send_unsure(struct pt_regs *ctx, struct uprobe_thread *thread, __u64 cookie,
				   __u64 now, __u64 ra)
{
	__u32 host_tid = (__u32)bpf_get_current_pid_tgid();
	__u32 id = send_copy(thread, true);
	struct uprobe_hit *hit;

	if (!id)
		return false;
	count(UPROBE_STACK_COPIED);
	if (!thread->announced)
		announce(thread, host_tid);
	give_up_return(&thread->unsure);
	hit = make_hit(thread, cookie, now, host_tid);
	hit->flags |= UPROBE_HIT_UNSURE;
	hit->stack = id;
	begin_call(ctx, &thread->unsure, ra, hit->flags);
	send_in_time(&thread->unsure, hit);
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
	/* A function that only jumps to this one leaves the stack as it was. */
	if (nested(ctx, thread, &thread->unsure, ra) || nested(ctx, thread, &thread->last, ra) ||
	    (thread->jumps_to == (__u32)cookie && thread->last.sp == sp && thread->last.ra == ra)) {
		thread->jumps_to = UPROBE_NOWHERE;
		if (!stopped)
			count(UPROBE_NESTED);
		return 0;
	}
	if (thread->walk.missed && !stopped && send_unsure(ctx, thread, cookie, now, ra))
		return 0;
	give_up_return(&thread->unsure);
	thread->unsure.ip = 0;
	begin_call(ctx, &thread->last, ra, flags);
	thread->jumps_to = flags & UPROBE_THUNK ? flags >> UPROBE_THUNK_SHIFT : UPROBE_NOWHERE;
	if (stopped)
		return 0;
	if (!thread->announced)
		announce(thread, host_tid);
	give_up_return(&thread->last);
	thread->number++;

	hit = make_hit(thread, cookie, now, host_tid);
	if (with_stacks) {
		walk_stack(ctx, thread, ra, NULL);
		hit->stack = take_stack(thread);
	}
	send_in_time(&thread->last, hit);
	return 0;
}

/* Whether it was this call that returned. */
static __always_inline bool end_call(struct pt_regs *ctx, struct uprobe_call *call, __u32 function,
				     __u64 now)
{
	/* The return took the address off the stack. */
	if (!call->waiting || PT_REGS_SP(ctx) != frame_end(call->sp))
		return false;
	call->waiting = 0;
	if (call->pending.time_ns && call->pending.function == function) {
		call->pending.duration_ns = now - call->pending.time_ns;
		send_hit(&call->pending);
		call->pending.time_ns = 0;
	}
	return true;
}

SEC("uretprobe")
int leave(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), cookie = bpf_get_attach_cookie(ctx);
	__u32 host_tid = (__u32)bpf_get_current_pid_tgid();
	struct uprobe_thread *thread = bpf_map_lookup_elem(&threads, &host_tid);

	if (thread && !end_call(ctx, &thread->unsure, (__u32)cookie, now))
		end_call(ctx, &thread->last, (__u32)cookie, now);
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
	give_up_return(&thread->unsure);
	give_up_return(&thread->last);
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
