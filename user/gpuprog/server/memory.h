/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The memory of the maps of each context: where maps lie in it, copies of it, and what came out of rings. */
#ifndef GPUMON_GPUPROG_SERVER_MEMORY_H
#define GPUMON_GPUPROG_SERVER_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

#include "abi/wire.h"
#include "lib/error.h"
#include "gpuprog/object/map_memory.h"
#include "gpuprog/object/object.h"
#include "gpuprog/result/result.h"

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
 * struct gpumon_gpuprog_layout - memory of a context
 * @settings: for the library
 * @content: memfd with the first content
 * @shards: copies of what aggregates by SM
 */
struct gpumon_gpuprog_layout {
	struct gpumon_wire_settings settings;
	int content;
	uint32_t shards;
};

/**
 * gpumon_gpuprog_layout_make - decide where everything lies
 * @object: programs and maps
 * @shards: a power of two
 * @copy_ms: how often memory is copied
 * @shared: maps whose memory is elsewhere, a bit each
 * @layout: out, to be cleared if it is returned
 * @err: maps that are too large, no memory
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_layout_make(const struct gpumon_gpuprog_object *object, uint32_t shards,
			       uint32_t copy_ms, uint64_t shared,
			       struct gpumon_gpuprog_layout *layout, struct gpumon_error *err);
void gpumon_gpuprog_layout_clear(struct gpumon_gpuprog_layout *layout);

/**
 * gpumon_gpuprog_add_up - add the memory of a context to another's
 * @object: maps
 * @layout: where they lie
 * @to: memory, which begins with the layout's content
 * @from: memory; written by a process, and not trusted
 *
 * Numbers are added: values with the same index or key, global data, losses; of arrays and data with a first
 * content, what was added to it. Rings are left out, and maps whose memory is elsewhere.
 */
void gpumon_gpuprog_add_up(const struct gpumon_gpuprog_object *object,
			   const struct gpumon_gpuprog_layout *layout, uint8_t *to,
			   const uint8_t *from);

#define GPUMON_GPUPROG_MAX_CONTEXTS 4096
/* Contexts that have ended and are still shown by themselves. */
#define GPUMON_GPUPROG_ENDED_CONTEXTS 16

/**
 * struct gpumon_gpuprog_context_memory - a context
 * @name: of its GPU and process
 * @pid: of the process, as it is here
 * @ended: the context or its process has
 * @memory: shared copy, the layout's bytes; NULL: it was added to that of those that have ended
 * @drains: by number of the map, of rings; behind them that of the print ring
 * @images: by number of the map
 * @clock: of the GPU
 * @settled: nothing ran on the GPU when it was copied last
 */
struct gpumon_gpuprog_context_memory {
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
 * struct gpumon_gpuprog_contexts - all contexts of all processes
 * @object: maps
 * @layout: where they lie
 * @records: by number of the map
 * @prints: of the print ring
 * @pool: texts
 * @contexts: contexts
 * @contexts_n: how many
 * @sum: index of the one that has what older contexts have gathered, or -1
 */
struct gpumon_gpuprog_contexts {
	const struct gpumon_gpuprog_object *object;
	const struct gpumon_gpuprog_layout *layout;
	struct gpumon_gpuprog_records *records;
	struct gpumon_gpuprog_records prints;
	struct gpumon_pool pool;
	struct gpumon_gpuprog_context_memory contexts[GPUMON_GPUPROG_MAX_CONTEXTS];
	uint32_t contexts_n;
	int32_t sum;
};

void gpumon_gpuprog_contexts_init(struct gpumon_gpuprog_contexts *contexts,
				  const struct gpumon_gpuprog_object *object,
				  const struct gpumon_gpuprog_layout *layout);
void gpumon_gpuprog_contexts_clear(struct gpumon_gpuprog_contexts *contexts);

/**
 * gpumon_gpuprog_contexts_add - a new context
 * @contexts: contexts
 * @name: for people
 * @pid: of its process, as it is here
 * @fd: out: memfd of its memory, to be closed
 *
 * Return: its number, or -1: too many, no memory.
 */
int gpumon_gpuprog_contexts_add(struct gpumon_gpuprog_contexts *contexts, const char *name,
				pid_t pid, int *fd);

/* A context has ended: nobody writes its memory any more. */
void gpumon_gpuprog_contexts_ended(struct gpumon_gpuprog_contexts *contexts, uint32_t number);

/**
 * gpumon_gpuprog_contexts_copied - read the rings of a context that was copied
 * @contexts: contexts
 * @number: of the context
 * @quiet: nothing ran on the GPU meanwhile
 * @clear: called for each range of its memory that is to be zeroed; NULL: nobody writes it any more
 * @argument: for it
 */
void gpumon_gpuprog_contexts_copied(struct gpumon_gpuprog_contexts *contexts, uint32_t number,
				    bool quiet,
				    void (*clear)(void *argument, uint64_t offset, uint64_t size),
				    void *argument);

/* A comparison of a context's clock, which may have been made before: the range then has both. */
void gpumon_gpuprog_contexts_clock(struct gpumon_gpuprog_contexts *contexts, uint32_t number,
				   int64_t offset_ns, uint64_t error_ns);

/*
 * A map has its memory elsewhere, for all contexts together: it is shown with the first one.
 */
void gpumon_gpuprog_contexts_share(struct gpumon_gpuprog_contexts *contexts, uint32_t map,
				   const void *memory);

/* All contexts, for @devices of gpumon_gpuprog_result; the caller frees the array. */
struct gpumon_gpuprog_device *
gpumon_gpuprog_contexts_devices(const struct gpumon_gpuprog_contexts *contexts);

#endif /* GPUMON_GPUPROG_SERVER_MEMORY_H */
