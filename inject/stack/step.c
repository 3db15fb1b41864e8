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
static bool may_go_to(struct inject_stack_thread *thread, uint64_t from, uint64_t to, bool switches)
{
	if (to & 7 || to >= INJECT_STACK_USER_END)
		return false;
	if (to > from && to - from <= FRAME_MAX)
		return true;
	return switches && ++thread->switches <= SWITCHES_MAX;
}

/* Of another thread that is blocked two are known, and those that a function has saved. */
static bool lacks_registers(const struct inject_stack_thread *thread)
{
	return thread->copy && !thread->has_registers;
}

static bool has_no_base(const struct inject_stack_thread *thread, uint64_t base)
{
	return lacks_registers(thread) && base == INJECT_STACK_NO_BASE;
}

static bool step_rule(struct inject_stack_thread *thread, uint64_t rule,
		      struct inject_stack_state *state)
{
	uint64_t kind = rule & INJECT_RULE_KIND;
	uint64_t base = state->base;
	uint64_t frame;
	uint64_t cfa;

	if (has_no_base(thread, base) &&
	    (kind != INJECT_RULE_RSP || rule & (INJECT_RULE_GUESS | INJECT_RULE_BASE_RBP)))
		return false;
	if (rule & INJECT_RULE_GUESS && !base) {
		state->frame = 0;
		return true;
	}
	if (kind == INJECT_RULE_RSP)
		cfa = state->stack;
	else if (kind == INJECT_RULE_RBP)
		cfa = base;
	else if (!inject_stack_load(thread, base + (uint64_t)inject_rule_displacement(rule), &cfa))
		return false;
	cfa += (uint64_t)inject_rule_offset(rule);
	if (!may_go_to(thread, state->stack, cfa,
		       kind != INJECT_RULE_RSP && !(rule & INJECT_RULE_GUESS)) ||
	    !inject_stack_load(thread, cfa - 8, &frame))
		return false;
	if (rule & INJECT_RULE_BASE_CFA &&
	    !inject_stack_load(thread, cfa + (uint64_t)inject_rule_base_offset(rule), &base))
		return false;
	if (rule & INJECT_RULE_BASE_RBP &&
	    !inject_stack_load(thread, base + (uint64_t)inject_rule_base_offset(rule), &base))
		return false;
	*state = (struct inject_stack_state){ gpumon_return_address(frame), cfa, base, false };
	return true;
}

#ifdef __x86_64__

static bool load_register(struct inject_cfi_context *context, uint64_t number, uint64_t *value);

/* A value of the caller, from the row. False also where there is none. */
static bool recover_register(struct inject_cfi_context *context,
			     const struct inject_cfi_value *value, uint64_t number, uint64_t cfa,
			     uint64_t *result)
{
	uint64_t address;

	switch (value->how) {
	case INJECT_CFI_SAME:
		return load_register(context, number, result);
	case INJECT_CFI_OFFSET:
		return inject_stack_load(context->thread, cfa + (uint64_t)value->offset, result);
	case INJECT_CFI_VALUE_OFFSET:
		*result = cfa + (uint64_t)value->offset;
		return true;
	case INJECT_CFI_REGISTER:
		return load_register(context, (uint64_t)value->offset, result);
	case INJECT_CFI_EXPRESSION:
		return inject_cfi_evaluate(value, context, &cfa, &address) &&
		       inject_stack_load(context->thread, address, result);
	case INJECT_CFI_VALUE_EXPRESSION:
		return inject_cfi_evaluate(value, context, &cfa, result);
	default:
		return false;
	}
}

static void begin_context(struct inject_cfi_context *context, struct inject_stack_thread *thread,
			  unsigned int index, uint64_t salt)
{
	context->thread = thread;
	context->index = index;
	context->salt = salt;
	context->load = load_register;
	context->registers[INJECT_DWARF_RSP] = thread->fresh.stack[index];
	context->registers[INJECT_DWARF_RBP] = thread->fresh.base[index];
	context->registers[INJECT_DWARF_RIP] = thread->fresh.frames[index];
	context->known = 1u << INJECT_DWARF_RSP | 1u << INJECT_DWARF_RIP;
	if (!has_no_base(thread, thread->fresh.base[index]))
		context->known |= 1u << INJECT_DWARF_RBP;
}

