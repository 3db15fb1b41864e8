/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings: what the statistics of the DRM scheduler are kept by. A ring is known
 * by its device's and its own name, so that it goes on counting when its driver
 * is reloaded, whatever address its scheduler has then.
 */
#ifndef GPUMON_RING_H
#define GPUMON_RING_H

#include <linux/atomic.h>
#include <linux/cache.h>

#include "core/counters.h"
#include "core/histogram.h"
#include "core/table.h"

struct drm_gpu_scheduler;

#define GPUMON_RING_DEVICE_LEN 32
#define GPUMON_RING_NAME_LEN   32

/* Latencies up to 2^42 ns, 73 minutes; depths up to 4096 jobs. */
#define GPUMON_LATENCY_BITS    42
#define GPUMON_LATENCY_BUCKETS GPUMON_HISTOGRAM_BUCKETS(GPUMON_LATENCY_BITS)
#define GPUMON_DEPTH_BUCKETS   GPUMON_HISTOGRAM_BUCKETS(12)

/* Words of a ring's counters: counters, histograms, then the extremes. */
enum {
	GPUMON_RING_QUEUED,
	GPUMON_RING_RUN,
	GPUMON_RING_DONE,
	GPUMON_RING_ERRORS,
	GPUMON_RING_KILLED,
	GPUMON_RING_WAITS,
	GPUMON_RING_UNTRACKED,
	GPUMON_RING_JOBS_TABLE_FULL,
	GPUMON_RING_BACKWARDS,
	GPUMON_RING_UNATTRIBUTED,
	GPUMON_RING_QUEUE_NS_SUM,
	GPUMON_RING_RUN_NS_SUM,
	GPUMON_RING_QUEUE_DEPTH_SUM,
	GPUMON_RING_HW_DEPTH_SUM,
	GPUMON_RING_QUEUE_NS,
	GPUMON_RING_RUN_NS = GPUMON_RING_QUEUE_NS + GPUMON_LATENCY_BUCKETS,
	GPUMON_RING_QUEUE_DEPTH = GPUMON_RING_RUN_NS + GPUMON_LATENCY_BUCKETS,
	GPUMON_RING_HW_DEPTH = GPUMON_RING_QUEUE_DEPTH + GPUMON_DEPTH_BUCKETS,
	GPUMON_RING_SUMS = GPUMON_RING_HW_DEPTH + GPUMON_DEPTH_BUCKETS,

	/* The lowest values are kept as the highest complement, 0 is "none yet". */
	GPUMON_RING_QUEUE_NS_MAX = GPUMON_RING_SUMS,
	GPUMON_RING_QUEUE_NS_MIN,
	GPUMON_RING_RUN_NS_MAX,
	GPUMON_RING_RUN_NS_MIN,
	GPUMON_RING_QUEUE_DEPTH_MAX,
	GPUMON_RING_HW_DEPTH_MAX,
	GPUMON_RING_WORDS
};

/* Whole cache lines, as a constant, so that a probe finds its ring with one multiplication. */
#define GPUMON_RING_STRIDE round_up(GPUMON_RING_WORDS, 64 / 8)

/**
 * struct gpumon_ring_gauge - jobs on their way through a ring
 * @queued: jobs queued and not yet run
 * @running: jobs run and not yet done
 *
 * The scheduler writes different cache lines in these steps, and so do we.
 */
struct gpumon_ring_gauge {
	atomic_t queued ____cacheline_aligned;
	atomic_t running ____cacheline_aligned;
};

/**
 * struct gpumon_ring - the ring of a slot
 * @device: name of the device, "-" if its scheduler has none
 * @name: name of the ring
 * @ready: set when the names are
 * @live: schedulers of this name that exist, since gpumon_ring_count_live()
 * @tracked_from: jobs queued when the group was switched on; until one more comes
 *                the depths have no baseline
 * @last_used_ns: when the housekeeper last saw it with a scheduler
 */
struct gpumon_ring {
	char device[GPUMON_RING_DEVICE_LEN];
	char name[GPUMON_RING_NAME_LEN];
	bool ready;
	u32 live;
	u64 tracked_from;
	u64 last_used_ns;
};

/**
 * struct gpumon_scheduler - what is remembered of a scheduler at an address
 * @dev: its device, to notice another one at the same address; not followed
 * @name: its name's address, likewise
 * @ring: slot of its ring
 */
struct gpumon_scheduler {
	const void *dev;
	const void *name;
	u32 ring;
};

/**
 * struct gpumon_ring_view - a ring in one period, as readers get it
 * @words: counters, histograms and extremes
 * @depth_known: whether the depths have a baseline
 * @queue_depth: jobs queued and not yet run
 * @hw_depth: jobs run and not yet done
 */
struct gpumon_ring_view {
	u64 words[GPUMON_RING_WORDS];
	bool depth_known;
	u32 queue_depth;
	u32 hw_depth;
};

