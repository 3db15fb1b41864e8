/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of 64-bit counters, one copy for each possible CPU, and the periods
 * that a reset divides them into.
 *
 * Counters only ever rise. A reset does not touch them: it remembers where
 * they stood, so that an event that comes at that moment is in one period or
 * the other and never lost. The period that the last reset closed is kept.
 */
#ifndef GPUMON_COUNTERS_H
#define GPUMON_COUNTERS_H

#include <linux/types.h>
#include <asm/local64.h>

/**
 * struct gpumon_counters - counters of a table of objects
 * @slots: objects
 * @sums: counters of an object
 * @extremes: highest values of an object, behind its counters
 * @stride: words from one object to the next, whole cache lines
 * @cpu: each possible CPU's copy
 * @base: where the counters stood at the last reset
 * @closed: what they and the extremes came to in the period before it
 */
struct gpumon_counters {
	u32 slots;
	u32 sums;
	u32 extremes;
	u32 stride;
	local64_t **cpu;
	u64 *base;
	u64 *closed;
};

int gpumon_counters_init(struct gpumon_counters *counters, u32 slots, u32 sums, u32 extremes,
			 u32 stride);
void gpumon_counters_free(struct gpumon_counters *counters);
u64 gpumon_counters_total(const struct gpumon_counters *counters, u32 slot, u32 word);
u64 gpumon_counters_one(const struct gpumon_counters *counters, u32 slot, bool closed, u32 word);
void gpumon_counters_read(const struct gpumon_counters *counters, u32 slot, bool closed,
			  u64 *words);
void gpumon_counters_close(struct gpumon_counters *counters);
void gpumon_counters_zero(struct gpumon_counters *counters, u32 slot);
size_t gpumon_counters_bytes(const struct gpumon_counters *counters);
void gpumon_counters_raise_slow(local64_t *extreme, u64 value);

/* Keep the highest value; for the lowest one pass its complement. Preemption off. */
static __always_inline void gpumon_counters_raise(local64_t *extreme, u64 value)
{
	if (unlikely(value > (u64)local64_read(extreme)))
		gpumon_counters_raise_slow(extreme, value);
}

#endif /* GPUMON_COUNTERS_H */
