// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The walk: from a return address by its rule to the frame of the caller, to the
 * outermost one. A rule is a word (rule.h), made once from the object's .eh_frame
 * and then found in a table that all threads share without a lock.
 *
 * The table is larger than the processor's caches leave room for between two launches.
 * So each thread keeps the rules that it uses, close together, with the caller that
 * each had last: the next rule is then at hand before the address that it is for was
 * loaded, and is only compared with it.
 *
 * Most launches of a thread come from about the same place, so each walk is
 * kept. When the next one reaches a frame that is the same (address, rsp, rbp),
 * whatever follows is decided by the few words of the stack that were loaded
 * then: if these have not changed, neither has the rest of the walk. Comparing
 * them needs no rules, and no load has to wait for the one before it.
 *
 * The thread's own stack is mapped from rsp to its end, so words in it are loaded
 * directly. Any other stack may be unmapped at any time: the kernel is asked, page
 * by page, before a load (step.c).
 */
#include <string.h>

#include "rule.h"

/* Room that is made when a walk is longer than the one before. */
#define GAP 16

/* How often an address that was invalid or had no rule is looked at again. */
#define AGAIN 256

#define NO_SANITIZER __attribute__((no_sanitize("address", "thread", "undefined")))

/**
 * struct kept - what is left of the thread's walk before this one
 * @next: first frame of it that this walk has not passed
 * @count: end of them
 * @matching: the walk is on it
 * @first: frame of this walk since which it is
 */
struct kept {
	unsigned int next;
	unsigned int count;
	bool matching;
	unsigned int first;
};

