// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Any bytes as an eBPF object for the GPU, or, if the first byte is odd, as the instructions of a
 * program. What is accepted has to keep what verifier and translator rely on.
 */
#include <string.h>

#include "fuzz.h"
#include "gpuprog/object/flatten.h"
#include "gpuprog/object/object.h"

#define LDDW (BPF_LD | BPF_IMM | BPF_DW)

static bool is_jump(const struct gpumon_gpuprog_step *step)
{
	return (BPF_CLASS(step->code) == BPF_JMP || BPF_CLASS(step->code) == BPF_JMP32) &&
	       BPF_OP(step->code) != BPF_CALL && BPF_OP(step->code) != BPF_EXIT;
}

static bool ends(const struct gpumon_gpuprog_step *step)
{
	return step->code == (BPF_JMP | BPF_EXIT) || step->code == (BPF_JMP | BPF_JA);
}

static void check_step(const struct gpumon_gpuprog *program, uint32_t at)
{
	const struct gpumon_gpuprog_step *step = &program->steps[at];

	MUST(step->dst <= 10 && step->src <= 10 && step->depth < GPUMON_GPUPROG_MAX_DEPTH);
	MUST(step->code != (BPF_JMP | BPF_EXIT) || !step->depth);
	MUST(step->code != (BPF_JMP | BPF_CALL) || !step->src);
	if (step->code == LDDW && step->src)
		MUST(step->map < program->maps_n);
	if (step->code == LDDW && step->src == BPF_PSEUDO_MAP_IDX_VALUE)
		MUST(step->value < program->maps[step->map].value_size);
	if (is_jump(step))
		MUST(step->target < program->steps_n && !step->off);
	if (ends(step))
		return;
	/* It goes on within the same frame. */
	MUST(at + 1 < program->steps_n && program->steps[at + 1].depth == step->depth);
}

static void check_program(const struct gpumon_gpuprog *program)
{
	MUST(program->steps_n >= 1 && program->steps_n <= GPUMON_GPUPROG_MAX_STEPS);
	for (uint32_t at = 0; at < program->steps_n; at++) {
		check_step(program, at);
		if (is_jump(&program->steps[at])) {
			int there = program->steps[program->steps[at].target].depth;

			/* Only a call leads deeper, by one, and only a return back. */
			MUST(there - program->steps[at].depth <= 1 &&
			     program->steps[at].depth - there <= 1);
		}
	}
	for (uint32_t i = 0; i < program->lines_n; i++)
		MUST(!i || program->lines[i - 1].instruction < program->lines[i].instruction);
}

static void check_map(const struct gpumon_gpuprog_map *map)
{
	MUST(map->max_entries && map->value_size);
	MUST(map->key_size <= GPUMON_GPUPROG_MAX_KEY_SIZE &&
	     map->value_size <= GPUMON_GPUPROG_MAX_VALUE_SIZE);
	MUST(!map->data || map->kind == GPUMON_GPUPROG_MAP_DATA);
	MUST(*map->name && strlen(map->name) < 256);
}

static void check_error(const struct gpumon_error *err)
{
	MUST(err->code != GPUMON_ERROR_NONE && *err->message && !strchr(err->message, '\n'));
}

static void read_object(const uint8_t *bytes, size_t size)
{
	struct gpumon_gpuprog_object object;
	struct gpumon_error err = { 0 };

	if (gpumon_gpuprog_object_read(bytes, size, "x.bpf.o", &object, &err)) {
		check_error(&err);
	} else {
		MUST(object.programs_n && object.maps_n <= GPUMON_GPUPROG_MAX_MAPS);
		for (uint32_t i = 0; i < object.programs_n; i++) {
			MUST(object.programs[i].maps == object.maps &&
			     object.programs[i].maps_n == object.maps_n && object.targets[i]);
			check_program(&object.programs[i]);
		}
		for (uint32_t i = 0; i < object.maps_n; i++)
			check_map(&object.maps[i]);
	}
	gpumon_gpuprog_object_clear(&object);
}

static void flatten(const uint8_t *bytes, size_t size)
{
	static const struct gpumon_gpuprog_map maps[] = {
		{ .name = "values", .key_size = 4, .value_size = 8, .max_entries = 4 },
		{ .name = ".data", .kind = GPUMON_GPUPROG_MAP_DATA, .value_size = 64 },
	};
	struct gpumon_gpuprog program = { .name = "fuzz", .maps = maps, .maps_n = 2 };
	struct gpumon_pool pool = { 0 };
	struct gpumon_error err = { 0 };

	if (gpumon_gpuprog_flatten(&program, (const struct bpf_insn *)bytes,
				   (uint32_t)(size / sizeof(struct bpf_insn)), &pool, &err))
		check_error(&err);
	else
		check_program(&program);
	gpumon_pool_clear(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t kind = fuzz_u8(&input);
	size_t n;
	uint8_t *bytes = fuzz_bytes(&input, SIZE_MAX, &n);

	if (kind & 1)
		flatten(bytes, n);
	else
		read_object(bytes, n);
	free(bytes);
	return 0;
}
