// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>

#include "lib/memory.h"
#include "gpuprog/object/instruction.h"
#include "memory.h"
#include "text.h"
#include "translate.h"

uint32_t gpumon_gpuprog_isa(uint32_t sm)
{
	static const struct {
		uint32_t sm;
		uint32_t isa;
	} table[] = { { 121, 88 }, { 120, 87 }, { 110, 90 }, { 103, 88 }, { 100, 86 }, { 89, 78 },
		      { 88, 90 },  { 87, 74 },	{ 86, 71 },  { 80, 70 },  { 75, 63 },  { 72, 61 } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (sm >= table[i].sm)
			return table[i].isa;
	return 60;
}

/*
 * eBPF and PTX differ: eBPF masks shifts, and PTX clamps them; x / 0 is 0 and x % 0 is x; the least
 * number divided by -1 is itself; each operation of 32 bits clears the upper half.
 */

/* A source of an operation: a register, or a constant. */
struct source {
	bool constant;
	int64_t value;
	uint32_t reg; /* %gd or %gw, as the operation is wide or not */
};

static const char *bits(bool wide)
{
	return wide ? "64" : "32";
}

static const char *kind(bool wide)
{
	return wide ? "d" : "w";
}

static uint32_t new_reg(struct text *text, bool wide)
{
	return wide ? text_wide(text) : text_word(text);
}

/* Write "%gd5", "%gw5" or a constant. */
static const char *operand(char *place, size_t size, bool wide, const struct source *source)
{
	if (source->constant)
		snprintf(place, size, "%lld", (long long)source->value);
	else
		snprintf(place, size, "%%g%s%u", kind(wide), source->reg);
	return place;
}

/* "OP.b64 result, left, right" in registers of this width. */
static void binary(struct text *text, const char *op, const char *type, bool wide, uint32_t result,
		   uint32_t left, const struct source *right)
{
	char place[32];

	text_emit(text, wide ? "$s.$s$s $d, $d, $s" : "$s.$s$s $w, $w, $s", op, type, bits(wide),
		  result, left, operand(place, sizeof(place), wide, right));
}

static uint32_t low_half(struct text *text, uint32_t reg)
{
	uint32_t word = text_word(text);

	text_emit(text, "cvt.u32.u64 $w, $d", word, reg);
	return word;
}

static struct source take_source(struct text *text, const struct gpumon_gpuprog_step *step,
				 bool wide)
{
	struct source source = { .constant = true, .value = step->imm };

	if (BPF_SRC(step->code) == BPF_X) {
		source.constant = false;
		source.reg = text_register(step, step->src);
		if (!wide)
			source.reg = low_half(text, source.reg);
	}
	return source;
}

static void shift(struct text *text, const char *op, const char *type, bool wide, uint32_t result,
		  uint32_t left, struct source right)
{
	char place[32];
	uint32_t mask = wide ? 63 : 31;

	if (right.constant) {
		right.value &= mask;
	} else {
		if (wide)
			right.reg = low_half(text, right.reg);
		text_emit(text, "and.b32 $w, $w, $u", text->word, right.reg, mask);
		right.reg = text_word(text);
	}
	/* The count has 32 bits in both widths. */
	text_emit(text, wide ? "$s.$s$s $d, $d, $s" : "$s.$s$s $w, $w, $s", op, type, bits(wide),
		  result, left, operand(place, sizeof(place), false, &right));
}

/* Division and remainder by a constant. */
static void divide_constant(struct text *text, bool rem, bool sign, bool wide, uint32_t result,
			    uint32_t left, const struct source *right)
{
	const char *mov = wide ? "mov.b64 $d, $i" : "mov.b32 $w, $i";

	if (right->value == 0 && rem)
		text_emit(text, wide ? "mov.b64 $d, $d" : "mov.b32 $w, $w", result, left);
	else if (right->value == 0 || (rem && sign && right->value == -1))
		text_emit(text, mov, result, 0);
	else if (sign && right->value == -1)
		text_emit(text, wide ? "neg.s64 $d, $d" : "neg.s32 $w, $w", result, left);
	else
		binary(text, rem ? "rem" : "div", sign ? "s" : "u", wide, result, left, right);
}

/* PTX leaves the results of x / 0 and MIN / -1 open: 1 is the divisor then, and not used. */
static void divide(struct text *text, bool rem, bool sign, bool wide, uint32_t result,
		   uint32_t left, const struct source *right)
{
	struct source safe = { .reg = new_reg(text, wide) };
	uint32_t zero = text_predicate(text), minus = 0, other;

	if (right->constant) {
		divide_constant(text, rem, sign, wide, result, left, right);
		return;
	}
	text_emit(text, wide ? "setp.eq.u64 $p, $d, 0" : "setp.eq.u32 $p, $w, 0", zero, right->reg);
	text_emit(text, wide ? "selp.b64 $d, 1, $d, $p" : "selp.b32 $w, 1, $w, $p", safe.reg,
		  right->reg, zero);
	if (sign) {
		minus = text_predicate(text);
		text_emit(text, wide ? "setp.eq.s64 $p, $d, -1" : "setp.eq.s32 $p, $w, -1", minus,
			  right->reg);
		text_emit(text, wide ? "selp.b64 $d, 1, $d, $p" : "selp.b32 $w, 1, $w, $p",
			  safe.reg, safe.reg, minus);
	}
	/* x / 1 needs a negation for -1, x % 1 is already that of -1. */
	other = new_reg(text, wide);
	binary(text, rem ? "rem" : "div", sign ? "s" : "u", wide, other, left, &safe);
	if (sign && !rem) {
		uint32_t negated = new_reg(text, wide);

		text_emit(text, wide ? "neg.s64 $d, $d" : "neg.s32 $w, $w", negated, left);
		text_emit(text, wide ? "selp.b64 $d, $d, $d, $p" : "selp.b32 $w, $w, $w, $p", other,
			  negated, other, minus);
	}
	if (rem)
		text_emit(text, wide ? "selp.b64 $d, $d, $d, $p" : "selp.b32 $w, $w, $w, $p",
			  result, left, other, zero);
	else
		text_emit(text, wide ? "selp.b64 $d, 0, $d, $p" : "selp.b32 $w, 0, $w, $p", result,
			  other, zero);
}

/* Moves, and those that extend the sign of 8, 16 or 32 bits. */
static void move(struct text *text, const struct gpumon_gpuprog_step *step, bool wide,
		 uint32_t result, const struct source *right)
{
	char place[32];

	if (!step->off)
		text_emit(text, wide ? "mov.b64 $d, $s" : "mov.b32 $w, $s", result,
			  operand(place, sizeof(place), wide, right));
	else if (wide)
		text_emit(text, "cvt.s64.s$i $d, $d", step->off, result, right->reg);
	else
		text_emit(text, "cvt.s32.s$i $w, $w", step->off, result, right->reg);
}

static void swap_64(struct text *text, uint32_t dst)
{
	uint32_t low = text_word(text), high = text_word(text);

	text_emit(text, "mov.b64 {$w, $w}, $d", low, high, dst);
	text_emit(text, "prmt.b32 $w, $w, 0, 0x0123", low, low);
	text_emit(text, "prmt.b32 $w, $w, 0, 0x0123", high, high);
	text_emit(text, "mov.b64 $d, {$w, $w}", dst, high, low);
}

/* BPF_END: to the order of the GPU, which is little-endian, or swapped. */
static void byte_order(struct text *text, const struct gpumon_gpuprog_step *step, uint32_t dst)
{
	bool swap = BPF_CLASS(step->code) == BPF_ALU64 || BPF_SRC(step->code) == BPF_TO_BE;
	uint32_t word;

	if (step->imm == 64) {
		if (swap)
			swap_64(text, dst);
		return;
	}
	word = low_half(text, dst);
	if (swap)
		text_emit(text, "prmt.b32 $w, $w, 0, $s", word, word,
			  step->imm == 16 ? "0x4401" : "0x0123");
	else if (step->imm == 16)
		text_emit(text, "and.b32 $w, $w, 0xffff", word, word);
	text_emit(text, "cvt.u64.u32 $d, $w", dst, word);
}

/* Operations that PTX has, too, with their types there. */
static const struct {
	const char *name;
	const char *type;
} operations[16] = {
	[BPF_ADD >> 4] = { "add", "s" },  [BPF_SUB >> 4] = { "sub", "s" },
	[BPF_AND >> 4] = { "and", "b" },  [BPF_OR >> 4] = { "or", "b" },
	[BPF_XOR >> 4] = { "xor", "b" },  [BPF_MUL >> 4] = { "mul.lo", "s" },
	[BPF_LSH >> 4] = { "shl", "b" },  [BPF_RSH >> 4] = { "shr", "u" },
	[BPF_ARSH >> 4] = { "shr", "s" },
};

static void arithmetic(struct text *text, const struct gpumon_gpuprog_step *step, bool wide,
		       uint32_t result, uint32_t left, const struct source *right)
{
	const char *name = operations[BPF_OP(step->code) >> 4].name;
	const char *type = operations[BPF_OP(step->code) >> 4].type;

	switch (BPF_OP(step->code)) {
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		shift(text, name, type, wide, result, left, *right);
		break;
	case BPF_DIV:
	case BPF_MOD:
		divide(text, BPF_OP(step->code) == BPF_MOD, step->off, wide, result, left, right);
		break;
	case BPF_NEG:
		text_emit(text, wide ? "neg.s64 $d, $d" : "neg.s32 $w, $w", result, left);
		break;
	case BPF_MOV:
		move(text, step, wide, result, right);
		break;
	default:
		if (name)
			binary(text, name, type, wide, result, left, right);
		else
			text_refuse(text, "operation 0x%x is not known", step->code);
	}
}

void text_alu(struct text *text, const struct gpumon_gpuprog_step *step)
{
	bool wide = BPF_CLASS(step->code) == BPF_ALU64, moves = BPF_OP(step->code) == BPF_MOV;
	uint32_t dst = text_register(step, step->dst), result;
	struct source source = { .constant = true };

	if (BPF_OP(step->code) == BPF_END) {
		byte_order(text, step, dst);
		return;
	}
	if (BPF_OP(step->code) != BPF_NEG)
		source = take_source(text, step, wide);
	if (wide) {
		arithmetic(text, step, true, dst, dst, &source);
		return;
	}
	result = text_word(text);
	arithmetic(text, step, false, result, moves ? 0 : low_half(text, dst), &source);
	text_emit(text, "cvt.u64.u32 $d, $w", dst, result);
}

/* Whether it compares the result of a lookup with the null pointer. */
static bool asks_for_element(const struct text *text, const struct gpumon_gpuprog_step *step)
{
	return text->looked_up & UINT64_C(1) << text_register(step, step->dst) && !step->imm &&
	       (step->code == (BPF_JMP | BPF_JEQ | BPF_K) ||
		step->code == (BPF_JMP | BPF_JNE | BPF_K));
}

uint32_t text_condition(struct text *text, const struct gpumon_gpuprog_step *step)
{
	static const struct {
		const char *name;
		char type;
	} compare[16] = {
		[BPF_JEQ >> 4] = { "eq", 'u' },	 [BPF_JNE >> 4] = { "ne", 'u' },
		[BPF_JGT >> 4] = { "gt", 'u' },	 [BPF_JGE >> 4] = { "ge", 'u' },
		[BPF_JLT >> 4] = { "lt", 'u' },	 [BPF_JLE >> 4] = { "le", 'u' },
		[BPF_JSGT >> 4] = { "gt", 's' }, [BPF_JSGE >> 4] = { "ge", 's' },
		[BPF_JSLT >> 4] = { "lt", 's' }, [BPF_JSLE >> 4] = { "le", 's' },
	};
	bool wide = BPF_CLASS(step->code) == BPF_JMP;
	uint32_t dst = text_register(step, step->dst), result = text_predicate(text), both;
	struct source source = take_source(text, step, wide);
	char place[32], type[2] = { compare[BPF_OP(step->code) >> 4].type };

	/* For a constant index the place is known, for an address it is not. */
	if (asks_for_element(text, step)) {
		if (BPF_OP(step->code) == BPF_JNE)
			return text->exists;
		text_emit(text, "not.pred $p, $p", result, text->exists);
		return result;
	}
	if (!wide)
		dst = low_half(text, dst);
	if (BPF_OP(step->code) == BPF_JSET) {
		both = new_reg(text, wide);
		binary(text, "and", "b", wide, both, dst, &source);
		text_emit(text, wide ? "setp.ne.u64 $p, $d, 0" : "setp.ne.u32 $p, $w, 0", result,
			  both);
		return result;
	}
	if (!compare[BPF_OP(step->code) >> 4].name) {
		text_refuse(text, "jump 0x%x is not known", step->code);
		return result;
	}
	text_emit(text, wide ? "setp.$s.$s64 $p, $d, $s" : "setp.$s.$s32 $p, $w, $s",
		  compare[BPF_OP(step->code) >> 4].name, type, result, dst,
		  operand(place, sizeof(place), wide, &source));
	return result;
}

#define MIN_ISA 40
#define MIN_SM	35 /* atomic operations of 64 bits */

/* The context is a pointer, so no null pointer; nothing lies behind it. */
#define CONTEXT_ADDRESS 4096

/* Whether one of two helpers is called. */
static bool calls(const struct gpumon_gpuprog *program, int32_t helper, int32_t other)
{
	for (uint32_t i = 0; i < program->steps_n; i++) {
		const struct gpumon_gpuprog_step *step = &program->steps[i];

		if (step->code == (BPF_JMP | BPF_CALL) &&
		    (step->imm == helper || step->imm == other))
			return true;
	}
	return false;
}

bool gpumon_gpuprog_keeps(const struct gpumon_gpuprog *program)
{
	return calls(program, 605, 606);
}

bool gpumon_gpuprog_prints(const struct gpumon_gpuprog *program)
{
	return calls(program, BPF_FUNC_trace_printk, 501);
}

/* The step that is written after this one, or steps_n. */
static uint32_t next_step(const struct text *text, uint32_t step)
{
	do
		step++;
	while (step < text->program->steps_n && !text->facts[step].reached);
	return step;
}

/* Jump, with fuel if it goes back. @condition: a predicate, or -1. */
static void jump(struct text *text, uint32_t target, int condition)
{
	uint32_t empty, stay;

	if (!text->facts[text->step].back_edge) {
		if (condition >= 0)
			text_emit(text, "@$p bra $l", condition, target);
		else if (target != next_step(text, text->step))
			text_emit(text, "bra $l", target);
		return;
	}
	empty = text_predicate(text);
	stay = text_new_label(text);
	if (condition >= 0)
		text_emit(text, "@!$p bra $l", condition, stay);
	text_emit(text, "setp.eq.u32 $p, $w, 0", empty, TEXT_FUEL_WORD);
	text_emit(text, "@$p bra $l", empty, TEXT_LABEL_FUEL);
	text_emit(text, "sub.u32 $w, $w, 1", TEXT_FUEL_WORD, TEXT_FUEL_WORD);
	text_emit(text, "bra $l", target);
	if (condition >= 0)
		text_label(text, stay);
	text->fuel_used = true;
}

static void end_run(struct text *text)
{
	text_emit(text, "bra $l", TEXT_LABEL_END);
	text->end_used = true;
}

static void write_jump(struct text *text, const struct gpumon_gpuprog_step *step)
{
	const struct gpumon_gpuprog_fact *fact = &text->facts[text->step];
	bool always = BPF_OP(step->code) == BPF_JA;

	/* No number gets here. What follows may not have been written. */
	if (!always && !fact->jumps && !fact->falls_through)
		end_run(text);
	else if (always || !fact->falls_through)
		jump(text, step->target, -1);
	else if (fact->jumps)
		jump(text, step->target, (int)text_condition(text, step));
}

static void write_wide_constant(struct text *text, const struct gpumon_gpuprog_step *step)
{
	uint32_t dst = text_register(step, step->dst);

	if (step->code != (BPF_LD | BPF_IMM | BPF_DW)) {
		text_refuse(text, "instruction 0x%x is not known", step->code);
		return;
	}
	if (step->src == 0) {
		text_emit(text, "mov.b64 $d, $x", dst, step->value);
		return;
	}
	text_emit(text, "mov.b64 $d, $d", dst, text_map_address(text, step->map));
	if (step->src == BPF_PSEUDO_MAP_IDX_VALUE && step->value)
		text_emit(text, "add.s64 $d, $d, $x", dst, dst, step->value);
}

static void write_step(struct text *text, const struct gpumon_gpuprog_step *step)
{
	switch (BPF_CLASS(step->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		text_alu(text, step);
		break;
	case BPF_LD:
		write_wide_constant(text, step);
		break;
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		text_memory(text, step);
		break;
	default:
		if (BPF_OP(step->code) == BPF_CALL)
			text_call(text, step);
		else if (BPF_OP(step->code) != BPF_EXIT)
			write_jump(text, step);
		else if (next_step(text, text->step) < text->program->steps_n)
			end_run(text);
	}
}

/* Which steps need a label. */
static bool *find_targets(const struct text *text)
{
	bool *targets = gpumon_calloc(text->program->steps_n, sizeof(*targets));
	uint32_t i;

	for (i = 0; i < text->program->steps_n; i++)
		if (text->facts[i].reached && gpumon_gpuprog_is_jump(text->program->steps[i].code))
			targets[text->program->steps[i].target] = true;
	return targets;
}

static bool has_loops(const struct text *text)
{
	uint32_t i;

	for (i = 0; i < text->program->steps_n; i++)
		if (text->facts[i].reached && text->facts[i].back_edge)
			return true;
	return false;
}

static bool is_map_address(const struct gpumon_gpuprog_step *step)
{
	return step->code == (BPF_LD | BPF_IMM | BPF_DW) && step->src;
}

/* Calls of helpers without a map that read the control block. */
static bool calls_control(const struct text *text, const struct gpumon_gpuprog_step *step)
{
	if (step->code != (BPF_JMP | BPF_CALL))
		return false;
	if (step->imm == 605 || step->imm == 606)
		return text_keeps_in_memory(text);
	return step->imm == BPF_FUNC_trace_printk || step->imm == BPF_FUNC_get_current_pid_tgid ||
	       step->imm == 501;
}

static bool uses_table(const struct text *text)
{
	for (uint32_t i = 0; i < text->program->steps_n; i++) {
		const struct gpumon_gpuprog_step *step = &text->program->steps[i];

		if (text->facts[i].reached &&
		    (is_map_address(step) || calls_control(text, step) ||
		     text->facts[i].back_edge || text->facts[i].address.check))
			return true;
	}
	return false;
}

/*
 * A table that nobody has filled in has zeroes: the module was loaded where there is no memory for
 * maps, or in a process that nobody watches any more.
 */
static void guard_table(struct text *text)
{
	uint32_t control = text_table(text, 0), empty = text_predicate(text);

	text_emit(text, "setp.eq.u64 $p, $d, 0", empty, control);
	text_emit(text, "@$p bra $l", empty, TEXT_LABEL_END);
	text->end_used = true;
}

/* Keep up which registers have the result of a lookup, before a step that may change it is written. */
static void follow_lookup(struct text *text, const struct gpumon_gpuprog_step *step)
{
	uint64_t dst = UINT64_C(1) << text_register(step, step->dst);
	uint64_t src = UINT64_C(1) << text_register(step, step->src);

	switch (BPF_CLASS(step->code)) {
	case BPF_JMP:
		if (BPF_OP(step->code) == BPF_CALL)
			text->looked_up &= ~UINT64_C(1);
		break;
	case BPF_JMP32:
	case BPF_ST:
		break;
	case BPF_STX:
		if (BPF_MODE(step->code) == BPF_ATOMIC)
			text->looked_up &= ~(src | 1);
		break;
	default:
		if (step->code == (BPF_ALU64 | BPF_MOV | BPF_X) && !step->off &&
		    text->looked_up & src)
			text->looked_up |= dst;
		else
			text->looked_up &= ~dst;
	}
}

/* Label at which runs end that are counted as lost. */
static void write_lost_end(struct text *text, uint32_t label, enum gpumon_gpuprog_loss loss)
{
	end_run(text);
	text_label(text, label);
	text_lose(text, loss, -1);
}

static void write_steps(struct text *text, const bool *targets)
{
	uint32_t i;

	if (uses_table(text))
		guard_table(text);
	for (i = 0; i < text->program->steps_n && !text->failed; i++) {
		if (!text->facts[i].reached)
			continue;
		text->step = i;
		if (targets[i]) {
			text_label(text, i);
			text->looked_up = 0;
		}
		follow_lookup(text, &text->program->steps[i]);
		write_step(text, &text->program->steps[i]);
	}
	if (text->fuel_used)
		write_lost_end(text, TEXT_LABEL_FUEL, GPUMON_GPUPROG_LOST_FUEL);
	if (text->moved_used)
		write_lost_end(text, TEXT_LABEL_MOVED, GPUMON_GPUPROG_LOST_MOVED);
	if (text->end_used)
		text_label(text, TEXT_LABEL_END);
}

static void write_block(struct text *text, const char *body, FILE *out)
{
	fputs("{\n", out);
	text_declare(text, out);
	text_stack_begin(text, out);
	fprintf(out, "\tmov.b64 %%gd1, %d;\n",
		gpumon_gpuprog_has_context(text->program->point) ? CONTEXT_ADDRESS : 0);
	if (text->fuel_used)
		fprintf(out, "\tmov.b32 %%gw%d, %" PRIu32 ";\n", TEXT_FUEL_WORD,
			text->target->fuel);
	fputs(body, out);
	fputs("}\n", out);
}

/* Write the block, with all of @text but its stream. */
static int translate(struct text *text, FILE *out)
{
	bool *targets = find_targets(text);
	char *body;
	size_t size;

	text->out = gpumon_memstream_open(&body, &size);
	text_stack_plan(text);
	write_steps(text, targets);
	gpumon_memstream_close(text->out);
	if (!text->failed)
		write_block(text, body, out);
	free(body);
	free(targets);
	return text->failed ? -1 : 0;
}

int gpumon_gpuprog_translate(const struct gpumon_gpuprog *program,
			     const struct gpumon_gpuprog_fact *facts,
			     const struct gpumon_gpuprog_target *target, FILE *out,
			     struct gpumon_error *err)
{
	struct text text = {
		.program = program,
		.facts = facts,
		.target = target,
		.err = err,
		.wide = TEXT_FIRST_WIDE,
		.label = TEXT_FIRST_LABEL,
	};
	int result;

	if (target->isa < MIN_ISA || target->sm < MIN_SM)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_UNSUPPORTED,
					"program %s needs PTX %d.%d for sm_%d or later, and the "
					"kernel's PTX is %u.%u for sm_%u: leave this kernel out",
					program->name, MIN_ISA / 10, MIN_ISA % 10, MIN_SM,
					target->isa / 10, target->isa % 10, target->sm);
	if (has_loops(&text))
		text.word = TEXT_FUEL_WORD + 1;
	result = translate(&text, out);
	text_stack_clear(&text);
	return result;
}