static inline NO_SANITIZER uint64_t load_word(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

static void move_frames(struct gpumon_stack_thread *thread, unsigned int to, unsigned int from,
			unsigned int count)
{
	size_t size = count * sizeof(uint64_t);

	memmove(thread->frames + to, thread->frames + from, size);
	memmove(thread->stack + to, thread->stack + from, size);
	memmove(thread->base + to, thread->base + from, size);
	memmove(thread->link + to, thread->link + from, size);
	memmove(thread->saved + to, thread->saved + from, size);
}

/* Frame @count of the walk is about to be written: moves kept frames out of the way. */
static inline void make_room(struct gpumon_stack_thread *thread, struct kept *kept,
			     unsigned int count)
{
	unsigned int left;

	if (GPUMON_STACK_LIKELY(kept->next > count || kept->next >= kept->count))
		return;
	left = kept->count - kept->next;
	if (left > GPUMON_STACK_WALK_MAX - (count + GAP))
		left = count + GAP < GPUMON_STACK_WALK_MAX ? GPUMON_STACK_WALK_MAX - (count + GAP) :
							     0;
	move_frames(thread, count + GAP, kept->next, left);
	kept->next = count + GAP;
	kept->count = kept->next + left;
}

/*
 * If the walk's frame @count is one of those that are kept, takes over all that are still right.
 * Returns how many more frames than before are known; the state is then that of the last one,
 * which is kept->next.
 */
static inline NO_SANITIZER unsigned int take_kept(struct gpumon_stack_thread *thread,
						  struct kept *kept, unsigned int count,
						  unsigned int room,
						  struct gpumon_stack_state *state)
{
	unsigned int at = kept->next;
	unsigned int end = kept->count;
	unsigned int begin;

	while (at < end && thread->stack[at] < state->stack)
		at++;
	kept->next = at;
	if (at >= end || thread->stack[at] != state->stack || thread->frames[at] != state->frame ||
	    thread->base[at] != state->base) {
		/* What begins where this frame does is passed with it. */
		kept->next = at + (at < end && thread->stack[at] == state->stack);
		kept->matching = false;
		return 0;
	}
	if (!kept->matching) {
		kept->matching = true;
		kept->first = count;
	}
	begin = at;
	if (end - begin > room - count)
		end = begin + room - count;
	for (; at + 1 < end; at++) {
		uint64_t link = thread->link[at];
		uint64_t saved = thread->saved[at];

		if (!link || load_word(link) != thread->frames[at + 1] ||
		    (saved && load_word(saved) != thread->base[at + 1]))
			break;
	}
	if (begin != count)
		move_frames(thread, count, begin, at - begin + 1);
	kept->next = at;
	if (at == begin)
		return 0;
	state->interrupted = false;
	state->frame = thread->frames[count + at - begin];
	state->stack = thread->stack[count + at - begin];
	state->base = thread->base[count + at - begin];
	return at - begin;
}

/* A step on the thread's own stack. False: by gpumon_stack_step(), which can do all of them. */
static inline NO_SANITIZER bool step_by_rule(struct gpumon_stack_thread *thread, unsigned int index,
					     uint64_t rule, uint64_t limit,
					     struct gpumon_stack_state *state)
{
	uint64_t kind = rule & GPUMON_RULE_KIND;
	uint64_t stack = state->stack;
	uint64_t base = state->base;
	uint64_t saved = 0;
	uint64_t span = limit - 8 - stack;
	uint64_t cfa;

	if (kind <= GPUMON_RULE_RBP) {
		cfa = (kind == GPUMON_RULE_RBP ? base : stack) + (uint64_t)gpumon_rule_offset(rule);
	} else {
		uint64_t at = base + (uint64_t)gpumon_rule_displacement(rule);

		if (kind != GPUMON_RULE_LOAD || at - stack > span || at & 7)
			return false;
		cfa = load_word(at) + (uint64_t)gpumon_rule_offset(rule);
	}
	/* The return address's place, between rsp and the end of the stack */
	if (GPUMON_STACK_UNLIKELY(cfa - 8 - stack > span || cfa & 7))
		return false;
	if (rule & GPUMON_RULE_BASE) {
		saved = (rule & GPUMON_RULE_BASE_CFA ? cfa : base) +
			(uint64_t)gpumon_rule_base_offset(rule);
		if (GPUMON_STACK_UNLIKELY(saved - stack > span || saved & 7))
			return false;
		state->base = load_word(saved);
	}
	state->frame = load_word(cfa - 8);
	state->stack = cfa;
	thread->link[index] = kind == GPUMON_RULE_LOAD ? 0 : cfa - 8;
	thread->saved[index] = saved;
	return true;
}

/* Addresses up to which loads are safe from here on; less than 8 more than rsp: none is. */
static inline uint64_t limit_at(const struct gpumon_stack_thread *thread, uint64_t stack)
{
	return stack >= thread->low && stack < thread->high ? thread->high : stack;
}

static void forget_known(struct gpumon_stack_thread *thread)
{
	memset(thread->known, 0, sizeof(thread->known));
	memset(thread->known_at, 0, sizeof(thread->known_at));
	thread->known_count = 1;
}

/* The index of an address in @known; 0 where it has no rule, or one of a kind that is not usual. */
static uint64_t find_known(struct gpumon_stack_thread *thread, uint64_t frame, uint64_t salt)
{
	uint16_t *at = &thread->known_at[frame * 0x9e3779b97f4a7c15ull >>
					 (64 - GPUMON_STACK_KNOWN_BITS)];
	uint64_t rule;

	if (GPUMON_STACK_LIKELY(thread->known[*at].frame == frame))
		return *at;
	rule = gpumon_rule_find(frame, salt);
	if ((rule & GPUMON_RULE_KIND) - 1 > 1)
		return 0;
	if (thread->known_count == GPUMON_STACK_KNOWN)
		forget_known(thread);
	*at = (uint16_t)thread->known_count++;
	/* Another one may be first seen in this walk, too. */
	thread->known[*at] = (struct gpumon_stack_known){ frame, rule, *at + 1u };
	return *at;
}

/*
 * Frames by rules of the usual kind, as many as there are in a row: nearly all of a walk's, so
 * this has nothing else in it. Ends in front of any other, of frame @end, and of one whose stack
 * begins where @near does or behind it. Returns the count of frames then.
 */
static inline NO_SANITIZER unsigned int walk_by_rules(struct gpumon_stack_thread *thread,
						      unsigned int count, unsigned int end,
						      uint64_t near, uint64_t salt, uint64_t limit,
						      struct gpumon_stack_state *state)
{
	uint64_t frame = state->frame;
	uint64_t stack = state->stack;
	uint64_t base = state->base;
	struct gpumon_stack_known *known = thread->known;

	while (count < end && stack < near) {
		struct gpumon_stack_known *callee = known;
		uint64_t span = limit - 8 - stack;
		uint64_t next_base = base;
		uint64_t saved = 0;
		uint64_t next, rule, cfa;

		known = &thread->known[callee->caller];
		if (GPUMON_STACK_UNLIKELY(known->frame != frame)) {
			uint64_t index = find_known(thread, frame, salt);

			if (!index)
				break;
			callee->caller = index;
			known = &thread->known[index];
		}
		rule = known->rule;
		cfa = ((rule & GPUMON_RULE_KIND) == GPUMON_RULE_RSP ? stack : base) +
		      (uint64_t)gpumon_rule_offset(rule);
		/* The return address is between rsp and the end of the stack. */
		if (cfa - 8 - stack > span || cfa & 7)
			break;
		if (rule & GPUMON_RULE_BASE) {
			saved = (rule & GPUMON_RULE_BASE_CFA ? cfa : base) +
				(uint64_t)gpumon_rule_base_offset(rule);
			if (saved - stack > span || saved & 7)
				break;
			next_base = load_word(saved);
		}
		next = load_word(cfa - 8);
		if (!next)
			break;
		thread->frames[count] = frame;
		thread->stack[count] = stack;
		thread->base[count] = base;
		thread->link[count] = cfa - 8;
		thread->saved[count] = saved;
		count++;
		frame = next;
		stack = cfa;
		base = next_base;
	}
	if (stack != state->stack)
		*state = (struct gpumon_stack_state){ frame, stack, base, false };
	return count;
}

static uint64_t look_again(struct gpumon_stack_thread *thread, uint64_t salt, uint64_t rule,
			   const struct gpumon_stack_state *state)
{
	if (++thread->refused % AGAIN)
		return rule;
	return gpumon_rule_make(state->frame, salt, state->interrupted);
}

static NO_SANITIZER void walk_stack(struct gpumon_stack_thread *thread, unsigned int room)
{
	struct gpumon_stack_state state = { thread->registers.rip, thread->registers.rsp,
					    thread->registers.rbp, false };
	uint64_t salt = gpumon_stack_salt();
	uint64_t limit = limit_at(thread, state.stack);
	bool own = limit != state.stack;
	struct kept kept = { 0 };
	unsigned int count = 0;
	bool truncated = true;

	if (thread->own && own && thread->salt == salt)
		kept.count = thread->count;
	if (thread->salt != salt || !thread->known_count)
		forget_known(thread);
	thread->salt = salt;
	thread->switches = 0;
	thread->readable_low = 0;
	thread->readable_high = 0;

	for (;;) {
		uint64_t rule;
		uint64_t kind;

		if (kept.count)
			count += take_kept(thread, &kept, count, room, &state);
		if (limit != state.stack && !kept.matching) {
			bool more = kept.next < kept.count;
			unsigned int end = more && kept.next < room ? kept.next : room - 1;
			unsigned int begin = count;

			count = walk_by_rules(thread, count, end,
					      more ? thread->stack[kept.next] : ~0ull, salt, limit,
					      &state);
			if (count != begin && more)
				continue;
		}
		rule = gpumon_rule_find(state.frame, salt);
		if (GPUMON_STACK_UNLIKELY(!rule))
			rule = gpumon_rule_make(state.frame, salt, state.interrupted);
		kind = rule & GPUMON_RULE_KIND;
		if (GPUMON_STACK_UNLIKELY(kind >= GPUMON_RULE_STOP)) {
			rule = look_again(thread, salt, rule, &state);
			kind = rule & GPUMON_RULE_KIND;
		}
		if (kind == GPUMON_RULE_BAD && count)
			break;

		if (!kept.matching)
			make_room(thread, &kept, count);
		else
			kept.next++;
		thread->frames[count] = state.frame;
		thread->stack[count] = state.stack;
		thread->base[count] = state.base;
		count++;
		if (kind >= GPUMON_RULE_END) {
			truncated = kind != GPUMON_RULE_END &&
				    !(kind == GPUMON_RULE_STOP && rule & GPUMON_RULE_GUESS &&
				      !state.base);
			break;
		}
		if (count == room)
			break;
		if (GPUMON_STACK_LIKELY(limit != state.stack) &&
		    GPUMON_STACK_LIKELY(step_by_rule(thread, count - 1, rule, limit, &state))) {
			state.interrupted = false;
		} else {
			thread->link[count - 1] = 0;
			if (!gpumon_stack_step(thread, count - 1, rule, salt, &state))
				break;
			if (state.frame)
				limit = limit_at(thread, state.stack);
			own = own && limit != state.stack;
		}
		if (!state.frame) {
			truncated = false;
			break;
		}
	}
	/* Where the last frame ends is known by the rule's step, if there was one. */
	thread->stack[count] = state.stack > thread->stack[count - 1] ? state.stack : limit;
	thread->same = kept.matching && kept.next == kept.count && thread->truncated == truncated &&
				       count > kept.first ?
			       count - kept.first :
			       0;
	thread->truncated = truncated;
	thread->count = count;
	thread->own = own;
}

/* Returns with the thread's walk done and marked busy, or NULL. */
static struct gpumon_stack_thread *begin_walk(unsigned int room,
					      const struct gpumon_stack_registers *registers)
{
	struct gpumon_stack_thread *thread = gpumon_stack_thread();

	if (GPUMON_STACK_UNLIKELY(!thread)) {
		if (!gpumon_rule_table)
			return NULL;
		thread = gpumon_stack_thread_new();
		if (!thread)
			return NULL;
	}
	if (GPUMON_STACK_UNLIKELY(atomic_load_explicit(&thread->busy, memory_order_relaxed) ||
				  !room))
		return NULL;
	atomic_store_explicit(&thread->busy, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	thread->registers = *registers;
	thread->walk++;
	walk_stack(thread, room < GPUMON_STACK_WALK_MAX ? room : GPUMON_STACK_WALK_MAX);
	return thread;
}

static void end_walk(struct gpumon_stack_thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&thread->busy, false, memory_order_relaxed);
}

unsigned int gpumon_stack_walk_from(uint64_t *frames, unsigned int room, bool *truncated,
				    const struct gpumon_stack_registers *registers)
{
	struct gpumon_stack_thread *thread = begin_walk(room, registers);
	unsigned int count;

	*truncated = true;
	if (!thread)
		return 0;
	count = thread->count;
	*truncated = thread->truncated;
	memcpy(frames, thread->frames, count * sizeof(*frames));
	end_walk(thread);
	return count;
}

bool gpumon_stack_walk_view_from(struct gpumon_stack_view *view, unsigned int room,
				 const struct gpumon_stack_registers *registers)
{
	struct gpumon_stack_thread *thread = begin_walk(room, registers);

	if (!thread)
		return false;
	*view = (struct gpumon_stack_view){ .frames = thread->frames,
					    .stack = thread->stack,
					    .count = thread->count,
					    .same = thread->same,
					    .walk = thread->walk,
					    .truncated = thread->truncated };
	end_walk(thread);
	return true;
}

#ifdef __x86_64__

/*
 * A compiler may have overwritten rbx and r12 to r15 before the first line of a function of C:
 * the registers are taken in front of it. @argument is the first free one of a call.
 */
#define SAVE_REGISTERS_AND_CALL(argument, function)                                  \
	__asm__("sub $72, %rsp\n\t.cfi_adjust_cfa_offset 72\n\t"                     \
		"mov %rbx, 0(%rsp)\n\tmov %rbp, 8(%rsp)\n\tmov %r12, 16(%rsp)\n\t"   \
		"mov %r13, 24(%rsp)\n\tmov %r14, 32(%rsp)\n\tmov %r15, 40(%rsp)\n\t" \
		"lea 80(%rsp), %rax\n\tmov %rax, 48(%rsp)\n\t"                       \
		"mov 72(%rsp), %rax\n\tmov %rax, 56(%rsp)\n\t"                       \
		"mov %rsp, %" argument "\n\tcall " function "\n\t"                   \
		"add $72, %rsp\n\t.cfi_adjust_cfa_offset -72\n\tret")

__attribute__((naked)) unsigned int gpumon_stack_walk(uint64_t *frames __attribute__((unused)),
						      unsigned int room __attribute__((unused)),
						      bool *truncated __attribute__((unused)))
{
	SAVE_REGISTERS_AND_CALL("rcx", "gpumon_stack_walk_from");
}

__attribute__((naked)) bool gpumon_stack_walk_view(struct gpumon_stack_view *view
						   __attribute__((unused)),
						   unsigned int room __attribute__((unused)))
{
	SAVE_REGISTERS_AND_CALL("rdx", "gpumon_stack_walk_view_from");
}

#else

/* With frame pointers: that of the caller is at ours, its return address behind that. */
#define REGISTERS                                                            \
	{                                                                    \
		.rbp = *(const uint64_t *)__builtin_frame_address(0),        \
		.rsp = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 16, \
		.rip = (uint64_t)(uintptr_t)__builtin_extract_return_addr(   \
			__builtin_return_address(0))                         \
	}

__attribute__((noinline)) unsigned int gpumon_stack_walk(uint64_t *frames, unsigned int room,
							 bool *truncated)
{
	const struct gpumon_stack_registers registers = REGISTERS;

	return gpumon_stack_walk_from(frames, room, truncated, &registers);
}

__attribute__((noinline)) bool gpumon_stack_walk_view(struct gpumon_stack_view *view,
						      unsigned int room)
{
	const struct gpumon_stack_registers registers = REGISTERS;

	return gpumon_stack_walk_view_from(view, room, &registers);
}

#endif

bool gpumon_stack_init(void)
{
	static bool done;

	if (done)
		return true;
	gpumon_stack_loader_init();
	done = gpumon_stack_module_init() && gpumon_stack_thread_init() && gpumon_rule_init();
	/* The main thread's bounds cost memory and a file: better now than in its first walk. */
	if (done && !gpumon_stack_thread())
		gpumon_stack_thread_new();
	return done;
}

void gpumon_stack_forked(void)
{
	gpumon_rule_forked();
}
