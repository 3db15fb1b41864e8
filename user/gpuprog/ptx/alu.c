// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Where eBPF and PTX differ: eBPF masks shifts, and PTX clamps them; x / 0 is 0 and x % 0 is x; the
 * least number divided by -1 is itself; each operation of 32 bits clears the upper half.
 */
#include "gpuprog/object/opcode.h"
#include "step.h"

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

static struct source take_source(struct text *text, const struct gpumon_probe_step *step, bool wide)
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
static void move(struct text *text, const struct gpumon_probe_step *step, bool wide,
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
static void byte_order(struct text *text, const struct gpumon_probe_step *step, uint32_t dst)
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

static void arithmetic(struct text *text, const struct gpumon_probe_step *step, bool wide,
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

void text_alu(struct text *text, const struct gpumon_probe_step *step)
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
static bool asks_for_element(const struct text *text, const struct gpumon_probe_step *step)
{
	return text->looked_up & UINT64_C(1) << text_register(step, step->dst) && !step->imm &&
	       (step->code == (BPF_JMP | BPF_JEQ | BPF_K) ||
		step->code == (BPF_JMP | BPF_JNE | BPF_K));
}

uint32_t text_condition(struct text *text, const struct gpumon_probe_step *step)
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

	/* Of a constant index it is known, of an address it is not. */
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
