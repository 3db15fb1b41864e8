// SPDX-License-Identifier: GPL-2.0-only
/* The ring table: learning of rings, recycling those that are gone, reading. */
#include <linux/device.h>
#include <linux/mm.h>
#include <linux/siphash.h>
#include <linux/string.h>
#include <linux/ktime.h>
#include <linux/tracepoint.h>
#include <drm/gpu_scheduler.h>

#include "core/memory.h"
#include "core/period.h"
#include "ring.h"

/* Schedulers that can be remembered for each ring; xe has one for each queue of an application. */
#define SCHEDULERS_PER_RING 16

unsigned int gpumon_ring_max = 64;
struct gpumon_table gpumon_ring_table;
struct gpumon_ring *gpumon_rings;
struct gpumon_ring_gauge *gpumon_ring_gauges;
struct gpumon_table gpumon_scheduler_table;
struct gpumon_scheduler *gpumon_schedulers;
struct gpumon_counters gpumon_ring_counters;
u64 gpumon_rings_retired;

/* Jobs without a process, of rings that are gone: of this period, of the one before. */
static u64 retired_unattributed, closed_retired_unattributed;

/* Changes when a ring comes or goes, so that a dump in parts notices. Never 0. */
atomic_t gpumon_ring_generation = ATOMIC_INIT(1);

/* Depths at the end of the closed period. */
struct closed_depth {
	u32 queue_depth;
	u32 hw_depth;
};

static struct closed_depth *closed_depths;

static siphash_key_t name_key;

/* Changes when a scheduler ends, so that a new one at its address is not mistaken for it. */
atomic_t gpumon_scheduler_generation = ATOMIC_INIT(1);

const struct gpumon_ring_histogram gpumon_ring_histograms[GPUMON_RING_HISTOGRAMS] = {
	{ "queue_ns", GPUMON_RING_QUEUE_NS, GPUMON_LATENCY_BUCKETS, GPUMON_RING_QUEUE_NS_SUM,
	  GPUMON_RING_QUEUE_NS_MAX, GPUMON_RING_QUEUE_NS_MIN },
	{ "run_ns", GPUMON_RING_RUN_NS, GPUMON_LATENCY_BUCKETS, GPUMON_RING_RUN_NS_SUM,
	  GPUMON_RING_RUN_NS_MAX, GPUMON_RING_RUN_NS_MIN },
	{ "queue_depth", GPUMON_RING_QUEUE_DEPTH, GPUMON_DEPTH_BUCKETS, GPUMON_RING_QUEUE_DEPTH_SUM,
	  GPUMON_RING_QUEUE_DEPTH_MAX, 0 },
	{ "hw_depth", GPUMON_RING_HW_DEPTH, GPUMON_DEPTH_BUCKETS, GPUMON_RING_HW_DEPTH_SUM,
	  GPUMON_RING_HW_DEPTH_MAX, 0 },
};

/**
 * gpumon_ring_init - allocate the ring table, for gpumon_ring_max rings
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_ring_exit() frees what was allocated.
 */
int gpumon_ring_init(void)
{
	int ret, cpu;

	get_random_bytes(&name_key, sizeof(name_key));
	ret = gpumon_table_init(&gpumon_ring_table, gpumon_ring_max, 0);
	if (!ret)
		ret = gpumon_table_init(&gpumon_scheduler_table,
					SCHEDULERS_PER_RING * gpumon_ring_max, GPUMON_TABLE_WAYS);
	if (!ret)
		ret = gpumon_counters_init(&gpumon_ring_counters, gpumon_ring_max, GPUMON_RING_SUMS,
					   GPUMON_RING_WORDS - GPUMON_RING_SUMS,
					   GPUMON_RING_STRIDE);
	if (ret)
		return ret;
	gpumon_rings = kvcalloc(gpumon_ring_max, sizeof(*gpumon_rings), GFP_KERNEL);
	gpumon_ring_gauges = kvcalloc(gpumon_ring_max, sizeof(*gpumon_ring_gauges), GFP_KERNEL);
	closed_depths = kvcalloc(gpumon_ring_max, sizeof(*closed_depths), GFP_KERNEL);
	gpumon_schedulers =
		kvcalloc(gpumon_scheduler_table.slots, sizeof(*gpumon_schedulers), GFP_KERNEL);
	if (!gpumon_rings || !gpumon_ring_gauges || !closed_depths || !gpumon_schedulers)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		per_cpu(gpumon_cpu, cpu).rings = gpumon_ring_counters.cpu[cpu];
	return 0;
}

