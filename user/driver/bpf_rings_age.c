// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Rings that are gone leave the table of the BPF programs, by the rules of
 * kmod/drivers/drm_sched/ring.c.
 *
 * A program may have found a ring just before it was chosen. It has ended when the ring is freed, a
 * second later. One that finds it in between takes the choice back: see ring_stays() in
 * bpf/source_ring.bpf.h.
 */
#include <string.h>

#include "bpf_fill.h"

#define RINGS_AT_EASE (SOURCE_RINGS - SOURCE_RINGS / 4)

/* Schedulers of each ring, the last one of all without a row. */
static void count_live(const struct gpumon_source_rings *tables, unsigned int live[])
{
	memset(live, 0, (SOURCE_RINGS + 1) * sizeof(*live));
	for (size_t i = 0; i < SOURCE_SCHEDULERS; i++) {
		unsigned int ring = tables->schedulers[i].ring - 1;

		if (ring <= SOURCE_RING_OTHER)
			live[ring]++;
	}
}

static bool is_idle(const struct source_ring *ring, unsigned int live)
{
	return !live && !__atomic_load_n(&ring->queued, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&ring->running, __ATOMIC_RELAXED);
}

/* The class has one ring less, and is known by another one. */
static void leave_class(const struct gpumon_source_rings *tables, unsigned int slot)
{
	__u32 number = tables->rings[slot].class, known = slot + 1, other = 0;
	struct source_class *class;

	if (!number || number > SOURCE_CLASSES)
		return;
	class = &tables->classes[number - 1];
	for (unsigned int i = 0; i < SOURCE_RINGS; i++) {
		if (i != slot && tables->rings[i].ready && tables->rings[i].class == number)
			other = i + 1;
	}
	__atomic_sub_fetch(&class->rings, 1, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(&class->ring, &known, other, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
}

static bool leave(const struct gpumon_source_rings *tables, unsigned int slot, unsigned int live)
{
	__u32 leaves = SOURCE_RING_LEAVES;
	struct source_ring *ring = &tables->rings[slot];

	/* If not, it was used in between, or a program took it back. */
	if (!is_idle(ring, live) ||
	    !__atomic_compare_exchange_n(&ring->leaving, &leaves, SOURCE_RING_GONE, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
	    tables->clear(tables->data, slot)) {
		__atomic_store_n(&ring->leaving, SOURCE_RING_STAYS, __ATOMIC_SEQ_CST);
		return false;
	}
	leave_class(tables, slot);
	ring->ready = 0;
	ring->begun = 0;
	ring->class = 0;
	ring->used_ns = 0;
	memset(ring->device, 0, sizeof(ring->device));
	memset(ring->name, 0, sizeof(ring->name));
	/* Another ring may come from here on. */
	__atomic_store_n(&ring->key, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&ring->leaving, SOURCE_RING_STAYS, __ATOMIC_SEQ_CST);
	return true;
}

/* There may be room for those without a row: they are learned again with their next event. */
static void forget_others(const struct gpumon_source_rings *tables)
{
	for (size_t i = 0; i < SOURCE_SCHEDULERS; i++) {
		__u32 other = SOURCE_RING_OTHER + 1;

		__atomic_compare_exchange_n(&tables->schedulers[i].ring, &other, 0, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	}
}

bool gpumon_source_rings_age(const struct gpumon_source_rings *tables, uint64_t now_ns)
{
	unsigned int live[SOURCE_RINGS + 1], used = 0;
	struct source_ring *oldest = NULL;
	bool left = false;

	count_live(tables, live);
	for (unsigned int i = 0; i < SOURCE_RINGS; i++) {
		struct source_ring *ring = &tables->rings[i];

		if (!ring->ready)
			continue;
		if (ring->leaving && leave(tables, i, live[i])) {
			left = true;
			continue;
		}
		used++;
		if (!is_idle(ring, live[i]))
			ring->used_ns = now_ns;
		else if (!oldest || ring->used_ns < oldest->used_ns)
			oldest = ring;
	}
	if (used >= RINGS_AT_EASE && oldest)
		__atomic_store_n(&oldest->leaving, SOURCE_RING_LEAVES, __ATOMIC_SEQ_CST);
	if (left || (used < SOURCE_RINGS && live[SOURCE_RING_OTHER]))
		forget_others(tables);
	return left;
}
