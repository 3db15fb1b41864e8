// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "flatten.h"
#include "instruction.h"

/*
 * Two passes. The first finds where functions begin and end, and how many steps each has with all
 * that it calls: so recursion, too many frames and too many steps are known before anything grows.
 * The second writes the steps: that of an instruction is its function's first step plus @within.
 */

#define LDDW (BPF_LD | BPF_IMM | BPF_DW)

enum state {
	UNSEEN,
	OPEN,
	DONE
};

/**
 * struct place - an instruction of the object
 * @starts: a function begins here
 * @second: second half of LDDW
 * @state: of a function: whether it was counted
 * @frames: of a function: greatest number of frames from here on, its own included
 * @end: of a function: first instruction behind it
 * @steps: of a function: its steps with all that it calls
 * @within: step from the function's first one on
 */
struct place {
	bool starts;
	bool second;
	uint8_t state;
	uint8_t frames;
	uint32_t end;
	uint32_t steps;
	uint32_t within;
};

struct flattener {
	struct gpumon_gpuprog *program;
	const struct bpf_insn *code;
	uint32_t code_n;
	struct place *places;
	struct gpumon_error *err;
};

static bool is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

static bool is_far_jump(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP32 | BPF_JA);
}

static int64_t find_target(const struct bpf_insn *insn, uint32_t at)
{
	return (int64_t)at + 1 + (is_call(insn) || is_far_jump(insn) ? insn->imm : insn->off);
}

static int check_wide_constant(struct flattener *flattener, uint32_t at)
{
	const struct gpumon_gpuprog *program = flattener->program;
	const struct bpf_insn *insn = &flattener->code[at];
	const struct gpumon_gpuprog_map *map;

	if (at + 1 == flattener->code_n || insn[1].code || insn[1].dst_reg || insn[1].src_reg ||
	    insn[1].off)
		return gpumon_gpuprog_refuse(
			program, at, flattener->err,
			"the second half of a 64-bit constant is missing: the object is damaged, compile it again");
	flattener->places[at + 1].second = true;
	if (!insn->src_reg)
		return 0;
	if (insn->imm < 0 || (uint32_t)insn->imm >= program->maps_n)
		return gpumon_gpuprog_refuse(
			program, at, flattener->err,
			"map %d does not exist, there are %u: the object is damaged, compile it again",
			insn->imm, program->maps_n);
	map = &program->maps[insn->imm];
	if (insn->src_reg == BPF_PSEUDO_MAP_IDX && insn[1].imm)
		return gpumon_gpuprog_refuse(
			program, at, flattener->err,
			"it points %d bytes into the definition of map %s: use the map as a whole",
			insn[1].imm, map->name);
	if (insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE &&
	    (map->kind != GPUMON_GPUPROG_MAP_DATA || (uint32_t)insn[1].imm >= map->value_size))
		return gpumon_gpuprog_refuse(
			program, at, flattener->err,
			"it takes the address of byte %d of %s, which has no such byte: keep addresses within their variable",
			insn[1].imm, map->name);
	return 0;
}

/* Checks each instruction by itself, and finds the beginnings of functions. */
static int check_instructions(struct flattener *flattener)
{
	for (uint32_t at = 0; at < flattener->code_n; at++) {
		const struct bpf_insn *insn = &flattener->code[at];
		const char *why = gpumon_gpuprog_instruction_refusal(insn);

		if (why)
			return gpumon_gpuprog_refuse(flattener->program, at, flattener->err,
						     "opcode 0x%02x: %s", insn->code, why);
		if (insn->code == LDDW) {
			if (check_wide_constant(flattener, at))
				return -1;
			at++;
		} else if (is_call(insn)) {
			int64_t target = find_target(insn, at);

			if (target < 0 || target >= flattener->code_n)
				return gpumon_gpuprog_refuse(
					flattener->program, at, flattener->err,
					"it calls a function outside the program: the object is damaged, compile it again");
			flattener->places[target].starts = true;
		}
	}
	return 0;
}

static int check_target(const struct flattener *flattener, uint32_t at, uint32_t start,
			uint32_t end)
{
	int64_t target = find_target(&flattener->code[at], at);

	if (target < start || target >= end)
		return gpumon_gpuprog_refuse(
			flattener->program, at, flattener->err,
			"it jumps out of its function: the object is damaged, compile it again");
	if (flattener->places[target].second)
		return gpumon_gpuprog_refuse(
			flattener->program, at, flattener->err,
			"it jumps into the middle of a 64-bit constant: the object is damaged, compile it again");
	return 0;
}

/* Functions reach to the next one, jumps stay inside, and none runs on over its end. */
static int check_function(struct flattener *flattener, uint32_t start)
{
	const struct place *places = flattener->places;
	uint32_t end = start + 1, last = start;

	while (end < flattener->code_n && !places[end].starts)
		end++;
	for (uint32_t at = start; at < end; at++) {
		if (places[at].second)
			continue;
		last = at;
		if (gpumon_gpuprog_is_jump(flattener->code[at].code) &&
		    check_target(flattener, at, start, end))
			return -1;
	}
	if (gpumon_gpuprog_falls_through(flattener->code[last].code))
		return gpumon_gpuprog_refuse(
			flattener->program, last, flattener->err,
			"the function has no return behind it: end it with a return, without __builtin_unreachable()");
	flattener->places[start].end = end;
	return 0;
}

