// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* DWARF expressions, as call frame information uses them: in PLTs, signal frames, realigned stacks. */
#include <string.h>

#include "internal.h"

#define DEPTH_MAX 32
/* Operations of one expression: some jump backwards. */
#define STEPS_MAX 1000

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

/**
 * struct evaluation - an expression being evaluated
 * @code: what is left of it
 * @begin: of it
 * @context: what it may ask
 * @stack: of values
 * @depth: of it
 * @bad: it cannot be evaluated
 */
struct evaluation {
	struct inject_cfi_cursor code;
	const uint8_t *begin;
	struct inject_cfi_context *context;
	uint64_t stack[DEPTH_MAX];
	unsigned int depth;
	bool bad;
};

static void push_value(struct evaluation *evaluation, uint64_t value)
{
	if (evaluation->depth == DEPTH_MAX)
		evaluation->bad = true;
	else
		evaluation->stack[evaluation->depth++] = value;
}

static uint64_t pop_value(struct evaluation *evaluation)
{
	if (evaluation->depth)
		return evaluation->stack[--evaluation->depth];
	evaluation->bad = true;
	return 0;
}

static void pick_value(struct evaluation *evaluation, uint64_t from_top)
{
	if (from_top >= evaluation->depth)
		evaluation->bad = true;
	else
		push_value(evaluation, evaluation->stack[evaluation->depth - 1 - from_top]);
}

static void push_register(struct evaluation *evaluation, uint64_t number)
{
	int64_t offset = inject_cfi_sleb(&evaluation->code);
	uint64_t value;

	if (evaluation->context->load(evaluation->context, number, &value))
		push_value(evaluation, value + (uint64_t)offset);
	else
		evaluation->bad = true;
}

static void load_memory(struct evaluation *evaluation, uint64_t size)
{
	uint64_t address = pop_value(evaluation);
	uint64_t word = address & ~7ull;
	uint64_t value;

	/* A stack is made of words: what lies across two of them is none. */
	if (!size || size > 8 || address - word + size > 8 || evaluation->bad ||
	    !inject_stack_load(evaluation->context->thread, word, &value)) {
		evaluation->bad = true;
		return;
	}
	value >>= (address - word) * 8;
	if (size < 8)
		value &= (1ull << (size * 8)) - 1;
	push_value(evaluation, value);
}

static void jump_if(struct evaluation *evaluation, bool taken)
{
	int64_t distance = (int16_t)inject_cfi_fixed(&evaluation->code, 2);

	if (!taken || evaluation->code.bad)
		return;
	if (distance < evaluation->begin - evaluation->code.at ||
	    distance > evaluation->code.end - evaluation->code.at)
		evaluation->bad = true;
	else
		evaluation->code.at += distance;
}

static void divide_top(struct evaluation *evaluation, bool remainder)
{
	uint64_t right = pop_value(evaluation);
	uint64_t left = pop_value(evaluation);

	if (!right || (!remainder && left == 1ull << 63 && right == ~0ull))
		evaluation->bad = true;
	else
		push_value(evaluation,
			   remainder ? left % right : (uint64_t)((int64_t)left / (int64_t)right));
}

/* Operations of two values. False: it is none of these. */
static bool compute_top(struct evaluation *evaluation, uint8_t operation)
{
	uint64_t right;
	uint64_t left;
	uint64_t value;

	if (operation == OP_DIV || operation == OP_MOD) {
		divide_top(evaluation, operation == OP_MOD);
		return true;
	}
	if (operation < OP_AND || operation > OP_NE || operation == OP_NEG || operation == OP_NOT ||
	    operation == OP_PLUS_UCONST || operation == OP_BRA)
		return false;
	right = pop_value(evaluation);
	left = pop_value(evaluation);
	switch (operation) {
	case OP_AND:
		value = left & right;
		break;
	case OP_MINUS:
		value = left - right;
		break;
	case OP_MUL:
		value = left * right;
		break;
	case OP_OR:
		value = left | right;
		break;
	case OP_PLUS:
		value = left + right;
		break;
	case OP_SHL:
		value = right < 64 ? left << right : 0;
		break;
	case OP_SHR:
		value = right < 64 ? left >> right : 0;
		break;
	case OP_SHRA:
		value = (uint64_t)((int64_t)left >> (right < 64 ? right : 63));
		break;
	case OP_XOR:
		value = left ^ right;
		break;
	case OP_EQ:
		value = left == right;
		break;
	case OP_GE:
		value = (int64_t)left >= (int64_t)right;
		break;
	case OP_GT:
		value = (int64_t)left > (int64_t)right;
		break;
	case OP_LE:
		value = (int64_t)left <= (int64_t)right;
		break;
	case OP_LT:
		value = (int64_t)left < (int64_t)right;
		break;
	default:
		value = left != right;
		break;
	}
	push_value(evaluation, value);
	return true;
}

