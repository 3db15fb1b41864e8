/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A budget under construction: its inside, for profile*.c and budget.c. */
#ifndef GPUMON_REPORT_BUDGET_ENGINE_H
#define GPUMON_REPORT_BUDGET_ENGINE_H

#include "budget.h"
#include "capture/windows.h"
#include "lib/map.h"
#include "profile_busy.h"
#include "profile_tree.h"

/* What looks found, for the time that they stand for; @first_ns and @last_ns: the first and the last of them. */
struct gpumon_budget_wait {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t first_ns;
	uint64_t last_ns;
	uint32_t stack;
	uint16_t kind;
	uint16_t file;
};

struct gpumon_budget_overhead {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t tid;
	uint32_t kind;
};

/**
 * struct gpumon_budget_call - a call of a thread; none begins before the one before it ends
 * @node: its GPUMON_NODE_API
 * @between: the frame that the time in front of it belongs to; NULL until that is known
 * @correlation: its id, unique with @api
 * @unsampled: that frame is not known because a stack was left out
 */
struct gpumon_budget_call {
	uint64_t start_ns;
	uint64_t end_ns;
	struct gpumon_node *node;
	struct gpumon_node *between;
	uint32_t correlation;
	uint8_t api;
	bool unsampled;
};

/**
 * struct gpumon_budget_thread - a thread
 * @home: the node above its stacks; NULL until it is used
 * @looks_ns: what the looks stand for
 * @waits: what looks at it found, in order of time, without overlaps
 * @calls: its calls from number @call_first up to @call_next, in a ring
 * @settled: number of the first call whose time in front is not given to nodes
 * @stacked: node of the last call before it that has a stack
 * @lost: that of the last call before it was left out
 * @unordered: ids of its calls do not rise, because it uses several APIs
 * @known_ns: time between calls whose frame is known, of a thread of which stacks are left out
 * @scaled_ns: of it: what has its share of the time whose frame is not known
 * @found: number of the call whose operation ended the last idle time
 * @next: another thread of the process
 */
struct gpumon_budget_thread {
	struct gpumon_budget_row row;
	struct gpumon_node *home;
	double looks_ns;
	struct gpumon_budget_wait *waits;
	uint32_t wait_used;
	uint32_t wait_room;
	struct gpumon_budget_call *calls;
	uint32_t call_room;
	uint64_t call_first;
	uint64_t call_next;
	uint64_t settled;
	struct gpumon_node *stacked;
	bool lost;
	bool unordered;
	uint64_t known_ns;
	uint64_t scaled_ns;
	uint64_t found;
	struct gpumon_budget_thread *next;
};

/**
 * struct gpumon_budget_process - a process
 * @overheads: sorted by thread and time; those of one thread do not overlap
 * @windows: when it was recorded; outside of them nothing was, not even calls
 */
struct gpumon_budget_process {
	uint64_t first_ns;
	uint64_t last_ns;
	struct gpumon_budget_thread *threads;
	struct gpumon_budget_thread *recent;
	struct gpumon_budget_overhead *overheads;
	uint32_t overhead_used;
	uint32_t overhead_room;
	struct gpumon_windows windows;
};

/* An idle time. @origin: as of struct gpumon_interval */
struct gpumon_budget_gap {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t origin;
	uint32_t gpu;
};

typedef void gpumon_budget_idled(void *data, uint32_t process, uint32_t gpu,
				 struct gpumon_node *node, uint64_t start_ns, uint64_t end_ns);

/* Time of a thread between calls at a node, if stacks are left out; @unsampled: next to such a call. */
struct gpumon_budget_known {
	struct gpumon_budget_thread *thread;
	struct gpumon_node *node;
	uint64_t ns;
	bool unsampled;
};

/* Answers of the hash maps: programs run in loops, so that the same question comes again soon. */
#define GPUMON_BUDGET_CACHED 256

struct gpumon_budget_cached {
	const void *a;
	const void *b;
	struct gpumon_node *node;
};

