/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Definitions of a process: what its later records refer to by id (names, stacks, devices, ...), and
 * its mappings. They are kept in memory while the records themselves are dropped (ring.h).
 */
#ifndef GPUMON_CAPTURE_DEFINITIONS_H
#define GPUMON_CAPTURE_DEFINITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/map.h"
#include "abi/format.h"

/* Zeroed ones are empty. */
struct gpumon_definitions {
	struct gpumon_map known; /* place + 1 by key */
	uint8_t **blocks;
	uint32_t *used; /* bytes of each block */
	uint32_t count;
	uint64_t bytes;
};

/* True for a type of records that is kept here. */
bool gpumon_definition_is(uint16_t type);

/**
 * gpumon_definitions_add - keep a definition
 * @definitions: those of its process
 * @record: a checked record, aligned to 8; copied
 * @room: how many bytes more they may take
 *
 * A string, stack or frame that is known is not kept again. A thread, device, clock or the like
 * replaces an earlier one.
 *
 * Return: 0, or -ENOSPC: there is no room.
 */
int gpumon_definitions_add(struct gpumon_definitions *definitions,
			   const struct gpumon_record *record, uint64_t room);

/* Memory for records and their index, in bytes. */
uint64_t gpumon_definitions_bytes(const struct gpumon_definitions *definitions);

/**
 * gpumon_definitions_block - the records in the order in which they were added
 * @definitions: definitions
 * @number: from 0 on
 * @size: set to the bytes of whole records
 *
 * Return: records, or NULL after the last block.
 */
const void *gpumon_definitions_block(const struct gpumon_definitions *definitions, uint32_t number,
				     size_t *size);

void gpumon_definitions_clear(struct gpumon_definitions *definitions);

#endif /* GPUMON_CAPTURE_DEFINITIONS_H */