static int count_steps(struct flattener *flattener, uint32_t start, unsigned int frame);

/* @frame: number of the caller's frame, from 1 */
static int count_call(struct flattener *flattener, uint32_t at, struct place *caller,
		      unsigned int frame)
{
	struct place *callee = &flattener->places[find_target(&flattener->code[at], at)];
	bool fits = frame < GPUMON_GPUPROG_MAX_DEPTH;

	if (callee->state == OPEN)
		return gpumon_gpuprog_refuse(
			flattener->program, at, flattener->err,
			"it calls a function that is not done yet (recursion): write a loop");
	if (fits && callee->state == UNSEEN &&
	    count_steps(flattener, (uint32_t)(callee - flattener->places), frame + 1))
		return -1;
	if (!fits || frame + callee->frames > GPUMON_GPUPROG_MAX_DEPTH)
		return gpumon_gpuprog_refuse(
			flattener->program, at, flattener->err,
			"functions call each other more than %d deep: make some of them __always_inline",
			GPUMON_GPUPROG_MAX_DEPTH);
	if (caller->frames < callee->frames + 1)
		caller->frames = (uint8_t)(callee->frames + 1);
	caller->steps += callee->steps;
	return 0;
}

/* Recursion is at most GPUMON_GPUPROG_MAX_DEPTH deep; each function is counted once. */
static int count_steps(struct flattener *flattener, uint32_t start, unsigned int frame)
{
	struct place *function = &flattener->places[start];

	function->state = OPEN;
	function->frames = 1;
	for (uint32_t at = start; at < function->end; at++) {
		struct place *place = &flattener->places[at];

		place->within = function->steps;
		if (place->second)
			continue;
		function->steps++;
		if (is_call(&flattener->code[at]) && count_call(flattener, at, function, frame))
			return -1;
		if (function->steps > GPUMON_GPUPROG_MAX_STEPS)
			return gpumon_gpuprog_refuse(
				flattener->program, at, flattener->err,
				"with its functions, each call counted, it has more than %d instructions: make it shorter",
				GPUMON_GPUPROG_MAX_STEPS);
	}
	function->state = DONE;
	return 0;
}

static void write_jump(struct gpumon_gpuprog_step *step, uint32_t target)
{
	*step = (struct gpumon_gpuprog_step){ .code = BPF_JMP | BPF_JA,
					      .depth = step->depth,
					      .target = target,
					      .origin = step->origin };
}

static void write_step(const struct flattener *flattener, uint32_t at, uint32_t first,
		       struct gpumon_gpuprog_step *step)
{
	const struct bpf_insn *insn = &flattener->code[at];

	step->code = insn->code;
	step->dst = insn->dst_reg;
	step->src = insn->src_reg;
	step->off = insn->off;
	step->imm = insn->imm;
	if (insn->code == LDDW && insn->src_reg == 0) {
		step->value = (uint32_t)insn->imm | (uint64_t)(uint32_t)insn[1].imm << 32;
	} else if (insn->code == LDDW) {
		step->map = (uint32_t)insn->imm;
		step->value = (uint32_t)insn[1].imm;
	} else if (gpumon_gpuprog_is_jump(insn->code)) {
		step->off = 0;
		step->target = first + flattener->places[find_target(insn, at)].within;
		if (!gpumon_gpuprog_falls_through(insn->code))
			write_jump(step, step->target);
	}
}

/* @first: step of the function's first instruction; @behind: step behind the call */
static void write_functions(const struct flattener *flattener, uint32_t start, uint32_t first,
			    uint32_t behind, uint8_t depth)
{
	const struct place *places = flattener->places;

	for (uint32_t at = start; at < places[start].end; at++) {
		uint32_t number = first + places[at].within;
		struct gpumon_gpuprog_step *step = &flattener->program->steps[number];
		const struct bpf_insn *insn = &flattener->code[at];

		if (places[at].second)
			continue;
		step->depth = depth;
		step->origin = at;
		if (is_call(insn)) {
			write_jump(step, number + 1);
			/* A call is never the last: check_function(). */
			write_functions(flattener, (uint32_t)find_target(insn, at), number + 1,
					first + places[at + 1].within, depth + 1);
		} else if (depth && insn->code == (BPF_JMP | BPF_EXIT)) {
			write_jump(step, behind);
		} else {
			write_step(flattener, at, first, step);
		}
	}
}

static int check_program(struct flattener *flattener)
{
	if (check_instructions(flattener))
		return -1;
	flattener->places[0].starts = true;
	for (uint32_t at = 0; at < flattener->code_n; at++) {
		if (flattener->places[at].starts && flattener->places[at].second)
			return gpumon_gpuprog_refuse(
				flattener->program, at, flattener->err,
				"a call leads into the middle of a 64-bit constant: the object is damaged, compile it again");
	}
	for (uint32_t at = 0; at < flattener->code_n; at++) {
		if (flattener->places[at].starts && check_function(flattener, at))
			return -1;
	}
	return count_steps(flattener, 0, 1);
}

