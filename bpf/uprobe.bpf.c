// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Hits of uprobes on functions that give the GPU something to do, or wait for
 * it, in one process: numbered for each thread, with their stacks.
 *
 * Nothing of the kernel's own structures is read, so that no BTF of it is
 * needed. Since 6.0 these programs can be preempted: what is shared is changed
 * by atomic operations, what is a thread's is in its own entry.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "uprobe.h"

/* Which process: its pid namespace as the kernel numbers it, and its pid there. */
const volatile __u64 namespace_device;
const volatile __u64 namespace_inode;
const volatile __u32 target_pid;
const volatile __u32 depth_max = 127;
const volatile bool with_stacks = true;
/* Bytes in the ring from which on the reader is woken; it comes by itself, too. */
const volatile __u64 wake_bytes = 256 << 10;

/*
 * Code of libraries of the API: whoever calls from there is not the program. One of the two holds,
 * that of ranges_now; the other is written by userspace.
 */
struct uprobe_ranges ranges[2];
__u32 ranges_now;

/*
 * The dynamic linker changes what is mapped: until userspace has looked at it,
 * what is known of addresses is not used.
 */
__u64 linker_changes;
__u64 linker_settled;
/* Grows when addresses got another meaning. */
__u32 generation;

/*
 * Not all probes are there yet, or not any more, or the process became another program:
 * calls are not hits then, but those within them are known as such.
 */
__u32 stopped = 1;

__u32 last_stack;
__u64 copies_sent;
__u64 copies_seen;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} events SEC(".maps");

/* By tid of the initial pid namespace. Entries go when their thread ends. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct uprobe_thread);
} threads SEC(".maps");

/*
 * Stacks that were sent, by hash. An entry holds the frames, and they are
 * compared: of two stacks with one hash the second is sent each time, and is
 * never taken for the first. Their "type" is the generation they are of.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct uprobe_stack);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct uprobe_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, UPROBE_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

/* An entry of a thread to begin with: too long for a program's stack. */
static const struct uprobe_thread empty_thread;

static __always_inline void count(__u32 counter)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &counter);

	/* Atomic, since another task's hit may come in between on this very processor. */
	if (value)
		__sync_fetch_and_add(value, 1);
}

static __always_inline __u64 wake(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= wake_bytes ? BPF_RB_FORCE_WAKEUP :
									     BPF_RB_NO_WAKEUP;
}

/* --- the stack */

/* All that bpf_loop() hands on; @ranges: which of the two. */
struct walk {
	struct uprobe_thread *thread;
	__u32 ranges;
};

static __always_inline void add_frame(struct uprobe_thread *thread, __u32 place, __u64 pc)
{
	struct uprobe_walk *w = &thread->walk;

	thread->stack.frames[place & (UPROBE_DEPTH - 1)] = pc;
	w->hash = (w->hash ^ pc) * 0x9e3779b97f4a7c15ull;
	w->hash ^= w->hash >> 29;
}

/*
 * In front of the table, which takes some hundred instructions to look into: a
 * place that is free gets the first rule that comes for it. Userspace writes the address last, and
 * takes it away first.
 */
struct uprobe_rule quick[1 << UPROBE_QUICK_BITS];

/* What is read lies between the two numbers of the address, in this order. */
static __always_inline bool copy_rule(const volatile struct uprobe_rule *found, __u64 pc,
				      struct uprobe_rule *rule)
{
	if (found->pc_again != pc)
		return false;
	rule->kind = found->kind;
	rule->cfa = found->cfa;
	rule->ra = found->ra;
	rule->fp = found->fp;
	return found->pc == pc;
}

static __always_inline bool read_rule(__u64 pc, struct uprobe_rule *rule)
{
	const struct uprobe_rule *found = &quick[uprobe_quick(pc) & ((1 << UPROBE_QUICK_BITS) - 1)];

	if (copy_rule(found, pc, rule))
		return true;
	found = bpf_map_lookup_elem(&rules, &pc);
	return found && copy_rule(found, pc, rule);
}

