// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The writer remembers roughly what each register has, so that what it writes makes some sense; the
 * verifier then decides.
 */
#include <string.h>

#include "gpuprog/object/instruction.h"

#include "random_program.h"

#define SLOTS	  8   /* of 8 bytes, that are set at the beginning */
#define SPILLED	  -72 /* a slot for an address */
#define ROOM	  200 /* steps after which nothing more is begun */
#define MAX_FIXES 64

enum guess {
	NOTHING,
	NUMBER,
	VALUE,
	STACK
};

struct writer {
	struct dice *dice;
	const struct random_kind *kind;
	struct assembled *out;
	uint8_t depth;
	enum guess guesses[10];
	uint32_t value_map;	   /* of VALUE registers */
	uint32_t fixes[MAX_FIXES]; /* jumps to the end */
	unsigned int fixes_n;
};

static uint32_t roll(struct writer *writer, uint32_t n)
{
	return dice_below(writer->dice, n);
}

static struct gpumon_gpuprog_step *emit(struct writer *writer, uint8_t code, unsigned int dst,
					unsigned int src, int off, int64_t imm)
{
	uint32_t at = writer->out->program.steps_n;
	struct gpumon_gpuprog_step *step = &writer->out->steps[at];

	*step = (struct gpumon_gpuprog_step){ .code = code,
					      .dst = (uint8_t)dst,
					      .src = (uint8_t)src,
					      .depth = writer->depth,
					      .off = (int16_t)off,
					      .imm = (int32_t)imm,
					      .target = at + 1,
					      .origin = at };
	if (at + 2 < ASSEMBLE_MAX_STEPS)
		writer->out->program.steps_n++;
	return step;
}

static bool is_full(const struct writer *writer)
{
	return writer->out->program.steps_n > ROOM;
}

