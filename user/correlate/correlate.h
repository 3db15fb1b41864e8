/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Joins what processors did with what GPUs did: a stream of records in, a
 * stream of joined work out. Memory is bounded by what is in flight.
 */
#ifndef GPUMON_CORRELATE_H
#define GPUMON_CORRELATE_H

#include <stdbool.h>
#include <stdint.h>

#include "../capture/format.h"

struct gpumon_correlate;

/* Which stack a piece of work of the GPU belongs to, and why none. */
enum gpumon_match {
	GPUMON_MATCH_STACK = 0,	     /* its launch's */
	GPUMON_MATCH_GRAPH_NODE = 1, /* where its node was created */
	GPUMON_MATCH_NO_STACK = 2,   /* [kernel without stack]: launch known, no stack of it */
	GPUMON_MATCH_NO_LAUNCH = 3,  /* [kernel without launch]: its launch was not recorded */
	GPUMON_MATCH_INTERNAL = 4,   /* [launched by CUDA] */
	GPUMON_MATCH_AMBIGUOUS = 5,  /* [ambiguous]: uprobe hits that do not tell */
	GPUMON_MATCH_KINDS
};

/* Launches that nothing of the GPU came for. */
enum gpumon_launch_end {
	GPUMON_LAUNCH_UNMATCHED = 0, /* [unmatched launch] */
	GPUMON_LAUNCH_IN_GRAPH = 1,  /* [captured into graph] */
	GPUMON_LAUNCH_REFUSED = 2,   /* the call failed */
	GPUMON_LAUNCH_ENDS
};

enum gpumon_work_kind {
	GPUMON_WORK_KERNEL = 0,
	GPUMON_WORK_COPY = 1,
	GPUMON_WORK_SET = 2,
	GPUMON_WORK_KINDS
};

/**
 * struct gpumon_work - something that the GPU did, with where it came from
 * @process: number of the process in the capture
 * @kind: what it was; the member of @kernel, @copy, @set that is not NULL
 * @match: whose stack @stack is, or why there is none
 * @stack: id in the process, 0 if there is none
 * @tid: who launched it, 0 if not known
 * @launch_ns: begin of its launch, 0 if not known
 * @launch_end_ns: end of that
 * @launch_function: string id in the process, 0 if not known
 * @launch_flags: GPUMON_LAUNCH_*
 */
struct gpumon_work {
	uint32_t process;
	enum gpumon_work_kind kind;
	enum gpumon_match match;
	uint32_t stack;
	uint32_t tid;
	uint64_t launch_ns;
	uint64_t launch_end_ns;
	uint32_t launch_function;
	uint32_t launch_flags;
	const struct gpumon_record_kernel *kernel;
	const struct gpumon_record_copy *copy;
	const struct gpumon_record_set *set;
};

/**
 * struct gpumon_unmatched_launch - a launch without work
 * @end: why
 */
struct gpumon_unmatched_launch {
	uint32_t process;
	enum gpumon_launch_end end;
	const struct gpumon_record_launch *launch;
};

/**
 * struct gpumon_correlate_output - who gets what was joined
 * @work: a piece of work, once each
 * @launch: a launch that nothing came for, once each
 * @data: for both
 */
struct gpumon_correlate_output {
	void (*work)(void *data, const struct gpumon_work *work);
	void (*launch)(void *data, const struct gpumon_unmatched_launch *launch);
	void *data;
};

/**
 * struct gpumon_correlate_counts - so that nothing vanishes
 * @works: by kind and match
 * @launches: launches with work, a graph's counts once
 * @unmatched_launches: by end
 * @in_flight: launches, work and hits that wait for their other half now
 * @in_flight_max: the most there were
 * @work_before_launch: work that began before its launch did: the clocks disagree
 * @hits: uprobe hits
 * @hits_matched: those that belong to a launch
 */
struct gpumon_correlate_counts {
	uint64_t works[GPUMON_WORK_KINDS][GPUMON_MATCH_KINDS];
	uint64_t launches;
	uint64_t unmatched_launches[GPUMON_LAUNCH_ENDS];
	uint64_t in_flight;
	uint64_t in_flight_max;
	uint64_t work_before_launch;
	uint64_t hits;
	uint64_t hits_matched;
};

/* NULL without memory. */
struct gpumon_correlate *gpumon_correlate_new(const struct gpumon_correlate_output *output);

/**
 * gpumon_correlate_record - the next record of a process
 * @correlate: engine
 * @process: its number
 * @record: any record, those that do not matter are ignored
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_correlate_record(struct gpumon_correlate *correlate, uint32_t process,
			    const struct gpumon_record *record);

/* Nothing more of this process, or with ~0 of any, comes: what waits is given out as it is. */
int gpumon_correlate_finish(struct gpumon_correlate *correlate, uint32_t process);

const struct gpumon_correlate_counts *
gpumon_correlate_counts(const struct gpumon_correlate *correlate);

void gpumon_correlate_free(struct gpumon_correlate *correlate);

#endif /* GPUMON_CORRELATE_H */