/* At the begin of the walk */
static bool initial_register(const struct inject_stack_registers *registers, uint64_t number,
			     uint64_t *value)
{
	const uint64_t *kept = &registers->r12;

	if (number == INJECT_DWARF_RBX)
		*value = registers->rbx;
	else if (number >= INJECT_DWARF_R12 && number <= INJECT_DWARF_R15)
		*value = kept[number - INJECT_DWARF_R12];
	else
		return false;
	return true;
}

static bool load_register(struct inject_cfi_context *context, uint64_t number, uint64_t *value)
{
	struct inject_cfi_context inner;
	struct inject_cfi_row row;
	uint64_t cfa;

	if (number >= INJECT_DWARF_REGISTERS)
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
		if (!inject_rule_row(context->thread->fresh.frames[i], context->salt, &row))
			return false;
		if (row.registers[number].how == INJECT_CFI_SAME)
			continue;
		begin_context(&inner, context->thread, i, context->salt);
		/* The frame's CFA is where its caller's stack begins, but in a signal frame. */
		cfa = context->thread->fresh.stack[i + 1];
		if (row.registers[number].how == INJECT_CFI_REGISTER ||
		    !recover_register(&inner, &row.registers[number], number, cfa, value))
			return false;
		goto found;
	}
	if (lacks_registers(context->thread) ||
	    !initial_register(&context->thread->registers, number, value))
		return false;
found:
	context->registers[number] = *value;
	context->known |= 1u << number;
	return true;
}

static bool step_row(struct inject_stack_thread *thread, unsigned int index, uint64_t salt,
		     struct inject_stack_state *state)
{
	struct inject_stack_state next = { .base = state->base };
	struct inject_cfi_context context;
	struct inject_cfi_row row;
	uint64_t cfa;

	if (!inject_rule_row(state->frame, salt, &row))
		return false;
	begin_context(&context, thread, index, salt);
	if (state->interrupted)
		context.registers[INJECT_DWARF_RIP]--;
	if (row.cfa_expression) {
		if (!inject_cfi_evaluate(&row.cfa, &context, NULL, &cfa))
			return false;
	} else {
		if (!load_register(&context, row.cfa_register, &cfa))
			return false;
		cfa += (uint64_t)row.cfa.offset;
	}
	if (row.registers[INJECT_DWARF_RIP].how == INJECT_CFI_SAME)
		return false;
	if (row.registers[INJECT_DWARF_RIP].how == INJECT_CFI_UNDEFINED) {
		state->frame = 0;
		return true;
	}
	next.stack = cfa;
	if (row.registers[INJECT_DWARF_RSP].how != INJECT_CFI_SAME &&
	    !recover_register(&context, &row.registers[INJECT_DWARF_RSP], INJECT_DWARF_RSP, cfa,
			      &next.stack))
		return false;
	if (!may_go_to(thread, state->stack, next.stack, true) ||
	    !recover_register(&context, &row.registers[INJECT_DWARF_RIP], INJECT_DWARF_RIP, cfa,
			      &next.frame))
		return false;
	if (row.registers[INJECT_DWARF_RBP].how != INJECT_CFI_UNDEFINED &&
	    !recover_register(&context, &row.registers[INJECT_DWARF_RBP], INJECT_DWARF_RBP, cfa,
			      &next.base)) {
		if (!lacks_registers(thread))
			return false;
		next.base = INJECT_STACK_NO_BASE;
	}
	next.interrupted = row.signal;
	if (row.signal)
		next.frame++;
	*state = next;
	return true;
}

#else

static bool step_row(struct inject_stack_thread *thread, unsigned int index, uint64_t salt,
		     struct inject_stack_state *state)
{
	(void)thread;
	(void)index;
	(void)salt;
	(void)state;
	return false;
}

#endif

bool inject_stack_step(struct inject_stack_thread *thread, unsigned int index, uint64_t rule,
		       uint64_t salt, struct inject_stack_state *state)
{
	int kept = errno;
	bool done;

	if ((rule & INJECT_RULE_KIND) != INJECT_RULE_ROW)
		return step_rule(thread, rule, state);
	if (!inject_rule_lock())
		return false;
	inject_stack_foreign = (struct inject_stack_foreign){ .is_foreign = thread->copy };
	done = step_row(thread, index, salt, state);
	inject_stack_foreign.is_foreign = false;
	inject_rule_unlock();
	errno = kept;
	return done;
}
