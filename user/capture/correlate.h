/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Joins GPU operations with their launches, from a stream of records to a stream of joined
 * operations. Memory is bounded by what is in flight.
 *
 * An operation and its launch share a correlation id of their API (format.h). Records may come in any order. The
 * first of two waits, and everything is delivered exactly once:
 *
 * - A launch is kept for further operations of the same id (graphs, split copies) until
 *   GPUMON_CORRELATE_RETAIN records of its process have followed the last one.
 * - A launch without operations waits until GPUMON_CORRELATE_LAUNCHES newer ones wait too, the
 *   32-bit ids are close to wrapping around, or the end. Time alone does not end it: a kernel may
 *   run for hours before the API reports it.
 * - An operation waits for its launch, or for the record of its graph node, but at most
 *   GPUMON_CORRELATE_WORK_RECORDS records.
 * - Ids wrap around after 2^32 calls. A launch only gets operations of its own turn, and none that
 *   began GPUMON_CORRELATE_CLOCK_NS or more before it.
 * - Id 0 means no id and joins nothing.
 *
 * An operation of a graph has the stack of its node's creation, also through clones. If that is
 * unknown, it has the stack of the graph's launch, as GPUMON_MATCH_STACK with GPUMON_LAUNCH_GRAPH
 * in @launch_flags.
 */
#ifndef GPUMON_CAPTURE_CORRELATE_H
#define GPUMON_CAPTURE_CORRELATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/format.h"

struct gpumon_correlate;

/* Limit for all processes together, divided among them. */
#define GPUMON_CORRELATE_LAUNCHES (1u << 19)
#define GPUMON_CORRELATE_WORKS	  (1u << 17)

/*
 * Limit for one process, in launches and operations. The operations of graphs arrive over a longer
 * time.
 */
#define GPUMON_CORRELATE_RETAIN	      (1u << 16)
#define GPUMON_CORRELATE_RETAIN_GRAPH (1u << 19)
#define GPUMON_CORRELATE_WORK_RECORDS (1u << 19)

/* CUPTI converts GPU times afterwards, so an operation can seem to begin too early. */
#define GPUMON_CORRELATE_CLOCK_NS 1000000u

/* Which stack a GPU operation has, or why it has none. */
enum gpumon_match {
	GPUMON_MATCH_STACK = 0,	     /* the stack of its launch */
	GPUMON_MATCH_GRAPH_NODE = 1, /* the stack of its node's creation */
	GPUMON_MATCH_NO_STACK = 2,   /* [kernel without stack]: the launch has no stack */
	GPUMON_MATCH_NO_LAUNCH = 3,  /* [kernel without launch]: the launch was not recorded */
	GPUMON_MATCH_INTERNAL = 4,   /* [launched by CUDA] */
	GPUMON_MATCH_UNSAMPLED = 5,  /* [stack not sampled]: left out by record --sample */
	GPUMON_MATCH_AMBIGUOUS =
		6, /* [launch ambiguous]: several launches have its id, with different stacks */
	GPUMON_MATCH_KINDS
};

/* Launches without GPU operations. */
enum gpumon_launch_end {
	GPUMON_LAUNCH_UNMATCHED = 0, /* [unmatched launch] */
	GPUMON_LAUNCH_IN_GRAPH = 1,  /* [captured into graph] */
	GPUMON_LAUNCH_REFUSED = 2,   /* the call failed */
	GPUMON_LAUNCH_LEFT_OUT = 3,  /* outside of the windows in which operations are recorded */
	GPUMON_LAUNCH_WITHHELD =
		4, /* [unmatched launch]: its process was cut (GPUMON_WINDOW_CUT) */
	GPUMON_LAUNCH_ENDS
};

enum gpumon_work_kind {
	GPUMON_WORK_KERNEL = 0,
	GPUMON_WORK_COPY = 1,
	GPUMON_WORK_SET = 2,
	GPUMON_WORK_GRAPH = 3, /* a launch of a graph as a whole */
	GPUMON_WORK_KINDS
};

/* Why an operation has no times. */
enum gpumon_untimed {
	GPUMON_UNTIMED_FAILED = 0,
	GPUMON_UNTIMED_UNFINISHED = 1, /* it had not ended when the capture did */
	GPUMON_UNTIMED_NOT_MEASURED = 2,
	GPUMON_UNTIMED_IMPOSSIBLE = 3, /* the API's times cannot be */
	GPUMON_UNTIMED_KINDS
};

