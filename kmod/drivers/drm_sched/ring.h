/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings: the rows of the DRM scheduler's statistics. A ring is identified by its device's and its
 * own name, so that it goes on counting when its driver is reloaded, whatever address its scheduler
 * has then.
 *
 * The table of rings is like that of any other driver. But the probes of a job find the words of a
 * row with one multiplication, and those of a column with none: the constants here are what
 * gpumon_statistics_init() computes, which gpumon_ring_init() checks.
 */
#ifndef GPUMON_RING_H
#define GPUMON_RING_H

#include <linux/cache.h>

#include "core/clock.h"
#include "core/statistics.h"

struct drm_gpu_scheduler;

/* Latencies up to 2^42 ns, 73 minutes. */
#define GPUMON_LATENCY_BITS    42
#define GPUMON_LATENCY_BUCKETS GPUMON_HISTOGRAM_BUCKETS(GPUMON_LATENCY_BITS)

/* Purpose of a probe. */
enum {
	SCHED_ROLE_QUEUE,
	SCHED_ROLE_RUN,
	SCHED_ROLE_DONE,
	SCHED_ROLE_WAIT,
	SCHED_ROLE_RESULT,
	SCHED_ROLE_TIMEOUT,
	SCHED_ROLE_FINI
};

/* Columns, whose words are counters and sums. */
enum {
	GPUMON_RING_QUEUED,
	GPUMON_RING_RUN,
	GPUMON_RING_DONE,
	GPUMON_RING_ERRORS,
	GPUMON_RING_KILLED,
	GPUMON_RING_WAITS,
	GPUMON_RING_UNTRACKED,
	GPUMON_RING_QUEUE_DEPTH,
	GPUMON_RING_HW_DEPTH,
	GPUMON_RING_BUSY,
	GPUMON_RING_QUEUE_NS,
	GPUMON_RING_RUN_NS,
	GPUMON_RING_JOBS_TABLE_FULL,
	GPUMON_RING_BACKWARDS,
	GPUMON_RING_ABANDONED,
	GPUMON_RING_LIVE,
	GPUMON_RING_COLUMNS
};

/*
 * The words of a row behind them: first the histograms, then the extremes, in the same order. With
 * HISTOGRAMS=shared (Kbuild) all CPUs share the buckets, and a CPU has a pointer to them in its last word.
 */
enum {
	GPUMON_RING_QUEUE_NS_BUCKETS = GPUMON_RING_COLUMNS,
	GPUMON_RING_RUN_NS_BUCKETS = GPUMON_RING_QUEUE_NS_BUCKETS + GPUMON_LATENCY_BUCKETS,
	GPUMON_RING_BUCKETS_END = GPUMON_RING_RUN_NS_BUCKETS + GPUMON_LATENCY_BUCKETS,

	/* The lowest values are kept as the highest complement, 0 is "none yet". */
	GPUMON_RING_QUEUE_DEPTH_MAX = GPUMON_HAS_OWN_HISTOGRAMS ? GPUMON_RING_BUCKETS_END :
								   GPUMON_RING_COLUMNS,
	GPUMON_RING_HW_DEPTH_MAX,
	GPUMON_RING_QUEUE_NS_MAX,
	GPUMON_RING_QUEUE_NS_MIN,
	GPUMON_RING_RUN_NS_MAX,
	GPUMON_RING_RUN_NS_MIN,
	GPUMON_RING_LIVE_MAX,
	GPUMON_RING_WORDS
};

#if GPUMON_HAS_OWN_HISTOGRAMS
#define GPUMON_RING_STRIDE round_up(GPUMON_RING_WORDS, SMP_CACHE_BYTES / sizeof(u64))
#else
#define GPUMON_RING_STRIDE (GPUMON_RING_WORDS + 1)
#endif

/* What the probes of a job change of a ring's gauges is in one cache line. */
#define GPUMON_RING_GAUGE_LINE(column) ((column) * sizeof(struct gpumon_gauge) / 64)
static_assert(GPUMON_RING_GAUGE_LINE(GPUMON_RING_BUSY) ==
	      GPUMON_RING_GAUGE_LINE(GPUMON_RING_HW_DEPTH));
static_assert(GPUMON_RING_COLUMNS * sizeof(struct gpumon_gauge) % 64 == 0);

/*
 * The two depths are halves of the gauge of GPUMON_RING_HW_DEPTH: jobs that are queued and not yet
 * run, and those that were run and are not yet done. A job that is run leaves one and enters the
 * other by one locked operation. No depth falls below 0, since only a job that was counted in it
 * leaves it, so that no half borrows from the other.
 */
static_assert(GPUMON_RING_HW_DEPTH - GPUMON_RING_QUEUE_DEPTH == 1);
#ifdef __BIG_ENDIAN
#define GPUMON_DEPTH_SHIFT(half) (32 * (1 - (half)))
#else
#define GPUMON_DEPTH_SHIFT(half) (32 * (half))
#endif

