// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "gpuprog/object/refuse.h"
#include "gpuprog/object/instruction.h"
#include "shape.h"

#define REMEDY "compile it again"
#define LDDW   (BPF_LD | BPF_IMM | BPF_DW)

static bool writes_register(const struct gpumon_probe_step *step)
{
	uint8_t class = BPF_CLASS(step->code);

	return class == BPF_ALU || class == BPF_ALU64 || class == BPF_LD || class == BPF_LDX;
}

static bool fetches(const struct gpumon_probe_step *step)
{
	return BPF_CLASS(step->code) == BPF_STX && BPF_MODE(step->code) == BPF_ATOMIC &&
	       (step->imm & BPF_FETCH) && step->imm != BPF_CMPXCHG;
}

static int check_map(const struct gpumon_probe_map *map, uint32_t number, const char *program,
		     struct gpumon_error *err)
{
	const char *name = map->name ? map->name : "";
	bool looked_up =
		map->kind == GPUMON_PROBE_MAP_ARRAY || map->kind == GPUMON_PROBE_MAP_SM_ARRAY ||
		map->kind == GPUMON_PROBE_MAP_THREAD_ARRAY || map->kind == GPUMON_PROBE_MAP_HASH;

	if ((unsigned int)map->kind > GPUMON_PROBE_MAP_DATA)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: map %u, %s, is of an unknown kind: " REMEDY, program,
					number, name);
	if (map->value_size > gpumon_probe_value_max(map) || (looked_up && !map->value_size))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: values of map %u, %s, have %u bytes, 1 to %u are "
					"possible: change the map",
					program, number, name, map->value_size,
					gpumon_probe_value_max(map));
	if (looked_up && (!map->key_size || map->key_size > GPUMON_PROBE_MAX_KEY_SIZE))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: keys of map %u, %s, have %u bytes, 1 to %d are "
					"possible: change the map",
					program, number, name, map->key_size,
					GPUMON_PROBE_MAX_KEY_SIZE);
	return 0;
}

static int check_program(const struct gpumon_probe_program *program, struct gpumon_error *err)
{
	if (!program->steps_n || program->steps_n > GPUMON_PROBE_MAX_STEPS)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: it has %u instructions, 1 to %d are possible: make it "
					"shorter",
					program->name, program->steps_n, GPUMON_PROBE_MAX_STEPS);
	if (program->maps_n > GPUMON_PROBE_MAX_MAPS)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: it has %u maps, at most %d are possible: use fewer",
					program->name, program->maps_n, GPUMON_PROBE_MAX_MAPS);
	if ((unsigned int)program->point >= GPUMON_PROBE_POINTS)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: it is for an unknown place: " REMEDY, program->name);
	for (uint32_t i = 0; i < program->maps_n; i++)
		if (check_map(&program->maps[i], i, program->name, err))
			return -1;
	return 0;
}

static int check_wide_constant(const struct gpumon_probe_program *program,
			       const struct gpumon_probe_step *step, struct gpumon_error *err)
{
	const struct gpumon_probe_map *map;

	if (!step->src)
		return 0;
	if (step->map >= program->maps_n)
		return gpumon_probe_refuse(program, step->origin, err,
					   "map %u does not exist, there are %u: " REMEDY,
					   step->map, program->maps_n);
	map = &program->maps[step->map];
	if (step->src == BPF_PSEUDO_MAP_IDX_VALUE &&
	    (map->kind != GPUMON_PROBE_MAP_DATA || step->value >= map->value_size))
		return gpumon_probe_refuse(
			program, step->origin, err,
			"it takes the address of byte %llu of map %s, which has no "
			"such byte: keep addresses within their variable",
			(unsigned long long)step->value, map->name ? map->name : "");
	return 0;
}

static int check_step(const struct gpumon_probe_program *program, uint32_t at,
		      struct gpumon_error *err)
{
	const struct gpumon_probe_step *step = &program->steps[at];
	/* A register above 15 does not fit. */
	struct bpf_insn insn = { .code = step->code,
				 .dst_reg = step->dst & 0xf,
				 .src_reg = step->src & 0xf,
				 .off = step->off,
				 .imm = step->imm };
	const char *why;

	if (step->dst > 10 || step->src > 10 || step->depth >= GPUMON_PROBE_MAX_DEPTH)
		return gpumon_probe_refuse(
			program, step->origin, err,
			"register r%u or r%u at depth %u does not exist: " REMEDY, step->dst,
			step->src, step->depth);
	why = gpumon_probe_instruction_refusal(&insn);
	if (why)
		return gpumon_probe_refuse(program, step->origin, err, "opcode 0x%02x: %s",
					   step->code, why);
	if ((writes_register(step) && step->dst == 10) || (fetches(step) && step->src == 10))
		return gpumon_probe_refuse(program, step->origin, err,
					   "it changes r10, the address of the stack: copy it to "
					   "another register and change that");
	if (gpumon_probe_is_jump(step->code) && step->target >= program->steps_n)
		return gpumon_probe_refuse(program, step->origin, err,
					   "it jumps to step %u, of %u: " REMEDY, step->target,
					   program->steps_n);
	if (step->code == (BPF_JMP | BPF_CALL) && step->src)
		return gpumon_probe_refuse(
			program, step->origin, err,
			"it calls a function, which should be part of the program: "
			"" REMEDY);
	if (step->code == LDDW)
		return check_wide_constant(program, step, err);
	return 0;
}

int gpumon_shape_check(const struct gpumon_probe_program *program, struct gpumon_error *err)
{
	const struct gpumon_probe_step *last;

	if (check_program(program, err))
		return -1;
	for (uint32_t at = 0; at < program->steps_n; at++)
		if (check_step(program, at, err))
			return -1;
	last = &program->steps[program->steps_n - 1];
	if (gpumon_probe_runs_on(last->code))
		return gpumon_probe_refuse(
			program, last->origin, err,
			"the program runs on over its end: end it with a return, "
			"without __builtin_unreachable()");
	return 0;
}