/* Operations that put a constant on the stack. False: it is none of these. */
static bool push_constant(struct evaluation *evaluation, uint8_t operation)
{
	struct inject_cfi_cursor *code = &evaluation->code;

	switch (operation) {
	case OP_ADDR:
	case OP_CONST8U:
	case OP_CONST8S:
		push_value(evaluation, inject_cfi_fixed(code, 8));
		return true;
	case OP_CONST1U:
		push_value(evaluation, inject_cfi_fixed(code, 1));
		return true;
	case OP_CONST1S:
		push_value(evaluation, (uint64_t)(int64_t)(int8_t)inject_cfi_fixed(code, 1));
		return true;
	case OP_CONST2U:
		push_value(evaluation, inject_cfi_fixed(code, 2));
		return true;
	case OP_CONST2S:
		push_value(evaluation, (uint64_t)(int64_t)(int16_t)inject_cfi_fixed(code, 2));
		return true;
	case OP_CONST4U:
		push_value(evaluation, inject_cfi_fixed(code, 4));
		return true;
	case OP_CONST4S:
		push_value(evaluation, (uint64_t)(int64_t)(int32_t)inject_cfi_fixed(code, 4));
		return true;
	case OP_CONSTU:
		push_value(evaluation, inject_cfi_uleb(code));
		return true;
	case OP_CONSTS:
		push_value(evaluation, (uint64_t)inject_cfi_sleb(code));
		return true;
	default:
		if (operation < OP_LIT0 || operation > OP_LIT31)
			return false;
		push_value(evaluation, operation - OP_LIT0);
		return true;
	}
}

static void swap_top(struct evaluation *evaluation)
{
	uint64_t top = pop_value(evaluation);
	uint64_t next = pop_value(evaluation);

	push_value(evaluation, top);
	push_value(evaluation, next);
}

static void rotate_top(struct evaluation *evaluation)
{
	uint64_t first = pop_value(evaluation);
	uint64_t second = pop_value(evaluation);
	uint64_t third = pop_value(evaluation);

	push_value(evaluation, first);
	push_value(evaluation, third);
	push_value(evaluation, second);
}

static void run_operation(struct evaluation *evaluation, uint8_t operation)
{
	uint64_t value;

	if (push_constant(evaluation, operation) || compute_top(evaluation, operation))
		return;
	if (operation >= OP_BREG0 && operation <= OP_BREG31) {
		push_register(evaluation, operation - OP_BREG0);
		return;
	}
	switch (operation) {
	case OP_NOP:
		break;
	case OP_DEREF:
		load_memory(evaluation, 8);
		break;
	case OP_DEREF_SIZE:
		load_memory(evaluation, inject_cfi_fixed(&evaluation->code, 1));
		break;
	case OP_DUP:
		pick_value(evaluation, 0);
		break;
	case OP_DROP:
		pop_value(evaluation);
		break;
	case OP_OVER:
		pick_value(evaluation, 1);
		break;
	case OP_PICK:
		pick_value(evaluation, inject_cfi_fixed(&evaluation->code, 1));
		break;
	case OP_SWAP:
		swap_top(evaluation);
		break;
	case OP_ROT:
		rotate_top(evaluation);
		break;
	case OP_ABS:
		value = pop_value(evaluation);
		push_value(evaluation, (int64_t)value < 0 ? 0 - value : value);
		break;
	case OP_NEG:
		push_value(evaluation, 0 - pop_value(evaluation));
		break;
	case OP_NOT:
		push_value(evaluation, ~pop_value(evaluation));
		break;
	case OP_PLUS_UCONST:
		value = pop_value(evaluation);
		push_value(evaluation, value + inject_cfi_uleb(&evaluation->code));
		break;
	case OP_SKIP:
		jump_if(evaluation, true);
		break;
	case OP_BRA:
		value = pop_value(evaluation);
		jump_if(evaluation, value != 0);
		break;
	case OP_BREGX:
		value = inject_cfi_uleb(&evaluation->code);
		push_register(evaluation, value);
		break;
	default:
		evaluation->bad = true;
	}
}

bool inject_cfi_evaluate(const struct inject_cfi_value *value, struct inject_cfi_context *context,
			 const uint64_t *first, uint64_t *result)
{
	struct evaluation evaluation = {
		.code = { value->expression, value->expression + value->length, false },
		.begin = value->expression,
		.context = context,
	};

	if (first)
		push_value(&evaluation, *first);
	for (unsigned int steps = 0; evaluation.code.at < evaluation.code.end; steps++) {
		uint8_t operation = (uint8_t)inject_cfi_fixed(&evaluation.code, 1);

		run_operation(&evaluation, operation);
		if (evaluation.bad || evaluation.code.bad || steps == STEPS_MAX)
			return false;
	}
	*result = pop_value(&evaluation);
	return !evaluation.bad;
}
