// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stddef.h>

#include "instruction.h"

#define GPUMON_GPUPROG_ON_NO	    0u
#define GPUMON_GPUPROG_ON_HASH	    (1u << GPUMON_GPUPROG_MAP_HASH)
#define GPUMON_GPUPROG_ON_RING	    (1u << GPUMON_GPUPROG_MAP_RING)
#define GPUMON_GPUPROG_ON_HISTOGRAM (1u << GPUMON_GPUPROG_MAP_HISTOGRAM)
#define GPUMON_GPUPROG_ON_COUNT                                                   \
	((1u << GPUMON_GPUPROG_MAP_ARRAY) | (1u << GPUMON_GPUPROG_MAP_SM_ARRAY) | \
	 (1u << GPUMON_GPUPROG_MAP_THREAD_ARRAY))
#define GPUMON_GPUPROG_ON_LOOKUP (GPUMON_GPUPROG_ON_COUNT | GPUMON_GPUPROG_ON_HASH)
#define GPUMON_GPUPROG_ON_UPDATE GPUMON_GPUPROG_ON_LOOKUP

#define HELPER(number, word, kind, on, a1, a2, a3, a4, a5)                 \
	{ .id = number,                                                    \
	  .name = #word,                                                   \
	  .result = GPUMON_GPUPROG_RESULT_##kind,                          \
	  .maps = GPUMON_GPUPROG_ON_##on,                                  \
	  .arguments = { GPUMON_GPUPROG_ARG_##a1, GPUMON_GPUPROG_ARG_##a2, \
			 GPUMON_GPUPROG_ARG_##a3, GPUMON_GPUPROG_ARG_##a4, \
			 GPUMON_GPUPROG_ARG_##a5 } },

static const struct gpumon_gpuprog_helper helpers[] = { GPUMON_GPUPROG_HELPERS(HELPER) };

const struct gpumon_gpuprog_helper *gpumon_gpuprog_helper_find(uint32_t id)
{
	size_t i;

	for (i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		if (helpers[i].id == id)
			return &helpers[i];
	return NULL;
}

#define REMEDY		"compile with clang -target bpf -mcpu=v1 to v4"
#define ADDR_SPACE_CAST 1  /* "off" of a move */
#define TAIL_CALL	12 /* helper */
#define KNOWN_SIZES(x)	((x) == 16 || (x) == 32 || (x) == 64)

/* Fields of an instruction, a bit each. */
enum {
	NONE,
	DST = 1,
	SRC = 2,
	OFF = 4,
	IMM = 8
};

static const char unknown[] = "no such instruction is known: " REMEDY;
static const char damaged[] =
	"a field that it does not use is set, or a register is above r10: the object is damaged, " REMEDY;

static const char *check_fields(const struct bpf_insn *insn, unsigned int used)
{
	if (insn->dst_reg > 10 || insn->src_reg > 10 || (!(used & DST) && insn->dst_reg) ||
	    (!(used & SRC) && insn->src_reg) || (!(used & OFF) && insn->off) ||
	    (!(used & IMM) && insn->imm))
		return damaged;
	return NULL;
}

static const char *check_wide_constant(const struct bpf_insn *insn)
{
	if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
		return "it loads from a network packet, which a GPU has not: use a map";
	switch (insn->src_reg) {
	case 0:
	case BPF_PSEUDO_MAP_IDX:
	case BPF_PSEUDO_MAP_IDX_VALUE:
		return check_fields(insn, DST | SRC | IMM);
	case BPF_PSEUDO_MAP_FD:
	case BPF_PSEUDO_MAP_VALUE:
		return "it names a map by a file descriptor: define the map in section .maps";
	case BPF_PSEUDO_BTF_ID:
		return "it takes the address of a kernel variable (__ksym), which a GPU cannot read";
	case BPF_PSEUDO_FUNC:
		return "it takes the address of a function, which a GPU cannot call: of a callback, "
		       "write a loop instead, of a function pointer, if and else";
	default:
		return unknown;
	}
}

static const char *check_load(const struct bpf_insn *insn)
{
	bool extends = BPF_MODE(insn->code) == BPF_MEMSX && BPF_SIZE(insn->code) != BPF_DW;

	if (BPF_MODE(insn->code) != BPF_MEM && !extends)
		return unknown;
	return check_fields(insn, DST | SRC | OFF);
}

static const char *check_atomic(const struct bpf_insn *insn)
{
	if (BPF_SIZE(insn->code) != BPF_W && BPF_SIZE(insn->code) != BPF_DW)
		return unknown;
	switch (insn->imm) {
	case BPF_ADD:
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
	case BPF_ADD | BPF_FETCH:
	case BPF_AND | BPF_FETCH:
	case BPF_OR | BPF_FETCH:
	case BPF_XOR | BPF_FETCH:
	case BPF_XCHG:
	case BPF_CMPXCHG:
		return check_fields(insn, DST | SRC | OFF | IMM);
	case BPF_LOAD_ACQ:
		return "it is a load with acquire semantics: use an atomic operation or a plain load";
	case BPF_STORE_REL:
		return "it is a store with release semantics: use an atomic operation or a plain store";
	default:
		return unknown;
	}
}

static const char *check_store(const struct bpf_insn *insn)
{
	bool register_source = BPF_CLASS(insn->code) == BPF_STX;

	if (register_source && BPF_MODE(insn->code) == BPF_ATOMIC)
		return check_atomic(insn);
	if (BPF_MODE(insn->code) != BPF_MEM)
		return unknown;
	return check_fields(insn, DST | OFF | (register_source ? SRC : IMM));
}

static const char *check_move(const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;

	if (BPF_SRC(insn->code) == BPF_K)
		return check_fields(insn, DST | IMM);
	if (insn->off == ADDR_SPACE_CAST && wide)
		return "it is addr_space_cast, for arenas, which do not exist here: use a map";
	if (insn->off && insn->off != 8 && insn->off != 16 && !(wide && insn->off == 32))
		return unknown;
	return check_fields(insn, DST | SRC | OFF);
}

static const char *check_byte_order(const struct bpf_insn *insn)
{
	/* An instruction of 64 bits is bswap, and its source bit has no meaning. */
	if ((BPF_CLASS(insn->code) == BPF_ALU64 && BPF_SRC(insn->code)) || !KNOWN_SIZES(insn->imm))
		return unknown;
	return check_fields(insn, DST | IMM);
}

static const char *check_constant_operand(const struct bpf_insn *insn)
{
	int32_t bits = BPF_CLASS(insn->code) == BPF_ALU64 ? 64 : 32;

	switch (BPF_OP(insn->code)) {
	case BPF_DIV:
	case BPF_MOD:
		return insn->imm ? NULL : "it divides by the constant 0: correct the program";
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		return insn->imm >= 0 && insn->imm < bits ?
			       NULL :
			       "it shifts by more bits than there are: correct the program";
	default:
		return NULL;
	}
}

static const char *check_arithmetic(const struct bpf_insn *insn)
{
	unsigned int used = DST | (BPF_SRC(insn->code) == BPF_X ? SRC : IMM);
	const char *why = NULL;

	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return check_move(insn);
	case BPF_END:
		return check_byte_order(insn);
	case BPF_NEG:
		return BPF_SRC(insn->code) ? unknown : check_fields(insn, DST);
	case BPF_DIV:
	case BPF_MOD:
		/* 1: signed */
		if (insn->off && insn->off != 1)
			return unknown;
		used |= OFF;
		break;
	case BPF_ADD:
	case BPF_SUB:
	case BPF_MUL:
	case BPF_OR:
	case BPF_AND:
	case BPF_XOR:
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		break;
	default:
		return unknown;
	}
	why = check_fields(insn, used);
	if (!why && BPF_SRC(insn->code) == BPF_K)
		why = check_constant_operand(insn);
	return why;
}

static const char *check_call(const struct bpf_insn *insn)
{
	if (BPF_SRC(insn->code))
		return "it calls a function by its address: call it by its name";
	if (insn->src_reg == BPF_PSEUDO_KFUNC_CALL)
		return "it calls a function of the kernel (kfunc), which a GPU has not: use a helper of gpumon_gpu.h";
	if (insn->src_reg > BPF_PSEUDO_KFUNC_CALL)
		return unknown;
	if (!insn->src_reg && insn->imm == TAIL_CALL)
		return "it is a tail call: call a function instead";
	return check_fields(insn, SRC | IMM);
}

static const char *check_jump(const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_JMP;

	switch (BPF_OP(insn->code)) {
	case BPF_JA:
		if (BPF_SRC(insn->code))
			return wide ? "it jumps to an address in a register: compile with -fno-jump-tables" :
				      unknown;
		return check_fields(insn, wide ? OFF : IMM);
	case BPF_CALL:
		return wide ? check_call(insn) : unknown;
	case BPF_EXIT:
		return wide && !BPF_SRC(insn->code) ? check_fields(insn, NONE) : unknown;
	case BPF_JEQ:
	case BPF_JGT:
	case BPF_JGE:
	case BPF_JSET:
	case BPF_JNE:
	case BPF_JSGT:
	case BPF_JSGE:
	case BPF_JLT:
	case BPF_JLE:
	case BPF_JSLT:
	case BPF_JSLE:
		return check_fields(insn, DST | OFF | (BPF_SRC(insn->code) == BPF_X ? SRC : IMM));
	case BPF_JCOND:
		return "it is may_goto: write a loop, gpumon bounds each one";
	default:
		return unknown;
	}
}

const char *gpumon_gpuprog_instruction_refusal(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		return check_wide_constant(insn);
	case BPF_LDX:
		return check_load(insn);
	case BPF_ST:
	case BPF_STX:
		return check_store(insn);
	case BPF_JMP:
	case BPF_JMP32:
		return check_jump(insn);
	default:
		return check_arithmetic(insn);
	}
}

static bool is_jump_class(uint8_t code)
{
	return BPF_CLASS(code) == BPF_JMP || BPF_CLASS(code) == BPF_JMP32;
}

bool gpumon_gpuprog_is_jump(uint8_t code)
{
	return is_jump_class(code) && BPF_OP(code) != BPF_CALL && BPF_OP(code) != BPF_EXIT;
}

bool gpumon_gpuprog_falls_through(uint8_t code)
{
	return !is_jump_class(code) || (BPF_OP(code) != BPF_JA && BPF_OP(code) != BPF_EXIT);
}

uint32_t gpumon_gpuprog_access_size(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}
