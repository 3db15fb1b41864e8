/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Joins the events of one job, which (context, seqno) names: who submitted it, how long it was
 * queued, how long it ran. Events must come in order of time (event_merge.h).
 *
 * The module joins too and says so in the record (GPUMON_EVENT_F_*); what it knew is taken from
 * there, what it did not know (its table was full, the job began before it was attached) from the
 * events seen here.
 *
 * Memory is bounded: where the table is full, a finished job makes room first, then the job that
 * began longest ago (counted as evicted, its later events find nothing).
 */
#ifndef GPUMON_USER_EVENT_JOIN_H
#define GPUMON_USER_EVENT_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kmod/uapi/gpumon_event.h"

struct gpumon_event_join;

/**
 * struct gpumon_event_joined - an event and what is known about its job
 * @event: the event; its pid, tid and comm are those of the recording task unless it has
 *	   GPUMON_EVENT_F_SUBMITTER
 * @latency_ns: run: time queued; done: time on the hardware; killed: time queued
 * @latency_known: false: nothing that began it was seen
 * @submitter_known: the three below are filled in
 * @pid: process that submitted the job
 * @tid: thread that did
 * @comm: its name, always terminated
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
 * struct gpumon_event_join_stats - what could be joined
 * @matched: run, done and killed events whose latency is known
 * @unmatched: those whose latency is not
 * @evicted: unfinished jobs that were forgotten to make room
 * @jobs: jobs in the table that have not finished
 */
struct gpumon_event_join_stats {
	uint64_t matched;
	uint64_t unmatched;
	uint64_t evicted;
	uint64_t jobs;
};

/**
 * gpumon_event_join_new() - a joiner
 * @capacity: jobs remembered at most, finished ones too
 *
 * Return: NULL without memory.
 */
struct gpumon_event_join *gpumon_event_join_new(size_t capacity);
void gpumon_event_join_free(struct gpumon_event_join *join);

/**
 * gpumon_event_join_add() - take in the next event
 * @join: joiner
 * @event: the event
 * @joined: out
 */
void gpumon_event_join_add(struct gpumon_event_join *join, const struct gpumon_event *event,
			   struct gpumon_event_joined *joined);

void gpumon_event_join_get_stats(const struct gpumon_event_join *join,
				 struct gpumon_event_join_stats *stats);

#endif /* GPUMON_USER_EVENT_JOIN_H */
