// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Walks of other threads' stacks, by the rules and steps of a thread's own ones. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../user/abi/instructions.h"
#include "base/prepared.h"
#include "other.h"
#include "rule.h"

#define PAGE 4096ull

/* Copies of pages that one walk has at once, and how many are made with the first: of the stack, and of others. */
#define PAGES	    64
#define PAGES_AHEAD 4
#define PAGES_AGAIN 28

/**
 * struct inject_stack_copy - pages of memory as they were
 * @pid: of this process
 * @count: pages
 * @next: the one to be replaced next, where all are used
 * @last: where the last word was found
 * @is_refused: the kernel makes no copies
 * @stack: address of what is in @bytes
 * @bytes: of the stack, taken at once; NULL: all is read page by page
 * @size: of these
 * @address: of each page; 1 of one that could not be copied
 * @is_used: a word of it was loaded in this walk
 * @page: what was there
 */
struct inject_stack_copy {
	pid_t pid;
	unsigned int count;
	unsigned int next;
	unsigned int last;
	bool is_refused;
	uint64_t stack;
	const uint8_t *bytes;
	uint64_t size;
	uint64_t address[PAGES];
	bool is_used[PAGES];
	uint8_t page[PAGES][PAGE];
};

/* Functions in which threads were interrupted last: there are few, and tables of others' code are slow to read. */
#define FUNCTIONS 64

struct inject_stack_function {
	uint64_t salt;
	uint64_t start;
	uint64_t end;
};

/**
 * struct inject_stack_other - for walks of other threads
 * @thread: as of a thread that walks its own stack; @copy of it is set, only its fresh frames are used
 * @copy: memory
 * @functions: of inject_stack_other_function()
 * @next: of these, the one to be replaced next
 */
struct inject_stack_other {
	struct inject_stack_thread thread;
	struct inject_stack_copy copy;
	struct inject_stack_function functions[FUNCTIONS];
	unsigned int next;
};

struct inject_stack_other *inject_stack_other_new(void)
{
	struct inject_stack_other *other;

	if (!inject_rule_table)
		return NULL;
	other = inject_memory_take(sizeof(*other));
	if (!other)
		return NULL;
	other->copy.pid = (pid_t)syscall(SYS_getpid);
	other->thread.copy = &other->copy;
	return other;
}

struct inject_stack_thread *inject_stack_other_reader(struct inject_stack_other *other)
{
	return &other->thread;
}

/* Copies the pages at addresses into the places from @place on; how many, up to the first that is none. */
static unsigned int copy_pages(struct inject_stack_copy *copy, unsigned int place,
			       unsigned int count)
{
	struct iovec there[PAGES_AHEAD + PAGES_AGAIN];
	const struct iovec here = { copy->page[place], count * PAGE };
	long got;

	for (unsigned int i = 0; i < count; i++)
		there[i] = (struct iovec){ (void *)(uintptr_t)copy->address[place + i], PAGE };
	got = syscall(SYS_process_vm_readv, copy->pid, &here, 1, there, count, 0);
	if (got < 0 && errno != EFAULT)
		copy->is_refused = true;
	return got > 0 ? (unsigned int)((uint64_t)got / PAGE) : 0;
}

/*
 * The first pages of the stack, and those that the last walk needed: stacks have much in common, and one
 * system call for many pages costs little more than for one.
 */
static void begin_copy(struct inject_stack_copy *copy, uint64_t stack)
{
	uint64_t first = stack & ~(PAGE - 1), again[PAGES_AGAIN];
	unsigned int count = 0;

	for (unsigned int i = 0; i < copy->count && count < PAGES_AGAIN; i++)
		if (copy->is_used[i] && copy->address[i] - first >= PAGES_AHEAD * PAGE)
			again[count++] = copy->address[i];
	for (unsigned int i = 0; i < PAGES_AHEAD; i++)
		copy->address[i] = first + i * PAGE;
	memcpy(copy->address + PAGES_AHEAD, again, count * sizeof(again[0]));
	memset(copy->is_used, 0, sizeof(copy->is_used));
	copy->bytes = NULL;
	copy->last = 0;
	copy->next = 0;
	copy->count = copy_pages(copy, 0, PAGES_AHEAD + count);
}

