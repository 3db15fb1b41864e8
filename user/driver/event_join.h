/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Joins the events of a job, identified by (context, seqno), into its submitter, its time in the
 * queue and its run time. Events must come in order of time (event_merge.h).
 *
 * The module joins events too, and marks what it knows in the record (GPUMON_EVENT_F_*). If its
 * table was full, or the job began before it attached, the events seen here fill the gap.
 *
 * Memory is bounded. A full table drops a finished job first, and otherwise the oldest job, which
 * is counted as evicted. Later events of an evicted job are unmatched.
 */
#ifndef GPUMON_DRIVER_EVENT_JOIN_H
#define GPUMON_DRIVER_EVENT_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kmod/uapi/gpumon_event.h"

struct gpumon_event_join;

/**
 * struct gpumon_event_joined - an event and what is known about its job
 * @event: the event; pid, tid and comm are those of the recording task unless it has
 *	   GPUMON_EVENT_F_SUBMITTER
 * @latency_ns: time queued for run and killed events, time on the hardware for done events
 * @latency_known: false if the beginning was not seen
 * @submitter_known: the next three are valid
 * @pid: process that submitted the job
 * @tid: thread that submitted the job
 * @comm: its name, always NUL-terminated
 */
struct gpumon_event_joined {
	struct gpumon_event event;
	uint64_t latency_ns;
	bool latency_known;
	bool submitter_known;
	uint32_t pid;
	uint32_t tid;
	char comm[GPUMON_COMM_LEN + 1];
};

/**
 * struct gpumon_event_join_stats - counts of joined events
 * @matched: run, done and killed events with a known latency
 * @unmatched: those with an unknown latency
 * @evicted: unfinished jobs that were dropped to make room
 */
struct gpumon_event_join_stats {
	uint64_t matched;
	uint64_t unmatched;
	uint64_t evicted;
};

/**
 * gpumon_event_join_new() - create a joiner
 * @capacity: maximum number of jobs, including finished ones
 *
 * Return: NULL without memory.
 */
struct gpumon_event_join *gpumon_event_join_new(size_t capacity);
void gpumon_event_join_free(struct gpumon_event_join *join);

/**
 * gpumon_event_join_add() - join the next event
 * @join: joiner
 * @event: the event
 * @joined: out
 */
void gpumon_event_join_add(struct gpumon_event_join *join, const struct gpumon_event *event,
			   struct gpumon_event_joined *joined);

void gpumon_event_join_get_stats(const struct gpumon_event_join *join,
				 struct gpumon_event_join_stats *stats);

#endif /* GPUMON_DRIVER_EVENT_JOIN_H */
