// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprog/object/flatten.h"
#include "gpuprog/verify/verify.h"
#include "sample.h"

#define BLOCK_THREADS 128
#define MAX_STEPS     (1u << 28)
#define GRID	      77

const struct gpumon_gpuprog_target sample_target = {
	.isa = 90, .sm = 90, .shards = 4, .fuel = 4096
};

static int translate(struct sample *sample)
{
	size_t size;
	FILE *out = open_memstream(&sample->text, &size);
	int result = gpumon_gpuprog_translate(&sample->program, sample->facts, &sample->target, out,
					      &sample->err);

	fclose(out);
	if (result)
		memcpy(sample->error, sample->err.message, sizeof(sample->error) - 1);
	return result;
}

static struct ptx_region region(uint64_t number, uint8_t *bytes, uint64_t size, bool read_only)
{
	return (struct ptx_region){
		.address = 0x7f0000000000 + (number << 33),
		.size = size,
		.bytes = bytes,
		.read_only = read_only,
	};
}

static void make_memory(struct sample *sample)
{
	const struct gpumon_gpuprog *program = &sample->program;
	struct ptx_machine *machine = &sample->machine;
	uint64_t *table = calloc(program->maps_n + 1, sizeof(*table)), bytes;
	uint32_t i;

	machine->table = table;
	machine->table_n = program->maps_n + 1;
	machine->regions_n = program->maps_n + 4;
	machine->regions = calloc(machine->regions_n, sizeof(*machine->regions));
	sample->images = calloc(program->maps_n + 1, sizeof(*sample->images));
	for (i = 0; i < program->maps_n; i++) {
		const struct gpumon_gpuprog_map *map = &program->maps[i];

		bytes = gpumon_gpuprog_map_bytes(map, sample->target.shards);
		sample->images[i] = calloc(1, bytes);
		if (map->data)
			memcpy(sample->images[i], map->data, map->value_size);
		machine->regions[i] = region(i, sample->images[i], bytes, map->read_only);
		table[GPUMON_GPUPROG_TABLE_ENTRY(i)] = machine->regions[i].address;
	}
	bytes = 0;
	if (gpumon_gpuprog_prints(program))
		bytes = gpumon_gpuprog_map_bytes(&gpumon_gpuprog_print_map, sample->target.shards);
	sample->print = calloc(1, bytes + 1);
	machine->regions[i] = region(i, sample->print, bytes, false);
	sample->control.print = machine->regions[i].address;
	sample->control.pid_tgid = 0x1234000056780000;
	i++;
	machine->regions[i] =
		region(i, (uint8_t *)&sample->control, sizeof(sample->control), false);
	table[0] = machine->regions[i].address;
	i++;
	/* Patches read it from memory. */
	machine->regions[i] = region(i, (uint8_t *)table,
				     sample->target.patch ? machine->table_n * sizeof(*table) : 0,
				     true);
	if (sample->target.patch)
		machine->table_n = 0;
	sample->table_at = machine->regions[i].address;
	i++;
	sample->kept = calloc(1, SAMPLE_KEPT_BYTES);
	machine->regions[i] = region(i, sample->kept, SAMPLE_KEPT_BYTES, false);
	sample->control.kept = machine->regions[i].address;
	sample->control.kept_places = SAMPLE_PLACES;
	machine->block = sample->block;
}

static int make_taking(struct sample *sample)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	gpumon_gpuprog_take_place(&sample->target, out);
	fclose(out);
	sample->taking = ptx_parse(text, sample->error);
	free(text);
	return sample->taking ? 0 : -1;
}

/* What follows the steps. */
static int finish(struct sample *sample, const struct gpumon_gpuprog_target *target)
{
	static const struct gpumon_gpuprog_rules rules = { .allow_exit = true };

	sample->target = *target;
	sample->facts = calloc(sample->program.steps_n, sizeof(*sample->facts));
	if (gpumon_gpuprog_verify(&sample->program, &rules, sample->facts, &sample->err)) {
		memcpy(sample->error, sample->err.message, sizeof(sample->error) - 1);
		return -1;
	}
	if (translate(sample))
		return -1;
	sample->block = ptx_parse(sample->text, sample->error);
	if (!sample->block)
		return -1;
	make_memory(sample);
	return target->patch && gpumon_gpuprog_keeps(&sample->program) ? make_taking(sample) : 0;
}

