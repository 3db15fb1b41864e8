/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * From a device's clock to CLOCK_MONOTONIC. A driver says when it queued a command, which is within
 * the call that enqueued it: the offset between the clocks is between two numbers, and many commands
 * make them close. One of the system's clocks whose offset is always between them is that clock.
 */
#ifndef GPUMON_INJECT_CHANNEL_CLOCK_H
#define GPUMON_INJECT_CHANNEL_CLOCK_H

#include "thread.h"

/* Two crystals differ by less than 20 ppm while a program runs: one part of so many. */
#define INJECT_CLOCK_DRIFT 50000u

/**
 * struct inject_clock - of a device
 * @excluded: bits of enum gpumon_clock_source: clocks that it is not
 * @has_bounds: a command was seen
 * @low: the offset is not lower
 * @high: nor higher
 * @bounds_ns: when they were last moved apart
 * @source: enum gpumon_clock_source
 * @offset: to be added to its times
 * @error: of @offset
 * @written: as it was in the last record
 * @generation: of the session of that record
 */
struct inject_clock {
	unsigned int excluded;
	bool has_bounds;
	int64_t low;
	int64_t high;
	uint64_t bounds_ns;
	uint32_t source;
	int64_t offset;
	uint64_t error;
	struct {
		uint32_t source;
		int64_t offset;
		uint64_t error;
	} written;
	uint32_t generation;
};

/* How far the system's clocks are apart now: before the first inject_clock_learn() of a look. */
void inject_clock_sample(void);

/**
 * inject_clock_learn - a command was queued
 * @clock: of its device
 * @begin_ns: begin of the call
 * @end_ns: end of the call
 * @queued: by @clock
 */
void inject_clock_learn(struct inject_clock *clock, uint64_t begin_ns, uint64_t end_ns,
			uint64_t queued);

/**
 * inject_clock_bound - inject_clock_learn() where two times are known
 * @clock: of the device
 * @begin_ns: of the call, to which the bounds belong
 * @low: the offset is not lower
 * @high: nor higher
 */
void inject_clock_bound(struct inject_clock *clock, uint64_t begin_ns, int64_t low, int64_t high);

/* Another way to know it: it is one of the system's clocks. After inject_clock_sample(). */
void inject_clock_name(struct inject_clock *clock, uint32_t source);

/* Another way to know it: @offset was measured, with @error. */
void inject_clock_set(struct inject_clock *clock, int64_t offset, uint64_t error);

/* A time of the device as CLOCK_MONOTONIC; 0 where it is none. */
static inline uint64_t inject_clock_convert(const struct inject_clock *clock, uint64_t time)
{
	int64_t converted = (int64_t)(time + (uint64_t)clock->offset);

	return time && converted > 0 ? (uint64_t)converted : 0;
}

/* Writes a CLOCK record if more is known than in the last one. */
void inject_clock_write(struct inject_thread *thread, struct inject_clock *clock, uint32_t device);

#endif /* GPUMON_INJECT_CHANNEL_CLOCK_H */
