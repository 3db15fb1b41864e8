// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprog/object/instruction.h"
#include "gpuprog/object/program.h"

#include "assemble.h"

#define MAX_LABELS 64
#define MAX_WORD   32

struct assembler {
	struct assembled *out;
	const char *at; /* rest of the line */
	char line[128];
	unsigned int depth;
	struct {
		char name[MAX_WORD];
		uint32_t step;
	} labels[MAX_LABELS];
	unsigned int labels_n;
	char goals[ASSEMBLE_MAX_STEPS][MAX_WORD]; /* label that a step jumps to */
};

static const struct {
	const char *text;
	uint8_t op;
	uint8_t off;
} operations[] = {
	{ "s>>=", BPF_ARSH, 0 }, { "<<=", BPF_LSH, 0 }, { ">>=", BPF_RSH, 0 },
	{ "s/=", BPF_DIV, 1 },	 { "s%=", BPF_MOD, 1 }, { "+=", BPF_ADD, 0 },
	{ "-=", BPF_SUB, 0 },	 { "*=", BPF_MUL, 0 },	{ "/=", BPF_DIV, 0 },
	{ "%=", BPF_MOD, 0 },	 { "&=", BPF_AND, 0 },	{ "|=", BPF_OR, 0 },
	{ "^=", BPF_XOR, 0 },
};

static const struct {
	const char *text;
	uint8_t op;
} conditions[] = {
	{ "s>=", BPF_JSGE }, { "s<=", BPF_JSLE }, { "s>", BPF_JSGT }, { "s<", BPF_JSLT },
	{ "==", BPF_JEQ },   { "!=", BPF_JNE },	  { ">=", BPF_JGE },  { "<=", BPF_JLE },
	{ ">", BPF_JGT },    { "<", BPF_JLT },	  { "&", BPF_JSET },
};

static const struct {
	const char *text;
	uint8_t size;
	uint8_t mode;
} types[] = {
	{ "u8", BPF_B, BPF_MEM },    { "u16", BPF_H, BPF_MEM },	 { "u32", BPF_W, BPF_MEM },
	{ "u64", BPF_DW, BPF_MEM },  { "s8", BPF_B, BPF_MEMSX }, { "s16", BPF_H, BPF_MEMSX },
	{ "s32", BPF_W, BPF_MEMSX },
};

static void __attribute__((noreturn)) fail(const struct assembler *assembler)
{
	fprintf(stderr, "cannot assemble \"%s\" at \"%s\"\n", assembler->line, assembler->at);
	abort();
}

static void blanks(struct assembler *assembler)
{
	assembler->at += strspn(assembler->at, " \t");
}

static bool accept(struct assembler *assembler, const char *text)
{
	size_t n = strlen(text);

	blanks(assembler);
	if (strncmp(assembler->at, text, n) ||
	    (isalnum((unsigned char)text[n - 1]) && isalnum((unsigned char)assembler->at[n])))
		return false;
	assembler->at += n;
	return true;
}

static void expect(struct assembler *assembler, const char *text)
{
	if (!accept(assembler, text))
		fail(assembler);
}

static int64_t number(struct assembler *assembler)
{
	char *end;
	int64_t value;

	blanks(assembler);
	/* Also of 64 bits without a sign. */
	if (*assembler->at == '-')
		value = strtoll(assembler->at, &end, 0);
	else
		value = (int64_t)strtoull(assembler->at, &end, 0);
	if (end == assembler->at)
		fail(assembler);
	assembler->at = end;
	return value;
}

/* rN, or wN with @wide false. */
static bool try_register(struct assembler *assembler, uint8_t *out, bool *wide)
{
	int n, length = 0;
	char letter[2], kind;

	blanks(assembler);
	if (sscanf(assembler->at, "%1[rw]%d%n", letter, &n, &length) < 2 || !length)
		return false;
	kind = *assembler->at;
	assembler->at += length;
	*out = (uint8_t)n;
	*wide = kind == 'r';
	return true;
}

static uint8_t a_register(struct assembler *assembler)
{
	uint8_t out;
	bool wide;

	if (!try_register(assembler, &out, &wide))
		fail(assembler);
	return out;
}

static void word(struct assembler *assembler, char *out)
{
	int length = 0;

	blanks(assembler);
	if (sscanf(assembler->at, "%31[A-Za-z0-9_.]%n", out, &length) < 1)
		fail(assembler);
	assembler->at += length;
}

static uint32_t map_named(struct assembler *assembler)
{
	char name[MAX_WORD];

	word(assembler, name);
	for (uint32_t i = 0; i < MAPS; i++)
		if (!strcmp(probe_maps[i].name, name))
			return i;
	fail(assembler);
}

/* A register or a constant on the right. */
static void right(struct assembler *assembler, struct gpumon_gpuprog_step *step)
{
	bool wide;

	if (try_register(assembler, &step->src, &wide))
		step->code |= BPF_X;
	else
		step->imm = (int32_t)number(assembler);
}

