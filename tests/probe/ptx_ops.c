// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What the instructions do, and the table of those that are known. */
#include <string.h>

#include "ptx_lane.h"

enum {
	ADD,
	SUB,
	MUL,
	AND,
	OR,
	XOR,
	SHL,
	SHR,
	DIV,
	REM,
	MIN,
	MAX,
	NEG,
	NOT,
	POPC,
	BFIND,
	MUL_WIDE,
	EXCHANGE,
	COMPARE,
	EQ,
	NE,
	LT,
	LE,
	GT,
	GE,
	LOCAL,
	GLOBAL,
	TABLE,
};

static uint64_t truncate(uint64_t bits, uint32_t size)
{
	return size == 8 ? bits : bits & ((1ULL << 8 * size) - 1);
}

static int64_t extend(uint64_t bits, uint32_t size)
{
	uint32_t shift = 64 - 8 * size;

	return (int64_t)(bits << shift) >> shift;
}

/* Whether an operand is a register of the width that the instruction works on, or a number. */
static bool fits(const struct ptx_operand *operand, uint32_t size)
{
	switch (operand->kind) {
	case PTX_WIDE:
	case PTX_PAIR:
	case PTX_SYMBOL:
		return size == 8;
	case PTX_WORD:
		return size == 4;
	case PTX_PREDICATE:
		return size == 1;
	case PTX_SPECIAL:
	case PTX_NUMBER:
		return size >= 4;
	default:
		return false;
	}
}

static int divide(PTX_ARGUMENTS, uint64_t a, uint64_t b, uint64_t *result)
{
	const struct ptx_op *op = instruction->op;

	(void)warp;
	(void)group;
	if (!b)
		return ptx_fail(machine, instruction, "a division by 0");
	if (!op->sign) {
		*result = op->what == DIV ? a / b : a % b;
		return 0;
	}
	if (extend(b, op->size) == -1 &&
	    extend(a, op->size) == extend(1ULL << (8 * op->size - 1), op->size))
		return ptx_fail(machine, instruction, "the least number divided by -1");
	*result = op->what == DIV ? extend(a, op->size) / extend(b, op->size) :
				    extend(a, op->size) % extend(b, op->size);
	return 0;
}

static uint64_t shift(const struct ptx_op *op, uint64_t a, uint64_t count)
{
	uint32_t bits = 8 * op->size;

	count = (uint32_t)count > bits ? bits : (uint32_t)count;
	if (op->what == SHL)
		return count == bits ? 0 : a << count;
	if (op->sign)
		return extend(a, op->size) >> (count == bits ? bits - 1 : count);
	return count == bits ? 0 : a >> count;
}

static uint64_t highest_bit(uint64_t a)
{
	return a ? 63u - (uint32_t)__builtin_clzll(a) : UINT32_MAX;
}

static int compute(PTX_ARGUMENTS, const struct ptx_value *in, uint64_t *result)
{
	const struct ptx_op *op = instruction->op;
	uint64_t a = truncate(in[0].bits, op->size), b = truncate(in[1].bits, op->size);
	bool less = op->sign ? extend(a, op->size) < extend(b, op->size) : a < b;

	switch (op->what) {
	case ADD:
		*result = a + b;
		return 0;
	case SUB:
		*result = a - b;
		return 0;
	case MUL:
		*result = a * b;
		return 0;
	case AND:
		*result = a & b;
		return 0;
	case OR:
		*result = a | b;
		return 0;
	case XOR:
		*result = a ^ b;
		return 0;
	case SHL:
	case SHR:
		*result = shift(op, a, in[1].bits);
		return 0;
	case MIN:
		*result = less ? a : b;
		return 0;
	case MAX:
		*result = less ? b : a;
		return 0;
	case NEG:
		*result = -a;
		return 0;
	case NOT:
		*result = ~a;
		return 0;
	case POPC:
		*result = __builtin_popcountll(a);
		return 0;
	case BFIND:
		*result = highest_bit(a);
		return 0;
	default:
		return divide(machine, warp, group, instruction, a, b, result);
	}
}