/**
 * struct gpumon_budget - a budget; zeroed but for the first three
 * @tree: gets the nodes
 * @from_ns: only the time since then counts
 * @until_ns: and before then; 0: no limit
 * @bins: parts of the time by enum gpumon_spent, if threads have them
 * @binned: number of threads that have bins
 * @state_keys: node and name of the state to number in @states
 * @between_keys: nodes of two calls to number in @betweens
 * @known_keys: thread and node to number in @known
 * @state: called with each wall time of a thread outside of calls, in the order of time of that
 *         thread; NULL: not called
 * @state_data: passed to @state
 * @calls_room: calls that all threads have room for
 * @gaps: idle times whose launch may not have been read
 * @idled: is called with each part of an idle time, the process that launched next, and what it did;
 *	   may be NULL
 */
struct gpumon_budget {
	struct gpumon_tree *tree;
	uint64_t from_ns;
	uint64_t until_ns;
	struct gpumon_bins_scale bins;
	uint32_t binned;
	void (*state)(void *data, const struct gpumon_budget_row *thread,
		      const struct gpumon_node *node, uint64_t start_ns, uint64_t end_ns);
	void *state_data;
	struct gpumon_keys thread_keys;
	struct gpumon_budget_thread **threads;
	uint32_t threads_room;
	struct gpumon_budget_process *processes;
	uint32_t process_used;
	uint32_t process_room;
	struct gpumon_keys state_keys;
	struct gpumon_node **states;
	uint32_t states_room;
	struct gpumon_keys between_keys;
	struct gpumon_node **betweens;
	uint32_t betweens_room;
	struct gpumon_keys known_keys;
	struct gpumon_budget_known *known;
	uint32_t known_room;
	struct gpumon_budget_cached state_cache[GPUMON_BUDGET_CACHED];
	struct gpumon_budget_cached between_cache[GPUMON_BUDGET_CACHED];
	uint32_t calls_room;
	struct gpumon_budget_gap *gaps;
	uint32_t gap_first;
	uint32_t gap_used;
	uint32_t gap_room;
	struct gpumon_budget_row *rows;
	uint32_t row_count;
	struct gpumon_idle_row *idle;
	uint32_t idle_used;
	uint32_t idle_room;
	gpumon_budget_idled *idled;
	void *idled_data;
};

/* Made when they are new. */
struct gpumon_budget_process *gpumon_budget_add_process(struct gpumon_budget *budget,
							uint32_t number);
struct gpumon_budget_thread *gpumon_budget_thread(struct gpumon_budget *budget, uint32_t number,
						  uint32_t tid);

static inline struct gpumon_budget_process *gpumon_budget_process(struct gpumon_budget *budget,
								  uint32_t number)
{
	return number < budget->process_used ? &budget->processes[number] :
					       gpumon_budget_add_process(budget, number);
}

/* First pass: a time of a process, and any record. */
void gpumon_budget_time(struct gpumon_budget *budget, uint32_t number, uint64_t start_ns,
			uint64_t end_ns);
void gpumon_budget_look(struct gpumon_budget *budget, uint32_t number,
			const struct gpumon_record *record);
/* Between the passes. */
void gpumon_budget_turn(struct gpumon_budget *budget);
/* Second pass: any record of a process. Calls of a thread come in order. */
void gpumon_budget_add(struct gpumon_budget *budget, uint32_t number,
		       const struct gpumon_record *record);

/**
 * gpumon_budget_gap - a GPU was idle between two operations
 * @budget: budget
 * @gpu: number of the GPU
 * @start_ns: since then
 * @end_ns: until then
 * @origin: of the next operation, as of struct gpumon_interval
 */
void gpumon_budget_gap(struct gpumon_budget *budget, uint32_t gpu, uint64_t start_ns,
		       uint64_t end_ns, uint64_t origin);
/* A GPU was idle before its first operation, or after its last one. */
void gpumon_budget_idle_outside(struct gpumon_budget *budget, uint32_t gpu, uint64_t start_ns,
				uint64_t end_ns, bool after);
/* After the second pass. */
void gpumon_budget_end(struct gpumon_budget *budget);
/* Free all but the rows. */
void gpumon_budget_free_calls(struct gpumon_budget *budget);
void gpumon_budget_clear(struct gpumon_budget *budget);

#endif /* GPUMON_REPORT_BUDGET_ENGINE_H */
