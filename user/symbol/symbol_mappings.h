/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What was mapped where, and when: one address can have been of several files
 * in turn (dlclose, then dlopen of another one). Records may be added in any
 * order of time.
 */
#ifndef GPUMON_SYMBOL_MAPPINGS_H
#define GPUMON_SYMBOL_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

struct gpumon_symbol_object;

/**
 * struct gpumon_symbol_mapping - a piece of a file, mapped
 * @start: address
 * @end: address behind it
 * @offset: of @start in the file
 * @first_ns: when it was seen first
 * @last_ns: when it was seen again, and nothing else was there in between
 * @object: the file
 */
struct gpumon_symbol_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t first_ns;
	uint64_t last_ns;
	struct gpumon_symbol_object *object;
};

/* An unmapping is one without a file. */
struct gpumon_symbol_intervals {
	struct gpumon_symbol_mapping *items; /* by start, those of one start as they came */
	uint64_t *reach;		     /* the largest end of the items up to each one */
	size_t count;
	size_t room;
};

struct gpumon_symbol_mappings {
	struct gpumon_symbol_intervals mapped;
	struct gpumon_symbol_intervals unmapped;
	size_t refused; /* beyond the most that are kept */
};

/* 0, or -1 without memory. An empty range is ignored. */
int gpumon_symbol_mappings_add(struct gpumon_symbol_mappings *mappings,
			       const struct gpumon_symbol_mapping *mapping);
int gpumon_symbol_mappings_remove(struct gpumon_symbol_mappings *mappings, uint64_t start,
				  uint64_t end, uint64_t time_ns);

/**
 * gpumon_symbol_mappings_find - what an address was of
 * @mappings: of the process
 * @address: address
 * @time_ns: when, 0 where not known
 *
 * That is the mapping seen last until then, unless it was unmapped since. A
 * mapping can be seen first when code of it has run already: with none before,
 * it is the next one seen. Without a time all that were ever there have to agree.
 *
 * Return: it, NULL if there was none or it is not clear which; good until the next change.
 */
const struct gpumon_symbol_mapping *
gpumon_symbol_mappings_find(const struct gpumon_symbol_mappings *mappings, uint64_t address,
			    uint64_t time_ns);

void gpumon_symbol_mappings_free(struct gpumon_symbol_mappings *mappings);

#endif /* GPUMON_SYMBOL_MAPPINGS_H */
