/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The memory of the maps of each context: where maps lie in it, copies of it, and what came out of rings. */
#ifndef GPUMON_GPUPROG_SERVE_MEMORY_H
#define GPUMON_GPUPROG_SERVE_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

#include "abi/wire.h"
#include "lib/error.h"
#include "gpuprog/object/map_memory.h"
#include "gpuprog/object/object.h"
#include "gpuprog/view/result.h"

/**
 * gpumon_gpuprog_shared_make - shared memory of a fixed size
 * @name: for people
 * @bytes: size
 * @memory: out: it, zeroed, to be unmapped
 *
 * Return: a descriptor for the other side, to be closed; -1.
 */
int gpumon_gpuprog_shared_make(const char *name, size_t bytes, void **memory);

/**
 * gpumon_gpuprog_shared_read - read what a process has sent
 * @fd: memfd of the process, or -1
 * @size: bytes that it says are in there
 *
 * A copy: the process may write its memory, or make it shorter, at any time.
 *
 * Return: @size bytes, to be freed; NULL: fewer are there, or no memory.
 */
void *gpumon_gpuprog_shared_read(int fd, size_t size);

/* Memory of all maps of a context at most. */

/**
 * struct gpumon_gpuprog_plan - memory of a context
 * @settings: for the library
 * @content: memfd with the first content
 * @shards: copies of what aggregates by SM
 */
struct gpumon_gpuprog_plan {
	struct gpumon_wire_settings settings;
	int content;
	uint32_t shards;
};

/**
 * gpumon_gpuprog_plan_make - decide where everything lies
 * @object: programs and maps
 * @shards: a power of two
 * @copy_ms: how often memory is copied
 * @shared: maps whose memory is elsewhere, a bit each
 * @plan: out, to be cleared if it is returned
 * @err: maps that are too large, no memory
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_plan_make(const struct gpumon_gpuprog_object *object, uint32_t shards,
			     uint32_t copy_ms, uint64_t shared, struct gpumon_gpuprog_plan *plan,
			     struct gpumon_error *err);
void gpumon_gpuprog_plan_clear(struct gpumon_gpuprog_plan *plan);

/**
 * gpumon_gpuprog_fold - add the memory of a context to another's
 * @object: maps
 * @plan: where they lie
 * @to: memory, which begins with the plan's content
 * @from: memory; written by a process, and not trusted
 *
 * Numbers are added: values with the same index or key, global data, losses; of arrays and data with a first
 * content, what was added to it. Rings are left out, and maps whose memory is elsewhere.
 */
void gpumon_gpuprog_fold(const struct gpumon_gpuprog_object *object,
			 const struct gpumon_gpuprog_plan *plan, uint8_t *to, const uint8_t *from);

#define GPUMON_GPUPROG_MAX_AREAS 4096
/* Contexts that have ended and are still shown by themselves. */
#define GPUMON_GPUPROG_ENDED_AREAS 16

/**
 * struct gpumon_gpuprog_area - a context
 * @name: of its GPU and process
 * @pid: of the process, as it is here
 * @ended: the context or its process has
 * @memory: shared copy, the plan's bytes; NULL: it was added to the area of those that have ended
 * @drains: by number of the map, of rings; behind them that of the print ring
 * @images: by number of the map
 * @clock: of the GPU
 * @settled: nothing ran on the GPU when it was copied last
 */
struct gpumon_gpuprog_area {
	const char *name;
	pid_t pid;
	bool ended;
	uint8_t *memory;
	struct gpumon_gpuprog_drain *drains;
	const void **images;
	struct gpumon_gpuprog_clock clock;
	bool settled;
};

/**
 * struct gpumon_gpuprog_areas - all contexts of all processes
 * @object: maps
 * @plan: where they lie
 * @records: by number of the map
 * @prints: of the print ring
 * @pool: texts
 * @areas: contexts
 * @areas_n: how many
 * @sum: index of the area that has what older contexts have gathered, or -1
 */
struct gpumon_gpuprog_areas {
	const struct gpumon_gpuprog_object *object;
	const struct gpumon_gpuprog_plan *plan;
	struct gpumon_gpuprog_records *records;
	struct gpumon_gpuprog_records prints;
	struct gpumon_pool pool;
	struct gpumon_gpuprog_area areas[GPUMON_GPUPROG_MAX_AREAS];
	uint32_t areas_n;
	int32_t sum;
};

void gpumon_gpuprog_areas_init(struct gpumon_gpuprog_areas *areas,
			       const struct gpumon_gpuprog_object *object,
			       const struct gpumon_gpuprog_plan *plan);
void gpumon_gpuprog_areas_clear(struct gpumon_gpuprog_areas *areas);

/**
 * gpumon_gpuprog_areas_add - a new context
 * @areas: areas
 * @name: for people
 * @pid: of its process, as it is here
 * @fd: out: memfd of its memory, to be closed
 *
 * Return: its number, or -1: too many, no memory.
 */
int gpumon_gpuprog_areas_add(struct gpumon_gpuprog_areas *areas, const char *name, pid_t pid,
			     int *fd);

/* A context has ended: nobody writes its memory any more. */
void gpumon_gpuprog_areas_ended(struct gpumon_gpuprog_areas *areas, uint32_t number);

/**
 * gpumon_gpuprog_areas_copied - read the rings of a context that was copied
 * @areas: areas
 * @number: of the context
 * @quiet: nothing ran on the GPU meanwhile
 * @clear: called for each range of its memory that is to be zeroed; NULL: nobody writes it any more
 * @argument: for it
 */
void gpumon_gpuprog_areas_copied(struct gpumon_gpuprog_areas *areas, uint32_t number, bool quiet,
				 void (*clear)(void *argument, uint64_t offset, uint64_t size),
				 void *argument);

/* A comparison of a context's clock, which may have been made before: the range then has both. */
void gpumon_gpuprog_areas_clock(struct gpumon_gpuprog_areas *areas, uint32_t number,
				int64_t offset_ns, uint64_t error_ns);

/*
 * A map has its memory elsewhere, for all contexts together: it is shown with the first one.
 */
void gpumon_gpuprog_areas_share(struct gpumon_gpuprog_areas *areas, uint32_t map,
				const void *memory);

/* What there is, as gpumon_gpuprog_result's @devices, to be freed. */
struct gpumon_gpuprog_device *
gpumon_gpuprog_areas_devices(const struct gpumon_gpuprog_areas *areas);

#endif /* GPUMON_GPUPROG_SERVE_MEMORY_H */
