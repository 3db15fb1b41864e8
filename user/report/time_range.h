/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A part of the time of captures, as a user asks for it: from and to, counted from the beginning of the recording,
 * or an NVTX range.
 */
#ifndef GPUMON_REPORT_TIME_RANGE_H
#define GPUMON_REPORT_TIME_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpumon_captures;

/**
 * struct gpumon_asked_range - which part is asked for; a zeroed one: all
 * @has_from: @from_ns was given
 * @has_to: and @to_ns
 * @from_ns: counted from the beginning of the recording
 * @to_ns: likewise
 * @name: an NVTX range, "NAME" or "NAME:N"; NULL: none
 */
struct gpumon_asked_range {
	bool has_from;
	bool has_to;
	uint64_t from_ns;
	uint64_t to_ns;
	const char *name;
};

/**
 * struct gpumon_time_range - the part that is shown
 * @began_ns: beginning of the recording, CLOCK_MONOTONIC
 * @ended_ns: its end
 * @from_ns: beginning of the part
 * @until_ns: its end
 * @name: the NVTX range, to free; NULL: times were given
 * @first: number of its first occurrence in a process, from 1
 * @last: of its last one
 * @processes: number of processes that have it
 */
struct gpumon_time_range {
	uint64_t began_ns;
	uint64_t ended_ns;
	uint64_t from_ns;
	uint64_t until_ns;
	char *name;
	uint64_t first;
	uint64_t last;
	uint32_t processes;
};

static inline bool gpumon_range_is_asked(const struct gpumon_asked_range *asked)
{
	return asked->has_from || asked->has_to || asked->name;
}

/**
 * gpumon_time_range_find - find the part that is asked for
 * @captures: after gpumon_captures_define(); a named range is looked for in a further pass
 * @asked: what is asked for
 * @range: in: @began_ns and @ended_ns; out: the rest
 *
 * The Nth range of a process is the Nth that begins there, on any of its threads. Where several processes have one, the
 * part begins with the earliest of these ranges and ends when the last of them has ended.
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_time_range_find(struct gpumon_captures *captures, const struct gpumon_asked_range *asked,
			   struct gpumon_time_range *range);
void gpumon_time_range_clear(struct gpumon_time_range *range);

/* "only 125ms to 174ms of 275ms: range step:3" */
const char *gpumon_time_range_text(char *buf, size_t len, const struct gpumon_time_range *range);

/* The part of a time that lies in from_ns to until_ns (0: no limit). False if nothing of it does. */
static inline bool gpumon_time_clip(uint64_t from_ns, uint64_t until_ns, uint64_t *start_ns,
				    uint64_t *end_ns)
{
	if (*start_ns < from_ns)
		*start_ns = from_ns;
	if (until_ns && *end_ns > until_ns)
		*end_ns = until_ns;
	return *end_ns > *start_ns;
}

/* A span of time that has to include another one; a @first_ns of 0 is none yet, a @start_ns of 0 is not known. */
static inline void gpumon_time_include(uint64_t *first_ns, uint64_t *last_ns, uint64_t start_ns,
				       uint64_t end_ns)
{
	if (start_ns && (!*first_ns || start_ns < *first_ns))
		*first_ns = start_ns;
	if (end_ns > *last_ns)
		*last_ns = end_ns;
}

/* Whether a moment lies in it. */
static inline bool gpumon_time_within(uint64_t from_ns, uint64_t until_ns, uint64_t time_ns)
{
	return time_ns >= from_ns && (!until_ns || time_ns < until_ns);
}

#endif /* GPUMON_REPORT_TIME_RANGE_H */