/* Reason why an operation has no start or end, by its flags. */
static inline enum gpumon_untimed gpumon_untimed_of(uint32_t flags)
{
	return flags & GPUMON_WORK_FAILED     ? GPUMON_UNTIMED_FAILED :
	       flags & GPUMON_WORK_UNFINISHED ? GPUMON_UNTIMED_UNFINISHED :
	       flags & GPUMON_WORK_BAD_TIMES  ? GPUMON_UNTIMED_IMPOSSIBLE :
						GPUMON_UNTIMED_NOT_MEASURED;
}

/**
 * struct gpumon_work - a GPU operation with its origin
 * @process: number of the process in the capture
 * @kind: kind of operation: which of @kernel, @copy, @set, @graph is not NULL
 * @match: origin of @stack, or why there is none
 * @stack: id in the process, or 0
 * @tid: launching thread, 0 if unknown
 * @launch_ns: beginning of its launch, 0 if unknown
 * @launch_end_ns: end of its launch
 * @launch_function: string id in the process, 0 if unknown
 * @launch_flags: GPUMON_LAUNCH_*
 * @launch_stack: its own stack, which is not that of a graph's node
 * @launch_graph: of a launch of a graph: its id, 0 if unknown
 * @launch_work: number of earlier operations of the same launch; 0 without a launch
 * @launch_number: which of all launches it is, in the order of their records, from 1 on; 0 without one
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
	uint32_t launch_stack;
	uint32_t launch_graph;
	const struct gpumon_record_kernel *kernel;
	const struct gpumon_record_copy *copy;
	const struct gpumon_record_set *set;
	const struct gpumon_record_graph *graph;
	uint32_t launch_work;
	uint64_t launch_number;
};

/**
 * struct gpumon_unmatched_launch - a launch without GPU operations
 * @process: number of the process in the capture
 * @end: the reason
 * @launch: the launch
 * @number: as @launch_number of struct gpumon_work
 */
struct gpumon_unmatched_launch {
	uint32_t process;
	enum gpumon_launch_end end;
	const struct gpumon_record_launch *launch;
	uint64_t number;
};

/**
 * struct gpumon_correlate_output - callbacks for the results
 * @work: called once for each GPU operation
 * @launch: called once for each launch without GPU operations
 * @data: passed to all of them
 * @left_out: whether a launch without operations is GPUMON_LAUNCH_LEFT_OUT; NULL: none is
 * @is_cut: whether those of a process are GPUMON_LAUNCH_WITHHELD; NULL: none are
 */
struct gpumon_correlate_output {
	void (*work)(void *data, const struct gpumon_work *work);
	void (*launch)(void *data, const struct gpumon_unmatched_launch *launch);
	void *data;
	bool (*left_out)(void *data, uint32_t process, const struct gpumon_record_launch *launch);
	bool (*is_cut)(void *data, uint32_t process);
};

/**
 * struct gpumon_correlate_counts - accounts for every record
 * @works: operations by kind and match
 * @untimed: those of @works without times, by reason
 * @launches: launches with operations; a graph's counts once
 * @unmatched_launches: launches without operations, by reason
 * @in_flight: launches and operations that are waiting for a match
 * @in_flight_max: maximum of @in_flight
 * @work_before_launch: operations that began before their launch: the clocks disagree
 */
struct gpumon_correlate_counts {
	uint64_t works[GPUMON_WORK_KINDS][GPUMON_MATCH_KINDS];
	uint64_t untimed[GPUMON_UNTIMED_KINDS];
	uint64_t launches;
	uint64_t unmatched_launches[GPUMON_LAUNCH_ENDS];
	uint64_t in_flight;
	uint64_t in_flight_max;
	uint64_t work_before_launch;
};

struct gpumon_correlate *gpumon_correlate_new(const struct gpumon_correlate_output *output);

/*
 * Whether records of graph nodes come for a process. If not, no operation waits for one. By default they
 * are expected.
 */
void gpumon_correlate_expect_nodes(struct gpumon_correlate *correlate, uint32_t process,
				   bool nodes);

/**
 * gpumon_correlate_record - process the next record of a process
 * @correlate: engine
 * @process: number of the process, from 0 on
 * @record: any record; irrelevant ones are ignored
 */
void gpumon_correlate_record(struct gpumon_correlate *correlate, uint32_t process,
			     const struct gpumon_record *record);

/*
 * The process, or with ~0 every process, has no more records: deliver everything that is waiting.
 */
void gpumon_correlate_finish(struct gpumon_correlate *correlate, uint32_t process);

const struct gpumon_correlate_counts *
gpumon_correlate_counts(const struct gpumon_correlate *correlate);

/* Allocated bytes. */
size_t gpumon_correlate_memory(const struct gpumon_correlate *correlate);

void gpumon_correlate_free(struct gpumon_correlate *correlate);

#endif /* GPUMON_CAPTURE_CORRELATE_H */