/* Module parameter. */
extern unsigned int gpumon_ring_max;
extern struct gpumon_statistics gpumon_ring_statistics;
extern struct gpumon_track gpumon_ring_schedulers;
extern struct gpumon_track gpumon_ring_names;
extern u64 gpumon_rings_retired;
extern atomic_t gpumon_scheduler_generation;

int gpumon_ring_init(void);
void gpumon_ring_start(void);
void gpumon_ring_schedulers_unknown(void);
bool gpumon_ring_recycle(void);
u32 gpumon_ring_count(void);
u32 gpumon_ring_find(const struct drm_gpu_scheduler *sched);
void gpumon_ring_scheduler_ends(const struct drm_gpu_scheduler *sched);

/* Gauges of a ring, by column. */
static __always_inline struct gpumon_gauge *gpumon_ring_gauges(u32 ring)
{
	return gpumon_ring_statistics.gauges + (size_t)ring * GPUMON_RING_COLUMNS;
}

/*
 * When a job was last done on a ring; it is now. Ends on one ring follow each other, or the sum of the
 * processes' GPU time may be off by the time between two reads of the clock.
 */
static __always_inline u64 gpumon_ring_last_done(struct gpumon_gauge *gauges, u64 now)
{
	/* The column has no gauge. It is in the cache line of the depth on the hardware. */
	atomic64_t *last = &gauges[GPUMON_RING_BUSY].now;
	u64 before = atomic64_read(last);

	atomic64_set(last, now);
	return before;
}

/* A job is queued. Returns how many are, with it. */
static __always_inline u32 gpumon_ring_queue_enter(struct gpumon_gauge *gauges)
{
	return atomic_inc_return(&gauges[GPUMON_RING_HW_DEPTH].halves[0]);
}

/* A job that is queued never will be run. */
static __always_inline void gpumon_ring_queue_leave(struct gpumon_gauge *gauges)
{
	atomic_dec(&gauges[GPUMON_RING_HW_DEPTH].halves[0]);
}

/*
 * A job that was queued reaches the hardware of a ring. Returns how many are there, with it.
 * Preemption off.
 */
static __always_inline u32 gpumon_ring_hw_enter(struct gpumon_gauge *gauges, local64_t *words,
						u64 now)
{
	u64 before =
		atomic64_fetch_add((1LL << GPUMON_DEPTH_SHIFT(1)) - (1LL << GPUMON_DEPTH_SHIFT(0)),
				   &gauges[GPUMON_RING_HW_DEPTH].now);
	u32 depth = before >> GPUMON_DEPTH_SHIFT(1);

	if (!depth)
		gpumon_interval_begin(&words[GPUMON_RING_BUSY], now);
	return depth + 1;
}

/* A job has left the hardware of a ring. Preemption off. */
static __always_inline void gpumon_ring_hw_leave(struct gpumon_gauge *gauges, local64_t *words,
						 u64 now)
{
	if (atomic_dec_and_test(&gauges[GPUMON_RING_HW_DEPTH].halves[1]))
		gpumon_interval_end(&words[GPUMON_RING_BUSY], now);
}

/* The buckets that CPUs share, as a CPU knows them: NULL before its first latency of the ring. */
static __always_inline atomic64_t *gpumon_ring_shared(const local64_t *words)
{
	return (atomic64_t *)(long)local64_read(&words[GPUMON_RING_STRIDE - 1]);
}

/*
 * Is a latency only to be counted? Not if it is an extreme, or beyond the range of the histogram,
 * as a "negative" one is after the clock stepped back. @max: word of the highest value; that of the
 * lowest follows.
 */
static __always_inline bool gpumon_ring_latency_usual(const local64_t *words, u64 ns,
						      unsigned int max)
{
	/* Of a row without values both words are 0, and any value is an extreme. */
	return ns <= gpumon_counters_extreme(&words[max]) &&
	       ~ns <= gpumon_counters_extreme(&words[max + 1]) &&
	       !(ns >> GPUMON_LATENCY_BITS) &&
	       (GPUMON_HAS_OWN_HISTOGRAMS || gpumon_ring_shared(words));
}

/* Counts a latency for which gpumon_ring_latency_usual() holds. */
static __always_inline void gpumon_ring_latency_count(local64_t *words, u64 ns, unsigned int bucket,
						      unsigned int column)
{
	bucket += gpumon_histogram_index(ns);
	if (GPUMON_HAS_OWN_HISTOGRAMS)
		local64_inc(&words[bucket]);
	else
		atomic64_inc(&gpumon_ring_shared(words)[bucket - GPUMON_RING_COLUMNS]);
	local64_add(ns, &words[column]);
}

#endif /* GPUMON_RING_H */
