// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>

#include "gpuprog/object/helper.h"
#include "gpuprog/object/instruction.h"
#include "step.h"
#include "memory.h"
#include "stack.h"

#define MIN_ISA 40
#define MIN_SM	35 /* atomic operations of 64 bits */

/* The context is a pointer, so no null pointer; nothing lies behind it. */
#define CONTEXT_ADDRESS 4096

/* Whether one of two helpers is called. */
static bool calls(const struct gpumon_probe_program *program, int32_t helper, int32_t other)
{
	for (uint32_t i = 0; i < program->steps_n; i++) {
		const struct gpumon_probe_step *step = &program->steps[i];

		if (step->code == (BPF_JMP | BPF_CALL) &&
		    (step->imm == helper || step->imm == other))
			return true;
	}
	return false;
}

bool gpumon_probe_keeps(const struct gpumon_probe_program *program)
{
	return calls(program, 605, 606);
}

bool gpumon_probe_prints(const struct gpumon_probe_program *program)
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

static void write_jump(struct text *text, const struct gpumon_probe_step *step)
{
	const struct gpumon_probe_fact *fact = &text->facts[text->step];
	bool always = BPF_OP(step->code) == BPF_JA;

	/* No number gets here. What follows may not have been written. */
	if (!always && !fact->jumps && !fact->runs_on)
		end_run(text);
	else if (always || !fact->runs_on)
		jump(text, step->target, -1);
	else if (fact->jumps)
		jump(text, step->target, (int)text_condition(text, step));
}

static void write_wide_constant(struct text *text, const struct gpumon_probe_step *step)
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

static void write_step(struct text *text, const struct gpumon_probe_step *step)
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

/* Which steps need a label. NULL without memory. */
static bool *find_targets(const struct text *text)
{
	bool *targets = calloc(text->program->steps_n, sizeof(*targets));
	uint32_t i;

	for (i = 0; targets && i < text->program->steps_n; i++)
		if (text->facts[i].reached && gpumon_probe_is_jump(text->program->steps[i].code))
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

static bool is_map_address(const struct gpumon_probe_step *step)
{
	return step->code == (BPF_LD | BPF_IMM | BPF_DW) && step->src;
}

/* Calls of helpers without a map that read the control block. */
static bool calls_control(const struct text *text, const struct gpumon_probe_step *step)
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
		const struct gpumon_probe_step *step = &text->program->steps[i];

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
static void follow_lookup(struct text *text, const struct gpumon_probe_step *step)
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

/* Where runs end that are counted as lost. */
static void write_lost_end(struct text *text, uint32_t label, enum gpumon_probe_loss loss)
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
		write_lost_end(text, TEXT_LABEL_FUEL, GPUMON_PROBE_LOST_FUEL);
	if (text->moved_used)
		write_lost_end(text, TEXT_LABEL_MOVED, GPUMON_PROBE_LOST_MOVED);
	if (text->end_used)
		text_label(text, TEXT_LABEL_END);
}

static void write_block(struct text *text, const char *body, FILE *out)
{
	fputs("{\n", out);
	text_declare(text, out);
	text_stack_begin(text, out);
	fprintf(out, "\tmov.b64 %%gd1, %d;\n",
		gpumon_probe_has_context(text->program->point) ? CONTEXT_ADDRESS : 0);
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
	char *body = NULL;
	size_t size;

	text->out = open_memstream(&body, &size);
	if (!targets || !text->out || text_stack_plan(text)) {
		if (text->out)
			fclose(text->out);
		free(body);
		free(targets);
		return gpumon_error_memory(text->err);
	}
	write_steps(text, targets);
	fclose(text->out);
	if (!text->failed)
		write_block(text, body, out);
	free(body);
	free(targets);
	return text->failed ? -1 : 0;
}

int gpumon_probe_translate(const struct gpumon_probe_program *program,
			   const struct gpumon_probe_fact *facts,
			   const struct gpumon_probe_target *target, FILE *out,
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
