// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "capture.h"
#include "ring_state.h"

/* The last one that a pop or end closes, or that a push would be within. */
static struct gpumon_ring_range *find_range(struct gpumon_ring_state *state,
					    const struct gpumon_record_range *range)
{
	for (uint32_t i = state->count; i-- > 0;) {
		const struct gpumon_record_range *open = &state->ranges[i].record;

		if (open->domain != range->domain)
			continue;
		if (range->kind == GPUMON_RANGE_END ?
			    open->kind == GPUMON_RANGE_START && open->id == range->id :
			    open->kind == GPUMON_RANGE_PUSH && open->tid == range->tid)
			return &state->ranges[i];
	}
	return NULL;
}

static void open_range(struct gpumon_ring_state *state, const struct gpumon_record_range *range)
{
	struct gpumon_ring_range *open = NULL;

	if (state->count < GPUMON_RING_RANGES_MAX)
		open = GPUMON_ARRAY_ADD(state->ranges, state->count, state->room);
	if (open) {
		open->record = *range;
		open->record.head.size = sizeof(*range);
		return;
	}
	/* Its pop must not close the range around it. */
	if (range->kind == GPUMON_RANGE_PUSH)
		open = find_range(state, range);
	if (open)
		open->not_kept++;
}

static void close_range_of(struct gpumon_ring_state *state, const struct gpumon_record_range *range)
{
	struct gpumon_ring_range *open = find_range(state, range);

	if (!open)
		return;
	if (open->not_kept) {
		open->not_kept--;
		return;
	}
	memmove(open, open + 1,
		(size_t)(state->ranges + state->count - (open + 1)) * sizeof(*open));
	state->count--;
}

/* A range that is stated again begins after what its thread did before. */
static void see_thread(struct gpumon_ring_state *state, uint32_t tid, uint64_t time_ns)
{
	for (uint32_t i = 0; i < state->count; i++)
		if (state->ranges[i].record.tid == tid && state->ranges[i].record.time_ns < time_ns)
			state->ranges[i].record.time_ns = time_ns;
}

static void see_range(struct gpumon_ring_state *state, const struct gpumon_record *record)
{
	struct gpumon_record_range range;

	gpumon_record_copy(&range, sizeof(range), record);
	see_thread(state, range.tid, range.time_ns);
	if (range.kind == GPUMON_RANGE_PUSH || range.kind == GPUMON_RANGE_START)
		open_range(state, &range);
	else if (range.kind == GPUMON_RANGE_POP || range.kind == GPUMON_RANGE_END)
		close_range_of(state, &range);
}

void gpumon_ring_state_see(struct gpumon_ring_state *state, const struct gpumon_record *record)
{
	struct gpumon_record_launch launch;
	struct gpumon_record_window window;

	switch (record->type) {
	case GPUMON_RECORD_RANGE:
		see_range(state, record);
		break;
	case GPUMON_RECORD_LAUNCH:
		if (!state->count)
			break;
		gpumon_record_copy(&launch, sizeof(launch), record);
		see_thread(state, launch.tid, launch.start_ns);
		break;
	case GPUMON_RECORD_WINDOW:
		gpumon_record_copy(&window, sizeof(window), record);
		window.head.size = sizeof(window);
		state->windows[!!(window.head.flags & GPUMON_WINDOW_OPERATIONS)] = window;
		break;
	default:
		break;
	}
}

size_t gpumon_ring_state_write(const struct gpumon_ring_state *state, void *records)
{
	uint8_t *at = records;

	for (int i = 0; i < 2; i++) {
		if (state->windows[i].head.type != GPUMON_RECORD_WINDOW)
			continue;
		memcpy(at, &state->windows[i], sizeof(state->windows[i]));
		at += sizeof(state->windows[i]);
	}
	for (uint32_t i = 0; i < state->count; i++) {
		memcpy(at, &state->ranges[i].record, sizeof(state->ranges[i].record));
		at += sizeof(state->ranges[i].record);
	}
	return (size_t)(at - (uint8_t *)records);
}

void gpumon_ring_state_clear(struct gpumon_ring_state *state)
{
	free(state->ranges);
	memset(state, 0, sizeof(*state));
}
