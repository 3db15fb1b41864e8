// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * R0 to R8 are numbers between any two of the pieces below, R9 points to the map with data. The stack's
 * upper 64 bytes are set at the beginning of each function. Loops count in the 8 bytes below.
 */
#include <string.h>

#include "insn.h"
#include "random_code.h"

#define WINDOW	  64 /* bytes of the stack that are used */
#define COUNTER	  (-WINDOW - 8)
#define FUNCTIONS 2

const struct gpumon_gpuprog_map random_maps[2] = {
	{ .name = "result",
	  .kind = GPUMON_GPUPROG_MAP_DATA,
	  .type = BPF_MAP_TYPE_ARRAY,
	  .value_size = RANDOM_RESULT_BYTES,
	  .max_entries = 1 },
	{ .name = "data",
	  .kind = GPUMON_GPUPROG_MAP_DATA,
	  .type = BPF_MAP_TYPE_ARRAY,
	  .value_size = RANDOM_DATA_BYTES,
	  .max_entries = 1 },
};

static uint32_t draw(struct random_code *program, uint32_t below)
{
	program->state = program->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((program->state >> 33) % below);
}

static void emit(struct random_code *program, struct bpf_insn insn)
{
	program->code[program->code_n++] = insn;
}

static void emit_64(struct random_code *program, uint8_t dst, uint64_t value)
{
	struct bpf_insn halves[] = { LD_64(dst, value) };

	emit(program, halves[0]);
	emit(program, halves[1]);
}

static void emit_data(struct random_code *program, uint8_t dst, uint32_t map)
{
	struct bpf_insn halves[] = { LD_DATA(dst, map, 0) };

	emit(program, halves[0]);
	emit(program, halves[1]);
}

/* Numbers at which something changes. */
static uint64_t edge(struct random_code *program)
{
	static const uint64_t edges[] = {
		0,	    1,		 2,	    7,		31,	    32,
		63,	    64,		 127,	    128,	255,	    256,
		0x7fff,	    0x8000,	 0xffff,    0x10000,	INT32_MAX,  0x80000000,
		UINT32_MAX, 0x100000000, INT64_MAX, 1ULL << 63, UINT64_MAX, UINT64_MAX - 1,
	};
	uint64_t value = (uint64_t)draw(program, 1u << 31) << 33 ^
			 (uint64_t)draw(program, 1u << 31) << 11 ^ draw(program, 1u << 31);

	switch (draw(program, 4)) {
	case 0:
		return value;
	case 1:
		return value >> draw(program, 64);
	default:
		return edges[draw(program, sizeof(edges) / sizeof(edges[0]))];
	}
}

static uint8_t number_reg(struct random_code *program)
{
	return draw(program, 9);
}

static void arithmetic(struct random_code *program)
{
	static const uint8_t ops[] = { BPF_ADD,	 BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD,
				       BPF_OR,	 BPF_AND, BPF_XOR, BPF_LSH, BPF_RSH,
				       BPF_ARSH, BPF_MOV, BPF_DIV, BPF_MOD };
	uint8_t op = ops[draw(program, sizeof(ops))],
		class = draw(program, 2) ? BPF_ALU64 : BPF_ALU;
	uint8_t dst = number_reg(program), src = number_reg(program);
	bool divides = op == BPF_DIV || op == BPF_MOD;
	int16_t off = divides ? (int16_t)draw(program, 2) : 0;
	int32_t imm = (int32_t)edge(program);

	if (draw(program, 2)) {
		emit(program, INSN(class | op | BPF_X, dst, src, off, 0));
		return;
	}
	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
		imm &= class == BPF_ALU64 ? 63 : 31;
	if (divides && !imm)
		imm = -1;
	emit(program, INSN(class | op | BPF_K, dst, 0, off, imm));
}

static void convert(struct random_code *program)
{
	static const int16_t bits[] = { 8, 16, 32 };
	static const uint8_t ends[] = { BPF_ALU | BPF_END | BPF_TO_LE,
					BPF_ALU | BPF_END | BPF_TO_BE, BPF_ALU64 | BPF_END };
	uint8_t dst = number_reg(program), src = number_reg(program);

	switch (draw(program, 4)) {
	case 0:
		emit(program,
		     INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, bits[draw(program, 3)], 0));
		break;
	case 1:
		emit(program, INSN(BPF_ALU | BPF_MOV | BPF_X, dst, src, bits[draw(program, 2)], 0));
		break;
	case 2:
		emit(program, INSN(ends[draw(program, 3)], dst, 0, 0, 16 << draw(program, 3)));
		break;
	default:
		emit(program,
		     INSN((draw(program, 2) ? BPF_ALU64 : BPF_ALU) | BPF_NEG, dst, 0, 0, 0));
	}
}

