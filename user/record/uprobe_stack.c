// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "abi/instructions.h"
#include "abi/return_address.h"
#include "uprobe_rule.h"
#include "uprobe_stack.h"

/* Copies memory page by page, up to the first one that is none. Returns how much. */
static uint64_t copy_memory(struct gpumon_uprobe_walker *walker, uint64_t address, void *to,
			    uint64_t size)
{
	struct iovec there[UPROBE_COPY_PAGES + 2];
	const struct iovec here = { to, size };
	unsigned int count = 0;
	ssize_t got;

	for (uint64_t at = address; at < address + size; count++) {
		uint64_t end = (at | (UPROBE_PAGE - 1)) + 1;

		if (end > address + size)
			end = address + size;
		there[count] = (struct iovec){ (void *)(uintptr_t)at, end - at };
		at = end;
	}
	got = process_vm_readv(walker->process->pid, &here, 1, there, count, 0);
	if (got < 0 && errno != EFAULT && errno != ESRCH)
		walker->refused = -errno;
	return got > 0 ? (uint64_t)got : 0;
}

/* Words are read at ever higher addresses, so what is below is not needed any more. */
static bool load_word(struct gpumon_uprobe_walker *walker, uint64_t address, uint64_t *word)
{
	uint64_t end = (address & ~(uint64_t)(UPROBE_PAGE - 1)) + UPROBE_COPY_MAX;

	if (address > UINT64_MAX - 2 * UPROBE_COPY_MAX)
		return false;
	if (address < walker->start || address + sizeof(*word) > walker->start + walker->bytes) {
		walker->start = address;
		walker->bytes = copy_memory(walker, address, walker->memory, end - address);
		if (walker->bytes < sizeof(*word))
			return false;
	}
	memcpy(word, walker->memory + (address - walker->start), sizeof(*word));
	return true;
}

static bool copy_code(void *data, uint64_t address, void *to, size_t size)
{
	return size <= UPROBE_COPY_MAX && address < UINT64_MAX - size &&
	       copy_memory(data, address, to, size) == size;
}

/*
 * The frame pointer of a function that keeps one, where nobody has saved it: the instructions behind the one that has
 * set it say how far it is from the stack pointer (abi/instructions.c). It is right if behind it there is a return
 * address of a call of this function. Where it is one of a call by a pointer, the walk has to come to the end of the
 * stack as well.
 */
static enum gpumon_code_call find_fp(struct gpumon_uprobe_walker *walker, uint64_t pc, uint64_t sp,
				     uint64_t *fp)
{
	const struct gpumon_code_reader reader = { copy_code, walker };
	uint64_t start, set = gpumon_uprobe_base_set(walker->process, pc, &start), size, ra;

	if (!set || !gpumon_code_frame_size(&reader, set, pc, &size) ||
	    !load_word(walker, sp + size + sizeof(ra), &ra))
		return GPUMON_CODE_NO_CALL;
	*fp = sp + size;
	return gpumon_code_call_to(&reader, gpumon_return_address(ra), start);
}

/**
 * struct place - where a walk is
 * @has_fp: @fp is known
 * @is_guessed: the last @fp is right only if the walk comes to the end of the stack
 */
struct place {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	bool has_fp;
	bool is_guessed;
};

/* Goes to the frame of the caller. False: it is not known; @is_whole: there is none. */
static bool step_outward(struct gpumon_uprobe_walker *walker, struct place *at, bool *is_whole)
{
	struct uprobe_rule rule;
	enum gpumon_code_call call;
	uint64_t cfa, ra;

	at->is_guessed = false;
	(void)gpumon_uprobe_rule(walker->process, at->pc, &rule);
	*is_whole = rule.kind == UPROBE_RULE_END;
	if (rule.kind == UPROBE_RULE_END || rule.kind == UPROBE_RULE_NONE)
		return false;
	if (rule.kind == UPROBE_RULE_FP && !at->has_fp) {
		call = find_fp(walker, at->pc, at->sp, &at->fp);
		if (call == GPUMON_CODE_NO_CALL)
			return false;
		at->is_guessed = call == GPUMON_CODE_ANY_CALL;
		/* What is below may have been left behind for that. */
		at->has_fp = true;
	}
	cfa = (rule.kind == UPROBE_RULE_SP ? at->sp : at->fp) + (uint64_t)(int64_t)rule.cfa;
	if (cfa <= at->sp || !load_word(walker, cfa + (uint64_t)(int64_t)rule.ra, &ra))
		return false;
	if (rule.fp != UPROBE_FP_SAME)
		at->has_fp = load_word(walker, cfa + (uint64_t)(int64_t)rule.fp, &at->fp);
	at->sp = cfa;
	at->pc = gpumon_return_address(ra);
	*is_whole = !at->pc;
	return at->pc;
}

bool gpumon_uprobe_walk(struct gpumon_uprobe_walker *walker, uint64_t pc, uint64_t sp,
			unsigned int depth, struct uprobe_stack *stack)
{
	struct place at = { .pc = pc, .sp = sp };
	uint32_t certain = 0;
	bool is_whole = false;
	uint64_t word;

	walker->bytes = 0;
	stack->count = 0;
	stack->flags = 0;
	if (!load_word(walker, sp, &word))
		return false;
	do {
		stack->frames[stack->count++] = at.pc;
		if (stack->count == depth) {
			(void)step_outward(walker, &at, &is_whole);
			break;
		}
		if (!step_outward(walker, &at, &is_whole))
			break;
		if (at.is_guessed && !certain)
			certain = stack->count;
	} while (true);
	if (certain && !is_whole)
		stack->count = certain;
	if (!is_whole)
		stack->flags |= UPROBE_TRUNCATED;
	return true;
}