int sample_take(struct sample *sample, const struct gpumon_gpuprog *program,
		const struct gpumon_gpuprog_target *target)
{
	memset(sample, 0, sizeof(*sample));
	sample->program = *program;
	return finish(sample, target);
}

int sample_make(struct sample *sample, const struct bpf_insn *code, uint32_t code_n,
		const struct gpumon_gpuprog_map *maps, uint32_t maps_n,
		enum gpumon_gpuprog_point point, const struct gpumon_gpuprog_target *target)
{
	memset(sample, 0, sizeof(*sample));
	sample->program = (struct gpumon_gpuprog){
		.name = "sample", .section = "test", .point = point, .maps = maps, .maps_n = maps_n
	};
	if (gpumon_gpuprog_flatten(&sample->program, code, code_n, &sample->pool, &sample->err)) {
		memcpy(sample->error, sample->err.message, sizeof(sample->error) - 1);
		return -1;
	}
	return finish(sample, target);
}

void sample_clear(struct sample *sample)
{
	uint32_t i;

	for (i = 0; sample->images && i < sample->program.maps_n; i++)
		free(sample->images[i]);
	free(sample->images);
	free(sample->print);
	free(sample->kept);
	free((void *)sample->machine.table);
	free(sample->machine.regions);
	ptx_free(sample->block);
	ptx_free(sample->taking);
	free(sample->text);
	free(sample->facts);
	gpumon_pool_clear(&sample->pool);
}

static void place_lane(struct ptx_lane *lane, uint32_t thread, uint32_t threads)
{
	uint64_t *special = lane->special;

	lane->live = thread < threads;
	special[PTX_TID_X] = thread % BLOCK_THREADS;
	special[PTX_CTAID_X] = thread / BLOCK_THREADS;
	special[PTX_NTID_X] = BLOCK_THREADS;
	special[PTX_NTID_Y] = special[PTX_NTID_Z] = 1;
	special[PTX_NCTAID_X] = (threads + BLOCK_THREADS - 1) / BLOCK_THREADS;
	special[PTX_NCTAID_Y] = special[PTX_NCTAID_Z] = 1;
	special[PTX_SMID] = thread / BLOCK_THREADS % SAMPLE_SMS;
	special[PTX_WARPID] = thread / PTX_LANES % 64;
	special[PTX_GLOBALTIMER] = 1000000000 + thread;
	special[PTX_CLOCK64] = 5000 + thread;
	special[PTX_GRIDID] = GRID;
}

static int run_block(struct sample *sample, struct ptx_block *block, uint32_t threads,
		     uint64_t random, void (*prepare)(struct ptx_lane *lane, uint32_t thread))
{
	struct ptx_machine *machine = &sample->machine;
	uint32_t warps = (threads + PTX_LANES - 1) / PTX_LANES, i, j;
	int result;

	machine->warps = calloc(warps, sizeof(*machine->warps));
	machine->warps_n = warps;
	machine->block = block;
	machine->random = random;
	machine->steps = MAX_STEPS;
	for (i = 0; i < warps; i++) {
		ptx_warp_init(&machine->warps[i], block);
		for (j = 0; j < PTX_LANES; j++) {
			place_lane(&machine->warps[i].lanes[j], i * PTX_LANES + j, threads);
			machine->warps[i].lanes[j].special[PTX_TABLE_AT] = sample->table_at;
			if (prepare)
				prepare(&machine->warps[i].lanes[j], i * PTX_LANES + j);
		}
	}
	result = ptx_run(machine);
	for (i = 0; i < warps; i++)
		ptx_warp_clear(&machine->warps[i]);
	free(machine->warps);
	if (result)
		memcpy(sample->error, machine->error, sizeof(sample->error));
	return result;
}

int sample_run_with(struct sample *sample, uint32_t threads, uint64_t random,
		    void (*prepare)(struct ptx_lane *lane, uint32_t thread))
{
	if (sample->taking && run_block(sample, sample->taking, threads, random, NULL))
		return -1;
	return run_block(sample, sample->block, threads, random, prepare);
}

int sample_run(struct sample *sample, uint32_t threads, uint64_t random)
{
	return sample_run_with(sample, threads, random, NULL);
}
