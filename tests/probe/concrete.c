// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <linux/bpf.h>
#include <stdlib.h>

#include "concrete.h"

static uint64_t divide_signed(uint8_t op, int64_t a, int64_t b, int64_t least)
{
	if (!b)
		return op == BPF_DIV ? 0 : (uint64_t)a;
	if (a == least && b == -1)
		return op == BPF_DIV ? (uint64_t)a : 0;
	return (uint64_t)(op == BPF_DIV ? a / b : a % b);
}

static uint64_t divide(uint8_t op, uint64_t a, uint64_t b)
{
	if (!b)
		return op == BPF_DIV ? 0 : a;
	return op == BPF_DIV ? a / b : a % b;
}

static uint64_t extend(uint64_t value, int bits)
{
	switch (bits) {
	case 8:
		return (uint64_t)(int64_t)(int8_t)value;
	case 16:
		return (uint64_t)(int64_t)(int16_t)value;
	case 32:
		return (uint64_t)(int64_t)(int32_t)value;
	default:
		return value;
	}
}

static uint64_t turn(uint64_t value, uint64_t bits)
{
	switch (bits) {
	case 16:
		return __builtin_bswap16((uint16_t)value);
	case 32:
		return __builtin_bswap32((uint32_t)value);
	default:
		return __builtin_bswap64(value);
	}
}

static uint64_t operate(uint8_t code, int16_t off, uint64_t a, uint64_t b)
{
	bool wide = BPF_CLASS(code) == BPF_ALU64;
	unsigned int by = b & (wide ? 63 : 31);
	uint8_t op = BPF_OP(code);

	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << by;
	case BPF_RSH:
		return a >> by;
	case BPF_ARSH:
		return wide ? (uint64_t)((int64_t)a >> by) : (uint64_t)((int32_t)a >> by);
	case BPF_NEG:
		return -a;
	case BPF_MOV:
		return extend(b, off);
	case BPF_DIV:
	case BPF_MOD:
		if (!off)
			return divide(op, a, b);
		return wide ? divide_signed(op, (int64_t)a, (int64_t)b, INT64_MIN) :
			      divide_signed(op, (int32_t)a, (int32_t)b, INT32_MIN);
	default:
		abort();
	}
}

uint64_t concrete_alu(uint8_t code, int16_t off, uint64_t a, uint64_t b)
{
	if (BPF_OP(code) == BPF_END) {
		if (BPF_CLASS(code) == BPF_ALU && BPF_SRC(code) == BPF_TO_LE)
			return b == 64 ? a : a & ((1ull << b) - 1);
		return turn(a, b);
	}
	if (BPF_CLASS(code) == BPF_ALU64)
		return operate(code, off, a, b);
	return (uint32_t)operate(code, off, (uint32_t)a, (uint32_t)b);
}

static bool compare(uint8_t op, uint64_t a, uint64_t b, int64_t signed_a, int64_t signed_b)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSET:
		return a & b;
	case BPF_JSGT:
		return signed_a > signed_b;
	case BPF_JSGE:
		return signed_a >= signed_b;
	case BPF_JSLT:
		return signed_a < signed_b;
	case BPF_JSLE:
		return signed_a <= signed_b;
	default:
		abort();
	}
}

bool concrete_jump(uint8_t code, uint64_t a, uint64_t b)
{
	if (BPF_CLASS(code) == BPF_JMP)
		return compare(BPF_OP(code), a, b, (int64_t)a, (int64_t)b);
	return compare(BPF_OP(code), (uint32_t)a, (uint32_t)b, (int32_t)a, (int32_t)b);
}

uint64_t concrete_atomic(int32_t imm, uint64_t old, uint64_t operand, uint64_t expected)
{
	switch (imm) {
	case BPF_XCHG:
		return operand;
	case BPF_CMPXCHG:
		return old == expected ? operand : old;
	default:
		break;
	}
	switch (imm & ~BPF_FETCH) {
	case BPF_ADD:
		return old + operand;
	case BPF_AND:
		return old & operand;
	case BPF_OR:
		return old | operand;
	case BPF_XOR:
		return old ^ operand;
	default:
		abort();
	}
}
