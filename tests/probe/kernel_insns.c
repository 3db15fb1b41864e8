// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "insn.h"
#include "kernel_insns.h"
#include "gpuprog/object/instruction.h"

#define PRANDOM	    7
#define RINGBUF	    130
#define MAX_REGIONS 64
#define PSEUDO_OUT  -1 /* the stub that sets what three pointers lead to */
#define NO_STEP	    UINT32_MAX

/**
 * struct writer - a program while it is written
 * @regions: first steps of functions, the program itself first
 * @starts: where they begin
 * @places: where each step begins
 * @calls: instructions that call a region or PSEUDO_OUT
 * @jumps: the step that an instruction jumps to, or NO_STEP
 */
struct writer {
	const struct gpumon_gpuprog *program;
	const struct gpumon_gpuprog_fact *facts;
	const struct kernel_maps *maps;
	struct bpf_insn *insns;
	uint32_t n;
	uint32_t regions[MAX_REGIONS];
	uint32_t starts[MAX_REGIONS];
	unsigned int regions_n;
	uint32_t places[ASSEMBLE_MAX_STEPS];
	bool possible[ASSEMBLE_MAX_STEPS]; /* there is a way to the step */
	int calls[KERNEL_MAX_INSNS];
	uint32_t jumps[KERNEL_MAX_INSNS];
	bool uses_out;
};

#define IS_CALL 0x100

static void put(struct writer *writer, struct bpf_insn insn)
{
	if (writer->n == KERNEL_MAX_INSNS)
		abort();
	writer->jumps[writer->n] = NO_STEP;
	writer->calls[writer->n] = 0;
	writer->insns[writer->n++] = insn;
}

static void put_wide(struct writer *writer, uint8_t dst, uint8_t src, int32_t low, uint32_t high)
{
	put(writer, INSN(BPF_LD | BPF_IMM | BPF_DW, dst, src, 0, low));
	put(writer, INSN(0, 0, 0, 0, (int32_t)high));
}

static void put_call(struct writer *writer, int region)
{
	put(writer, CALL_FUNCTION(0));
	writer->calls[writer->n - 1] = IS_CALL + region;
}

static void put_jump(struct writer *writer, struct bpf_insn insn, uint32_t step)
{
	put(writer, insn);
	writer->jumps[writer->n - 1] = step;
}

static bool is_jump(const struct gpumon_gpuprog_step *step)
{
	uint8_t class = BPF_CLASS(step->code);

	return (class == BPF_JMP || class == BPF_JMP32) && BPF_OP(step->code) != BPF_CALL &&
	       BPF_OP(step->code) != BPF_EXIT;
}

/* Steps that no way leads to are refused by the kernel as such. */
static void find_possible(struct writer *writer)
{
	const struct gpumon_gpuprog_step *steps = writer->program->steps;
	bool more = true;

	writer->possible[0] = true;
	while (more) {
		more = false;
		for (uint32_t at = 0; at < writer->program->steps_n; at++) {
			bool goes_on = steps[at].code != (BPF_JMP | BPF_JA) &&
				       steps[at].code != (BPF_JMP | BPF_EXIT);

			if (!writer->possible[at] || !writer->facts[at].reached)
				continue;
			if (goes_on && !writer->possible[at + 1])
				writer->possible[at + 1] = more = true;
			if (is_jump(&steps[at]) && !writer->possible[steps[at].target])
				writer->possible[steps[at].target] = more = true;
		}
	}
}

static void put_helper(struct writer *writer, int32_t id)
{
	const struct gpumon_gpuprog_helper *helper = gpumon_gpuprog_helper_find((uint32_t)id);

	if (helper->arguments[0] == GPUMON_GPUPROG_ARG_OUT_U64) {
		writer->uses_out = true;
		put_call(writer, PSEUDO_OUT);
	} else if (id == 25) {
		put(writer, MOV_X(1, 2));
		put(writer, MOV_X(2, 4));
		put(writer, MOV_X(4, 3));
		put(writer, MOV_X(3, 5));
		put(writer, CALL(RINGBUF));
	} else {
		put(writer, CALL(id < 500 ? id : PRANDOM));
	}
}

/* What gpumon knows of a quotient, and kernels before 7.0 do not. */
static void put_divide(struct writer *writer, const struct gpumon_gpuprog_step *step)
{
	struct bpf_insn insn = INSN(step->code, step->dst, step->src, step->off, step->imm);
	bool wide = BPF_CLASS(step->code) == BPF_ALU64;
	uint8_t class = wide ? BPF_JMP : BPF_JMP32;
	uint64_t divisor = wide ? (uint64_t)(int64_t)step->imm : (uint32_t)step->imm;
	int32_t most = step->imm - 1;

	put(writer, insn);
	if (BPF_SRC(step->code) == BPF_X || step->off || BPF_OP(step->code) != BPF_MOD ||
	    divisor > INT32_MAX)
		return;
	put(writer, INSN(class | BPF_JLE | BPF_K, step->dst, 0, 2, most));
	put(writer, MOV_K(0, 0));
	put(writer, EXIT);
}

