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
	/* If there is no room, the thread's next hit tries again. */
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

static __noinline void send_hit(struct uprobe_thread *thread, const struct uprobe_hit *hit)
{
	if (!bpf_ringbuf_output(&events, (void *)hit, sizeof(*hit), wake())) {
		count(UPROBE_SENT);
	} else if (hit->flags & UPROBE_UNDECIDED) {
		thread->number++;
		count(UPROBE_LOST_UNDECIDED);
	} else {
		count(UPROBE_LOST_RING);
	}
}

/* --- nested calls */

static long look_up_range(__u32 index, struct lookup *lookup)
{
	struct uprobe_places *p = lookup->places;
	const struct uprobe_ranges *now = &ranges[lookup->ranges & 1];
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

/* Does the caller belong to the library of a call, or of the last function nested in it? */
static __noinline bool called_within(struct uprobe_thread *thread, const struct uprobe_call *call,
				     __u64 ra)
{
	struct uprobe_places *p = &thread->places;
	struct lookup lookup = { .places = p, .ranges = ranges_now };

	p->ra = ra;
	p->ip = call->ip;
	p->inner = call->inner;
	p->ra_file = p->ip_file = p->inner_file = 0;
	bpf_loop(UPROBE_RANGES, look_up_range, &lookup, 0);
	return p->ra_file && (p->ra_file == p->ip_file || p->ra_file == p->inner_file);
}

/*
 * May a call still be running? As long as it runs, its return address stays in its place on the
 * stack; but an unused slot of the stack may keep the address for long.
 */
static __noinline bool may_run(const struct uprobe_call *call, __u64 sp)
{
	if (sp >= call->sp)
		return false;
#if defined(__TARGET_ARCH_x86)
	/* If the return is probed, the kernel has replaced the address. */
	if (!call->waiting) {
		__u64 now;

		if (bpf_probe_read_user(&now, sizeof(now), (void *)call->sp) || now != call->ra)
			return false;
	}
#endif
	return true;
}

static long extend_code(__u32 index, struct lookup *lookup)
{
	struct uprobe_places *p = lookup->places;
	const struct uprobe_ranges *now = &ranges[lookup->ranges & 1];
	const struct uprobe_range *range;

	if (index >= now->count || index >= UPROBE_RANGES)
		return 1;
	range = &now->all[index];
	if (range->file != p->ip_file && range->file != p->inner_file)
		return 0;
	if (range->start < p->first)
		p->first = range->start;
	if (range->end > p->last)
		p->last = range->end;
	return 0;
}

struct search {
	const struct uprobe_places *places;
	__u64 address;
	__u64 end;
	__u32 found;
};

static long look_at_word(__u32 index, struct search *search)
{
	__u64 word;

	search->address -= sizeof(word);
	if (search->address < search->end)
		return 1;
	if (bpf_probe_read_user(&word, sizeof(word), (void *)search->address))
		search->found = 1;
	else
		search->found = address_of(word) >= search->places->first &&
				address_of(word) < search->places->last;
	return search->found;
}

/*
 * Is there an address of a call's library on the stack below the call, or is @ra one? If not, the
 * call has returned: the library calls from its frame there. If there is one, it may be left over.
 */
static __noinline bool has_address(struct uprobe_thread *thread, const struct uprobe_call *call,
				   __u64 ra, __u64 sp)
{
	struct uprobe_places *p = &thread->places;
	struct lookup lookup = { .places = p, .ranges = ranges_now };
	struct search search = { .places = p, .address = call->sp, .end = sp };

	if (called_within(thread, call, ra))
		return true;
	p->first = ~0ull;
	p->last = 0;
	if (!p->ip_file)
		return false;
	bpf_loop(UPROBE_RANGES, extend_code, &lookup, 0);
	if (call->sp - sp > UPROBE_WORDS * sizeof(__u64))
		return true;
	bpf_loop(UPROBE_WORDS, look_at_word, &search, 0);
	return search.found;
}

enum nesting {
	OUTERMOST,
	NESTED,
	UNDECIDED, /* a rule is missing for the walk to the frames of the calls */
};

/* Is a hit nested: made by the library of a call, or reached by a jump from a call's function? */
static __always_inline bool nested_directly(struct uprobe_thread *thread, struct uprobe_call *call,
					    __u64 sp, __u64 ra, __u64 ip, __u32 function)
{
	/*
	 * A function that only jumps to this one leaves the stack unchanged, apart from the return
	 * address if the return is probed. A loader's and the driver's have the same number.
	 */
	if (call->jumps_to == function && call->ip != ip && call->sp == sp &&
	    (call->waiting || call->ra == ra))
		return true;
	if (!may_run(call, sp)) {
		call->ip = 0;
		return false;
	}
#if defined(__TARGET_ARCH_x86)
	return called_within(thread, call, ra);
#else
	/* The call may have returned: only a walk shows that. */
	return false;
#endif
}

/*
 * End of the frame of the outermost call that may still run; 0 if none may; 1 if this call is
 * nested.
 */
static __noinline __u64 look_at_calls(struct pt_regs *ctx, struct uprobe_thread *thread, __u64 ra,
				      __u32 function)
{
	__u64 outer = 0;

#pragma unroll
	for (int i = UPROBE_CALLS - 1; i >= 0; i--) {
		struct uprobe_call *call = &thread->calls[i];

		if (!call->ip)
			continue;
		if (nested_directly(thread, call, PT_REGS_SP(ctx), ra, PT_REGS_IP(ctx), function)) {
			call->inner = PT_REGS_IP(ctx);
			call->jumps_to = UPROBE_NOWHERE;
			return 1;
		}
		if (call->ip)
			outer = frame_end(call->sp);
	}
	return outer;
}

/*
 * Did the walk of the stack find the frame of a call's function? If it could not get there, the
 * caller decides.
 */
static __noinline bool found_frame(struct uprobe_thread *thread, __u64 ra, __u64 ip)
{
#pragma unroll
	for (int i = 0; i < UPROBE_CALLS; i++) {
		struct uprobe_call *call = &thread->calls[i];
		__u64 below = thread->walk.below[i];

		if (!below && call->ip && thread->walk.cut)
			below = ra;
		if (below && called_within(thread, call, below)) {
			call->inner = ip;
			return true;
		}
	}
	return false;
}

/* Does any of the calls still run, as far as can be seen without a walk? */
static __noinline bool any_may_run(struct uprobe_thread *thread, __u64 ra, __u64 sp)
{
	bool any = false;

#pragma unroll
	for (int i = 0; i < UPROBE_CALLS; i++) {
		struct uprobe_call *call = &thread->calls[i];

		if (!call->ip)
			continue;
		if (has_address(thread, call, ra, sp))
			any = true;
		else
			call->ip = 0;
	}
	return any;
}

/*
 * Is this call nested in one that still runs? It is if the caller is in the library of that call.
 * If the caller is another library, it is if the stack contains the frame of that call's function.
 * Both the return address of that call and the library in the frame below it have to be right: the
 * API has functions that are not probed.
 */
static __noinline int nesting(struct pt_regs *ctx, struct uprobe_thread *thread, __u64 ra,
			      __u32 function)
{
	__u64 outer = look_at_calls(ctx, thread, ra, function);

	if (outer <= 1)
		return outer ? NESTED : OUTERMOST;
	walk_stack(ctx, thread, ra, outer);
	if (found_frame(thread, ra, PT_REGS_IP(ctx)))
		return NESTED;
	/* The frame was not found. If the walk cannot continue, a copy would not help. */
	if (thread->walk.missed && any_may_run(thread, ra, PT_REGS_SP(ctx)))
		return UNDECIDED;
	return OUTERMOST;
}

/* --- hits */

static __always_inline void begin_call(struct pt_regs *ctx, struct uprobe_call *call, __u64 ra,
				       __u32 flags)
{
	call->sp = PT_REGS_SP(ctx);
	call->ra = ra;
	call->ip = call->inner = PT_REGS_IP(ctx);
	call->waiting = flags & UPROBE_BLOCKING;
	call->jumps_to = flags & UPROBE_THUNK ? flags >> UPROBE_THUNK_SHIFT : UPROBE_NOWHERE;
}

/* A blocking call has returned without its return being seen, or its thread ends. */
static __always_inline void give_up_return(struct uprobe_thread *thread, struct uprobe_call *call)
{
	if (!call->pending.time_ns)
		return;
	if (!(call->pending.flags & UPROBE_UNDECIDED))
		count(UPROBE_RETURN_UNSEEN);
	send_hit(thread, &call->pending);
	call->pending.time_ns = 0;
}

/* The time of the hit is set already. */
static __always_inline struct uprobe_hit *make_hit(struct uprobe_thread *thread, __u64 cookie)
{
	struct uprobe_hit *hit = &thread->hit;

	hit->type = UPROBE_HIT;
	hit->function = (__u32)cookie;
	hit->number = thread->number;
	hit->duration_ns = 0;
	hit->tid = thread->tid;
	hit->host_tid = (__u32)bpf_get_current_pid_tgid();
	hit->flags = cookie >> 32;
	hit->stack = 0;
	return hit;
}

/* Sends a hit, now or when the function returns. */
static __always_inline void give_hit(struct uprobe_thread *thread, struct uprobe_call *call,
				     const struct uprobe_hit *hit)
{
	if (hit->flags & UPROBE_BLOCKING)
		call->pending = *hit;
	else
		send_hit(thread, hit);
}

/*
 * Userspace decides whether this call is a hit, by a copy of the stack. It is kept besides those
 * that it may be nested in, since calls that it makes are nested in any case. Without a copy the
 * caller decides, or else it is lost; it has a number, since it may be a hit.
 */
static __noinline int undecided(struct pt_regs *ctx, struct uprobe_thread *thread, __u64 cookie,
				__u64 ra)
{
	struct uprobe_call *call = NULL;
	struct uprobe_hit *hit;
	__u32 id = 0;

#pragma unroll
	for (int i = UPROBE_CALLS - 1; i > 0 && !thread->calls[i].ip; i--)
		call = &thread->calls[i];
	if (call && !stopped)
		id = send_copy(thread);
	if (!id) {
		thread->walk.cut = 1;
		if (found_frame(thread, ra, PT_REGS_IP(ctx))) {
			if (!stopped)
				count(UPROBE_NESTED);
			return 0;
		}
	}
	if (call) {
		give_up_return(thread, call);
		begin_call(ctx, call, ra, cookie >> 32);
	} else {
		thread->calls[UPROBE_CALLS - 1].inner = PT_REGS_IP(ctx);
	}
	if (stopped)
		return 0;
	if (!id) {
		thread->number++;
		count(UPROBE_LOST_UNDECIDED);
		return 0;
	}
	count(UPROBE_STACK_COPIED);
	if (!thread->announced)
		announce(thread, (__u32)bpf_get_current_pid_tgid());
	hit = make_hit(thread, cookie);
	hit->flags |= UPROBE_UNDECIDED;
	hit->stack = id;
	give_hit(thread, call, hit);
	return 0;
}

SEC("uprobe")
int enter(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), cookie = bpf_get_attach_cookie(ctx);
	__u32 host_tid = (__u32)bpf_get_current_pid_tgid();
	struct uprobe_thread *thread;
	struct uprobe_hit *hit;
	__u64 ra = 0;

	if (!stopped)
		count(UPROBE_SEEN);
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&ra, sizeof(ra), (void *)PT_REGS_SP(ctx));
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
	thread->hit.time_ns = now;
	switch (nesting(ctx, thread, ra, (__u32)cookie)) {
	case NESTED:
		if (!stopped)
			count(UPROBE_NESTED);
		return 0;
	case UNDECIDED:
		return undecided(ctx, thread, cookie, ra);
	}