/**
 * gpumon_ring_exit - free the ring table
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_ring_exit(void)
{
	kvfree(gpumon_schedulers);
	kvfree(closed_depths);
	kvfree(gpumon_ring_gauges);
	kvfree(gpumon_rings);
	gpumon_counters_free(&gpumon_ring_counters);
	gpumon_table_free(&gpumon_scheduler_table);
	gpumon_table_free(&gpumon_ring_table);
}

/**
 * gpumon_ring_bytes - memory of the ring table
 *
 * Return: bytes.
 */
size_t gpumon_ring_bytes(void)
{
	const size_t rings = gpumon_ring_table.slots;

	return gpumon_table_bytes(&gpumon_ring_table) +
	       gpumon_table_bytes(&gpumon_scheduler_table) +
	       gpumon_memory_held(gpumon_rings, rings * sizeof(*gpumon_rings)) +
	       gpumon_memory_held(gpumon_ring_gauges, rings * sizeof(*gpumon_ring_gauges)) +
	       gpumon_memory_held(closed_depths, rings * sizeof(*closed_depths)) +
	       gpumon_memory_held(gpumon_schedulers,
				  gpumon_scheduler_table.slots * sizeof(*gpumon_schedulers)) +
	       gpumon_counters_bytes(&gpumon_ring_counters);
}

/* The same names have the same key on all CPUs, so that two that learn a ring at once agree. */
static u32 ring_by_name(const char *device, const char *name)
{
	struct gpumon_ring names = {};
	struct gpumon_ring *ring;
	bool created;
	u32 slot;
	u64 key;

	strscpy(names.device, device, sizeof(names.device));
	strscpy(names.name, name, sizeof(names.name));
	key = siphash(&names, offsetof(struct gpumon_ring, ready), &name_key);
	if (!key || key == GPUMON_TABLE_RECYCLING)
		key = 1;
	slot = gpumon_table_claim(&gpumon_ring_table, key, &created);
	if (slot == GPUMON_NONE)
		return slot;
	ring = &gpumon_rings[slot];
	if (!gpumon_ring_ready(slot)) {
		memcpy(ring->device, names.device, sizeof(ring->device));
		memcpy(ring->name, names.name, sizeof(ring->name));
		/* Pairs with gpumon_ring_ready(). */
		smp_store_release(&ring->ready, true);
		atomic_add(2, &gpumon_ring_generation);
	}
	return slot;
}

/* Ring of a scheduler that is not known at its address; GPUMON_NONE if a table is full. */
static u32 ring_learn(const struct drm_gpu_scheduler *sched)
{
	const char *name = sched->name;
	struct gpumon_scheduler *known;
	bool created;
	u32 slot, ring;

	ring = ring_by_name(sched->dev ? dev_name(sched->dev) : "-", name ?: "-");
	if (ring == GPUMON_NONE)
		return ring;
	slot = gpumon_table_claim(&gpumon_scheduler_table, (unsigned long)sched, &created);
	if (slot == GPUMON_NONE)
		return slot;
	known = &gpumon_schedulers[slot];
	WRITE_ONCE(known->ring, ring);
	WRITE_ONCE(known->dev, sched->dev);
	/* Pairs with ring_known(): a reader that finds this name finds this ring. */
	smp_store_release(&known->name, name);
	return ring;
}

static u32 ring_known(const struct drm_gpu_scheduler *sched)
{
	const struct gpumon_scheduler *known;
	u64 key = (unsigned long)sched;
	u32 slot;

	slot = gpumon_table_find(&gpumon_scheduler_table,
				 gpumon_table_home(&gpumon_scheduler_table, key), key,
				 GPUMON_TABLE_WAYS);
	if (slot == GPUMON_NONE)
		return GPUMON_NONE;
	known = &gpumon_schedulers[slot];
	/* Pairs with ring_learn(): the ring is there with the name. */
	if (smp_load_acquire(&known->name) != sched->name || READ_ONCE(known->dev) != sched->dev)
		return GPUMON_NONE;
	return READ_ONCE(known->ring);
}

/**
 * gpumon_ring_find - ring of a scheduler, which is not the one that this CPU remembers
 * @cpu: this CPU's memory
 * @sched: live scheduler
 * @remember: every end of a scheduler is reported by gpumon_ring_forget_scheduler(), so that
 *            the CPU may remember its address, unless this is an interrupt
 *
 * Context: any, preemption off, takes no lock.
 * Return: slot of the ring, GPUMON_NONE if a table is full.
 */
