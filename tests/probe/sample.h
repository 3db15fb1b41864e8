/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A program for tests: instructions, its steps, facts, text, and memory to run it in. */
#ifndef PROBE_SAMPLE_H
#define PROBE_SAMPLE_H

#include "lib/map.h"
#include "gpuprog/object/map_memory.h"
#include "gpuprog/ptx/translate.h"
#include "ptx.h"

#define SAMPLE_SMS    8
#define SAMPLE_PLACES (SAMPLE_SMS * GPUMON_GPUPROG_KEPT_WARPS * GPUMON_GPUPROG_KEPT_LANES)
#define SAMPLE_KEPT_BYTES \
	(8ull * SAMPLE_PLACES * (GPUMON_GPUPROG_KEPT_TAGS + GPUMON_GPUPROG_MAX_KEPT))

struct sample {
	struct gpumon_gpuprog program;
	struct gpumon_pool pool;
	struct gpumon_gpuprog_fact *facts;
	struct gpumon_gpuprog_target target;
	struct gpumon_error err;
	char *text;
	struct ptx_block *block;
	struct ptx_machine machine;
	struct gpumon_gpuprog_control control;
	uint8_t **images; /* memory of the maps */
	uint8_t *print;
	uint8_t *kept;
	struct ptx_block *taking; /* of patches: a thread's place for what it keeps, or NULL */
	uint64_t table_at;	  /* of patches: address of the table of addresses */
	char error[256];
};

/* Newest of all; 4 shards. */
extern const struct gpumon_gpuprog_target sample_target;

/*
 * Make the steps, the facts and the text, and read the text. Return: 0, or -1 with @error.
 * Always to be cleared.
 */
int sample_make(struct sample *sample, const struct bpf_insn *code, uint32_t code_n,
		const struct gpumon_gpuprog_map *maps, uint32_t maps_n,
		enum gpumon_gpuprog_point point, const struct gpumon_gpuprog_target *target);
/* The same of a program that has its steps already; it stays. */
int sample_take(struct sample *sample, const struct gpumon_gpuprog *program,
		const struct gpumon_gpuprog_target *target);
void sample_clear(struct sample *sample);

/*
 * Run it in @threads threads of blocks of 128, @random: seed of the scheduler, or 0 for lock-step.
 * The memory stays from one run to the next. Return: 0, or -1 with @error.
 */
int sample_run(struct sample *sample, uint32_t threads, uint64_t random);
/* The same with what surrounds the block: @special by enum ptx_special is added for each lane. */
int sample_run_with(struct sample *sample, uint32_t threads, uint64_t random,
		    void (*prepare)(struct ptx_lane *lane, uint32_t thread));

#endif /* PROBE_SAMPLE_H */
