/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Where wall time went. The time of each thread that calls a GPU API is divided without rest into
 * calls and what lies between them. The time in which a GPU was idle is divided among what the
 * threads did that launched next. Both are weights of the nodes of a profile's tree.
 *
 * The time between two calls belongs to the frames that the stacks of both have in common, and, where
 * looks at the thread (GPUMON_RECORD_WAIT) say more, to what they found.
 */
#ifndef GPUMON_REPORT_BUDGET_H
#define GPUMON_REPORT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/format.h"
#include "bins.h"

struct gpumon_node;

/* What a thread spent time on. */
enum gpumon_spent {
	GPUMON_SPENT_BEFORE = 0, /* before its first call */
	GPUMON_SPENT_LAUNCH,	 /* in calls that start GPU work */
	GPUMON_SPENT_GPU_WAIT, /* in calls that wait for the GPU: synchronisation, blocking copies */
	GPUMON_SPENT_CALL,     /* in other calls of the API */
	GPUMON_SPENT_BETWEEN,  /* between calls: nothing says whether it ran or waited */
	GPUMON_SPENT_RUNNING,  /* between calls: looks found it running */
	GPUMON_SPENT_BLOCKED,  /* between calls: looks found it blocked, see @blocked_ns */
	GPUMON_SPENT_UNRECORDED, /* while nothing was recorded */
	GPUMON_SPENT_AFTER,	 /* after its last call */
	GPUMON_SPENTS
};

/**
 * struct gpumon_budget_row - the time of a thread that calls a GPU API
 * @process: number of its process
 * @tid: thread
 * @name: its name, "" if unknown
 * @wall_ns: from the first to the last record of its process: the sum of @spent_ns
 * @spent_ns: by enum gpumon_spent
 * @blocked_ns: GPUMON_SPENT_BLOCKED by enum gpumon_wait_kind
 * @launches: number of launches
 * @gpu_waits: number of calls that wait for the GPU
 * @calls: number of other calls
 * @gaps: number of times between calls
 * @gap_longest_ns: the longest of these
 * @unsampled_ns: of GPUMON_SPENT_BETWEEN: next to calls of which no stack was taken
 * @looks: number of looks at the thread
 * @looks_hz: looks in a second, on average; 0 without any
 * @untimed: its launches have no durations (uprobes): their time counts as between calls
 * @bins: if asked for, @spent_ns by parts of the time, GPUMON_SPENTS numbers for each; without the time
 *        before the first call and after the last one. Of many threads only some have them.
 */
struct gpumon_budget_row {
	uint32_t process;
	uint32_t tid;
	const char *name;
	uint64_t wall_ns;
	uint64_t spent_ns[GPUMON_SPENTS];
	uint64_t blocked_ns[GPUMON_WAIT_KINDS];
	uint64_t launches;
	uint64_t gpu_waits;
	uint64_t calls;
	uint64_t gaps;
	uint64_t gap_longest_ns;
	uint64_t unsampled_ns;
	uint64_t looks;
	double looks_hz;
	bool untimed;
	struct gpumon_bins bins;
};

/* A part of the time in a thread's @bins is as long as this many in a device's. */
#define GPUMON_BUDGET_BINS 4

/**
 * struct gpumon_idle_row - the time in which a GPU was idle
 * @gpu: number of the GPU
 * @before_ns: before its first operation
 * @after_ns: after its last one
 * @between_ns: in between
 * @overhead_ns: of @between_ns: by enum gpumon_overhead_kind, while a launching thread was in it
 * @queued_ns: of @between_ns: the next operation was launched already
 * @unknown_ns: of @between_ns: the launch of the next operation is not known
 * @forgotten: number of idle times of which @unknown_ns has a part because a launch is no longer kept
 * @gaps: number of times in between
 * @longest_ns: the longest of these
 */
struct gpumon_idle_row {
	uint32_t gpu;
	uint64_t before_ns;
	uint64_t after_ns;
	uint64_t between_ns;
	uint64_t overhead_ns[GPUMON_OVERHEAD_KINDS];
	uint64_t queued_ns;
	uint64_t unknown_ns;
	uint64_t forgotten;
	uint64_t gaps;
	uint64_t longest_ns;
};

/* Calls that are kept for idle times: so many of a thread, and of all threads. */
#define GPUMON_BUDGET_CALLS_MAX (1u << 17)
#define GPUMON_BUDGET_CALLS_ALL (1u << 18)

/* No framework takes as long between two launches: the thread did something else. */
#define GPUMON_IDLE_LONG_NS 5000000u

/* Kinds of nodes below which time is that of a state and not of a call have GPUMON_NODE_STATE. */

/* Names of states that are none of waiting: of GPUMON_NODE_STATE, in brackets. */
#define GPUMON_STATE_BEFORE_CALLS      "before the first call"
#define GPUMON_STATE_BETWEEN_CALLS     "between calls"
#define GPUMON_STATE_AFTER_CALLS       "after the last call"
#define GPUMON_STATE_UNRECORDED	       "not recorded"
#define GPUMON_STATE_QUEUED	       "queued"
#define GPUMON_STATE_UNKNOWN_LAUNCH    "launch not known"
#define GPUMON_STATE_BEFORE_OPERATIONS "before the first operation"
#define GPUMON_STATE_AFTER_OPERATIONS  "after the last operation"

/* "between calls", "launch calls": for people. */
const char *gpumon_spent_text(enum gpumon_spent spent);
/* "between_calls": in JSON. */
const char *gpumon_spent_key(enum gpumon_spent spent);
/* "sleep", "lock", "read": of GPUMON_SPENT_BLOCKED. */
const char *gpumon_wait_text(enum gpumon_wait_kind kind);
/* "module loading" */
const char *gpumon_overhead_text(enum gpumon_overhead_kind kind);
const char *gpumon_overhead_key(enum gpumon_overhead_kind kind);

#endif /* GPUMON_REPORT_BUDGET_H */