static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };

/* A load or a store of 1 << @size bytes at an offset. */
static void access(struct random_code *program, uint8_t base, int16_t off, uint32_t size)
{
	uint8_t reg = number_reg(program);

	switch (draw(program, 4)) {
	case 0:
		emit(program, INSN(BPF_LDX | BPF_MEM | sizes[size], reg, base, off, 0));
		break;
	case 1:
		emit(program, INSN(BPF_LDX | (size < 3 ? BPF_MEMSX : BPF_MEM) | sizes[size], reg,
				   base, off, 0));
		break;
	case 2:
		emit(program, INSN(BPF_STX | BPF_MEM | sizes[size], base, reg, off, 0));
		break;
	default:
		emit(program,
		     INSN(BPF_ST | BPF_MEM | sizes[size], base, 0, off, (int32_t)edge(program)));
	}
}

static void stack(struct random_code *program)
{
	uint32_t size = draw(program, 4), places = WINDOW >> size;

	access(program, 10, (int16_t)(-WINDOW + ((int)draw(program, places) << size)), size);
}

static void data(struct random_code *program)
{
	uint32_t size = draw(program, 4);

	access(program, 9, (int16_t)draw(program, RANDOM_DATA_BYTES - (1u << size) + 1), size);
}

static void atomic(struct random_code *program)
{
	static const int32_t ops[] = { BPF_ADD,
				       BPF_AND,
				       BPF_OR,
				       BPF_XOR,
				       BPF_ADD | BPF_FETCH,
				       BPF_AND | BPF_FETCH,
				       BPF_OR | BPF_FETCH,
				       BPF_XOR | BPF_FETCH,
				       BPF_XCHG,
				       BPF_CMPXCHG };
	uint32_t size = 2 + draw(program, 2);
	int16_t off = (int16_t)(draw(program, RANDOM_DATA_BYTES >> size) << size);
	uint8_t src = number_reg(program);

	/* Half of the comparisons succeed. */
	if (draw(program, 2) && src)
		emit(program, INSN(BPF_LDX | BPF_MEM | sizes[size], 0, 9, off, 0));
	emit(program, INSN(BPF_STX | BPF_ATOMIC | sizes[size], 9, src, off,
			   ops[draw(program, sizeof(ops) / sizeof(ops[0]))]));
}

/* Through a pointer that is not constant: R8, of a number of R7. */
static void variable(struct random_code *program, bool of_stack)
{
	uint32_t size = draw(program, 4);
	int32_t mask = (of_stack ? WINDOW - 1 : RANDOM_DATA_BYTES / 2 - 1) & ~((1 << size) - 1);

	emit(program, MOV_X(7, number_reg(program)));
	emit(program, ALU64_K(AND, 7, mask));
	emit(program, MOV_X(8, of_stack ? 10 : 9));
	emit(program, ALU64_X(ADD, 8, 7));
	if (draw(program, 2))
		emit(program, INSN(BPF_LDX | BPF_MEM | sizes[size], draw(program, 7), 8,
				   of_stack ? -WINDOW : 0, 0));
	else
		emit(program, INSN(BPF_STX | BPF_MEM | sizes[size], 8, draw(program, 7),
				   of_stack ? -WINDOW : 0, 0));
	emit(program, MOV_K(8, (int32_t)edge(program)));
}

static void piece(struct random_code *program, uint32_t level, bool memory);

static struct bpf_insn random_jump(struct random_code *program)
{
	static const uint8_t ops[] = { BPF_JEQ,	 BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
				       BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET };
	uint8_t class = draw(program, 2) ? BPF_JMP : BPF_JMP32,
		op = ops[draw(program, sizeof(ops))];

	if (draw(program, 2))
		return INSN(class | op | BPF_X, number_reg(program), number_reg(program), 0, 0);
	return INSN(class | op | BPF_K, number_reg(program), 0, 0, (int32_t)edge(program));
}

