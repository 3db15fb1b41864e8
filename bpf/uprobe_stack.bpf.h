/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The stack of a hit. It is walked with rules from userspace, sent once, and then identified by a
 * number. If a rule is missing, a copy of the stack is sent, and userspace walks that.
 */
#ifndef GPUMON_BPF_UPROBE_STACK_BPF_H
#define GPUMON_BPF_UPROBE_STACK_BPF_H

#include "uprobe_state.bpf.h"

/* Data for bpf_loop() callbacks. @ranges: which of the two tables. */
struct walk {
	struct uprobe_thread *thread;
};

struct lookup {
	struct uprobe_places *places;
	__u32 ranges;
};

/* End of a function's frame: above its return address, if that is on the stack. */
static __always_inline __u64 frame_end(__u64 sp)
{
#if defined(__TARGET_ARCH_x86)
	return sp + sizeof(__u64);
#else
	return sp;
#endif
}

/* Return address without a signature, which it may have on the stack. */
static __always_inline __u64 address_of(__u64 saved)
{
#if defined(__TARGET_ARCH_x86)
	return saved;
#else
	return saved & address_bits;
#endif
}

static __always_inline void add_frame(struct uprobe_thread *thread, __u32 place, __u64 pc)
{
	struct uprobe_walk *w = &thread->walk;

	thread->stack.frames[place & (UPROBE_DEPTH - 1)] = pc;
	w->hash = (w->hash ^ pc) * 0x9e3779b97f4a7c15ull;
	w->hash ^= w->hash >> 29;
}

/*
 * A cache in front of the table, whose look-up takes some hundred instructions. A free slot gets
 * the first rule for it. Userspace writes the address last, and clears it first.
 */
struct uprobe_rule quick[1 << UPROBE_QUICK_BITS];

/* Read the rule between its two copies of the address, in this order. */
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

/* Find the frames of calls. The kernel replaces the return address if the return is probed. */
static __noinline void compare_outer(struct uprobe_thread *thread, __u64 cfa, __u64 ra)
{
	struct uprobe_walk *w = &thread->walk;

#pragma unroll
	for (int i = 0; i < UPROBE_CALLS; i++) {
		const struct uprobe_call *call = &thread->calls[i];

		if (call->ip && cfa == frame_end(call->sp) && (call->waiting || ra == call->ra))
			w->below[i] = w->pc;
	}
}

/* Unwind one function. 1: the walk has ended. */
static long step(__u32 index, struct walk *walk)
{
	struct uprobe_thread *thread = walk->thread;
	struct uprobe_walk *w = &thread->walk;
	__u64 cfa, ra, fp = w->fp, saved[2];
	/* There already are two frames. */
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
	/* Frames have rising addresses. Otherwise the walk might never end. */
	if (cfa <= w->sp)
		goto truncated;
	/* The two values usually are adjacent. */
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
	ra = address_of(saved[1]);
	if (w->outer)
		compare_outer(thread, cfa, ra);
	if (!ra || (w->outer && cfa >= w->outer))
		return 1;
	w->pc = ra;
	w->sp = cfa;
	w->fp = fp;
	if (place < depth_max && place < UPROBE_DEPTH) {
		w->count = place + 1;
		add_frame(thread, place, ra);
		return 0;
	}
	/* The frames of calls may be beyond that depth. */
	w->flags |= UPROBE_TRUNCATED;
	return !w->outer;
truncated:
	w->cut = 1;
	w->flags |= UPROBE_TRUNCATED;
	return 1;
}

/*
 * Loops use the kernel's bpf_loop(), whose callbacks the verifier checks once. It would follow each
 * round of a C loop, on some kernels for minutes.
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

static __always_inline void copy_outer(struct uprobe_copy *copy, const struct uprobe_thread *thread,
				       bool wanted)
{
#pragma unroll
	for (int i = 0; i < UPROBE_CALLS; i++) {
		const struct uprobe_call *call = &thread->calls[i];

		copy->outer[i].end = wanted && call->ip ? frame_end(call->sp) : 0;
		copy->outer[i].ra = call->waiting ? 0 : call->ra;
		copy->outer[i].ip = call->ip;
		copy->outer[i].inner = call->inner;
	}
}

/*
 * Userspace continues with a copy of the stack and sends the missing rules. After a walk for the
 * frames of calls it decides whether this call is nested.
 */
static __noinline __u32 send_copy(const struct uprobe_thread *thread)
{
	const struct uprobe_walk *w = &thread->walk;
	__u64 room = w->outer ? 2 * UPROBE_COPIES : UPROBE_COPIES;
	struct uprobe_copy *copy;
	struct frames frames;
	__u32 done = 0;

	/* The check is not exact if several threads get here at once, which does no harm. */
	if (copies_sent - copies_seen >= room)
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
	copy->pc = w->pc;
	copy->sp = w->sp;
	copy->fp = w->fp;
	copy->reserved = 0;
	copy_outer(copy, thread, w->outer);
	/* Copy page by page, since memory beyond the stack's end cannot be read. */
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

/* Returns the id of the stack, 0 if it is lost. */
static __noinline __u32 send_stack(struct uprobe_stack *stack, __u64 hash, __u32 current,
				   bool settled)
{
	struct uprobe_stack *known = NULL;
	__u32 size = stack->count;

	if (size > UPROBE_DEPTH)
		return 0;
	/* Entries are never replaced: a program using an entry could see another stack in it. */
	hash += current * 0x9e3779b97f4a7c15ull;
	if (settled)
		known = bpf_map_lookup_elem(&stacks, &hash);
	if (known && (known->type != current || !same(known, stack))) {
		known = NULL;
	} else if (!known && settled) {
		/* The id is set after the stack was sent, so that every id found here was sent. */
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
	/* If two threads send the same stack, one of the ids stays. Both were sent. */
	if (known)
		known->id = stack->id;
	return stack->id;
}

/*
 * Walk the stack from the first instruction of a function: to its end, or until the frame that ends
 * at @outer.
 */
static __noinline int walk_stack(struct pt_regs *ctx, struct uprobe_thread *thread, __u64 ra,
				 __u64 outer)
{
	struct uprobe_walk *w = &thread->walk;
	struct walk walk = { .thread = thread };

	w->settled = linker_changes == linker_settled;
	w->pc = ra;
	w->sp = frame_end(PT_REGS_SP(ctx));
	w->fp = PT_REGS_FP(ctx);
	w->hash = 0;
	w->count = 2;
	w->flags = 0;
	w->missed = 0;
	w->cut = 0;
	w->outer = outer;
#pragma unroll
	for (int i = 0; i < UPROBE_CALLS; i++)
		w->below[i] = 0;
	add_frame(thread, 0, PT_REGS_IP(ctx));
	add_frame(thread, 1, ra);
	bpf_loop(UPROBE_DEPTH, step, &walk, 0);
	thread->stack.count = w->count;
	thread->stack.flags = w->flags;
	return 0;
}

/* Walks and sends the whole stack. Returns its id, 0 if there is none. */
static __noinline __u32 take_stack(struct pt_regs *ctx, struct uprobe_thread *thread, __u64 ra)
{
	struct uprobe_walk *w = &thread->walk;
	__u32 current = generation, id;

	walk_stack(ctx, thread, ra, 0);
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

#endif /* GPUMON_BPF_UPROBE_STACK_BPF_H */