int gpumon_gpuprog_flatten(struct gpumon_gpuprog *program, const struct bpf_insn *code,
			   uint32_t code_n, struct gpumon_pool *pool, struct gpumon_error *err)
{
	struct flattener flattener = {
		.program = program, .code = code, .code_n = code_n, .err = err
	};
	int ret;

	if (!code_n || code_n > GPUMON_GPUPROG_MAX_INSTRUCTIONS)
		return gpumon_error_set(
			err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
			"%s: it has %u instructions, 1 to %d are possible: make it shorter",
			program->name, code_n, GPUMON_GPUPROG_MAX_INSTRUCTIONS);
	flattener.places = gpumon_calloc(code_n, sizeof(*flattener.places));
	ret = check_program(&flattener);
	if (!ret) {
		program->steps_n = flattener.places[0].steps;
		program->steps =
			gpumon_pool_zalloc(pool, program->steps_n * sizeof(*program->steps));
		write_functions(&flattener, 0, 0, 0, 0);
	}
	free(flattener.places);
	return ret;
}

#define FARTHEST 64 /* steps from where ways meet to the call */

static bool prints(const struct gpumon_gpuprog_step *step)
{
	const struct gpumon_gpuprog_helper *helper;

	if (step->code != (BPF_JMP | BPF_CALL))
		return false;
	helper = gpumon_gpuprog_helper_find((uint32_t)step->imm);
	return helper && helper->arguments[0] == GPUMON_GPUPROG_ARG_TEXT;
}

/* Steps from @at to a call that prints, it included, with nothing but calculations before; or 0. */
static uint32_t steps_to_print(const struct gpumon_gpuprog *program, uint32_t at)
{
	for (uint32_t n = 0; n < FARTHEST && at + n < program->steps_n; n++) {
		const struct gpumon_gpuprog_step *step = &program->steps[at + n];

		if (prints(step))
			return n + 1;
		if (gpumon_gpuprog_is_jump(step->code) || !gpumon_gpuprog_falls_through(step->code))
			break;
	}
	return 0;
}

/* @taken: a bit for each step that some way leads to already, and whose call stays its own */
static uint32_t copied_steps(const struct gpumon_gpuprog *program, uint32_t jump, bool *taken)
{
	const struct gpumon_gpuprog_step *step = &program->steps[jump];
	uint32_t n;

	if (!gpumon_gpuprog_is_jump(step->code))
		return 0;
	n = steps_to_print(program, step->target);
	if (n && !taken[step->target]) {
		taken[step->target] = true;
		return 0;
	}
	return n;
}

static void copy_print(struct gpumon_gpuprog *program, uint32_t jump, uint32_t n)
{
	struct gpumon_gpuprog_step *steps = program->steps;
	uint32_t from = steps[jump].target;
	struct gpumon_gpuprog_step *to = &steps[program->steps_n];

	memcpy(to, &steps[from], n * sizeof(*to));
	to[n] = (struct gpumon_gpuprog_step){ .code = BPF_JMP | BPF_JA,
					      .depth = to[n - 1].depth,
					      .target = from + n,
					      .origin = to[n - 1].origin };
	steps[jump].target = program->steps_n;
	program->steps_n += n + 1;
}

/* Fill @copied: for each step how many steps its jump gets of its own. Return: their number, with jumps. */
static uint32_t find_copies(const struct gpumon_gpuprog *program, bool *taken, uint32_t *copied)
{
	uint32_t more = 0;

	taken[0] = true;
	for (uint32_t i = 0; i + 1 < program->steps_n; i++)
		taken[i + 1] |= gpumon_gpuprog_falls_through(program->steps[i].code);
	for (uint32_t i = 0; i < program->steps_n; i++) {
		uint32_t n = copied_steps(program, i, taken);

		if (n && program->steps_n + more + n + 1 <= GPUMON_GPUPROG_MAX_STEPS) {
			copied[i] = n;
			more += n + 1;
		}
	}
	return more;
}

static void copy_all(struct gpumon_gpuprog *program, const uint32_t *copied, uint32_t more,
		     struct gpumon_pool *pool)
{
	uint32_t before = program->steps_n;
	struct gpumon_gpuprog_step *steps =
		gpumon_pool_zalloc(pool, (before + more) * sizeof(*steps));

	memcpy(steps, program->steps, before * sizeof(*steps));
	program->steps = steps;
	for (uint32_t i = 0; i < before; i++)
		if (copied[i])
			copy_print(program, i, copied[i]);
}

void gpumon_gpuprog_split_prints(struct gpumon_gpuprog *program, struct gpumon_pool *pool)
{
	uint32_t *copied = gpumon_calloc(program->steps_n, sizeof(*copied));
	bool *taken = gpumon_calloc(program->steps_n, sizeof(*taken));
	uint32_t more = find_copies(program, taken, copied);

	if (more)
		copy_all(program, copied, more, pool);
	free(copied);
	free(taken);
}
