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
 * them needs no rules, and no load has to wait for the one before it. Kept frames are at the end of
 * their arrays, so that the outermost ones stay where they are, however many are inward of them.
 *
 * The thread's own stack is mapped from rsp to its end, so words in it are loaded
 * directly. Any other stack may be unmapped at any time: the kernel is asked, page
 * by page, before a load (step.c).
 */
#include <string.h>

#include "rule.h"

/* Where kept frames end; there is a frame that is none, and behind it one that no walk comes to. */
#define END INJECT_STACK_WALK_MAX

/* How often an address that was invalid or had no rule is looked at again. */
#define AGAIN 256

#define NO_SANITIZER __attribute__((no_sanitize("address", "thread", "undefined")))

static inline NO_SANITIZER uint64_t load_word(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

static inline NO_SANITIZER uint64_t load_return_address(uint64_t address)
{
	return gpumon_return_address(load_word(address));
}

static inline void copy_frames(struct inject_stack_frames *to, unsigned int to_at,
			       const struct inject_stack_frames *from, unsigned int at,
			       unsigned int count)
{
	size_t size = count * sizeof(uint64_t);

	memcpy(to->frames + to_at, from->frames + at, size);
	memcpy(to->stack + to_at, from->stack + at, size);
	memcpy(to->base + to_at, from->base + at, size);
	memcpy(to->saved + to_at, from->saved + at, size);
}

/* From a kept frame that is still right, the outermost up to which all are. */
static inline NO_SANITIZER unsigned int pass_kept(const struct inject_stack_frames *kept,
						  unsigned int at)
{
	for (size_t next = at + 1; next < END; next++) {
		uint64_t saved = kept->saved[next - 1];

		if (load_return_address(kept->stack[next] - 8) != kept->frames[next])
			return (unsigned int)next - 1;
		if (saved && (saved == INJECT_STACK_UNKEPT || load_word(saved) != kept->base[next]))
			return (unsigned int)next - 1;
	}
	return END - 1;
}

/* A step on the thread's own stack. False: by inject_stack_step(), which can do all of them. */
static inline NO_SANITIZER bool step_by_rule(struct inject_stack_thread *thread, unsigned int index,
					     uint64_t rule, uint64_t limit,
					     struct inject_stack_state *state)
{
	uint64_t kind = rule & INJECT_RULE_KIND;
	uint64_t stack = state->stack;
	uint64_t base = state->base;
	uint64_t saved = 0;
	uint64_t span = limit - 8 - stack;
	uint64_t cfa;

	if (kind <= INJECT_RULE_RBP) {
		cfa = (kind == INJECT_RULE_RBP ? base : stack) + (uint64_t)inject_rule_offset(rule);
	} else {
		uint64_t at = base + (uint64_t)inject_rule_displacement(rule);

		if (kind != INJECT_RULE_LOAD || at - stack > span || at & 7)
			return false;
		cfa = load_word(at) + (uint64_t)inject_rule_offset(rule);
	}
	/* The return address's place, between rsp and the end of the stack */
	if (INJECT_STACK_UNLIKELY(cfa - 8 - stack > span || cfa & 7))
		return false;
	if (rule & INJECT_RULE_BASE) {
		saved = (rule & INJECT_RULE_BASE_CFA ? cfa : base) +
			(uint64_t)inject_rule_base_offset(rule);
		if (INJECT_STACK_UNLIKELY(saved - stack > span || saved & 7))
			return false;
		state->base = load_word(saved);
	}
	state->frame = load_return_address(cfa - 8);
	state->stack = cfa;
	thread->fresh.saved[index] = kind == INJECT_RULE_LOAD ? INJECT_STACK_UNKEPT : saved;
	return true;
}

/* Addresses up to which loads are safe from here on; less than 8 more than rsp: none is. */
static inline uint64_t limit_at(const struct inject_stack_thread *thread, uint64_t stack)
{
	return stack >= thread->low && stack < thread->high ? thread->high : stack;
}

static void forget_known(struct inject_stack_thread *thread)
{
	memset(thread->known, 0, sizeof(thread->known));
	memset(thread->known_at, 0, sizeof(thread->known_at));
	thread->known_count = 1;
}

/* By rsp or rbp, with the caller's rbp within the frame, if it is there. */
static bool is_usual(uint64_t rule)
{
	uint64_t kind = rule & INJECT_RULE_KIND;
	int64_t offset = inject_rule_offset(rule);
	int64_t base = inject_rule_base_offset(rule);

	if ((kind != INJECT_RULE_RSP && kind != INJECT_RULE_RBP) || offset < 8 ||
	    rule & INJECT_RULE_BASE_RBP)
		return false;
	return !(rule & INJECT_RULE_BASE_CFA) || (base < 0 && base >= -offset);
}

/* The index of an address in @known; 0 where it has no rule, or one of a kind that is not usual. */
static uint16_t find_known(struct inject_stack_thread *thread, uint64_t frame, uint64_t salt)
{
	uint16_t *at =
		&thread->known_at[frame * 0x9e3779b97f4a7c15ull >> (64 - INJECT_STACK_KNOWN_BITS)];
	uint64_t rule;

	if (INJECT_STACK_LIKELY(thread->known[*at].frame == frame))
		return *at;
	rule = inject_rule_find(frame, salt);
	if (!is_usual(rule))
		return 0;
	if (thread->known_count == INJECT_STACK_KNOWN)
		forget_known(thread);
	*at = (uint16_t)thread->known_count++;
	thread->known[*at] = (struct inject_stack_known){
		.frame = frame,
		.offset = (uint32_t)inject_rule_offset(rule),
		.base_below =
			rule & INJECT_RULE_BASE_CFA ? (uint32_t)-inject_rule_base_offset(rule) : 0,
		/* Another one may be first seen in this walk, too. */
		.caller = (uint16_t)(*at + 1u),
		.by_base = (rule & INJECT_RULE_KIND) == INJECT_RULE_RBP,
	};
	return *at;
}

/**
 * struct walk - where one is
 * @state: of the frame that comes next
 * @count: of frames in @fresh
 * @room: for frames
 * @kept: first kept frame that is not passed
 * @same: how many of the kept frames, the outermost ones, are the rest of the walk; 0: it goes on
 * @salt: of rules
 * @limit: up to which loads are safe; as rsp: none is
 */
struct walk {
	struct inject_stack_state state;
	unsigned int count;
	unsigned int room;
	unsigned int kept;
	unsigned int same;
	uint64_t salt;
	uint64_t limit;
};

/*
 * The walk is at a kept frame: takes over all that are still right. They are the rest of the walk if
 * the last of them was the outermost one of a stack; else the last one is where it goes on.
 */
static inline void take_kept(struct inject_stack_thread *thread, struct walk *walk)
{
	const struct inject_stack_frames *kept = &thread->kept;
	unsigned int begin = walk->kept;
	unsigned int at = pass_kept(kept, begin);

	walk->kept = at + 1;
	if (at == END - 1 && thread->has_end && END - begin <= walk->room - walk->count) {
		walk->same = END - begin;
		return;
	}
	if (at - begin > walk->room - 1 - walk->count)
		at = begin + (walk->room - 1 - walk->count);
	copy_frames(&thread->fresh, walk->count, kept, begin, at - begin);
	walk->count += at - begin;
	walk->state = (struct inject_stack_state){ kept->frames[at], kept->stack[at],
						   kept->base[at], false };
}

/*
 * Frames by rules of the usual kind, as many as there are in a row: nearly all of a walk's, so
 * this has nothing else in it. Ends in front of any other, of the last one that there is room for,
 * and at one that is kept, with true.
 */
static inline NO_SANITIZER bool walk_by_rules(struct inject_stack_thread *thread, struct walk *walk)
{
	const struct inject_stack_frames *kept = &thread->kept;
	struct inject_stack_frames *fresh = &thread->fresh;
	uint64_t frame = walk->state.frame;
	uint64_t stack = walk->state.stack;
	uint64_t base = walk->state.base;
	uint64_t limit = walk->limit;
	unsigned int count = walk->count;
	unsigned int last = walk->room - 1;
	unsigned int next_kept = walk->kept;
	struct inject_stack_known *known = thread->known;
	bool is_kept = false;

	for (;;) {
		struct inject_stack_known *callee = known;
		uint64_t next_base = base;
		uint64_t saved = 0;
		uint64_t next, cfa;

		while (kept->stack[next_kept] < stack)
			next_kept++;
		if (kept->stack[next_kept] == stack && kept->frames[next_kept] == frame &&
		    kept->base[next_kept] == base) {
			is_kept = true;
			break;
		}
		if (count >= last)
			break;
		known = &thread->known[callee->caller];
		if (INJECT_STACK_UNLIKELY(known->frame != frame)) {
			uint16_t index = find_known(thread, frame, walk->salt);

			if (!index)
				break;
			callee->caller = index;
			known = &thread->known[index];
		}
		/* All loads are between rsp and the end of the stack. */
		cfa = stack + known->offset;
		if (known->by_base) {
			cfa = base + known->offset;
			if (cfa & 7 || cfa < stack + 8 || cfa > limit ||
			    cfa - stack < known->base_below)
				break;
		} else if (cfa > limit) {
			break;
		}
		if (known->base_below) {
			saved = cfa - known->base_below;
			next_base = load_word(saved);
		}
		next = load_return_address(cfa - 8);
		if (!next)
			break;
		fresh->frames[count] = frame;
		fresh->stack[count] = stack;
		fresh->base[count] = base;
		fresh->saved[count] = saved;
		count++;
		frame = next;
		stack = cfa;
		base = next_base;
	}
	if (stack != walk->state.stack)
		walk->state = (struct inject_stack_state){ frame, stack, base, false };
	walk->count = count;
	walk->kept = next_kept;
	return is_kept;
}

static uint64_t look_again(struct inject_stack_thread *thread, uint64_t salt, uint64_t rule,
			   const struct inject_stack_state *state)
{
	if (++thread->refused % AGAIN)
		return rule;
	return inject_rule_make(state->frame, salt, state->interrupted);
}

/* How a step ended. */
enum outcome {
	GOES_ON,
	CUT,	   /* the stack goes on, the walk does not */
	WHOLE,	   /* there is no other frame */
	OUTERMOST, /* as the rule of this one's address says */
};

/* Any frame, by any rule. */
static NO_SANITIZER enum outcome walk_step(struct inject_stack_thread *thread, struct walk *walk)
{
	struct inject_stack_frames *fresh = &thread->fresh;
	struct inject_stack_state *state = &walk->state;
	uint64_t rule = inject_rule_find(state->frame, walk->salt);
	uint64_t kind;

	if (INJECT_STACK_UNLIKELY(!rule))
		rule = inject_rule_make(state->frame, walk->salt, state->interrupted);
	kind = rule & INJECT_RULE_KIND;
	if (INJECT_STACK_UNLIKELY(kind >= INJECT_RULE_STOP)) {
		rule = look_again(thread, walk->salt, rule, state);
		kind = rule & INJECT_RULE_KIND;
	}
	if (kind == INJECT_RULE_BAD && walk->count)
		return CUT;

	fresh->frames[walk->count] = state->frame;
	fresh->stack[walk->count] = state->stack;
	fresh->base[walk->count] = state->base;
	fresh->saved[walk->count] = INJECT_STACK_UNKEPT;
	walk->count++;
	if (kind == INJECT_RULE_END)
		return OUTERMOST;
	if (kind > INJECT_RULE_END)
		return kind == INJECT_RULE_STOP && rule & INJECT_RULE_GUESS && !state->base ?
			       WHOLE :
			       CUT;
	if (walk->count == walk->room)
		return CUT;
	if (INJECT_STACK_LIKELY(walk->limit != state->stack) &&
	    INJECT_STACK_LIKELY(step_by_rule(thread, walk->count - 1, rule, walk->limit, state))) {
		state->interrupted = false;
	} else {
		if (!inject_stack_step(thread, walk->count - 1, rule, walk->salt, state))
			return CUT;
		if (state->frame)
			walk->limit = limit_at(thread, state->stack);
	}
	return state->frame ? GOES_ON : WHOLE;
}

/* How many of the outermost fresh frames, all there are, are what is kept. */
static unsigned int count_same(const struct inject_stack_thread *thread, unsigned int count)
{
	const struct inject_stack_frames *kept = &thread->kept;
	const struct inject_stack_frames *fresh = &thread->fresh;
	unsigned int most = count < thread->count ? count : thread->count;
	unsigned int same = 0;

	while (same < most && fresh->frames[count - 1 - same] == kept->frames[END - 1 - same] &&
	       fresh->stack[count - 1 - same] == kept->stack[END - 1 - same])
		same++;
	return same;
}

/* The walk is at its end: its frames are kept. */
static void keep_frames(struct inject_stack_thread *thread, const struct walk *walk, bool is_cut)
{
	unsigned int count = walk->count;
	uint64_t end;

	if (walk->same) {
		thread->same = walk->same;
	} else {
		/* Where the last frame ends is known by the rule's step, if there was one. */
		end = walk->state.stack > thread->fresh.stack[count - 1] ? walk->state.stack :
									   walk->limit;
		thread->same = thread->truncated == is_cut && thread->kept.stack[END] == end ?
				       count_same(thread, count) :
				       0;
		thread->kept.stack[END] = end;
		thread->truncated = is_cut;
	}
	copy_frames(&thread->kept, END - walk->same - count, &thread->fresh, 0, count);
	thread->count = walk->same + count;
}

static void walk_stack(struct inject_stack_thread *thread, unsigned int room)
{
	const struct inject_stack_registers *registers = &thread->registers;
	struct walk walk = {
		.state = { registers->rip, registers->rsp, registers->rbp, false },
		.room = room,
		.salt = inject_stack_salt(),
		.limit = limit_at(thread, registers->rsp),
	};
	enum outcome outcome = GOES_ON;
	bool own = walk.limit != walk.state.stack;

	thread->kept.stack[END + 1] = ~0ull;
	walk.kept = thread->own && own && thread->salt == walk.salt ? END - thread->count : END + 1;
	if (thread->salt != walk.salt || !thread->known_count)
		forget_known(thread);
	thread->salt = walk.salt;
	thread->switches = 0;
	thread->readable_low = 0;
	thread->readable_high = 0;

	while (outcome == GOES_ON) {
		if (walk.limit != walk.state.stack && walk_by_rules(thread, &walk)) {
			take_kept(thread, &walk);
			if (walk.same)
				break;
		}
		outcome = walk_step(thread, &walk);
		own = own && walk.limit != walk.state.stack;
	}
	if (!walk.same)
		thread->has_end = outcome == OUTERMOST;
	keep_frames(thread, &walk, outcome == CUT);
	thread->own = own;
}

/* Returns with the thread's walk done and marked busy, or NULL. */
static struct inject_stack_thread *begin_walk(unsigned int room,
					      const struct inject_stack_registers *registers)
{
	struct inject_stack_thread *thread = inject_stack_thread();

	if (INJECT_STACK_UNLIKELY(!thread)) {
		if (!inject_rule_table)
			return NULL;
		thread = inject_stack_thread_new();
		if (!thread)
			return NULL;
	}
	if (INJECT_STACK_UNLIKELY(atomic_load_explicit(&thread->busy, memory_order_relaxed) ||
				  !room))
		return NULL;
	atomic_store_explicit(&thread->busy, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	thread->registers = *registers;
	thread->walk++;
	walk_stack(thread, room < INJECT_STACK_WALK_MAX ? room : INJECT_STACK_WALK_MAX);
	return thread;
}

static void end_walk(struct inject_stack_thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&thread->busy, false, memory_order_relaxed);
}

bool inject_stack_walk_view_from(struct inject_stack_view *view, unsigned int room,
				 const struct inject_stack_registers *registers)
{
	struct inject_stack_thread *thread = begin_walk(room, registers);

	if (!thread)
		return false;
	*view = (struct inject_stack_view){ .frames = thread->kept.frames + (END - thread->count),
					    .stack = thread->kept.stack + (END - thread->count),
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
 * the registers are taken in front of it, and are its third argument.
 */
__attribute__((naked)) bool inject_stack_walk_view(struct inject_stack_view *view
						   __attribute__((unused)),
						   unsigned int room __attribute__((unused)))
{
	__asm__("sub $72, %rsp\n\t.cfi_adjust_cfa_offset 72\n\t"
		"mov %rbx, 0(%rsp)\n\tmov %rbp, 8(%rsp)\n\tmov %r12, 16(%rsp)\n\t"
		"mov %r13, 24(%rsp)\n\tmov %r14, 32(%rsp)\n\tmov %r15, 40(%rsp)\n\t"
		"lea 80(%rsp), %rax\n\tmov %rax, 48(%rsp)\n\t"
		"mov 72(%rsp), %rax\n\tmov %rax, 56(%rsp)\n\t"
		"mov %rsp, %rdx\n\tcall inject_stack_walk_view_from\n\t"
		"add $72, %rsp\n\t.cfi_adjust_cfa_offset -72\n\tret");
}

#else

/* With frame pointers: that of the caller is at ours, its return address behind that. */
__attribute__((noinline)) bool inject_stack_walk_view(struct inject_stack_view *view,
						      unsigned int room)
{
	const struct inject_stack_registers registers = {
		.rbp = *(const uint64_t *)__builtin_frame_address(0),
		.rsp = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 16,
		.rip = (uint64_t)(uintptr_t)__builtin_extract_return_addr(
			__builtin_return_address(0)),
	};

	return inject_stack_walk_view_from(view, room, &registers);
}

#endif

bool inject_stack_init(void)
{
	static bool done;

	if (done)
		return true;
	inject_stack_loader_init();
	inject_stack_module_init();
	done = inject_stack_thread_init() && inject_rule_init();
	/* The main thread's bounds cost memory and a file: better now than in its first walk. */
	if (done && !inject_stack_thread())
		inject_stack_thread_new();
	return done;
}

void inject_stack_forked(void)
{
	inject_rule_forked();
}