bool inject_stack_copy_load(struct inject_stack_copy *copy, uint64_t address, uint64_t *value)
{
	uint64_t page = address & ~(PAGE - 1);
	unsigned int at = copy->last;

	/* Whatever else there is, is of a later time. */
	if (copy->bytes) {
		if (address < copy->stack || address - copy->stack > copy->size - sizeof(*value))
			return false;
		memcpy(value, copy->bytes + (address - copy->stack), sizeof(*value));
		return true;
	}
	if (at >= copy->count || copy->address[at] != page) {
		for (at = 0; at < copy->count && copy->address[at] != page; at++)
			;
	}
	if (at == copy->count) {
		if (copy->count == PAGES)
			at = copy->next++ % PAGES;
		/* What is there is gone, whether another page comes or not. */
		copy->address[at] = page;
		if (copy->is_refused || !copy_pages(copy, at, 1)) {
			copy->address[at] = 1;
			return false;
		}
		copy->count += at == copy->count;
	}
	copy->last = at;
	copy->is_used[at] = true;
	memcpy(value, copy->page[at] + (address & (PAGE - 1)), sizeof(*value));
	return true;
}

/* push %rbp; mov %rsp, %rbp: where all is that such a function has put on its stack. */
#define FRAME_POINTER (INJECT_RULE_RBP | INJECT_RULE_BASE_CFA | (2u << 8) | (0xfffeull << 32))

static bool copy_code(void *data, uint64_t address, void *to, size_t size)
{
	(void)data;
	return inject_stack_copy_foreign(address, to, size);
}

/*
 * rbp of a function that keeps a frame pointer, where nobody has saved it: the instructions behind the one that has
 * set it say how far it is from rsp (user/abi/instructions.c). It is right if behind it there is a return address of
 * a call of this function. Where it is one of a call by a pointer, the walk has to come to the end of the stack as
 * well.
 */
static enum gpumon_code_call find_base(struct inject_stack_other *other, uint64_t salt,
				       struct inject_stack_state *state)
{
	const struct gpumon_code_reader reader = { copy_code, NULL };
	enum gpumon_code_call call = GPUMON_CODE_NO_CALL;
	struct inject_cfi_row row;
	uint64_t size, outward, back;

	if (!inject_rule_lock())
		return GPUMON_CODE_NO_CALL;
	inject_stack_foreign = (struct inject_stack_foreign){ .is_foreign = true };
	if (inject_rule_row(state->frame, salt, &row) &&
	    gpumon_code_frame_size(&reader, row.base_set, state->frame, &size) &&
	    inject_stack_load(&other->thread, state->stack + size, &outward) &&
	    inject_stack_load(&other->thread, state->stack + size + 8, &back))
		call = gpumon_code_call_to(&reader, gpumon_return_address(back), row.start);
	inject_stack_foreign.is_foreign = false;
	inject_rule_unlock();
	if (call)
		state->base = state->stack + size;
	return call;
}

/* Goes to the frame of the caller. False: there is none that is known; @is_whole: there is none at all. */
static bool step_outward(struct inject_stack_thread *thread, unsigned int index, uint64_t rule,
			 uint64_t salt, struct inject_stack_state *state, bool *is_whole)
{
	uint64_t kind = rule & INJECT_RULE_KIND;

	*is_whole = kind == INJECT_RULE_END ||
		    (kind == INJECT_RULE_STOP && rule & INJECT_RULE_GUESS && !state->base);
	if (kind >= INJECT_RULE_END || !inject_stack_step(thread, index, rule, salt, state))
		return false;
	*is_whole = !state->frame;
	return state->frame;
}

