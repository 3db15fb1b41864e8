// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Merges per-CPU streams by time, with a heap of held records and the time up to which all arrived.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "event_merge.h"

/* Records have 16 bits for the CPU number. */
#define CPUS_MAX 65536U

/**
 * struct held - heap entry
 * @time_ns: sort key
 * @number: number of the push; keeps the order of records with the same time
 * @slot: slot of the record
 */
struct held {
	uint64_t time_ns;
	uint64_t number;
	size_t slot;
};

struct gpumon_event_merge {
	struct gpumon_event_merge_stats stats;
	uint64_t window_ns;
	size_t capacity;
	uint64_t handed_out_ns;

	/* The last time of each CPU, the lowest of these, and the CPU that has it. */
	uint64_t *cpu_ns;
	unsigned int cpus;
	unsigned int lowest_cpu;
	uint64_t drained_ns;

	/* Slots from n_used on were never used. Free ones are in free_slots. */
	struct held *heap;
	struct gpumon_event *slots;
	size_t *free_slots;
	size_t n_free;
	size_t n_used;
	size_t allocated;
};

struct gpumon_event_merge *gpumon_event_merge_new(unsigned int cpus, uint64_t window_ns,
						  size_t capacity)
{
	struct gpumon_event_merge *merge = gpumon_calloc(1, sizeof(*merge));

	merge->cpus = cpus < CPUS_MAX ? cpus : CPUS_MAX;
	merge->window_ns = window_ns;
	merge->capacity = capacity ? capacity : 1;
	merge->cpu_ns = gpumon_calloc(merge->cpus, sizeof(*merge->cpu_ns));
	return merge;
}

void gpumon_event_merge_free(struct gpumon_event_merge *merge)
{
	if (!merge)
		return;
	free(merge->cpu_ns);
	free(merge->heap);
	free(merge->slots);
	free(merge->free_slots);
	free(merge);
}

static bool held_before(const struct held *a, const struct held *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

static void heap_insert(struct gpumon_event_merge *merge, struct held item)
{
	size_t at = merge->stats.held++;

	while (at) {
		size_t parent = (at - 1) / 2;

		if (!held_before(&item, &merge->heap[parent]))
			break;
		merge->heap[at] = merge->heap[parent];
		at = parent;
	}
	merge->heap[at] = item;
}

static struct held heap_take(struct gpumon_event_merge *merge)
{
	struct held top = merge->heap[0];
	struct held item = merge->heap[--merge->stats.held];
	size_t n = merge->stats.held;
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= n)
			break;
		if (child + 1 < n && held_before(&merge->heap[child + 1], &merge->heap[child]))
			child++;
		if (!held_before(&merge->heap[child], &item))
			break;
		merge->heap[at] = merge->heap[child];
		at = child;
	}
	merge->heap[at] = item;
	return top;
}

static void merge_grow(struct gpumon_event_merge *merge)
{
	size_t n = merge->allocated ? merge->allocated * 2 : 1024;

	if (n > merge->capacity)
		n = merge->capacity;

	merge->heap = gpumon_reallocarray(merge->heap, n, sizeof(*merge->heap));
	merge->slots = gpumon_reallocarray(merge->slots, n, sizeof(*merge->slots));
	merge->free_slots = gpumon_reallocarray(merge->free_slots, n, sizeof(*merge->free_slots));
	merge->allocated = n;
}

static void merge_note_cpu(struct gpumon_event_merge *merge, unsigned int cpu, uint64_t time_ns)
{
	/*
	 * A CPU beyond the announced ones was not waited for before it appeared, so it is not
	 * waited for afterwards either. Drains and the window cover it.
	 */
	if (cpu >= merge->cpus || time_ns <= merge->cpu_ns[cpu])
		return;

	merge->cpu_ns[cpu] = time_ns;
	if (cpu != merge->lowest_cpu)
		return;
	for (unsigned int i = 0; i < merge->cpus; i++) {
		if (merge->cpu_ns[i] < merge->cpu_ns[merge->lowest_cpu])
			merge->lowest_cpu = i;
	}
}

int gpumon_event_merge_push(struct gpumon_event_merge *merge, const struct gpumon_event *event)
{
	struct held item = { .time_ns = event->time_ns };

	if (merge->stats.held >= merge->capacity)
		return -ENOSPC;
	if (merge->stats.held == merge->allocated)
		merge_grow(merge);

	item.number = merge->stats.in++;
	merge_note_cpu(merge, event->cpu, event->time_ns);

	if (item.time_ns < merge->handed_out_ns) {
		/*
		 * A report of losses must not get lost itself. Its position among other CPUs'
		 * records means little, so move it to the present.
		 */
		if (event->event != GPUMON_EVENT_LOST) {
			merge->stats.late++;
			return -ESTALE;
		}
		item.time_ns = merge->handed_out_ns;
	}

	item.slot = merge->n_free ? merge->free_slots[--merge->n_free] : merge->n_used++;
	merge->slots[item.slot] = *event;
	merge->slots[item.slot].time_ns = item.time_ns;
	heap_insert(merge, item);
	return 0;
}

void gpumon_event_merge_drained(struct gpumon_event_merge *merge, uint64_t time_ns)
{
	if (time_ns > merge->drained_ns)
		merge->drained_ns = time_ns;
}

uint64_t gpumon_event_merge_complete_ns(const struct gpumon_event_merge *merge)
{
	uint64_t mark = merge->drained_ns;

	if (mark == UINT64_MAX)
		return mark;
	if (merge->cpus && merge->cpu_ns[merge->lowest_cpu] > mark)
		mark = merge->cpu_ns[merge->lowest_cpu];
	return mark > merge->window_ns ? mark - merge->window_ns : 0;
}

bool gpumon_event_merge_pop(struct gpumon_event_merge *merge, struct gpumon_event *event)
{
	bool full = merge->stats.held >= merge->capacity;
	struct held item;

	if (!merge->stats.held)
		return false;
	if (merge->heap[0].time_ns >= gpumon_event_merge_complete_ns(merge) &&
	    merge->drained_ns != UINT64_MAX) {
		if (!full)
			return false;
		merge->stats.forced++;
	}

	item = heap_take(merge);
	*event = merge->slots[item.slot];
	merge->free_slots[merge->n_free++] = item.slot;
	merge->handed_out_ns = item.time_ns;
	merge->stats.out++;
	return true;
}

void gpumon_event_merge_get_stats(const struct gpumon_event_merge *merge,
				  struct gpumon_event_merge_stats *stats)
{
	*stats = merge->stats;
}
