// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Steps that are rare: on stacks that are not the thread's own, from one stack
 * to another, through signal frames, by registers other than rsp and rbp.
 */
#include <errno.h>

#include "rule.h"

/* A frame larger than this is none. */
#define FRAME_MAX (64ull << 20)
/* Stacks that one walk may go through: that of a signal handler, of a coroutine, the thread's. */
#define SWITCHES_MAX 8

/* May the walk go on there? Upwards, or a few times anywhere. */
static bool may_go_to(struct gpumon_stack_thread *thread, uint64_t from, uint64_t to, bool switches)
{
	if (to & 7 || to >= GPUMON_STACK_USER_END)
		return false;
	if (to > from && to - from <= FRAME_MAX)
		return true;
	return switches && ++thread->switches <= SWITCHES_MAX;
}

static bool step_rule(struct gpumon_stack_thread *thread, uint64_t rule,
		      struct gpumon_stack_state *state)
{
	uint64_t kind = rule & GPUMON_RULE_KIND;
	uint64_t base = state->base;
	uint64_t frame;
	uint64_t cfa;

	if (rule & GPUMON_RULE_GUESS && !base) {
		state->frame = 0;
		return true;
	}
	if (kind == GPUMON_RULE_RSP)
		cfa = state->stack;
	else if (kind == GPUMON_RULE_RBP)
		cfa = base;
	else if (!gpumon_stack_load(thread, base + (uint64_t)gpumon_rule_displacement(rule), &cfa))
		return false;
	cfa += (uint64_t)gpumon_rule_offset(rule);
	if (!may_go_to(thread, state->stack, cfa,
		       kind != GPUMON_RULE_RSP && !(rule & GPUMON_RULE_GUESS)) ||
	    !gpumon_stack_load(thread, cfa - 8, &frame))
		return false;
	if (rule & GPUMON_RULE_BASE_CFA &&
	    !gpumon_stack_load(thread, cfa + (uint64_t)gpumon_rule_base_offset(rule), &base))
		return false;
	if (rule & GPUMON_RULE_BASE_RBP &&
	    !gpumon_stack_load(thread, base + (uint64_t)gpumon_rule_base_offset(rule), &base))
		return false;
	*state =
		(struct gpumon_stack_state){ gpumon_return_address(frame), cfa, base, false };
	return true;
}

#ifdef __x86_64__

/* A value of the caller, from the row. False also where there is none. */
static bool recover_register(struct gpumon_cfi_context *context,
			     const struct gpumon_cfi_value *value, uint64_t number, uint64_t cfa,
			     uint64_t *result)
{
	uint64_t address;

	switch (value->how) {
	case GPUMON_CFI_SAME:
		return gpumon_stack_register(context, number, result);
	case GPUMON_CFI_OFFSET:
		return gpumon_stack_load(context->thread, cfa + (uint64_t)value->offset, result);
	case GPUMON_CFI_VALUE_OFFSET:
		*result = cfa + (uint64_t)value->offset;
		return true;
	case GPUMON_CFI_REGISTER:
		return gpumon_stack_register(context, (uint64_t)value->offset, result);
	case GPUMON_CFI_EXPRESSION:
		return gpumon_cfi_evaluate(value, context, &cfa, &address) &&
		       gpumon_stack_load(context->thread, address, result);
	case GPUMON_CFI_VALUE_EXPRESSION:
		return gpumon_cfi_evaluate(value, context, &cfa, result);
	default:
		return false;
	}
}

static void begin_context(struct gpumon_cfi_context *context, struct gpumon_stack_thread *thread,
			  unsigned int index, uint64_t salt)
{
	context->thread = thread;
	context->index = index;
	context->salt = salt;
	context->registers[GPUMON_DWARF_RSP] = thread->fresh.stack[index];
	context->registers[GPUMON_DWARF_RBP] = thread->fresh.base[index];
	context->registers[GPUMON_DWARF_RIP] = thread->fresh.frames[index];
	context->known = 1u << GPUMON_DWARF_RSP | 1u << GPUMON_DWARF_RBP | 1u << GPUMON_DWARF_RIP;
}

/* At the begin of the walk */
static bool initial_register(const struct gpumon_stack_registers *registers, uint64_t number,
			     uint64_t *value)
{
	const uint64_t *kept = &registers->r12;

	if (number == GPUMON_DWARF_RBX)
		*value = registers->rbx;
	else if (number >= GPUMON_DWARF_R12 && number <= GPUMON_DWARF_R15)
		*value = kept[number - GPUMON_DWARF_R12];
	else
		return false;
	return true;
}