/* Results of one and two operands in their own width. */
static int run_compute(PTX_ARGUMENTS)
{
	const struct ptx_op *op = instruction->op;
	const struct ptx_operand *operands = instruction->operands;
	bool shifts = op->what == SHL || op->what == SHR;
	struct ptx_value in[2] = { 0 }, result;
	uint32_t i, j;

	if (!fits(&operands[0], op->what == BFIND || op->what == POPC ? 4 : op->size) ||
	    !fits(&operands[1], op->size) ||
	    (op->operands == 3 && !fits(&operands[2], shifts ? 4 : op->size)))
		return ptx_fail(machine, instruction, "operands of a wrong width");
	PTX_EACH_LANE(i)
	{
		result.set = true;
		for (j = 0; j + 1 < op->operands; j++) {
			in[j] = ptx_read(machine, &warp->lanes[i], &operands[j + 1]);
			result.set &= in[j].set;
		}
		/* What was never set may be 0. */
		if (!result.set && (op->what == DIV || op->what == REM))
			result.bits = 0;
		else if (compute(machine, warp, group, instruction, in, &result.bits))
			return -1;
		result.bits = truncate(result.bits, op->size);
		if (ptx_write(machine, &warp->lanes[i], instruction, &operands[0], result))
			return -1;
	}
	return 0;
}

/* mad.lo, mul.wide, mad.wide */
static int run_multiply(PTX_ARGUMENTS)
{
	const struct ptx_op *op = instruction->op;
	const struct ptx_operand *operands = instruction->operands;
	uint32_t out = op->what == MUL_WIDE ? 8 : op->size, i;
	struct ptx_value a, b, c = { 0, true };

	if (!fits(&operands[0], out) || !fits(&operands[1], op->size) ||
	    !fits(&operands[2], op->size) || (op->operands == 4 && !fits(&operands[3], out)))
		return ptx_fail(machine, instruction, "operands of a wrong width");
	PTX_EACH_LANE(i)
	{
		a = ptx_read(machine, &warp->lanes[i], &operands[1]);
		b = ptx_read(machine, &warp->lanes[i], &operands[2]);
		if (op->operands == 4)
			c = ptx_read(machine, &warp->lanes[i], &operands[3]);
		a.bits = truncate(a.bits, op->size) * truncate(b.bits, op->size) + c.bits;
		a.bits = truncate(a.bits, out);
		a.set &= b.set & c.set;
		if (ptx_write(machine, &warp->lanes[i], instruction, &operands[0], a))
			return -1;
	}
	return 0;
}

static int run_mov(PTX_ARGUMENTS)
{
	const struct ptx_operand *operands = instruction->operands;
	struct ptx_value value;
	uint32_t i;

	if (operands[0].kind != PTX_SPECIAL && !fits(&operands[0], instruction->op->size))
		return ptx_fail(machine, instruction, "operands of a wrong width");
	if (operands[1].kind != PTX_SPECIAL && !fits(&operands[1], instruction->op->size))
		return ptx_fail(machine, instruction, "operands of a wrong width");
	PTX_EACH_LANE(i)
	{
		value = ptx_read(machine, &warp->lanes[i], &operands[1]);
		value.bits = truncate(value.bits, instruction->op->size);
		if (ptx_write(machine, &warp->lanes[i], instruction, &operands[0], value))
			return -1;
	}
	return 0;
}

/* size: of the source; what: of the result */
static int run_cvt(PTX_ARGUMENTS)
{
	const struct ptx_op *op = instruction->op;
	const struct ptx_operand *operands = instruction->operands;
	struct ptx_value value;
	uint32_t i;

	if (!fits(&operands[0], op->what) ||
	    (!fits(&operands[1], op->size) && !(op->sign && fits(&operands[1], op->what))))
		return ptx_fail(machine, instruction, "operands of a wrong width");
	PTX_EACH_LANE(i)
	{
		value = ptx_read(machine, &warp->lanes[i], &operands[1]);
		value.bits = op->sign ? (uint64_t)extend(value.bits, op->size) :
					truncate(value.bits, op->size);
		value.bits = truncate(value.bits, op->what);
		if (ptx_write(machine, &warp->lanes[i], instruction, &operands[0], value))
			return -1;
	}
	return 0;
}

static int run_prmt(PTX_ARGUMENTS)
{
	const struct ptx_operand *operands = instruction->operands;
	struct ptx_value a, b, result;
	uint64_t bytes;
	uint32_t i, j;

	if (!fits(&operands[0], 4) || !fits(&operands[1], 4) || !fits(&operands[2], 4))
		return ptx_fail(machine, instruction, "operands of a wrong width");
	PTX_EACH_LANE(i)
	{
		a = ptx_read(machine, &warp->lanes[i], &operands[1]);
		b = ptx_read(machine, &warp->lanes[i], &operands[2]);
		bytes = a.bits | b.bits << 32;
		result.bits = 0;
		result.set = a.set && b.set;
		for (j = 0; j < 4; j++)
			result.bits |= (bytes >> 8 * (operands[3].value >> 4 * j & 7) & 0xff)
				       << 8 * j;
		if (ptx_write(machine, &warp->lanes[i], instruction, &operands[0], result))
			return -1;
	}
	return 0;
}