#pragma unroll
	for (int i = 0; i < UPROBE_CALLS; i++) {
		thread->calls[i].ip = 0;
		give_up_return(thread, &thread->calls[i]);
	}
	begin_call(ctx, &thread->calls[0], ra, cookie >> 32);
	if (stopped)
		return 0;
	if (!thread->announced)
		announce(thread, host_tid);
	thread->number++;
	hit = make_hit(thread, cookie);
	if (with_stacks)
		hit->stack = take_stack(ctx, thread, ra);
	give_hit(thread, &thread->calls[0], hit);
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
#pragma unroll
	for (int i = UPROBE_CALLS - 1; i >= 0; i--) {
		struct uprobe_call *call = &thread->calls[i];

		/* The return has taken the return address off the stack. */
		if (!call->waiting || PT_REGS_SP(ctx) != frame_end(call->sp))
			continue;
		call->waiting = 0;
		if (call->pending.time_ns && call->pending.function == (__u32)cookie) {
			call->pending.duration_ns = now - call->pending.time_ns;
			send_hit(thread, &call->pending);
			call->pending.time_ns = 0;
		}
		return 0;
	}
	return 0;
}

/* --- events of the process */

static __always_inline void tell(__u32 type)
{
	__u64 event = type;

	bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
}

/*
 * Called when the dynamic linker is about to change the mappings, or has just done so; or when a
 * device was made.
 */
SEC("uprobe")
int linker(struct pt_regs *ctx)
{
	if (bpf_get_attach_cookie(ctx) == UPROBE_DEVICE)
		__sync_fetch_and_add(&device_changes, 1);
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
#pragma unroll
	for (int i = 0; i < UPROBE_CALLS; i++)
		give_up_return(thread, &thread->calls[i]);
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