/* *(u32 *)(rN + 8), behind the star */
static uint8_t memory(struct assembler *assembler, struct gpumon_gpuprog_step *step, uint8_t *mode)
{
	uint8_t base;

	expect(assembler, "(");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!accept(assembler, types[i].text))
			continue;
		step->code |= types[i].size;
		*mode = types[i].mode;
		expect(assembler, "*");
		expect(assembler, ")");
		expect(assembler, "(");
		base = a_register(assembler);
		if (accept(assembler, "+"))
			step->off = (int16_t)number(assembler);
		else if (accept(assembler, "-"))
			step->off = (int16_t)-number(assembler);
		expect(assembler, ")");
		return base;
	}
	fail(assembler);
}

static void atomic(struct assembler *assembler, struct gpumon_gpuprog_step *step, int32_t fetch)
{
	uint8_t mode;

	expect(assembler, "*");
	step->code = BPF_STX | BPF_ATOMIC;
	step->dst = memory(assembler, step, &mode);
	step->imm = fetch;
	for (size_t i = 0; fetch != BPF_XCHG && fetch != BPF_CMPXCHG; i++) {
		if (i == sizeof(operations) / sizeof(operations[0]))
			fail(assembler);
		if (accept(assembler, operations[i].text)) {
			step->imm |= operations[i].op;
			break;
		}
	}
	step->src = a_register(assembler);
}

static void assign_register(struct assembler *assembler, struct gpumon_gpuprog_step *step,
			    bool wide)
{
	static const char *const orders[] = { "le", "be", "bswap" };
	uint8_t class = wide ? BPF_ALU64 : BPF_ALU, mode;

	if (accept(assembler, "map")) {
		step->code = BPF_LD | BPF_IMM | BPF_DW;
		step->src = BPF_PSEUDO_MAP_IDX;
		step->map = map_named(assembler);
		return;
	}
	if (accept(assembler, "value")) {
		step->code = BPF_LD | BPF_IMM | BPF_DW;
		step->src = BPF_PSEUDO_MAP_IDX_VALUE;
		step->map = map_named(assembler);
		step->value = accept(assembler, "+") ? (uint64_t)number(assembler) : 0;
		return;
	}
	if (accept(assembler, "fetch")) {
		atomic(assembler, step, BPF_FETCH);
		return;
	}
	if (accept(assembler, "xchg")) {
		atomic(assembler, step, BPF_XCHG);
		return;
	}
	if (accept(assembler, "cmpxchg")) {
		atomic(assembler, step, BPF_CMPXCHG);
		return;
	}
	if (accept(assembler, "*")) {
		step->code = BPF_LDX;
		step->src = memory(assembler, step, &mode);
		step->code |= mode;
		return;
	}
	for (unsigned int i = 0; i < 3; i++) {
		size_t n = strlen(orders[i]);

		blanks(assembler);
		if (strncmp(assembler->at, orders[i], n))
			continue;
		assembler->at += n;
		step->imm = (int32_t)number(assembler);
		step->code = i == 2 ? BPF_ALU64 | BPF_END :
				      BPF_ALU | BPF_END | (i ? BPF_TO_BE : BPF_TO_LE);
		a_register(assembler);
		return;
	}
	step->code = class | BPF_MOV;
	if (accept(assembler, "(")) {
		if (*assembler->at++ != 's')
			fail(assembler);
		step->off = (int16_t)number(assembler);
		expect(assembler, ")");
		step->code |= BPF_X;
		step->src = a_register(assembler);
		return;
	}
	if (accept(assembler, "-") && try_register(assembler, &step->src, &wide)) {
		step->code = class | BPF_NEG;
		step->src = 0;
		return;
	}
	/* Back to the sign of a constant. */
	if (assembler->at[-1] == '-')
		assembler->at--;
	if (!try_register(assembler, &step->src, &wide)) {
		step->value = (uint64_t)number(assembler);
		step->imm = (int32_t)step->value;
		if (accept(assembler, "ll")) {
			step->code = BPF_LD | BPF_IMM | BPF_DW;
			step->imm = (int32_t)step->value;
		} else {
			step->value = 0;
		}
		return;
	}
	step->code |= BPF_X;
}

static void operate(struct assembler *assembler, struct gpumon_gpuprog_step *step)
{
	bool wide;

	if (!try_register(assembler, &step->dst, &wide))
		fail(assembler);
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (!accept(assembler, operations[i].text))
			continue;
		step->code = (wide ? BPF_ALU64 : BPF_ALU) | operations[i].op;
		step->off = operations[i].off;
		right(assembler, step);
		return;
	}
	expect(assembler, "=");
	assign_register(assembler, step, wide);
}