/* Leave one function. 1: that was it. */
static long step(__u32 index, struct walk *walk)
{
	struct uprobe_thread *thread = walk->thread;
	struct uprobe_walk *w = &thread->walk;
	__u64 cfa, ra, fp = w->fp, saved[2];
	/* Two frames are there to begin with. */
	__u32 place = index + 2;
	struct uprobe_rule rule;

	if (!w->settled || !read_rule(w->pc, &rule)) {
		w->missed = 1;
		return 1;
	}
	switch (rule.kind) {
	case UPROBE_RULE_SP:
		cfa = w->sp + rule.cfa;
		break;
	case UPROBE_RULE_FP:
		cfa = w->fp + rule.cfa;
		break;
	case UPROBE_RULE_END:
		return 1;
	default:
		goto truncated;
	}
	/* Frames lie one above the other; what does not would never end. */
	if (cfa <= w->sp)
		goto truncated;
	/* Mostly the two lie side by side. */
	if (rule.fp == rule.ra - (int)sizeof(__u64)) {
		if (bpf_probe_read_user(saved, sizeof(saved), (void *)(cfa + rule.fp)))
			goto truncated;
		fp = saved[0];
	} else {
		if (bpf_probe_read_user(&saved[1], sizeof(saved[1]), (void *)(cfa + rule.ra)))
			goto truncated;
		if (rule.fp != UPROBE_FP_SAME &&
		    bpf_probe_read_user(&fp, sizeof(fp), (void *)(cfa + rule.fp)))
			fp = 0;
	}
	ra = saved[1];
	if (!ra)
		return 1;
	if (place >= depth_max || place >= UPROBE_DEPTH)
		goto truncated;
	w->pc = ra;
	w->sp = cfa;
	w->fp = fp;
	w->count = place + 1;
	add_frame(thread, place, ra);
	return 0;
truncated:
	w->flags |= UPROBE_TRUNCATED;
	return 1;
}

/*
 * Loops are functions called by the kernel's bpf_loop(): the verifier looks at
 * them once, while it follows a loop of C round for round, some kernels' for minutes.
 */
struct comparison {
	const struct uprobe_stack *a;
	const struct uprobe_stack *b;
	__u32 differs;
};

static long compare_frame(__u32 index, struct comparison *c)
{
	index &= UPROBE_DEPTH - 1;
	c->differs = c->a->frames[index] != c->b->frames[index];
	return c->differs;
}

static __noinline bool same(const struct uprobe_stack *known, const struct uprobe_stack *stack)
{
	struct comparison c = { .a = known, .b = stack };

	if (known->count != stack->count || known->flags != stack->flags)
		return false;
	bpf_loop(stack->count & (2 * UPROBE_DEPTH - 1), compare_frame, &c, 0);
	return !c.differs;
}

struct frames {
	const struct uprobe_stack *from;
	struct uprobe_stack *to;
};

static long copy_frame(__u32 index, struct frames *f)
{
	index &= UPROBE_DEPTH - 1;
	f->to->frames[index] = f->from->frames[index];
	return 0;
}

/* Userspace goes on from a copy of the thread's stack, and learns the rules that were missing. */
static __noinline __u32 send_copy(const struct uprobe_thread *thread)
{
	const struct uprobe_walk *w = &thread->walk;
	struct uprobe_copy *copy;
	struct frames frames;
	__u32 done = 0;

	/* Not exact when several come at once, which does not matter. */
	if (copies_sent - copies_seen >= UPROBE_COPIES)
		return 0;
	copy = bpf_ringbuf_reserve(&events, sizeof(*copy), 0);
	if (!copy)
		return 0;
	__sync_fetch_and_add(&copies_sent, 1);
	copy->stack.type = UPROBE_COPY;
	copy->stack.id = __sync_fetch_and_add(&last_stack, 1) + 1;
	copy->stack.count = w->count;
	copy->stack.flags = w->flags | UPROBE_ONCE;
	frames.from = &thread->stack;
	frames.to = &copy->stack;
	bpf_loop(w->count & (2 * UPROBE_DEPTH - 1), copy_frame, &frames, 0);
	copy->sp = w->sp;
	copy->fp = w->fp;
	copy->reserved = 0;
	/* Page by page: what is behind the stack's upper end cannot be read. */
	for (int i = 0; i <= UPROBE_COPY_PAGES; i++) {
		__u64 address = w->sp + done;
		__u32 bytes = UPROBE_PAGE - (address & (UPROBE_PAGE - 1));

		if (done > UPROBE_COPY_MAX - UPROBE_PAGE ||
		    bpf_probe_read_user(copy->memory + done, bytes, (void *)address))
			break;
		done += bytes;
	}
	copy->bytes = done;
	done = copy->stack.id;
	bpf_ringbuf_submit(copy, BPF_RB_FORCE_WAKEUP);
	return done;
}