bool gpumon_stack_register(struct gpumon_cfi_context *context, uint64_t number, uint64_t *value)
{
	struct gpumon_cfi_context inner;
	struct gpumon_cfi_row row;
	uint64_t cfa;

	if (number >= GPUMON_DWARF_REGISTERS)
		return false;
	if (context->known >> number & 1) {
		*value = context->registers[number];
		return true;
	}
	/*
	 * Only rsp and rbp are followed through the walk. Any other register is where the last
	 * function saved it that did, of those that the walk has come through.
	 */
	for (unsigned int i = context->index; i-- > 0;) {
		if (!gpumon_rule_row(context->thread->fresh.frames[i], context->salt, &row))
			return false;
		if (row.registers[number].how == GPUMON_CFI_SAME)
			continue;
		begin_context(&inner, context->thread, i, context->salt);
		/* The frame's CFA is where its caller's stack begins, but in a signal frame. */
		cfa = context->thread->fresh.stack[i + 1];
		if (row.registers[number].how == GPUMON_CFI_REGISTER ||
		    !recover_register(&inner, &row.registers[number], number, cfa, value))
			return false;
		goto found;
	}
	if (!initial_register(&context->thread->registers, number, value))
		return false;
found:
	context->registers[number] = *value;
	context->known |= 1u << number;
	return true;
}

static bool step_row(struct gpumon_stack_thread *thread, unsigned int index, uint64_t salt,
		     struct gpumon_stack_state *state)
{
	struct gpumon_stack_state next = { .base = state->base };
	struct gpumon_cfi_context context;
	struct gpumon_cfi_row row;
	uint64_t cfa;

	if (!gpumon_rule_row(state->frame, salt, &row))
		return false;
	begin_context(&context, thread, index, salt);
	if (state->interrupted)
		context.registers[GPUMON_DWARF_RIP]--;
	if (row.cfa_expression) {
		if (!gpumon_cfi_evaluate(&row.cfa, &context, NULL, &cfa))
			return false;
	} else {
		if (!gpumon_stack_register(&context, row.cfa_register, &cfa))
			return false;
		cfa += (uint64_t)row.cfa.offset;
	}
	if (row.registers[GPUMON_DWARF_RIP].how == GPUMON_CFI_SAME)
		return false;
	if (row.registers[GPUMON_DWARF_RIP].how == GPUMON_CFI_UNDEFINED) {
		state->frame = 0;
		return true;
	}
	next.stack = cfa;
	if (row.registers[GPUMON_DWARF_RSP].how != GPUMON_CFI_SAME &&
	    !recover_register(&context, &row.registers[GPUMON_DWARF_RSP], GPUMON_DWARF_RSP, cfa,
			      &next.stack))
		return false;
	if (!may_go_to(thread, state->stack, next.stack, true) ||
	    !recover_register(&context, &row.registers[GPUMON_DWARF_RIP], GPUMON_DWARF_RIP, cfa,
			      &next.frame))
		return false;
	if (row.registers[GPUMON_DWARF_RBP].how != GPUMON_CFI_UNDEFINED &&
	    !recover_register(&context, &row.registers[GPUMON_DWARF_RBP], GPUMON_DWARF_RBP, cfa,
			      &next.base))
		return false;
	next.interrupted = row.signal;
	if (row.signal)
		next.frame++;
	*state = next;
	return true;
}

#else

bool gpumon_stack_register(struct gpumon_cfi_context *context, uint64_t number, uint64_t *value)
{
	(void)context;
	(void)number;
	(void)value;
	return false;
}

static bool step_row(struct gpumon_stack_thread *thread, unsigned int index, uint64_t salt,
		     struct gpumon_stack_state *state)
{
	(void)thread;
	(void)index;
	(void)salt;
	(void)state;
	return false;
}

#endif

bool gpumon_stack_step(struct gpumon_stack_thread *thread, unsigned int index, uint64_t rule,
		       uint64_t salt, struct gpumon_stack_state *state)
{
	int kept = errno;
	bool done;

	if ((rule & GPUMON_RULE_KIND) != GPUMON_RULE_ROW)
		return step_rule(thread, rule, state);
	if (!gpumon_rule_lock())
		return false;
	done = step_row(thread, index, salt, state);
	gpumon_rule_unlock();
	errno = kept;
	return done;
}
