/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared copies of the maps' memory of each context, and what came out of the rings in them. */
#ifndef GPUMON_GPUPROG_SERVE_AREA_H
#define GPUMON_GPUPROG_SERVE_AREA_H

#include <sys/types.h>

#include "plan.h"
#include "gpuprog/object/read.h"
#include "gpuprog/view/result.h"

#define GPUMON_PROBE_MAX_AREAS 4096
/* Contexts that have ended and are still shown by themselves. */
#define GPUMON_PROBE_ENDED_AREAS 16

/**
 * struct gpumon_probe_area - a context
 * @name: of its GPU and process
 * @pid: of the process, as it is here
 * @ended: the context or its process has
 * @memory: shared copy, the plan's bytes; NULL: it was added to the area of those that have ended
 * @drains: by number of the map, of rings; behind them that of the print ring
 * @images: by number of the map
 * @clock: of the GPU
 * @settled: nothing ran on the GPU when it was copied last
 */
struct gpumon_probe_area {
	const char *name;
	pid_t pid;
	bool ended;
	uint8_t *memory;
	struct gpumon_probe_drain *drains;
	const void **images;
	struct gpumon_probe_clock clock;
	bool settled;
};

/**
 * struct gpumon_probe_areas - all contexts of all processes
 * @object: maps
 * @plan: where they lie
 * @records: by number of the map
 * @prints: of the print ring
 * @pool: texts
 * @areas: contexts
 * @areas_n: how many
 * @sum: index of the area that has what older contexts have gathered, or -1
 */
struct gpumon_probe_areas {
	const struct gpumon_probe_object *object;
	const struct gpumon_probe_plan *plan;
	struct gpumon_probe_records *records;
	struct gpumon_probe_records prints;
	struct gpumon_pool pool;
	struct gpumon_probe_area areas[GPUMON_PROBE_MAX_AREAS];
	uint32_t areas_n;
	int32_t sum;
};

/* Return: 0, or -1 without memory. To be cleared in both cases. */
int gpumon_probe_areas_init(struct gpumon_probe_areas *areas,
			    const struct gpumon_probe_object *object,
			    const struct gpumon_probe_plan *plan);
void gpumon_probe_areas_clear(struct gpumon_probe_areas *areas);

/**
 * gpumon_probe_areas_add - a new context
 * @areas: areas
 * @name: for people
 * @pid: of its process, as it is here
 * @fd: out: memfd of its memory, to be closed
 *
 * Return: its number, or -1: too many, no memory.
 */
int gpumon_probe_areas_add(struct gpumon_probe_areas *areas, const char *name, pid_t pid, int *fd);

/* A context has ended: nobody writes its memory any more. */
void gpumon_probe_areas_ended(struct gpumon_probe_areas *areas, uint32_t number);

/**
 * gpumon_probe_areas_copied - read the rings of a context that was copied
 * @areas: areas
 * @number: of the context
 * @quiet: nothing ran on the GPU meanwhile
 * @clear: called for each range of its memory that is to be zeroed; NULL: nobody writes it any more
 * @argument: for it
 */
void gpumon_probe_areas_copied(struct gpumon_probe_areas *areas, uint32_t number, bool quiet,
			       void (*clear)(void *argument, uint64_t offset, uint64_t size),
			       void *argument);

/* A comparison of a context's clock, which may have been made before: the range then has both. */
void gpumon_probe_areas_clock(struct gpumon_probe_areas *areas, uint32_t number, int64_t offset_ns,
			      uint64_t error_ns);

/*
 * A map has its memory elsewhere, for all contexts together: it is shown with the first one.
 */
void gpumon_probe_areas_share(struct gpumon_probe_areas *areas, uint32_t map, const void *memory);

/* What there is, as gpumon_probe_result's @devices, to be freed; NULL without memory. */
struct gpumon_probe_device *gpumon_probe_areas_devices(const struct gpumon_probe_areas *areas);

#endif /* GPUMON_GPUPROG_SERVE_AREA_H */