static bool compare(const struct ptx_op *op, uint64_t a, uint64_t b)
{
	bool less;

	a = truncate(a, op->size);
	b = truncate(b, op->size);
	less = op->sign ? extend(a, op->size) < extend(b, op->size) : a < b;
	switch (op->what) {
	case EQ:
		return a == b;
	case NE:
		return a != b;
	case LT:
		return less;
	case LE:
		return less || a == b;
	case GT:
		return !less && a != b;
	default:
		return !less;
	}
}

static int run_setp(PTX_ARGUMENTS)
{
	const struct ptx_operand *operands = instruction->operands;
	struct ptx_value a, b, with = { 1, true };
	uint32_t i;

	if (!fits(&operands[0], 1) || !fits(&operands[1], instruction->op->size) ||
	    !fits(&operands[2], instruction->op->size))
		return ptx_fail(machine, instruction, "operands of a wrong width");
	PTX_EACH_LANE(i)
	{
		a = ptx_read(machine, &warp->lanes[i], &operands[1]);
		b = ptx_read(machine, &warp->lanes[i], &operands[2]);
		if (instruction->op->operands == 4)
			with = ptx_read(machine, &warp->lanes[i], &operands[3]);
		a.bits = compare(instruction->op, a.bits, b.bits) && with.bits;
		a.set &= b.set & with.set;
		if (ptx_write(machine, &warp->lanes[i], instruction, &operands[0], a))
			return -1;
	}
	return 0;
}

static int run_selp(PTX_ARGUMENTS)
{
	const struct ptx_operand *operands = instruction->operands;
	struct ptx_value value, chosen;
	uint32_t i;

	if (!fits(&operands[0], instruction->op->size) || !fits(&operands[3], 1) ||
	    !fits(&operands[1], instruction->op->size) ||
	    !fits(&operands[2], instruction->op->size))
		return ptx_fail(machine, instruction, "operands of a wrong width");
	PTX_EACH_LANE(i)
	{
		chosen = ptx_read(machine, &warp->lanes[i], &operands[3]);
		value = ptx_read(machine, &warp->lanes[i], &operands[chosen.bits ? 1 : 2]);
		value.bits = truncate(value.bits, instruction->op->size);
		value.set &= chosen.set;
		if (ptx_write(machine, &warp->lanes[i], instruction, &operands[0], value))
			return -1;
	}
	return 0;
}

static int run_ld(PTX_ARGUMENTS)
{
	const struct ptx_op *op = instruction->op;
	const struct ptx_operand *from = &instruction->operands[1];
	struct ptx_value value;
	uint8_t *bytes;
	uint32_t i, j;
	bool *set = NULL;

	PTX_EACH_LANE(i)
	{
		value = (struct ptx_value){ .set = true };
		if ((from->base == PTX_SPECIAL && from->reg == PTX_SPECIALS) !=
			    (op->what == TABLE) ||
		    instruction->operands[0].kind != PTX_WIDE)
			return ptx_fail(machine, instruction, "a wrong state space");
		if (op->what == TABLE) {
			if (from->value % 8 || from->value / 8 >= machine->table_n)
				return ptx_fail(machine, instruction, "outside of the table");
			value.bits = machine->table[from->value / 8];
		} else {
			bytes = ptx_memory(machine, &warp->lanes[i], instruction, from,
					   op->what == LOCAL, false, &set);
			if (!bytes)
				return -1;
			memcpy(&value.bits, bytes, op->size);
			for (j = 0; set && j < op->size; j++)
				value.set &= set[j];
		}
		if (ptx_write(machine, &warp->lanes[i], instruction, &instruction->operands[0],
			      value))
			return -1;
	}
	return 0;
}

static int run_st(PTX_ARGUMENTS)
{
	const struct ptx_op *op = instruction->op;
	struct ptx_value value;
	uint8_t *bytes;
	uint32_t i;
	bool *set = NULL;

	if (instruction->operands[1].kind != PTX_WIDE)
		return ptx_fail(machine, instruction, "no register of 64 bits");
	PTX_EACH_LANE(i)
	{
		value = ptx_read(machine, &warp->lanes[i], &instruction->operands[1]);
		bytes = ptx_memory(machine, &warp->lanes[i], instruction, &instruction->operands[0],
				   op->what == LOCAL, true, &set);
		if (!bytes)
			return -1;
		if (!value.set && op->what == GLOBAL)
			return ptx_fail(machine, instruction, "the value was never set");
		memcpy(bytes, &value.bits, op->size);
		if (set)
			memset(set, value.set, op->size);
	}
	return 0;
}