noinline u32 gpumon_ring_find(struct gpumon_cpu *cpu, const struct drm_gpu_scheduler *sched,
			      bool remember)
{
	/* Before the look-up: if the scheduler ends meanwhile, the result is outdated. */
	int generation = atomic_read_acquire(&gpumon_scheduler_generation);
	u32 ring = ring_known(sched);
	unsigned long flags;

	if (unlikely(ring == GPUMON_NONE))
		ring = ring_learn(sched);
	/*
	 * An interrupt does not change what is remembered: it may come between a probe's check of
	 * the scheduler and its use of the ring.
	 */
	if (ring == GPUMON_NONE || !remember || !in_task())
		return ring;
	/* Nor may one see half of it. */
	local_irq_save(flags);
	cpu->scheduler = sched;
	cpu->scheduler_generation = generation;
	cpu->scheduler_ring = ring;
	cpu->scheduler_words = cpu->rings + ring * GPUMON_RING_STRIDE;
	local_irq_restore(flags);
	return ring;
}

static void forget_scheduler(u32 slot)
{
	/* A name that no scheduler has, for readers that find the key before the payload. */
	WRITE_ONCE(gpumon_schedulers[slot].name, &gpumon_schedulers[slot]);
	gpumon_table_release(&gpumon_scheduler_table, slot);
}

/**
 * gpumon_ring_forget_scheduler - a scheduler ends, another may get its address
 * @sched: scheduler, not followed
 *
 * Context: any.
 */
void gpumon_ring_forget_scheduler(const struct drm_gpu_scheduler *sched)
{
	u64 key = (unsigned long)sched;
	u32 home = gpumon_table_home(&gpumon_scheduler_table, key);
	u32 slot;

	while ((slot = gpumon_table_find(&gpumon_scheduler_table, home, key, GPUMON_TABLE_WAYS)) !=
	       GPUMON_NONE)
		forget_scheduler(slot);
	atomic_inc(&gpumon_scheduler_generation);
}

/**
 * gpumon_ring_forget_schedulers - all schedulers are gone, with gpu_sched.ko
 *
 * Context: no probe may run.
 */
void gpumon_ring_forget_schedulers(void)
{
	u32 slot;

	for (slot = 0; slot < gpumon_scheduler_table.slots; slot++)
		if (gpumon_scheduler_table.keys[slot])
			forget_scheduler(slot);
	atomic_inc(&gpumon_scheduler_generation);
}

/**
 * gpumon_ring_track - jobs are followed from now on, those on their way are not known
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_ring_track(void)
{
	u32 slot;

	/* Schedulers may have ended while the group was off. */
	atomic_inc(&gpumon_scheduler_generation);
	for (slot = 0; slot < gpumon_ring_table.slots; slot++) {
		atomic_set(&gpumon_ring_gauges[slot].queued, 0);
		atomic_set(&gpumon_ring_gauges[slot].running, 0);
		gpumon_rings[slot].tracked_from =
			gpumon_counters_total(&gpumon_ring_counters, slot, GPUMON_RING_QUEUED);
	}
}

/**
 * gpumon_ring_count_live - how many schedulers each ring has, in @live of each
 *
 * One pass over the table of schedulers, which is long, for all rings.
 *
 * Context: gpumon_period_lock held.
 */
void gpumon_ring_count_live(void)
{
	u32 slot, ring;

	lockdep_assert_held(&gpumon_period_lock);
	for (slot = 0; slot < gpumon_ring_table.slots; slot++)
		gpumon_rings[slot].live = 0;
	for (slot = 0; slot < gpumon_scheduler_table.slots; slot++) {
		if (!READ_ONCE(gpumon_scheduler_table.keys[slot]))
			continue;
		ring = READ_ONCE(gpumon_schedulers[slot].ring);
		if (ring < gpumon_ring_table.slots)
			gpumon_rings[ring].live++;
	}
}

/* As gpumon_ring_count_live() has found it. */
static bool ring_idle(u32 slot)
{
	return !gpumon_rings[slot].live && !atomic_read(&gpumon_ring_gauges[slot].queued) &&
	       !atomic_read(&gpumon_ring_gauges[slot].running);
}

