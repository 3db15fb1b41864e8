// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>

#include "lib/memory.h"
#include "profile_longest.h"

/* Of all GPUs together: a page has room for so many. */
#define OPERATIONS_MAX 2000
#define PARTS_MAX      250

void gpumon_longest_begin(struct gpumon_longest *longest, unsigned int gpus, uint64_t first_ns,
			  uint64_t length_ns)
{
	if (!gpus || gpus > OPERATIONS_MAX)
		return;
	longest->gpus = gpus;
	longest->parts = OPERATIONS_MAX / gpus < PARTS_MAX ? OPERATIONS_MAX / gpus : PARTS_MAX;
	longest->each = OPERATIONS_MAX / gpus / longest->parts;
	longest->first_ns = first_ns;
	longest->part_ns = length_ns / longest->parts + 1;
	longest->at =
		gpumon_calloc((size_t)gpus * longest->parts * longest->each, sizeof(*longest->at));
}

void gpumon_longest_add(struct gpumon_longest *longest, unsigned int gpu,
			const struct gpumon_operation *operation)
{
	uint64_t ns = operation->end_ns - operation->start_ns, part;
	struct gpumon_operation *at, *shortest;

	if (gpu >= longest->gpus || operation->start_ns < longest->first_ns)
		return;
	part = (operation->start_ns - longest->first_ns) / longest->part_ns;
	if (part >= longest->parts)
		return;
	at = &longest->at[(gpu * longest->parts + part) * longest->each];
	shortest = at;
	for (unsigned int i = 1; i < longest->each; i++) {
		if (at[i].end_ns - at[i].start_ns < shortest->end_ns - shortest->start_ns)
			shortest = &at[i];
	}
	if (ns > shortest->end_ns - shortest->start_ns)
		*shortest = *operation;
}

static int by_start(const void *a, const void *b)
{
	const struct gpumon_operation *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

void gpumon_longest_end(struct gpumon_longest *longest)
{
	size_t all = (size_t)longest->gpus * longest->parts * longest->each;

	for (size_t i = 0; i < all; i++) {
		if (longest->at[i].name)
			longest->at[longest->used++] = longest->at[i];
	}
	if (longest->used)
		qsort(longest->at, longest->used, sizeof(*longest->at), by_start);
}

void gpumon_longest_clear(struct gpumon_longest *longest)
{
	free(longest->at);
	longest->at = NULL;
	longest->used = 0;
}
