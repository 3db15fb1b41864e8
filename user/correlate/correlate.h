/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Joins what processors did with what GPUs did: a stream of records in, a
 * stream of joined work out. Memory is bounded by what is in flight.
 *
 * Work and its launch have CUPTI's correlation id in common. Records may come
 * in any order; what comes first waits, and all is given out exactly once:
 *
 * - A launch is kept for further work of the same id (graphs, copies in pieces)
 *   until GPUMON_CORRELATE_RETAIN records of its process went by since the last one.
 * - A launch that nothing came for waits until GPUMON_CORRELATE_LAUNCHES newer ones
 *   wait too, or the 32-bit ids come close to going round, or the end. Time alone
 *   does not end it: a kernel may run for hours before CUPTI tells of it.
 * - Work waits for its launch, for the record of its graph's node, or until its
 *   launch's stack is known, GPUMON_CORRELATE_WORK_RECORDS records at most.
 * - Ids are used again after 2^32 calls. A launch takes only work of its own turn,
 *   and none that began GPUMON_CORRELATE_CLOCK_NS or more before it.
 * - Id 0 is no id: it joins nothing.
 *
 * Work of a graph has the stack where its node was created, through clones. If that
 * is not known it has that of the graph's launch, as GPUMON_MATCH_STACK with
 * GPUMON_LAUNCH_GRAPH among @launch_flags.
 *
 * Launches without a stack of their own get one from uprobe hits, see hits.c.
 */
#ifndef GPUMON_CORRELATE_H
#define GPUMON_CORRELATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/format.h"

struct gpumon_correlate;

/* Of all processes together: each has its share. */
#define GPUMON_CORRELATE_LAUNCHES (1u << 19)
#define GPUMON_CORRELATE_WORKS	  (1u << 17)
#define GPUMON_CORRELATE_HITS	  (1u << 18)

/* Of one process, in launches and works; those of graphs come over a longer time. */
#define GPUMON_CORRELATE_RETAIN	      (1u << 16)
#define GPUMON_CORRELATE_RETAIN_GRAPH (1u << 19)
#define GPUMON_CORRELATE_WORK_RECORDS (1u << 19)

/* CUPTI maps the GPU's time to the processor's afterwards, so work can seem to begin early. */
#define GPUMON_CORRELATE_CLOCK_NS 1000000u

/* Which stack a GPU operation belongs to, and why none. */
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
 * @launch_work: how many works of the same launch were given out before; 0 of no launch
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
	uint32_t launch_work;
};

/**
 * struct gpumon_unmatched_launch - a launch without work
 * @process: number of the process in the capture
 * @end: why
 * @launch: it, with the stack that a uprobe hit had for it
 */
struct gpumon_unmatched_launch {
	uint32_t process;
	enum gpumon_launch_end end;
	const struct gpumon_record_launch *launch;
};

/* A uprobe hit that belongs to no launch: of a call that is none, or one that is not recorded. */
struct gpumon_unmatched_hit {
	uint32_t process;
	const struct gpumon_record_hit *hit;
};

/**
 * struct gpumon_correlate_output - who gets what was joined
 * @work: a GPU operation, once each
 * @launch: a launch that nothing came for, once each
 * @data: for all of them
 * @hit: a hit that belongs to no launch, once each; NULL if nobody asks
 */
struct gpumon_correlate_output {
	void (*work)(void *data, const struct gpumon_work *work);
	void (*launch)(void *data, const struct gpumon_unmatched_launch *launch);
	void *data;
	void (*hit)(void *data, const struct gpumon_unmatched_hit *hit);
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
 * @hits_ambiguous: those that could belong to more than one, next to a hit that was lost
 * @launches_expired: of the unmatched launches those that had to make room
 * @works_expired: works that were given out without what they waited for, before the end
 * @ids_used_again: work whose id only a launch of a much later time has: its own was lost
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
	uint64_t hits_ambiguous;
	uint64_t launches_expired;
	uint64_t works_expired;
	uint64_t ids_used_again;
};

/* NULL without memory. */
struct gpumon_correlate *gpumon_correlate_new(const struct gpumon_correlate_output *output);

#define GPUMON_EXPECT_HITS  1u
#define GPUMON_EXPECT_NODES 2u

/**
 * gpumon_correlate_expect - what records a process has, if that is known
 * @correlate: engine
 * @process: its number
 * @expect: GPUMON_EXPECT_* of those that will come; what will not is not waited for
 *
 * Without this, either may come at any time.
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_correlate_expect(struct gpumon_correlate *correlate, uint32_t process, uint32_t expect);

/**
 * gpumon_correlate_record - the next record of a process
 * @correlate: engine
 * @process: its number
 * @record: any record, those that do not matter are ignored
 *
 * GPUMON_RECORD_LOSS of hits matters too: then the last hit of a thread proves nothing.
 *
 * Return: 0, or -1 without memory: the record is lost.
 */
int gpumon_correlate_record(struct gpumon_correlate *correlate, uint32_t process,
			    const struct gpumon_record *record);

/* Nothing more of this process, or with ~0 of any, comes: what waits is given out as it is. */
int gpumon_correlate_finish(struct gpumon_correlate *correlate, uint32_t process);

const struct gpumon_correlate_counts *
gpumon_correlate_counts(const struct gpumon_correlate *correlate);

/* Bytes allocated now. */
size_t gpumon_correlate_memory(const struct gpumon_correlate *correlate);

void gpumon_correlate_free(struct gpumon_correlate *correlate);

#endif /* GPUMON_CORRELATE_H */
