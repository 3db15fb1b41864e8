// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "windows.h"

void gpumon_windows_add(struct gpumon_windows *windows, const struct gpumon_record_window *record)
{
	struct gpumon_window *change = GPUMON_ARRAY_ADD(windows->at, windows->used, windows->room);

	change->start_ns = record->time_ns;
	change->end_ns = !(record->head.flags & GPUMON_WINDOW_END);
	windows->beginnings +=
		!(record->head.flags & (GPUMON_WINDOW_END | GPUMON_WINDOW_OPERATIONS));
	windows->sampled |= record->head.flags & GPUMON_WINDOW_OPERATIONS ||
			    windows->beginnings > 1;
}

/* Sorts by time; at one time an end comes before a beginning. */
static int by_time(const void *a, const void *b)
{
	const struct gpumon_window *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

void gpumon_windows_end(struct gpumon_windows *windows)
{
	uint32_t used = 0;
	bool on = false;

	if (windows->used)
		qsort(windows->at, windows->used, sizeof(*windows->at), by_time);
	for (uint32_t i = 0; i < windows->used; i++) {
		struct gpumon_window change = windows->at[i];
		bool begins = change.end_ns;

		/* A damaged capture may lack a change; then the earlier one counts. */
		if (begins == on)
			continue;
		if (begins)
			windows->at[used++] = (struct gpumon_window){ change.start_ns, UINT64_MAX };
		else
			windows->at[used - 1].end_ns = change.start_ns;
		on = begins;
	}
	windows->used = used;
}

void gpumon_windows_clear(struct gpumon_windows *windows)
{
	free(windows->at);
	memset(windows, 0, sizeof(*windows));
}

bool gpumon_windows_cover(const struct gpumon_windows *windows, uint64_t start_ns, uint64_t end_ns)
{
	uint32_t low = 0, high = windows->used;

	/* The last one that begins no later. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (windows->at[middle].start_ns <= start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low && end_ns <= windows->at[low - 1].end_ns;
}

uint64_t gpumon_windows_ns(const struct gpumon_windows *windows, uint64_t start_ns, uint64_t end_ns,
			   uint64_t *count)
{
	uint64_t ns = 0;

	*count = 0;
	if (!windows->sampled)
		return end_ns > start_ns ? end_ns - start_ns : 0;
	for (uint32_t i = 0; i < windows->used; i++) {
		const struct gpumon_window *window = &windows->at[i];
		uint64_t from = window->start_ns > start_ns ? window->start_ns : start_ns;
		uint64_t until = window->end_ns < end_ns ? window->end_ns : end_ns;

		if (until <= from)
			continue;
		ns += until - from;
		(*count)++;
	}
	return ns;
}

static int by_change(const void *a, const void *b)
{
	const struct gpumon_window *x = a, *y = b;

	/*
	 * Sorts by time; at one time a beginning comes first, so that windows that touch are one.
	 */
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

void gpumon_windows_join(struct gpumon_windows *to, const struct gpumon_windows *const *of,
			 uint32_t count, bool any)
{
	uint32_t needed = any ? 1 : count, used = 0, on = 0;
	struct gpumon_window *changes;
	size_t room = 0;

	memset(to, 0, sizeof(*to));
	for (uint32_t i = 0; i < count; i++) {
		to->sampled |= of[i]->sampled;
		room += of[i]->sampled ? 2 * (size_t)of[i]->used : 2;
	}
	changes = gpumon_calloc(room + 1, sizeof(*changes));
	to->at = gpumon_calloc(room + 1, sizeof(*to->at));
	for (uint32_t i = 0; i < count; i++) {
		const struct gpumon_windows *windows = of[i];

		if (!windows->sampled || (!any && !windows->used)) {
			changes[used++] = (struct gpumon_window){ 0, 1 };
			continue;
		}
		for (uint32_t k = 0; k < windows->used; k++) {
			bool first = !any && !k, last = !any && k + 1 == windows->used;

			changes[used++] =
				(struct gpumon_window){ first ? 0 : windows->at[k].start_ns, 1 };
			if (!last && windows->at[k].end_ns != UINT64_MAX)
				changes[used++] =
					(struct gpumon_window){ windows->at[k].end_ns, 0 };
		}
	}
	qsort(changes, used, sizeof(*changes), by_change);
	for (uint32_t i = 0; i < used; i++) {
		bool was = on >= needed;

		on += changes[i].end_ns ? 1 : -1u;
		if (!was && on >= needed)
			to->at[to->used++] =
				(struct gpumon_window){ changes[i].start_ns, UINT64_MAX };
		else if (was && on < needed)
			to->at[to->used - 1].end_ns = changes[i].start_ns;
	}
	to->room = (uint32_t)room + 1;
	free(changes);
}