/* Its id, 0 if it is lost. */
static __noinline __u32 send_stack(struct uprobe_stack *stack, __u64 hash, __u32 current,
				   bool settled)
{
	struct uprobe_stack *known = NULL;
	__u32 size = stack->count;

	if (size > UPROBE_DEPTH)
		return 0;
	/* Entries are never replaced: who has found one would find another's in its place. */
	hash += current * 0x9e3779b97f4a7c15ull;
	if (settled)
		known = bpf_map_lookup_elem(&stacks, &hash);
	if (known && (known->type != current || !same(known, stack))) {
		known = NULL;
	} else if (!known && settled) {
		/* Its id comes when it was sent, so that an id that is found always was. */
		stack->type = current;
		stack->id = 0;
		bpf_map_update_elem(&stacks, &hash, stack, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&stacks, &hash);
		if (known && (known->type != current || !same(known, stack)))
			known = NULL;
	}
	if (known && known->id) {
		count(UPROBE_STACK_KNOWN);
		return known->id;
	}
	stack->type = UPROBE_STACK;
	stack->id = __sync_fetch_and_add(&last_stack, 1) + 1;
	if (!known) {
		stack->flags |= UPROBE_ONCE;
		count(UPROBE_STACK_NO_ROOM);
	}
	size = size * sizeof(__u64) + __builtin_offsetof(struct uprobe_stack, frames);
	if (bpf_ringbuf_output(&events, stack, size, wake()))
		return 0;
	count(UPROBE_STACK_NEW);
	/* Of two threads that come at once, each with an id, one stays; both were sent. */
	if (known)
		known->id = stack->id;
	return stack->id;
}

/* The stack of a call at whose first instruction the thread is. Its id, 0 if there is none. */
static __noinline __u32 take_stack(struct pt_regs *ctx, struct uprobe_thread *thread, __u64 ra)
{
	struct uprobe_walk *w = &thread->walk;
	struct walk walk = { .thread = thread };
	__u32 current = generation, id;

	w->settled = linker_changes == linker_settled;
	w->pc = ra;
#if defined(__TARGET_ARCH_x86)
	w->sp = PT_REGS_SP(ctx) + sizeof(__u64);
#else
	w->sp = PT_REGS_SP(ctx);
#endif
	w->fp = PT_REGS_FP(ctx);
	w->hash = 0;
	w->count = 2;
	w->flags = 0;
	w->missed = 0;
	add_frame(thread, 0, PT_REGS_IP(ctx));
	add_frame(thread, 1, ra);
	bpf_loop(UPROBE_DEPTH, step, &walk, 0);
	thread->stack.count = w->count;
	thread->stack.flags = w->flags;
	if (w->missed) {
		id = send_copy(thread);
		if (id) {
			count(UPROBE_STACK_COPIED);
			return id;
		}
		thread->stack.flags |= UPROBE_TRUNCATED;
	}
	if (thread->stack.flags & UPROBE_TRUNCATED)
		count(UPROBE_STACK_TRUNCATED);
	id = send_stack(&thread->stack, w->hash, current, w->settled);
	if (!id)
		count(UPROBE_LOST_STACK);
	return id;
}

/* --- threads and calls */

static __noinline void announce(struct uprobe_thread *thread, __u32 host_tid)
{
	struct uprobe_thread_event event = {
		.type = UPROBE_THREAD,
		.tid = thread->tid,
		.host_tid = host_tid,
	};

	bpf_get_current_comm(event.comm, sizeof(event.comm));
	/* Where there is no room its next hit tries again. */
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
 * Is it a function's own library that calls, be it the function of the last hit, or one that
 * was called within it?
 */
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
 * Is it within the call of the last hit? The return address of that is still
 * where it was as long as the call goes on, and the one who calls now is the same
 * library. Either alone would not do: an unused place on the stack may keep the
 * address for long, and the API has functions that are not probed.
 */
static __noinline bool nested(struct uprobe_thread *thread, __u64 sp, __u64 ra, __u64 ip)
{
	if (sp >= thread->sp || !called_within(thread, ra))
		return false;
#if defined(__TARGET_ARCH_x86)
	/* Of a call whose return is probed, it is the kernel's address. */
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
	/* A function that only jumps to this one leaves the stack as it was. */
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
	/* The return took the address off the stack. */
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

/* The dynamic linker is about to change what is mapped, or has done it. */
SEC("uprobe")
int linker(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&linker_changes, 1);
	tell(UPROBE_LINKER);
	return 0;
}

/* Of any thread of the machine: its number may be another one's next. */
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

/* From here on all addresses are another program's. */
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
