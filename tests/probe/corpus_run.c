// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "common.h"

#include <string.h>

#include "corpus_run.h"
#include "gpuprog/object/map_memory.h"

const struct gpumon_gpuprog_target corpus_targets[CORPUS_TARGETS] = {
	{ .isa = 90, .sm = 90, .shards = 4, .fuel = 1000 },
	{ .isa = 61, .sm = 60, .shards = 2, .fuel = 1000 },
	{ .isa = 50, .sm = 52, .shards = 1, .fuel = 1000 },
};

uint64_t corpus_seed;

void corpus_make(struct sample *sample, const char *name,
		 const struct gpumon_gpuprog_target *target)
{
	const struct corpus_program *program = corpus_find(name);

	assert_non_null(program);
	if (sample_make(sample, program->code, program->code_n, corpus_maps, CORPUS_MAPS,
			program->point, target))
		fail_msg("%s: %s", name, sample->error);
}

void corpus_run(struct sample *sample, uint32_t threads, uint32_t order,
		void (*prepare)(struct ptx_lane *lane, uint32_t thread))
{
	uint64_t random = order ? corpus_seed + order : 0;

	if (sample_run_with(sample, threads, random, prepare))
		fail_msg("seed %llu, order %u: %s\n%s", (unsigned long long)corpus_seed, order,
			 sample->error, sample->text);
}

uint64_t corpus_number(const struct sample *sample, enum corpus_map map, uint64_t index)
{
	uint64_t value = 0;

	gpumon_gpuprog_read_value(&corpus_maps[map], sample->target.shards, sample->images[map],
				  index, &value);
	return value;
}

uint64_t corpus_shown(const struct sample *sample, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, sample->images[CORPUS_BSS] + offset, sizeof(value));
	return value;
}

void corpus_lost(const struct sample *sample, enum gpumon_gpuprog_loss cause, uint64_t count)
{
	for (uint32_t i = 0; i < GPUMON_GPUPROG_LOSS_CAUSES; i++)
		assert_int_equal(sample->control.lost[i], i == cause ? count : 0);
}