/* Some pieces that are jumped over under a condition, and perhaps others instead. */
static void branch(struct random_code *program, uint32_t level, bool memory)
{
	uint32_t from = program->code_n, over, n = 1 + draw(program, 4);

	emit(program, random_jump(program));
	while (n--)
		piece(program, level + 1, memory);
	if (draw(program, 2)) {
		over = program->code_n;
		emit(program, draw(program, 2) ? JA(0) : GOTOL(0));
		program->code[from].off = (int16_t)(program->code_n - from - 1);
		piece(program, level + 1, memory);
		if (BPF_CLASS(program->code[over].code) == BPF_JMP)
			program->code[over].off = (int16_t)(program->code_n - over - 1);
		else
			program->code[over].imm = (int32_t)(program->code_n - over - 1);
		return;
	}
	program->code[from].off = (int16_t)(program->code_n - from - 1);
}

static void loop(struct random_code *program, bool memory)
{
	uint32_t begin, n = 1 + draw(program, 3);

	emit(program, ST(DW, 10, COUNTER, 0));
	begin = program->code_n;
	while (n--)
		piece(program, 2, memory);
	emit(program, LDX(DW, 8, 10, COUNTER));
	emit(program, ALU64_K(ADD, 8, 1));
	emit(program, STX(DW, 10, COUNTER, 8));
	emit(program, JMP_K(JLT, 8, 1 + (int32_t)draw(program, 4),
			    (int16_t)((int)begin - (int)program->code_n - 1)));
}

/* @level: how deep in branches. @memory: the stack is accessed at offsets that are not constant. */
static void piece(struct random_code *program, uint32_t level, bool memory)
{
	switch (draw(program, level < 2 ? 16 : 12)) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		arithmetic(program);
		break;
	case 5:
	case 6:
		convert(program);
		break;
	case 7:
	case 8:
		stack(program);
		break;
	case 9:
		data(program);
		break;
	case 10:
		atomic(program);
		break;
	case 11:
		variable(program, memory && draw(program, 2));
		break;
	case 12:
		if (!level) {
			loop(program, memory);
			break;
		}
		/* fall through */
	default:
		branch(program, level, memory);
	}
}

/* Set what pieces expect, but R1 to R5 of a function with arguments. */
static void prologue(struct random_code *program, bool arguments)
{
	uint32_t i;

	for (i = 0; i < 9; i++)
		if (!arguments || i < 1 || i > 5)
			emit_64(program, i, edge(program));
	emit_data(program, 9, 1);
	for (i = 8; i <= WINDOW; i += 8)
		emit(program, STX(DW, 10, -(int)i, draw(program, 9)));
}

static void body(struct random_code *program)
{
	uint32_t n = 3 + draw(program, 25);
	bool memory = draw(program, 4) == 0;

	while (n-- && program->code_n < RANDOM_MAX_CODE / 2)
		piece(program, 0, memory);
}

/* Show R0 to R8 and the stack. */
static void epilogue(struct random_code *program)
{
	int i;

	emit_data(program, 9, 0);
	for (i = 0; i < 9; i++)
		emit(program, STX(DW, 9, 8 * i, i));
	for (i = 0; i < WINDOW / 8; i++) {
		emit(program, LDX(DW, 0, 10, -WINDOW + 8 * i));
		emit(program, STX(DW, 9, 72 + 8 * i, 0));
	}
	emit(program, MOV_K(0, 0));
	emit(program, EXIT);
}

void random_code_make(struct random_code *program, uint64_t seed)
{
	uint32_t calls[FUNCTIONS], calls_n, i, j;

	memset(program, 0, sizeof(*program));
	program->state = seed * 0x9e3779b97f4a7c15ULL + 1;
	calls_n = draw(program, 4) ? 0 : 1 + draw(program, FUNCTIONS);
	prologue(program, false);
	body(program);
	for (i = 0; i < calls_n; i++) {
		calls[i] = program->code_n;
		emit(program, CALL_FUNCTION(0));
		for (j = 1; j < 6; j++)
			emit_64(program, j, edge(program));
		body(program);
	}
	epilogue(program);
	for (i = 0; i < calls_n; i++) {
		program->code[calls[i]].imm = (int32_t)(program->code_n - calls[i] - 1);
		prologue(program, true);
		body(program);
		emit(program, EXIT);
	}
}