static bool walk_from(struct inject_stack_other *other, struct inject_stack_state state,
		      unsigned int room, struct inject_stack_view *view)
{
	struct inject_stack_thread *thread = &other->thread;
	struct inject_stack_frames *fresh = &thread->fresh;
	uint64_t salt = inject_stack_salt(), rule;
	unsigned int count = 0, certain = 0;
	bool is_whole = false, goes_on = true;

	if (room > INJECT_STACK_WALK_MAX)
		room = INJECT_STACK_WALK_MAX;
	thread->switches = 0;
	while (goes_on && count < room) {
		rule = inject_rule_find(state.frame, salt);
		if (!rule)
			rule = inject_rule_make_foreign(state.frame, salt, state.interrupted);
		if ((rule & INJECT_RULE_KIND) == INJECT_RULE_BAD)
			break;
		if (rule == FRAME_POINTER && state.base == INJECT_STACK_NO_BASE &&
		    find_base(other, salt, &state) == GPUMON_CODE_ANY_CALL && !certain)
			certain = count + 1;
		fresh->frames[count] = state.frame;
		fresh->stack[count] = state.stack;
		fresh->base[count] = state.base;
		count++;
		/* A function that was interrupted anywhere may not have its frame pointer yet. */
		if (state.interrupted && thread->has_registers && rule & INJECT_RULE_GUESS)
			break;
		goes_on = step_outward(thread, count - 1, rule, salt, &state, &is_whole);
	}
	if (!count)
		return false;
	fresh->stack[count] = state.stack > fresh->stack[count - 1] ? state.stack : UINT64_MAX;
	if (certain && !is_whole)
		count = certain;
	*view = (struct inject_stack_view){ .frames = fresh->frames,
					    .stack = fresh->stack,
					    .count = count,
					    .truncated = !is_whole };
	return true;
}

bool inject_stack_other_walk(struct inject_stack_other *other, uint64_t code, uint64_t stack,
			     bool in_call, unsigned int room, struct inject_stack_view *view)
{
	/* Not called by anything that is in front of it, as where a signal came. */
	struct inject_stack_state state = { in_call ? code : code + 1, stack, INJECT_STACK_NO_BASE,
					    true };

	other->thread.has_registers = false;
	begin_copy(&other->copy, stack);
	return other->copy.count && walk_from(other, state, room, view);
}

bool inject_stack_other_walk_copy(struct inject_stack_other *other,
				  const struct inject_stack_registers *registers, const void *bytes,
				  size_t size, unsigned int room, struct inject_stack_view *view)
{
	struct inject_stack_state state = { registers->rip + 1, registers->rsp, registers->rbp,
					    true };

	if (size < sizeof(uint64_t))
		return false;
	other->thread.has_registers = true;
	other->thread.registers = *registers;
	other->copy.stack = registers->rsp;
	other->copy.bytes = bytes;
	other->copy.size = size;
	return walk_from(other, state, room, view);
}

uint64_t inject_stack_other_function(struct inject_stack_other *other, uint64_t code)
{
	struct inject_stack_function *known = other->functions, *last = known + FUNCTIONS;
	uint64_t salt = inject_stack_salt();
	struct inject_cfi_row row = { .end = 0 };

	while (known < last && (known->salt != salt || code < known->start || code >= known->end))
		known++;
	if (known < last)
		return known->start;
	if (!inject_rule_lock())
		return code;
	inject_stack_foreign = (struct inject_stack_foreign){ .is_foreign = true };
	if (!inject_rule_row(code + 1, salt, &row))
		row.end = 0;
	inject_stack_foreign.is_foreign = false;
	inject_rule_unlock();
	if (code < row.start || code >= row.end)
		return code;
	other->functions[other->next++ % FUNCTIONS] =
		(struct inject_stack_function){ salt, row.start, row.end };
	return row.start;
}

bool inject_stack_other_is_refused(const struct inject_stack_other *other)
{
	return other->copy.is_refused;
}