static uint64_t atomic_result(const struct ptx_op *op, uint64_t old, uint64_t value, uint64_t with)
{
	switch (op->what) {
	case ADD:
		return old + value;
	case AND:
		return old & value;
	case OR:
		return old | value;
	case XOR:
		return old ^ value;
	case EXCHANGE:
		return value;
	default:
		return old == truncate(value, op->size) ? with : old;
	}
}

/* red and atom, the latter with a result in front. */
static int run_atomic(PTX_ARGUMENTS)
{
	const struct ptx_op *op = instruction->op;
	bool fetch = instruction->operands[0].kind != PTX_MEMORY;
	const struct ptx_operand *operands = &instruction->operands[fetch];
	struct ptx_value value, with = { 0, true }, old;
	uint64_t result;
	uint8_t *bytes;
	uint32_t i;
	bool *set = NULL;

	if ((fetch && !fits(&instruction->operands[0], op->size)) || !fits(&operands[1], op->size))
		return ptx_fail(machine, instruction, "operands of a wrong width");
	PTX_EACH_LANE(i)
	{
		bytes = ptx_memory(machine, &warp->lanes[i], instruction, &operands[0], false, true,
				   &set);
		if (!bytes)
			return -1;
		value = ptx_read(machine, &warp->lanes[i], &operands[1]);
		if (op->what == COMPARE)
			with = ptx_read(machine, &warp->lanes[i], &operands[2]);
		if (!value.set || !with.set)
			return ptx_fail(machine, instruction, "the value was never set");
		old = (struct ptx_value){ .set = true };
		memcpy(&old.bits, bytes, op->size);
		result = atomic_result(op, old.bits, value.bits, with.bits);
		memcpy(bytes, &result, op->size);
		if (fetch && ptx_write(machine, &warp->lanes[i], instruction,
				       &instruction->operands[0], old))
			return -1;
	}
	return 0;
}

#define BOTH(word, type, action, is_signed, n)                                  \
	{ word "." type "32", run_compute, 4, is_signed, n, false, action },    \
	{                                                                       \
		word "." type "64", run_compute, 8, is_signed, n, false, action \
	}
#define SETP(cc, action)                                                     \
	{ "setp." cc ".u32", run_setp, 4, false, 3, false, action },         \
		{ "setp." cc ".u64", run_setp, 8, false, 3, false, action }, \
		{ "setp." cc ".s32", run_setp, 4, true, 3, false, action },  \
	{                                                                    \
		"setp." cc ".s64", run_setp, 8, true, 3, false, action       \
	}
#define MEMORY(word, handler, space)                                 \
	{ word ".u8", handler, 1, false, 2, false, space },          \
		{ word ".u16", handler, 2, false, 2, false, space }, \
		{ word ".u32", handler, 4, false, 2, false, space }, \
	{                                                            \
		word ".u64", handler, 8, false, 2, false, space      \
	}
#define ATOMIC(word, type, n, action)                                      \
	{ word "." type "32", run_atomic, 4, false, n, false, action },    \
	{                                                                  \
		word "." type "64", run_atomic, 8, false, n, false, action \
	}
#define CVT(to, from, to_size, from_size, is_signed)                                 \
	{                                                                            \
		"cvt." to "." from, run_cvt, from_size, is_signed, 2, false, to_size \
	}