/**
 * struct gpumon_ring_histogram - where a histogram of a ring lies
 * @name: its name, with the unit
 * @first: word of its first bucket
 * @buckets: number of buckets
 * @sum: word of the sum
 * @max: word of the highest value
 * @min: word of the complement of the lowest value, 0 where it is not kept and
 *       the lowest bucket says it
 */
struct gpumon_ring_histogram {
	const char *name;
	u16 first;
	u16 buckets;
	u16 sum;
	u16 max;
	u16 min;
};

#define GPUMON_RING_HISTOGRAMS 4

extern const struct gpumon_ring_histogram gpumon_ring_histograms[GPUMON_RING_HISTOGRAMS];
/* Module parameter. */
extern unsigned int gpumon_ring_max;
extern struct gpumon_table gpumon_ring_table;
extern struct gpumon_ring *gpumon_rings;
extern struct gpumon_ring_gauge *gpumon_ring_gauges;
extern struct gpumon_table gpumon_scheduler_table;
extern struct gpumon_scheduler *gpumon_schedulers;
extern struct gpumon_counters gpumon_ring_counters;
extern atomic_t gpumon_ring_generation;
extern u64 gpumon_rings_retired;
extern atomic_t gpumon_scheduler_generation;

int gpumon_ring_init(void);
void gpumon_ring_exit(void);
void gpumon_ring_track(void);
void gpumon_ring_forget_scheduler(const struct drm_gpu_scheduler *sched);
void gpumon_ring_forget_schedulers(void);
void gpumon_ring_count_live(void);
void gpumon_ring_recycle(void);
void gpumon_ring_close(void);
bool gpumon_ring_read(u32 slot, bool closed, struct gpumon_ring_view *view);
size_t gpumon_ring_bytes(void);
u32 gpumon_ring_find(struct gpumon_cpu *cpu, const struct drm_gpu_scheduler *sched, bool remember);
u64 gpumon_ring_unattributed(bool closed);

/* Is a ring in this slot, and can its names be read? */
static inline bool gpumon_ring_ready(u32 slot)
{
	/* Pairs with the release in ring_by_name(): the names are there. */
	return smp_load_acquire(&gpumon_rings[slot].ready);
}

void gpumon_ring_distribution(const struct gpumon_ring_view *view,
			      const struct gpumon_ring_histogram *histogram,
			      struct gpumon_distribution *distribution);

/**
 * gpumon_ring_latency_usual - does a latency need no more than counting
 * @words: this CPU's counters of the ring
 * @ns: latency, "negative" if the clock stepped back
 * @max: word of the highest value, that of the lowest follows
 *
 * Context: any, preemption off.
 * Return: false if it is an extreme, or not in the histogram's range.
 */
static __always_inline bool gpumon_ring_latency_usual(const local64_t *words, u64 ns,
						      unsigned int max)
{
	/* The highest of a row without values is 0, so that no extreme is beyond the range. */
	return ns <= (u64)local64_read(&words[max]) && ~ns <= (u64)local64_read(&words[max + 1]) &&
	       !(ns >> GPUMON_LATENCY_BITS);
}

/**
 * gpumon_ring_latency_count - count a latency for which gpumon_ring_latency_usual() holds
 * @words: this CPU's counters of the ring
 * @ns: latency
 * @first: word of the histogram's first bucket
 * @sum: word of the sum
 *
 * Context: any, preemption off.
 */
static __always_inline void gpumon_ring_latency_count(local64_t *words, u64 ns, unsigned int first,
						      unsigned int sum)
{
	local64_inc(&words[first + gpumon_histogram_index(ns)]);
	local64_add(ns, &words[sum]);
}

/**
 * gpumon_ring_latency - count any latency of a ring
 * @words: this CPU's counters of the ring
 * @ns: latency
 * @first: word of the histogram's first bucket
 * @sum: word of the sum
 * @max: word of the highest value, that of the lowest follows
 *
 * Context: any, preemption off.
 */
static inline void gpumon_ring_latency(local64_t *words, u64 ns, unsigned int first,
				       unsigned int sum, unsigned int max)
{
	local64_inc(&words[first + min(gpumon_histogram_index(ns), GPUMON_LATENCY_BUCKETS - 1)]);
	local64_add(ns, &words[sum]);
	gpumon_counters_raise(&words[max], ns);
	gpumon_counters_raise(&words[max + 1], ~ns);
}

/**
 * gpumon_ring_depth - count a depth of a ring, but for its extreme
 * @words: this CPU's counters of the ring
 * @depth: depth
 * @first: word of the histogram's first bucket
 * @sum: word of the sum
 *
 * Context: any, preemption off.
 */
static __always_inline void gpumon_ring_depth(local64_t *words, u32 depth, unsigned int first,
					      unsigned int sum)
{
	unsigned int index = depth;

	/* Small ones, which are nearly all, are their own bucket. */
	if (unlikely(depth >= GPUMON_HISTOGRAM_LINEAR))
		index = min(gpumon_histogram_index(depth), GPUMON_DEPTH_BUCKETS - 1);
	local64_inc(&words[first + index]);
	local64_add(depth, &words[sum]);
}

#endif /* GPUMON_RING_H */