static void move(struct writer *writer, unsigned int dst, unsigned int src)
{
	emit(writer, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
	if (src < 10)
		writer->guesses[dst] = writer->guesses[src];
	else
		writer->guesses[dst] = STACK;
}

static void move_number(struct writer *writer, unsigned int dst, int64_t imm)
{
	emit(writer, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
	writer->guesses[dst] = NUMBER;
}

/* A register of which this is guessed, or 10. */
static unsigned int any_register(struct writer *writer, enum guess guess)
{
	unsigned int first = roll(writer, 10);

	for (unsigned int i = 0; i < 10; i++)
		if (writer->guesses[(first + i) % 10] == guess)
			return (first + i) % 10;
	return 10;
}

static unsigned int number_register(struct writer *writer)
{
	unsigned int found = any_register(writer, NUMBER);

	if (found == 10) {
		found = roll(writer, 9);
		move_number(writer, found, (int32_t)dice_number(writer->dice));
	}
	return found;
}

/* One that may be overwritten: not the last value. */
static unsigned int free_register(struct writer *writer)
{
	unsigned int found = roll(writer, 10);

	return writer->guesses[found] == VALUE && !dice_once_in(writer->dice, 8) ? roll(writer, 6) :
										   found;
}

static void jump_to_end(struct writer *writer, uint8_t code, unsigned int dst, unsigned int src,
			int64_t imm)
{
	if (writer->fixes_n == MAX_FIXES || writer->depth)
		return;
	writer->fixes[writer->fixes_n++] = writer->out->program.steps_n;
	emit(writer, code, dst, src, 0, imm);
}

/* The address of a slot, this one or one below it. */
static void move_slot(struct writer *writer, unsigned int dst, uint32_t first)
{
	move(writer, dst, 10);
	emit(writer, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, -8 * (first + roll(writer, SLOTS)));
}

static void after_call(struct writer *writer)
{
	for (unsigned int i = 1; i < 6; i++)
		writer->guesses[i] = NOTHING;
	writer->guesses[0] = NUMBER;
}

static void load_map(struct writer *writer, unsigned int dst, uint32_t map)
{
	emit(writer, BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_IDX, 0, 0)->map = map;
	writer->guesses[dst] = NOTHING;
}

static void write_lookup(struct writer *writer)
{
	static const uint8_t maps[] = { MAP_ARRAY, MAP_ARRAY, MAP_HASH, MAP_SM_ARRAY, MAP_ODD };
	uint32_t map = maps[roll(writer, sizeof(maps))];

	load_map(writer, 1, map);
	move_slot(writer, 2, 1);
	emit(writer, BPF_JMP | BPF_CALL, 0, 0, 0, 1);
	after_call(writer);
	writer->guesses[0] = NOTHING;
	if (dice_once_in(writer->dice, 3))
		move(writer, 6 + roll(writer, 4), 0);
	if (writer->depth || dice_once_in(writer->dice, 20))
		return;
	jump_to_end(writer, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0);
	writer->guesses[0] = VALUE;
	writer->value_map = map;
	if (!dice_once_in(writer->dice, 4))
		move(writer, 6 + roll(writer, 3), 0);
}

static void write_call(struct writer *writer)
{
	static const uint16_t plain[] = { 14, 502, 509, 510, 511, 602, 603, 604, 607, 608 };
	static const uint16_t outs[] = { 503, 504, 505, 508 };

	switch (roll(writer, 5)) {
	case 0:
		for (unsigned int i = 1; i <= 3; i++)
			move_slot(writer, i, 1);
		emit(writer, BPF_JMP | BPF_CALL, 0, 0, 0, outs[roll(writer, 4)]);
		break;
	case 1:
		load_map(writer, 1, MAP_RING);
		move_slot(writer, 2, 2);
		move_number(writer, 3, 8 + roll(writer, 9));
		move_number(writer, 4, 0);
		emit(writer, BPF_JMP | BPF_CALL, 0, 0, 0, 130);
		break;
	case 2:
		load_map(writer, 1, MAP_ARRAY);
		move_number(writer, 2, roll(writer, 9));
		move_number(writer, 3, 1);
		emit(writer, BPF_JMP | BPF_CALL, 0, 0, 0, 600);
		break;
	default:
		emit(writer, BPF_JMP | BPF_CALL, 0, 0, 0, plain[roll(writer, 10)]);
	}
	after_call(writer);
}

static const uint8_t alu_ops[] = { BPF_ADD, BPF_SUB, BPF_MUL,  BPF_OR,	BPF_AND, BPF_XOR,
				   BPF_LSH, BPF_RSH, BPF_ARSH, BPF_DIV, BPF_MOD };
#define DIVIDES 2 /* at its end */
static const uint8_t jump_ops[] = { BPF_JEQ,  BPF_JNE,	BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
				    BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE };

static uint8_t alu_class(struct writer *writer)
{
	return dice_once_in(writer->dice, 3) ? BPF_ALU : BPF_ALU64;
}

static void write_alu(struct writer *writer)
{
	uint32_t ops = sizeof(alu_ops) - (writer->kind->kernel ? DIVIDES : 0);
	uint8_t op = alu_ops[roll(writer, ops)], class = alu_class(writer);
	unsigned int dst = number_register(writer);
	int32_t imm = (int32_t)dice_number(writer->dice);
	int off = (op == BPF_DIV || op == BPF_MOD) && dice_once_in(writer->dice, 4);

	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
		imm = (int32_t)roll(writer, class == BPF_ALU ? 32 : 64);
	if ((op == BPF_DIV || op == BPF_MOD) && !imm)
		imm = 7;
	/* The kernel knows nothing of a number that is shifted by 64 or more. */
	if (dice_once_in(writer->dice, 3) &&
	    !(writer->kind->kernel && (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)))
		emit(writer, class | op | BPF_X, dst, number_register(writer), off, 0);
	else
		emit(writer, class | op | BPF_K, dst, 0, off, imm);
}

/* Of two values, that may be different ones of a map. */
static void write_distance(struct writer *writer)
{
	unsigned int left = any_register(writer, VALUE), right = any_register(writer, VALUE);
	unsigned int to = roll(writer, 6);

	if (left == 10 || to == right)
		return;
	move(writer, to, left);
	emit(writer, BPF_ALU64 | BPF_SUB | BPF_X, to, right, 0, 0);
	writer->guesses[to] = NUMBER;
}

static void write_unary(struct writer *writer)
{
	static const uint8_t bits[] = { 8, 16, 32 };
	unsigned int reg = number_register(writer), to = free_register(writer);
	uint8_t class = alu_class(writer);

	switch (roll(writer, 5)) {
	case 0:
		emit(writer, class | BPF_NEG, reg, 0, 0, 0);
		break;
	case 3:
		write_distance(writer);
		break;
	case 1:
		emit(writer, class | BPF_END, reg, 0, 0, 16 << roll(writer, 3));
		break;
	case 2:
		if (writer->kind->kernel)
			break;
		emit(writer, class | BPF_MOV | BPF_X, to, reg,
		     bits[roll(writer, class == BPF_ALU ? 2 : 3)], 0);
		writer->guesses[to] = NUMBER;
		break;
	default:
		emit(writer, class | BPF_MOV | BPF_X, to, reg, 0, 0);
		writer->guesses[to] = NUMBER;
	}
}

/* Something that keeps a number small. */
static void write_bound(struct writer *writer, unsigned int reg, uint32_t most)
{
	static const uint8_t compares[] = { BPF_JGT, BPF_JGE, BPF_JSGT, BPF_JSGE };
	uint8_t class = dice_once_in(writer->dice, 4) ? BPF_JMP32 : BPF_JMP;
	uint32_t limit = roll(writer, most + 1);

	switch (roll(writer, 5)) {
	case 0:
		emit(writer, alu_class(writer) | BPF_AND | BPF_K, reg, 0, 0, limit);
		break;
	case 1:
		if (!writer->kind->kernel)
			emit(writer, alu_class(writer) | BPF_MOD | BPF_K, reg, 0, 0, limit + 1);
		break;
	case 2:
		emit(writer, BPF_ALU64 | BPF_RSH | BPF_K, reg, 0, 0, 56 + roll(writer, 8));
		break;
	case 3:
		jump_to_end(writer, class | BPF_JSLT | BPF_K, reg, 0, 0);
		jump_to_end(writer, class | BPF_JSGT | BPF_K, reg, 0, limit);
		break;
	default:
		jump_to_end(writer, class | compares[roll(writer, 4)] | BPF_K, reg, 0, limit);
	}
	if (class == BPF_JMP32 && dice_once_in(writer->dice, 2))
		emit(writer, BPF_ALU | BPF_MOV | BPF_X, reg, reg, 0, 0);
}

static int offset_within(struct writer *writer, uint32_t size)
{
	return (int)(roll(writer, 64 / size) * size) + (dice_once_in(writer->dice, 12) ? 3 : 0);
}

/* An access through a register that leads near the value's or the stack's beginning. */
static void write_access(struct writer *writer, unsigned int base, enum guess guess, int off)
{
	static const uint8_t atomics[] = { BPF_ADD, BPF_AND, BPF_OR, BPF_XOR };
	static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	uint32_t log = roll(writer, 4), bytes = 1u << log;
	uint8_t size = sizes[log];
	unsigned int reg = number_register(writer), to = free_register(writer);

	if (guess == STACK && off % (int)bytes)
		off -= off % (int)bytes;
	switch (roll(writer, guess == VALUE ? 5 : 3)) {
	case 0:
		emit(writer, BPF_STX | BPF_MEM | size, base, reg, off, 0);
		break;
	case 1:
		emit(writer, BPF_ST | BPF_MEM | size, base, 0, off,
		     (int32_t)dice_any(writer->dice));
		break;
	case 2:
		emit(writer,
		     BPF_LDX | size |
			     (log < 3 && dice_once_in(writer->dice, 3) ? BPF_MEMSX : BPF_MEM),
		     to, base, off, 0);
		writer->guesses[to] = NUMBER;
		break;
	case 3:
		size = dice_once_in(writer->dice, 2) ? BPF_W : BPF_DW;
		emit(writer, BPF_STX | BPF_ATOMIC | size, base, reg, off & ~7,
		     atomics[roll(writer, 4)] | (dice_once_in(writer->dice, 2) ? BPF_FETCH : 0));
		break;
	default:
		size = dice_once_in(writer->dice, 2) ? BPF_W : BPF_DW;
		if (writer->guesses[0] == NUMBER)
			emit(writer, BPF_STX | BPF_ATOMIC | size, base, reg, off & ~7,
			     dice_once_in(writer->dice, 2) ? BPF_XCHG : BPF_CMPXCHG);
	}
}

static void write_value_access(struct writer *writer)
{
	unsigned int from = any_register(writer, VALUE), index, moved;

	if (from == 10) {
		write_lookup(writer);
		return;
	}
	if (dice_once_in(writer->dice, 3)) {
		write_access(writer, from, VALUE, offset_within(writer, 8) % 16);
		return;
	}
	index = number_register(writer);
	if (dice_once_in(writer->dice, 2)) {
		moved = roll(writer, 6);
		move(writer, moved, index);
		if (dice_once_in(writer->dice, 2))
			index = moved;
	}
	if (!dice_once_in(writer->dice, 6))
		write_bound(writer, index, 1u << roll(writer, 7));
	if (dice_once_in(writer->dice, 2))
		emit(writer, BPF_ALU64 | BPF_LSH | BPF_K, index, 0, 0, roll(writer, 4));
	moved = roll(writer, 6);
	if (moved == index)
		return;
	move(writer, moved, from);
	emit(writer,
	     BPF_ALU64 |
		     (!writer->kind->kernel && dice_once_in(writer->dice, 5) ? BPF_SUB : BPF_ADD) |
		     BPF_X,
	     moved, index, 0, 0);
	write_access(writer, moved, VALUE, offset_within(writer, 8) % 24);
	if (dice_once_in(writer->dice, 3) && writer->guesses[from] == VALUE &&
	    writer->guesses[moved] == VALUE) {
		emit(writer, BPF_ALU64 | BPF_SUB | BPF_X, moved, from, 0, 0);
		writer->guesses[moved] = NUMBER;
	}
}

static void write_stack_access(struct writer *writer)
{
	unsigned int index, moved;

	if (dice_once_in(writer->dice, 2)) {
		write_access(writer, 10, STACK, -8 * (int)(1 + roll(writer, SLOTS)));
		return;
	}
	index = number_register(writer);
	write_bound(writer, index, 7);
	emit(writer, BPF_ALU64 | BPF_LSH | BPF_K, index, 0, 0, 3);
	moved = roll(writer, 6);
	if (moved == index)
		return;
	move(writer, moved, 10);
	emit(writer, BPF_ALU64 | BPF_ADD | BPF_K, moved, 0, 0, -8 * SLOTS);
	emit(writer, BPF_ALU64 | BPF_ADD | BPF_X, moved, index, 0, 0);
	write_access(writer, moved, STACK, 0);
	writer->guesses[moved] = NOTHING;
}

static void write_spill(struct writer *writer)
{
	unsigned int reg = any_register(writer, dice_once_in(writer->dice, 2) ? VALUE : NUMBER);
	unsigned int to = free_register(writer);

	if (reg == 10)
		return;
	emit(writer, BPF_STX | BPF_MEM | BPF_DW, 10, reg, SPILLED, 0);
	if (dice_once_in(writer->dice, 2) && writer->guesses[reg] == NUMBER)
		write_bound(writer, reg, 40);
	emit(writer, BPF_LDX | BPF_MEM | BPF_DW, to, 10, SPILLED, 0);
	writer->guesses[to] = writer->guesses[reg];
}

static void write_some(struct writer *writer, unsigned int n, unsigned int nested);

/* Where two paths meet, only what both have is there. */
static void meet(struct writer *writer, const enum guess *before)
{
	for (unsigned int i = 0; i < 10; i++)
		if (writer->guesses[i] != before[i])
			writer->guesses[i] = NOTHING;
}

static void write_block(struct writer *writer, unsigned int nested)
{
	enum guess before[10];
	uint32_t jump;
	unsigned int reg = number_register(writer), other;
	uint8_t code = (dice_once_in(writer->dice, 3) ? BPF_JMP32 : BPF_JMP) |
		       jump_ops[roll(writer, sizeof(jump_ops))];

	/* The kernel takes a number that is compared with itself for two numbers. */
	other = number_register(writer);
	jump = writer->out->program.steps_n;
	if (dice_once_in(writer->dice, 3) && !(writer->kind->kernel && other == reg))
		emit(writer, code | BPF_X, reg, other, 0, 0);
	else
		emit(writer, code | BPF_K, reg, 0, 0, (int32_t)dice_number(writer->dice));
	memcpy(before, writer->guesses, sizeof(before));
	write_some(writer, 1 + roll(writer, 4), nested + 1);
	meet(writer, before);
	writer->out->steps[jump].target = writer->out->program.steps_n;
}

static void write_loop(struct writer *writer, unsigned int nested)
{
	unsigned int counter = 6 + roll(writer, 4);
	enum guess before[10];
	uint32_t head;

	if (writer->guesses[counter] == VALUE)
		return;
	move_number(writer, counter, roll(writer, 3));
	/* What a call takes is gone at the head, too. */
	for (unsigned int i = 0; i < 6; i++)
		writer->guesses[i] = NOTHING;
	memcpy(before, writer->guesses, sizeof(before));
	head = writer->out->program.steps_n;
	write_some(writer, 1 + roll(writer, 4), nested + 1);
	meet(writer, before);
	emit(writer, BPF_ALU64 | BPF_ADD | BPF_K, counter, 0, 0, 1 + roll(writer, 8));
	emit(writer, BPF_JMP | jump_ops[roll(writer, sizeof(jump_ops))] | BPF_K, counter, 0, 0,
	     roll(writer, 70))
		->target = head;
	writer->guesses[counter] = NUMBER;
}

static void write_function(struct writer *writer, unsigned int nested)
{
	enum guess before[10];

	if (writer->depth == 2)
		return;
	memcpy(before, writer->guesses, sizeof(before));
	emit(writer, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	writer->depth++;
	for (unsigned int i = 0; i < 10; i++)
		if (!i || i > 5)
			writer->guesses[i] = NOTHING;
	for (int i = 1; i <= SLOTS; i++)
		emit(writer, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8 * i, (int32_t)roll(writer, 99));
	write_some(writer, 1 + roll(writer, 4), nested + 1);
	move_number(writer, 0, roll(writer, 99));
	emit(writer, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	writer->depth--;
	memcpy(&writer->guesses[6], &before[6], 4 * sizeof(before[0]));
	after_call(writer);
}

static void write_some(struct writer *writer, unsigned int n, unsigned int nested)
{
	while (n-- && !is_full(writer)) {
		switch (roll(writer, nested < 3 ? 14 : 10)) {
		case 0:
		case 1:
			write_alu(writer);
			break;
		case 2:
			write_unary(writer);
			break;
		case 3:
		case 4:
		case 5:
			write_value_access(writer);
			break;
		case 6:
			write_stack_access(writer);
			break;
		case 7:
			write_spill(writer);
			break;
		case 8:
			write_bound(writer, number_register(writer), 1u << roll(writer, 20));
			break;
		case 9:
			(dice_once_in(writer->dice, 2) ? write_call : write_lookup)(writer);
			break;
		case 10:
		case 11:
			write_block(writer, nested);
			break;
		case 12:
			if (writer->kind->loops)
				write_loop(writer, nested);
			break;
		default:
			if (writer->kind->functions)
				write_function(writer, nested);
		}
	}
}

static void begin(struct writer *writer)
{
	for (int i = 1; i <= SLOTS; i++)
		emit(writer, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8 * i, (int32_t)roll(writer, 99));
	if (writer->out->program.point == GPUMON_GPUPROG_MEMORY) {
		emit(writer, BPF_LDX | BPF_MEM | BPF_DW, 9, 1, 0, 0);
		emit(writer, BPF_LDX | BPF_MEM | BPF_W, 5, 1, 16, 0);
	} else {
		move_number(writer, 9, (int32_t)dice_number(writer->dice));
		move_number(writer, 5, 3);
	}
	writer->guesses[9] = NUMBER;
	write_lookup(writer);
	if (writer->guesses[0] == VALUE) {
		emit(writer, BPF_LDX | BPF_MEM | BPF_DW, 9, 0, 0, 0);
		emit(writer, BPF_LDX | BPF_MEM | BPF_W, 3, 0, 4, 0);
		writer->guesses[9] = NUMBER;
		writer->guesses[3] = NUMBER;
	}
}

/* As a mistake of a compiler, or of a person. */
static void change_field(struct writer *writer)
{
	struct gpumon_gpuprog_step *step =
		&writer->out->steps[roll(writer, writer->out->program.steps_n - 2)];
	uint8_t class = BPF_CLASS(step->code);

	switch (roll(writer, 4)) {
	case 0:
		step->imm = (int32_t)((uint32_t)step->imm + roll(writer, 5) - 2);
		break;
	case 1:
		if (class == BPF_LDX || class == BPF_ST || class == BPF_STX)
			step->off += (int16_t)((int)roll(writer, 33) - 16);
		break;
	case 2:
		step->dst = (uint8_t)roll(writer, 10);
		break;
	default:
		if ((class == BPF_JMP || class == BPF_JMP32) &&
		    (BPF_OP(step->code) == BPF_JEQ || BPF_OP(step->code) == BPF_JNE))
			step->code ^= BPF_JEQ ^ BPF_JNE;
		else if (BPF_SRC(step->code) == BPF_X && (class == BPF_ALU || class == BPF_ALU64))
			step->src = (uint8_t)roll(writer, 10);
	}
}

void random_program(struct dice *dice, const struct random_kind *kind, struct assembled *out)
{
	struct writer writer = { .dice = dice, .kind = kind, .out = out };
	unsigned int changes = kind->changes && dice_once_in(dice, 3) ? 1 + dice_below(dice, 2) : 0;

	memset(out, 0, sizeof(*out));
	out->program = (struct gpumon_gpuprog){
		.name = "random",
		.section = "kprobe/random",
		.point = dice_once_in(dice, 3) ? GPUMON_GPUPROG_MEMORY : GPUMON_GPUPROG_ENTRY,
		.steps = out->steps,
		.maps = probe_maps,
		.maps_n = MAPS,
	};
	begin(&writer);
	write_some(&writer, 3 + dice_below(dice, 20), 0);
	for (unsigned int i = 0; i < writer.fixes_n; i++)
		out->steps[writer.fixes[i]].target = out->program.steps_n;
	emit(&writer, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	emit(&writer, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	while (changes--)
		change_field(&writer);
}