static const struct ptx_op ops[] = {
	BOTH("add", "s", ADD, true, 3),
	BOTH("add", "u", ADD, false, 3),
	BOTH("sub", "s", SUB, true, 3),
	BOTH("sub", "u", SUB, false, 3),
	BOTH("mul.lo", "s", MUL, true, 3),
	BOTH("and", "b", AND, false, 3),
	BOTH("or", "b", OR, false, 3),
	BOTH("xor", "b", XOR, false, 3),
	BOTH("shl", "b", SHL, false, 3),
	BOTH("shr", "u", SHR, false, 3),
	BOTH("shr", "s", SHR, true, 3),
	BOTH("div", "u", DIV, false, 3),
	BOTH("div", "s", DIV, true, 3),
	BOTH("rem", "u", REM, false, 3),
	BOTH("rem", "s", REM, true, 3),
	BOTH("min", "u", MIN, false, 3),
	BOTH("max", "u", MAX, false, 3),
	BOTH("max", "s", MAX, true, 3),
	BOTH("neg", "s", NEG, true, 2),
	BOTH("popc", "b", POPC, false, 2),
	BOTH("bfind", "u", BFIND, false, 2),
	{ "and.pred", run_compute, 1, false, 3, false, AND },
	{ "or.pred", run_compute, 1, false, 3, false, OR },
	{ "not.pred", run_compute, 1, false, 2, false, NOT },
	{ "mul.wide.u32", run_multiply, 4, false, 3, false, MUL_WIDE },
	{ "mad.wide.u32", run_multiply, 4, false, 4, false, MUL_WIDE },
	{ "mad.lo.u32", run_multiply, 4, false, 4, false, MUL },
	{ "mad.lo.s64", run_multiply, 8, false, 4, false, MUL },
	{ "mov.b64", run_mov, 8, false, 2, false, 0 },
	{ "mov.u64", run_mov, 8, false, 2, false, 0 },
	{ "mov.b32", run_mov, 4, false, 2, false, 0 },
	{ "mov.u32", run_mov, 4, false, 2, false, 0 },
	CVT("u32", "u64", 4, 8, false),
	CVT("u64", "u32", 8, 4, false),
	CVT("s64", "s8", 8, 1, true),
	CVT("s64", "s16", 8, 2, true),
	CVT("s64", "s32", 8, 4, true),
	CVT("s32", "s8", 4, 1, true),
	CVT("s32", "s16", 4, 2, true),
	{ "prmt.b32", run_prmt, 4, false, 4, false, 0 },
	SETP("eq", EQ),
	SETP("ne", NE),
	SETP("lt", LT),
	SETP("le", LE),
	SETP("gt", GT),
	SETP("ge", GE),
	{ "setp.eq.and.u32", run_setp, 4, false, 4, false, EQ },
	{ "setp.eq.and.u64", run_setp, 8, false, 4, false, EQ },
	{ "selp.b32", run_selp, 4, false, 4, false, 0 },
	{ "selp.b64", run_selp, 8, false, 4, false, 0 },
	MEMORY("ld.global", run_ld, GLOBAL),
	MEMORY("ld.local", run_ld, LOCAL),
	MEMORY("st.global", run_st, GLOBAL),
	MEMORY("st.local", run_st, LOCAL),
	{ "ld.const.u64", run_ld, 8, false, 2, false, TABLE },
	{ "ld.acquire.gpu.global.u64", run_ld, 8, false, 2, false, GLOBAL },
	{ "ld.volatile.global.u64", run_ld, 8, false, 2, false, GLOBAL },
	{ "st.release.gpu.global.u64", run_st, 8, false, 2, false, GLOBAL },
	{ "st.volatile.global.u64", run_st, 8, false, 2, false, GLOBAL },
	ATOMIC("red.global.add", "u", 2, ADD),
	ATOMIC("red.global.and", "b", 2, AND),
	ATOMIC("red.global.or", "b", 2, OR),
	ATOMIC("red.global.xor", "b", 2, XOR),
	ATOMIC("atom.global.add", "u", 3, ADD),
	ATOMIC("atom.global.and", "b", 3, AND),
	ATOMIC("atom.global.or", "b", 3, OR),
	ATOMIC("atom.global.xor", "b", 3, XOR),
	ATOMIC("atom.global.exch", "b", 3, EXCHANGE),
	ATOMIC("atom.global.cas", "b", 4, COMPARE),
	{ "bra", ptx_run_bra, 0, false, 1, false, 0 },
	{ "exit", ptx_run_exit, 0, false, 0, false, 0 },
	{ "membar.gl", ptx_run_nothing, 0, false, 0, false, 0 },
	{ "membar.sys", ptx_run_nothing, 0, false, 0, false, 0 },
	{ "activemask.b32", ptx_run_activemask, 4, false, 1, false, 0 },
	{ "vote.ballot.b32", ptx_run_ballot, 4, false, 2, false, 0 },
	{ "vote.sync.ballot.b32", ptx_run_ballot, 4, false, 3, true, 0 },
	{ "shfl.sync.idx.b32", ptx_run_shfl, 4, false, 5, true, 0 },
	{ "match.any.sync.b64", ptx_run_match, 8, false, 3, true, 0 },
	{ "match.all.sync.b64", ptx_run_match_all, 8, false, 3, true, 0 },
};

const struct ptx_op *ptx_op_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strcmp(ops[i].name, name) == 0)
			return &ops[i];
	return NULL;
}
