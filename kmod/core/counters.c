// SPDX-License-Identifier: GPL-2.0-only
/* Allocation, reading and periods of the per-CPU counters. */
#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "counters.h"
#include "memory.h"

/**
 * gpumon_counters_init - allocate counters for every possible CPU
 * @counters: counters
 * @slots: objects
 * @sums: counters of an object
 * @extremes: highest values of an object
 * @stride: words from one object to the next, 0 for whole cache lines
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_counters_free() frees what was allocated.
 */
int gpumon_counters_init(struct gpumon_counters *counters, u32 slots, u32 sums, u32 extremes,
			 u32 stride)
{
	u32 words = sums + extremes;
	int cpu;

	counters->slots = slots;
	counters->sums = sums;
	counters->extremes = extremes;
	counters->stride = stride ?: round_up(words, SMP_CACHE_BYTES / sizeof(u64));
	counters->base = kvcalloc(slots, sums * sizeof(u64), GFP_KERNEL);
	counters->closed = kvcalloc(slots, words * sizeof(u64), GFP_KERNEL);
	counters->cpu = kcalloc(nr_cpu_ids, sizeof(*counters->cpu), GFP_KERNEL);
	if (!counters->base || !counters->closed || !counters->cpu)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		counters->cpu[cpu] =
			kvzalloc_node(array3_size(slots, counters->stride, sizeof(local64_t)),
				      GFP_KERNEL, cpu_to_node(cpu));
		if (!counters->cpu[cpu])
			return -ENOMEM;
	}
	return 0;
}

/**
 * gpumon_counters_free - free what gpumon_counters_init() allocated
 * @counters: counters, may be all zeroes or half allocated
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_counters_free(struct gpumon_counters *counters)
{
	int cpu;

	if (counters->cpu)
		for_each_possible_cpu(cpu)
			kvfree(counters->cpu[cpu]);
	kfree(counters->cpu);
	kvfree(counters->closed);
	kvfree(counters->base);
	memset(counters, 0, sizeof(*counters));
}

/**
 * gpumon_counters_bytes - memory held by counters
 * @counters: counters
 *
 * Return: bytes.
 */
size_t gpumon_counters_bytes(const struct gpumon_counters *counters)
{
	size_t words = counters->sums + counters->extremes, bytes;
	int cpu;

	if (!counters->cpu)
		return 0;
	bytes = gpumon_memory_held(counters->cpu, nr_cpu_ids * sizeof(*counters->cpu)) +
		gpumon_memory_held(counters->base, counters->slots * counters->sums * sizeof(u64)) +
		gpumon_memory_held(counters->closed, counters->slots * words * sizeof(u64));
	for_each_possible_cpu(cpu)
		bytes += gpumon_memory_held(counters->cpu[cpu], (size_t)counters->slots *
								counters->stride * sizeof(u64));
	return bytes;
}

/**
 * gpumon_counters_total - a counter since its object exists, over all periods
 * @counters: counters
 * @slot: object
 * @word: counter
 *
 * Context: any.
 * Return: sum over the CPUs.
 */
u64 gpumon_counters_total(const struct gpumon_counters *counters, u32 slot, u32 word)
{
	size_t at = (size_t)slot * counters->stride + word;
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += local64_read(&counters->cpu[cpu][at]);
	return sum;
}

/**
 * gpumon_counters_one - one counter of one object in one period
 * @counters: counters
 * @slot: object
 * @closed: the period that the last reset closed, else the one that runs
 * @word: counter
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: the count.
 */
u64 gpumon_counters_one(const struct gpumon_counters *counters, u32 slot, bool closed, u32 word)
{
	if (closed)
		return counters->closed[(size_t)slot * (counters->sums + counters->extremes) + word];
	return gpumon_counters_total(counters, slot, word) -
	       counters->base[(size_t)slot * counters->sums + word];
}

/**
 * gpumon_counters_read - everything of one object in one period
 * @counters: counters
 * @slot: object
 * @closed: the period that the last reset closed, else the one that runs
 * @words: filled with the counters and then the extremes
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_counters_read(const struct gpumon_counters *counters, u32 slot, bool closed, u64 *words)
{
	u32 count = counters->sums + counters->extremes;
	const local64_t *from;
	int cpu;
	u32 i;

	if (closed) {
		memcpy(words, counters->closed + (size_t)slot * count, count * sizeof(u64));
		return;
	}
	memset(words, 0, count * sizeof(u64));
	for_each_possible_cpu(cpu) {
		from = counters->cpu[cpu] + (size_t)slot * counters->stride;
		for (i = 0; i < counters->sums; i++)
			words[i] += local64_read(&from[i]);
		for (; i < count; i++)
			words[i] = max_t(u64, words[i], local64_read(&from[i]));
	}
	for (i = 0; i < counters->sums; i++)
		words[i] -= counters->base[(size_t)slot * counters->sums + i];
}

/**
 * gpumon_counters_close - end the period of every object and begin the next
 * @counters: counters
 *
 * An extreme that a probe stores at this very moment may fall into the period
 * before or be lost; counters are exact.
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_counters_close(struct gpumon_counters *counters)
{
	u32 count = counters->sums + counters->extremes;
	local64_t *at;
	u64 *closed;
	u32 slot, i;
	int cpu;

	for (slot = 0; slot < counters->slots; slot++) {
		closed = counters->closed + (size_t)slot * count;
		gpumon_counters_read(counters, slot, false, closed);
		for (i = 0; i < counters->sums; i++)
			counters->base[(size_t)slot * counters->sums + i] += closed[i];
		for_each_possible_cpu(cpu) {
			at = counters->cpu[cpu] + (size_t)slot * counters->stride;
			for (i = counters->sums; i < count; i++)
				local64_set(&at[i], 0);
		}
		cond_resched();
	}
}

/**
 * gpumon_counters_zero - make the slot of a gone object ready for another one
 * @counters: counters
 * @slot: object
 *
 * Context: may sleep, gpumon_period_lock held, no probe may use the slot.
 */
void gpumon_counters_zero(struct gpumon_counters *counters, u32 slot)
{
	u32 count = counters->sums + counters->extremes;
	int cpu;
	u32 i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < count; i++)
			local64_set(&counters->cpu[cpu][(size_t)slot * counters->stride + i], 0);
	memset(counters->base + (size_t)slot * counters->sums, 0, counters->sums * sizeof(u64));
	memset(counters->closed + (size_t)slot * count, 0, count * sizeof(u64));
}

/**
 * gpumon_counters_raise_slow - gpumon_counters_raise() where the value is higher
 * @extreme: this CPU's highest value
 * @value: value
 *
 * An interrupt may raise the same word between the comparison and the store.
 *
 * Context: any, preemption off.
 */
void gpumon_counters_raise_slow(local64_t *extreme, u64 value)
{
	unsigned long flags;

	local_irq_save(flags);
	if (value > (u64)local64_read(extreme))
		local64_set(extreme, value);
	local_irq_restore(flags);
}
