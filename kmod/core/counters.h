/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of 64-bit counters, one copy for each CPU that has been online, and the
 * periods that a reset divides them into.
 *
 * Counters only ever rise. A reset does not touch them: it remembers where
 * they stood, so that an event that comes at that moment is in one period or
 * the other and never lost. The period that the last reset closed is kept.
 *
 * A CPU gets its copies before it comes online, and they stay when it goes. One for which there is no
 * memory then counts nothing: gpumon_probe_enter() turns its events away and counts them as lost.
 *
 * Histograms are wide, and most objects have few of them filled or none. Their buckets may lie in
 * words that all CPUs share, which an object has from its first value on.
 */
#ifndef GPUMON_COUNTERS_H
#define GPUMON_COUNTERS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/types.h>
#include <asm/local64.h>

#include "compat/once64.h"

/**
 * struct gpumon_counters - counters of a table of objects
 * @slots: objects
 * @sums: counters of an object
 * @extremes: highest values of an object, behind its counters
 * @wide: so many of the last counters are shared by all CPUs, 0 for none
 * @interval: 1 + the counter that is a sum of intervals, in ns for readers, see
 *            gpumon_interval_begin(); 0 for none
 * @stride: words from one object to the next in a CPU's copy: counters but the shared ones,
 *          extremes, with shared words that come later the address of these
 * @anchor: offset in struct gpumon_cpu where a CPU finds its copy, 0 for nowhere
 * @cpu: each CPU's copy, NULL for one that never was online; behind them @others, if it counts
 * @others: what @anchor of a CPU without a copy shows: zeroes, or if @others_count a copy that these
 *          CPUs share, which is only changed atomically
 * @others_count: see @others
 * @shared_always: each object has its shared words from the beginning, and they are found by @shared
 * @shared: by object: its shared words, NULL if it has none yet
 * @spare: shared words for objects that come, NULL where they are used up
 * @spares: places in @spare
 * @surplus: shared words for which @spare has no place
 * @early: counts of objects that have no shared words yet, since none were left: object and word, 0
 *         where there is none. Probes add, readers count them, and they move to the words when there
 *         are some: with gpumon_period_lock held
 * @earlies: places in @early, a power of two
 * @early_next: where a probe looks for a free place
 * @settled: by object: ns of intervals before gpumon_counters_settle()
 * @shared_held: bytes that the shared words of an object take
 * @kept: by object, NULL if no reset has found it: where its counters stood at the last one, and
 *        behind them what counters and extremes came to in the period before that
 * @list: in the list of all, for CPUs that come online
 */
struct gpumon_counters {
	u32 slots;
	u32 sums;
	u32 extremes;
	u32 wide;
	u32 interval;
	u32 stride;
	u16 anchor;
	bool others_count;
	bool shared_always;
	local64_t **cpu;
	local64_t *others;
	atomic64_t **shared;
	atomic64_t **spare;
	u32 spares;
	struct llist_head surplus;
	u32 *early;
	u32 earlies;
	atomic_t early_next;
	u64 *settled;
	size_t shared_held;
	u64 **kept;
	struct list_head list;
};

/* Value of @anchor. */
#define GPUMON_ANCHOR(_member) offsetof(struct gpumon_cpu, _member)

int gpumon_counters_start(void);
void gpumon_counters_stop(void);
int gpumon_counters_init(struct gpumon_counters *counters, u32 slots, u32 stride);
void gpumon_counters_free(struct gpumon_counters *counters);
void gpumon_counters_supply(struct gpumon_counters *counters);
bool gpumon_counters_share(struct gpumon_counters *counters, local64_t *words, u32 word);
u64 gpumon_counters_total(const struct gpumon_counters *counters, u32 slot, u32 word);
u64 gpumon_counters_one(const struct gpumon_counters *counters, u32 slot, bool closed, u32 word);
void gpumon_counters_read(const struct gpumon_counters *counters, u32 slot, bool closed,
			  u64 *words);
int gpumon_counters_keep(struct gpumon_counters *counters, const u64 *keys, u32 keyed);
void gpumon_counters_close(struct gpumon_counters *counters);
int gpumon_counters_fold(struct gpumon_counters *counters, u32 from, u32 to);
void gpumon_counters_settle(struct gpumon_counters *counters);
void gpumon_counters_zero(struct gpumon_counters *counters, u32 slot);
size_t gpumon_counters_bytes(const struct gpumon_counters *counters);
void gpumon_counters_raise_slow(local64_t *extreme, u64 value);

/*
 * The highest value so far. Read without READ_ONCE(), with which the compiler would load it before
 * the comparison; a reset that comes in between makes no difference.
 */
static __always_inline u64 gpumon_counters_extreme(const local64_t *extreme)
{
	/* A reset on another CPU writes a whole word, 0. */
	return gpumon_read_plain64(*(const u64 *)extreme);
}

/* Keep the highest value; for the lowest value pass the complement. Preemption off. */
static __always_inline void gpumon_counters_raise(local64_t *extreme, u64 value)
{
	if (unlikely(value > gpumon_counters_extreme(extreme)))
		gpumon_counters_raise_slow(extreme, value);
}

/* Counters of an object in a CPU's copy; with the extremes, all words of an object there. */
static inline u32 gpumon_counters_own_sums(const struct gpumon_counters *counters)
{
	return counters->sums - counters->wide;
}

/**
 * gpumon_counters_shared_inc - add 1 to a shared counter
 * @counters: counters, with shared words
 * @words: this CPU's words of an object
 * @word: number of the counter
 *
 * Context: any, preemption off.
 * Return: false if there is no memory for the object's shared words at this moment, and no place where
 * the count could wait for it.
 */
static __always_inline bool gpumon_counters_shared_inc(struct gpumon_counters *counters,
						       local64_t *words, u32 word)
{
	atomic64_t *shared = (atomic64_t *)(long)local64_read(&words[counters->stride - 1]);

	if (unlikely(!shared))
		return gpumon_counters_share(counters, words, word);
	atomic64_inc(&shared[word - gpumon_counters_own_sums(counters)]);
	return true;
}

#endif /* GPUMON_COUNTERS_H */