/**
 * gpumon_ring_recycle - make room: drop the ring that has been without a scheduler longest
 *
 * Nothing happens while there is room.
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_ring_recycle(void)
{
	struct gpumon_table *table = &gpumon_ring_table;
	u64 now = ktime_get_mono_fast_ns(), key;
	u32 slot, oldest = GPUMON_NONE;

	gpumon_ring_count_live();
	for (slot = 0; slot < table->slots; slot++) {
		if (!gpumon_ring_ready(slot))
			continue;
		if (!ring_idle(slot))
			gpumon_rings[slot].last_used_ns = now;
		else if (oldest == GPUMON_NONE ||
			 gpumon_rings[slot].last_used_ns < gpumon_rings[oldest].last_used_ns)
			oldest = slot;
	}
	if (oldest == GPUMON_NONE || gpumon_table_used(table) < table->slots - table->slots / 4)
		return;

	/*
	 * Hide it, wait for the probes that may just be learning it again, and
	 * put it back if one did.
	 */
	key = table->keys[oldest];
	WRITE_ONCE(table->keys[oldest], GPUMON_TABLE_RECYCLING);
	tracepoint_synchronize_unregister();
	gpumon_ring_count_live();
	if (!ring_idle(oldest)) {
		WRITE_ONCE(table->keys[oldest], key);
		return;
	}
	WRITE_ONCE(gpumon_rings[oldest].ready, false);
	/* Kept: it is a loss of the process table, not of this ring. */
	retired_unattributed += gpumon_counters_one(&gpumon_ring_counters, oldest, false,
						    GPUMON_RING_UNATTRIBUTED);
	closed_retired_unattributed += gpumon_counters_one(&gpumon_ring_counters, oldest, true,
							   GPUMON_RING_UNATTRIBUTED);
	gpumon_counters_zero(&gpumon_ring_counters, oldest);
	gpumon_rings[oldest].tracked_from = 0;
	memset(&closed_depths[oldest], 0, sizeof(*closed_depths));
	gpumon_table_release(table, oldest);
	gpumon_rings_retired++;
	atomic_add(2, &gpumon_ring_generation);
}

/**
 * gpumon_ring_close - end the period
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_ring_close(void)
{
	u32 slot;

	for (slot = 0; slot < gpumon_ring_table.slots; slot++) {
		closed_depths[slot].queue_depth = atomic_read(&gpumon_ring_gauges[slot].queued);
		closed_depths[slot].hw_depth = atomic_read(&gpumon_ring_gauges[slot].running);
	}
	gpumon_counters_close(&gpumon_ring_counters);
	closed_retired_unattributed = retired_unattributed;
	retired_unattributed = 0;
	atomic_add(2, &gpumon_ring_generation);
}

/**
 * gpumon_ring_unattributed - jobs whose process did not fit
 * @closed: the period that the last reset closed, else the one that runs
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: jobs, those of rings included that are gone.
 */
u64 gpumon_ring_unattributed(bool closed)
{
	u64 jobs = closed ? closed_retired_unattributed : retired_unattributed;
	u32 slot;

	for (slot = 0; slot < gpumon_ring_table.slots; slot++)
		jobs += gpumon_counters_one(&gpumon_ring_counters, slot, closed,
					    GPUMON_RING_UNATTRIBUTED);
	return jobs;
}

/**
 * gpumon_ring_read - a ring in one period
 * @slot: slot
 * @closed: the period that the last reset closed, else the one that runs
 * @view: filled in
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: false if no ring is in this slot.
 */
bool gpumon_ring_read(u32 slot, bool closed, struct gpumon_ring_view *view)
{
	u64 *words = view->words;
	u64 total;

	if (!gpumon_ring_ready(slot))
		return false;
	gpumon_counters_read(&gpumon_ring_counters, slot, closed, words);
	total = gpumon_counters_total(&gpumon_ring_counters, slot, GPUMON_RING_QUEUED);
	view->depth_known = total != gpumon_rings[slot].tracked_from;
	if (closed) {
		view->queue_depth = closed_depths[slot].queue_depth;
		view->hw_depth = closed_depths[slot].hw_depth;
	} else {
		view->queue_depth = atomic_read(&gpumon_ring_gauges[slot].queued);
		view->hw_depth = atomic_read(&gpumon_ring_gauges[slot].running);
	}
	/* A depth that did not change since the reset is the highest of the period. */
	words[GPUMON_RING_QUEUE_DEPTH_MAX] =
		max_t(u64, words[GPUMON_RING_QUEUE_DEPTH_MAX], view->queue_depth);
	words[GPUMON_RING_HW_DEPTH_MAX] =
		max_t(u64, words[GPUMON_RING_HW_DEPTH_MAX], view->hw_depth);
	return true;
}

/**
 * gpumon_ring_distribution - count, sum and extremes of a histogram
 * @view: ring
 * @histogram: which one
 * @distribution: filled in
 */
void gpumon_ring_distribution(const struct gpumon_ring_view *view,
			      const struct gpumon_ring_histogram *histogram,
			      struct gpumon_distribution *distribution)
{
	gpumon_histogram_distribution(view->words + histogram->first, histogram->buckets,
				      view->words[histogram->sum], view->words[histogram->max],
				      histogram->min ? view->words[histogram->min] : ~0ULL,
				      distribution);
}
