// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "capture.h"
#include "definitions.h"

/* A block has room for the longest record. */
#define BLOCK GPUMON_RECORD_SIZE_MAX

bool gpumon_definition_is(uint16_t type)
{
	return (type >= GPUMON_RECORD_PROCESS && type <= GPUMON_RECORD_CLOCK) ||
	       type == GPUMON_RECORD_GRAPH_NODE || type == GPUMON_RECORD_NOTE;
}

/* Key of a definition. Of two definitions with the same key the later one counts. */
struct key {
	uint64_t type;
	uint64_t id;
	uint64_t of;
};

/* 0: it has none, and each one is kept. */
static uint64_t definition_key(const struct gpumon_record *record)
{
	struct key key = { .type = record->type };
	uint64_t hash;
	union {
		struct gpumon_record_string string;
		struct gpumon_record_thread thread;
		struct gpumon_record_device device;
		struct gpumon_record_stream stream;
		struct gpumon_record_context context;
		struct gpumon_record_api api;
		struct gpumon_record_clock clock;
		struct gpumon_record_graph_node node;
	} of;

	gpumon_record_copy(&of, sizeof(of), record);
	switch (record->type) {
	case GPUMON_RECORD_PROCESS:
		break;
	case GPUMON_RECORD_STRING:
	case GPUMON_RECORD_FRAME:
	case GPUMON_RECORD_STACK:
		/* The id is at the same place in all three. */
		return (uint64_t)record->type << 32 | of.string.id;
	case GPUMON_RECORD_THREAD:
		key.id = of.thread.tid;
		break;
	case GPUMON_RECORD_DEVICE:
		key.id = of.device.id;
		break;
	case GPUMON_RECORD_STREAM:
		key.id = of.stream.id;
		key.of = of.stream.context;
		break;
	case GPUMON_RECORD_CONTEXT:
		key.id = of.context.id;
		key.of = record->flags & GPUMON_CONTEXT_DESTROYED;
		break;
	case GPUMON_RECORD_API:
		key.id = of.api.api;
		key.of = of.api.platform;
		break;
	case GPUMON_RECORD_CLOCK:
		key.id = of.clock.device;
		break;
	case GPUMON_RECORD_GRAPH_NODE:
		key.id = of.node.node;
		break;
	default:
		return 0;
	}
	hash = gpumon_hash_bytes(&key, sizeof(key));
	/* Keys of strings, stacks and frames are below this. */
	return hash | 1ull << 63;
}

static void add_block(struct gpumon_definitions *definitions)
{
	uint32_t count = definitions->count + 1;

	definitions->blocks =
		gpumon_reallocarray(definitions->blocks, count, sizeof(*definitions->blocks));
	definitions->used =
		gpumon_reallocarray(definitions->used, count, sizeof(*definitions->used));
	definitions->blocks[count - 1] = gpumon_malloc(BLOCK);
	definitions->used[count - 1] = 0;
	definitions->count = count;
}

/* Returns true if there is nothing to add. */
static bool is_known(struct gpumon_definitions *definitions, const struct gpumon_record *record,
		     uint64_t key)
{
	uint64_t place = key ? gpumon_map_get(&definitions->known, key) : 0;
	struct gpumon_record *before;

	if (!place)
		return false;
	if (!(key >> 63))
		return true;
	place--;
	before = (void *)(definitions->blocks[place / BLOCK] + place % BLOCK);
	if (before->size != record->size)
		return false;
	memcpy(before, record, record->size);
	return true;
}

int gpumon_definitions_add(struct gpumon_definitions *definitions,
			   const struct gpumon_record *record, uint64_t room)
{
	uint64_t key = definition_key(record);
	uint32_t last;

	if (is_known(definitions, record, key))
		return 0;
	/* The index doubles when it grows. */
	if (record->size + 2 * sizeof(struct gpumon_map_slot) > room)
		return -ENOSPC;
	if (!definitions->count || definitions->used[definitions->count - 1] + record->size > BLOCK)
		add_block(definitions);
	last = definitions->count - 1;
	if (key)
		gpumon_map_set(&definitions->known, key,
			       (uint64_t)last * BLOCK + definitions->used[last] + 1);
	memcpy(definitions->blocks[last] + definitions->used[last], record, record->size);
	definitions->used[last] += record->size;
	definitions->bytes += record->size;
	return 0;
}

uint64_t gpumon_definitions_bytes(const struct gpumon_definitions *definitions)
{
	return definitions->bytes + gpumon_map_bytes(&definitions->known);
}

const void *gpumon_definitions_block(const struct gpumon_definitions *definitions, uint32_t number,
				     size_t *size)
{
	if (number >= definitions->count)
		return NULL;
	*size = definitions->used[number];
	return definitions->blocks[number];
}

void gpumon_definitions_clear(struct gpumon_definitions *definitions)
{
	for (uint32_t i = 0; i < definitions->count; i++)
		free(definitions->blocks[i]);
	free(definitions->blocks);
	free(definitions->used);
	gpumon_map_clear(&definitions->known);
	memset(definitions, 0, sizeof(*definitions));
}
