/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Mappings over time. An address can belong to several files in turn (dlclose(), then dlopen() of
 * another file). Records may be added in any order.
 */
#ifndef GPUMON_CAPTURE_SYMBOL_MAPPINGS_H
#define GPUMON_CAPTURE_SYMBOL_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpumon_symbol_object;

/**
 * struct gpumon_symbol_mapping - a mapped part of a file
 * @start: address
 * @end: address after it
 * @offset: offset of @start in the file
 * @time_ns: time when it was seen
 * @object: the file
 * @reach: largest end of the items of its block up to this one
 * @again: the same one, when it was last seen, without another mapping there in between
 */
struct gpumon_symbol_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t time_ns;
	struct gpumon_symbol_object *object;
	uint64_t reach;
	bool again;
};

struct gpumon_symbol_block {
	struct gpumon_symbol_mapping *items;
	uint32_t used;
	uint32_t room;
};

/*
 * Sorted by start, end and time, then in the order of arrival. In blocks, so that it costs little
 * to put one between others. An unmapping is an item without a file.
 */
struct gpumon_symbol_intervals {
	struct gpumon_symbol_block *blocks;
	uint32_t used;
	uint32_t room;
	size_t count; /* of items, without those that were seen again */
};

struct gpumon_symbol_mappings {
	struct gpumon_symbol_intervals mapped;
	struct gpumon_symbol_intervals unmapped;
};

/* 0, or -1 without memory. An empty range is ignored. */
int gpumon_symbol_mappings_add(struct gpumon_symbol_mappings *mappings,
			       const struct gpumon_symbol_mapping *mapping);
int gpumon_symbol_mappings_remove(struct gpumon_symbol_mappings *mappings, uint64_t start,
				  uint64_t end, uint64_t time_ns);

/**
 * gpumon_symbol_mappings_find - find the mapping of an address
 * @mappings: mappings of the process
 * @address: address
 * @time_ns: time, 0 if unknown
 *
 * This is the mapping last seen before that time, unless it was unmapped since. Code may run before
 * its mapping is first seen: without an earlier mapping, the next one counts. Without a time, all
 * mappings of the address must agree.
 *
 * Return: the mapping, or NULL if there is none or it is ambiguous; valid until the next change.
 */
const struct gpumon_symbol_mapping *
gpumon_symbol_mappings_find(const struct gpumon_symbol_mappings *mappings, uint64_t address,
			    uint64_t time_ns);

void gpumon_symbol_mappings_free(struct gpumon_symbol_mappings *mappings);

#endif /* GPUMON_CAPTURE_SYMBOL_MAPPINGS_H */