static void condition(struct assembler *assembler, struct gpumon_gpuprog_step *step, char *goal)
{
	bool wide;

	if (!try_register(assembler, &step->dst, &wide))
		fail(assembler);
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
		if (!accept(assembler, conditions[i].text))
			continue;
		step->code = (wide ? BPF_JMP : BPF_JMP32) | conditions[i].op;
		right(assembler, step);
		expect(assembler, "goto");
		word(assembler, goal);
		return;
	}
	fail(assembler);
}

static int32_t helper(struct assembler *assembler)
{
#define HELPER(number, word, ...) { number, #word },
	static const struct {
		int32_t id;
		const char *name;
	} helpers[] = { GPUMON_GPUPROG_HELPERS(HELPER) };
#undef HELPER
	char name[MAX_WORD];

	word(assembler, name);
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		if (!strcmp(helpers[i].name, name))
			return helpers[i].id;
	if (!isdigit((unsigned char)name[0]))
		fail(assembler);
	return atoi(name);
}

static void store(struct assembler *assembler, struct gpumon_gpuprog_step *step)
{
	uint8_t mode;
	bool wide;

	step->dst = memory(assembler, step, &mode);
	expect(assembler, "=");
	if (try_register(assembler, &step->src, &wide)) {
		step->code |= BPF_STX | BPF_MEM;
	} else {
		step->code |= BPF_ST | BPF_MEM;
		step->imm = (int32_t)number(assembler);
	}
}

static bool label(struct assembler *assembler)
{
	char *name = assembler->labels[assembler->labels_n].name;
	int length = 0;

	if (sscanf(assembler->at, "%31[A-Za-z0-9_] :%n", name, &length) < 1 || !length)
		return false;
	if (assembler->labels_n + 1 == MAX_LABELS)
		fail(assembler);
	assembler->labels[assembler->labels_n++].step = assembler->out->program.steps_n;
	assembler->at += length;
	return true;
}

static void assemble_line(struct assembler *assembler)
{
	struct gpumon_gpuprog *program = &assembler->out->program;
	uint32_t at = program->steps_n;
	struct gpumon_gpuprog_step *step = &assembler->out->steps[at];

	while (blanks(assembler), label(assembler))
		;
	if (!*assembler->at)
		return;
	if (at + 1 == ASSEMBLE_MAX_STEPS)
		fail(assembler);
	step->depth = (uint8_t)assembler->depth;
	step->origin = at;
	step->target = at + 1;
	step->code = BPF_JMP | BPF_JA;
	if (accept(assembler, "{")) {
		assembler->depth++;
	} else if (accept(assembler, "}")) {
		assembler->depth--;
	} else if (accept(assembler, "exit")) {
		step->code = BPF_JMP | BPF_EXIT;
	} else if (accept(assembler, "call")) {
		step->code = BPF_JMP | BPF_CALL;
		step->imm = helper(assembler);
	} else if (accept(assembler, "goto")) {
		word(assembler, assembler->goals[at]);
	} else if (accept(assembler, "if")) {
		condition(assembler, step, assembler->goals[at]);
	} else if (accept(assembler, "lock")) {
		atomic(assembler, step, 0);
	} else if (accept(assembler, "*")) {
		step->code = 0;
		store(assembler, step);
	} else {
		operate(assembler, step);
	}
	blanks(assembler);
	if (*assembler->at)
		fail(assembler);
	program->steps_n++;
}

static void resolve_labels(struct assembler *assembler)
{
	for (uint32_t at = 0; at < assembler->out->program.steps_n; at++) {
		unsigned int i = 0;

		if (!assembler->goals[at][0])
			continue;
		while (i < assembler->labels_n &&
		       strcmp(assembler->labels[i].name, assembler->goals[at]))
			i++;
		if (i == assembler->labels_n) {
			fprintf(stderr, "no label %s\n", assembler->goals[at]);
			abort();
		}
		assembler->out->steps[at].target = assembler->labels[i].step;
	}
}

static struct gpumon_gpuprog_texts texts;

void assemble(const char *text, enum gpumon_gpuprog_point point, struct assembled *out)
{
	struct assembler assembler = { .out = out };

	memset(out, 0, sizeof(*out));
	out->program = (struct gpumon_gpuprog){ .name = "test",
						.section = "kprobe/test",
						.point = point,
						.steps = out->steps,
						.maps = probe_maps,
						.maps_n = MAPS,
						.texts = &texts };
	while (*text) {
		size_t length = strcspn(text, "\n;");

		snprintf(assembler.line, sizeof(assembler.line), "%.*s", (int)length, text);
		assembler.at = assembler.line;
		assemble_line(&assembler);
		text += length + !!text[length];
	}
	resolve_labels(&assembler);
}

const char *disassemble(const struct gpumon_gpuprog_step *step)
{
	static char text[128];

	snprintf(text, sizeof(text), "code 0x%02x r%u r%u off %d imm %d to %u map %u value %#llx",
		 step->code, step->dst, step->src, step->off, step->imm, step->target, step->map,
		 (unsigned long long)step->value);
	return text;
}