static void put_exit(struct writer *writer)
{
	put(writer, MOV_K(0, 0));
	put(writer, EXIT);
}

/* Returns the next step of the same function. */
static uint32_t put_step(struct writer *writer, uint32_t at)
{
	const struct gpumon_gpuprog_step *steps = writer->program->steps, *step = &steps[at];
	struct bpf_insn insn = INSN(step->code, step->dst, step->src, step->off, step->imm);

	if (step->code == (BPF_JMP | BPF_JA) && steps[step->target].depth > step->depth) {
		if (writer->regions_n == MAX_REGIONS)
			abort();
		put_call(writer, (int)writer->regions_n);
		writer->regions[writer->regions_n++] = step->target;
		while (steps[at + 1].depth > step->depth)
			at++;
	} else if (step->code == (BPF_JMP | BPF_JA) && steps[step->target].depth < step->depth) {
		put(writer, EXIT);
	} else if (is_jump(step)) {
		insn.off = 0;
		put_jump(writer, insn, step->target);
	} else if (step->code == (BPF_JMP | BPF_CALL)) {
		put_helper(writer, step->imm);
	} else if (step->code == (BPF_JMP | BPF_EXIT)) {
		put_exit(writer);
	} else if (BPF_CLASS(step->code) == BPF_LD) {
		if (step->src == BPF_PSEUDO_MAP_IDX)
			put_wide(writer, step->dst, BPF_PSEUDO_MAP_FD,
				 writer->maps->maps[step->map], 0);
		else if (step->src == BPF_PSEUDO_MAP_IDX_VALUE)
			put_wide(writer, step->dst, BPF_PSEUDO_MAP_VALUE,
				 writer->maps->maps[step->map], (uint32_t)step->value);
		else
			put_wide(writer, step->dst, 0, (int32_t)step->value,
				 (uint32_t)(step->value >> 32));
	} else if (BPF_OP(step->code) == BPF_MOD &&
		   (BPF_CLASS(step->code) == BPF_ALU64 || BPF_CLASS(step->code) == BPF_ALU)) {
		put_divide(writer, step);
	} else {
		put(writer, insn);
	}
	return at + 1;
}

static void put_region(struct writer *writer, unsigned int region)
{
	uint32_t at = writer->regions[region], depth = writer->program->steps[at].depth;

	writer->starts[region] = writer->n;
	if (!region && writer->program->point == GPUMON_GPUPROG_MEMORY)
		put_wide(writer, 1, BPF_PSEUDO_MAP_VALUE, writer->maps->context, 0);
	else if (!region)
		put(writer, MOV_K(1, 0));
	while (at < writer->program->steps_n && writer->program->steps[at].depth >= depth) {
		writer->places[at] = writer->n;
		if (writer->possible[at] && writer->facts[at].reached) {
			at = put_step(writer, at);
			continue;
		}
		/* The GPU has no code for it. */
		if (writer->possible[at])
			put_exit(writer);
		at++;
	}
}

static uint32_t put_out_stub(struct writer *writer)
{
	uint32_t start = writer->n;

	for (uint8_t i = 0; i < 3; i++)
		put(writer, MOV_X(6 + i, 1 + i));
	for (uint8_t i = 0; i < 3; i++) {
		put(writer, CALL(PRANDOM));
		put(writer, STX(DW, 6 + i, 0, 0));
	}
	put_exit(writer);
	return start;
}

static enum kernel_skip find_skip(const struct gpumon_gpuprog *program,
				  const struct gpumon_gpuprog_fact *facts)
{
	enum kernel_skip skip = KERNEL_COMPARED;

	for (uint32_t at = 0; at < program->steps_n; at++) {
		if (facts[at].reached && facts[at].back_edge)
			return KERNEL_SKIP_LOOP;
		if (facts[at].reached && facts[at].address.check)
			skip = KERNEL_SKIP_CHECK;
	}
	return skip;
}

enum kernel_skip kernel_insns(const struct gpumon_gpuprog *program,
			      const struct gpumon_gpuprog_fact *facts,
			      const struct kernel_maps *maps, struct bpf_insn *insns,
			      uint32_t *insns_n)
{
	static struct writer writer;
	enum kernel_skip skip = find_skip(program, facts);
	uint32_t out = 0;

	if (skip != KERNEL_COMPARED)
		return skip;
	memset(&writer, 0, sizeof(writer));
	writer.program = program;
	writer.facts = facts;
	writer.maps = maps;
	writer.insns = insns;
	writer.regions_n = 1;
	find_possible(&writer);
	for (unsigned int region = 0; region < writer.regions_n; region++)
		put_region(&writer, region);
	if (writer.uses_out)
		out = put_out_stub(&writer);
	for (uint32_t i = 0; i < writer.n; i++) {
		int region = writer.calls[i] - IS_CALL;

		if (writer.calls[i])
			insns[i].imm =
				(int32_t)((region == PSEUDO_OUT ? out : writer.starts[region]) - i -
					  1);
		if (writer.jumps[i] != NO_STEP)
			insns[i].off = (int16_t)(writer.places[writer.jumps[i]] - i - 1);
	}
	*insns_n = writer.n;
	return KERNEL_COMPARED;
}
