/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Indexes from correlation ids to the launches and operations of struct join. Only join.c uses it.
 */
#ifndef GPUMON_CAPTURE_INDEX_H
#define GPUMON_CAPTURE_INDEX_H

#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* Slots tried in a row: half a cache line. */
#define INDEX_RUN 8

/* Consecutive ids are adjacent, and ids at a stride do not collide. */
static inline uint32_t index_hash(const struct index *index, uint32_t correlation)
{
	return (correlation + (correlation >> 16) * 0x9e3779b1u) & index->mask;
}

/*
 * The slot to try after @tries occupied ones. After a loss, launches of several times wait at once,
 * and their long runs of occupied slots overlap. So after INDEX_RUN slots, jump by a distance that
 * depends on the id. With the steps before it the distance is odd, so that every slot is reached.
 */
static inline uint32_t index_next(const struct index *index, uint32_t slot, uint32_t correlation,
				  uint32_t tries)
{
	if (tries % INDEX_RUN)
		return (slot + 1) & index->mask;
	return (slot + (correlation * 0x9e3779b1u >> 8 << 1)) & index->mask;
}

/* The slot of an id, or the free slot where it belongs. */
static inline uint32_t *launch_slot(const struct join *join, uint32_t correlation)
{
	const struct index *index = &join->launch_index;
	uint32_t slot = index_hash(index, correlation), tries = 0;

	while (index->slots[slot] &&
	       join->launches[index->slots[slot] - 1].correlation != correlation)
		slot = index_next(index, slot, correlation, ++tries);
	return &index->slots[slot];
}

static inline uint32_t *work_slot(const struct join *join, uint32_t correlation)
{
	const struct index *index = &join->work_index;
	uint32_t slot = index_hash(index, correlation), tries = 0;

	while (index->slots[slot] && join->works[index->slots[slot] - 1].correlation != correlation)
		slot = index_next(index, slot, correlation, ++tries);
	return &index->slots[slot];
}

static inline void index_launch(struct join *join, uint32_t place)
{
	uint32_t *slot = launch_slot(join, join->launches[place].correlation);

	join->launches[place].next = *slot;
	*slot = place + 1;
}

static inline void index_work(struct join *join, uint32_t place)
{
	uint32_t *slot = work_slot(join, join->works[place].correlation);
	struct work *last = *slot ? &join->works[*slot - 1] : &join->works[place];

	/* A circular list, so that they come out in order. */
	join->works[place].next = *slot ? last->next : place + 1;
	last->next = place + 1;
	*slot = place + 1;
}

static inline void index_empty(struct index *index)
{
	memset(index->slots, 0, ((size_t)index->mask + 1) * sizeof(*index->slots));
}

/* Twice as many slots as places. The contents are lost. */
static inline int index_resize(struct index *index, uint32_t places)
{
	uint32_t *slots = calloc((size_t)places * 2, sizeof(*slots));

	if (!slots)
		return -1;
	free(index->slots);
	index->slots = slots;
	index->mask = places * 2 - 1;
	return 0;
}

#endif /* GPUMON_CAPTURE_INDEX_H */
