/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the parts of the engine in correlate.h. Do not include it elsewhere. */
#ifndef GPUMON_CAPTURE_ENGINE_H
#define GPUMON_CAPTURE_ENGINE_H

#include "correlate.h"
#include "functions.h"
#include "lib/map.h"

/* --- launches and work, join.c */

/* State of a launch. */
#define LAUNCH_GONE    1u /* delivered, and its entry is free */
#define LAUNCH_PENDING 2u /* its stack depends on hits to come */
#define LAUNCH_UNSURE  4u /* the hits are ambiguous */

/**
 * struct launch - a launch that waits, or recently had operations
 * @serial: number in its process, may wrap around
 * @next: index + 1 of the previous launch with the same id
 * @last: number of the record of its last operation
 * @works: number of delivered operations
 * @turn: how often the ids had wrapped around
 * @flags: GPUMON_LAUNCH_*
 * @state: LAUNCH_*
 */
struct launch {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t serial;
	uint32_t next;
	uint32_t tid;
	uint32_t correlation;
	uint32_t stack;
	uint32_t function;
	uint32_t context;
	uint32_t graph;
	uint32_t name;
	int32_t result;
	uint32_t last;
	uint32_t works;
	uint32_t turn;
	uint16_t flags;
	uint16_t state;
};

/**
 * struct work - an operation that waits
 * @correlation: correlation id
 * @since: number of its record
 * @next: index + 1 of the next operation with the same id; the last one refers to the first
 * @kind: enum gpumon_work_kind
 * @gone: delivered, and its entry is free
 * @turn: turn of its id, according to the launches at its arrival; 0: there were none
 */
struct work {
	uint32_t correlation;
	uint32_t since;
	uint32_t next;
	uint8_t kind;
	uint8_t gone;
	uint16_t turn;
	union {
		struct gpumon_record head;
		struct gpumon_record_kernel kernel;
		struct gpumon_record_copy copy;
		struct gpumon_record_set set;
		struct gpumon_record_graph graph;
	};
};

/* Open addressing from a correlation id to the index of its last entry in an array. */
struct index {
	uint32_t *slots; /* index + 1 */
	uint32_t mask;
};

/* Both arrays are in the order of arrival. */
struct join {
	struct launch *launches;
	uint32_t launches_used;
	uint32_t launches_room;
	uint32_t launches_waiting;
	struct index launch_index;
	uint32_t next_serial;
	uint64_t newest_id; /* with the turn in the upper half; 0: none yet */
	uint32_t records;   /* launches and operations so far, may wrap around */
	struct work *works;
	uint32_t works_used;
	uint32_t works_room;
	uint32_t works_waiting;
	uint32_t works_sweep; /* record number at which to look for old ones */
	struct index work_index;
	uint32_t new_nodes; /* since the last search for operations that wait for them */
};

/* --- graph nodes, nodes.c */

struct node {
	uint64_t node;
	uint64_t original;
	uint32_t stack;
	uint32_t graph;
};

struct nodes {
	struct gpumon_map by_id; /* index + 1 */
	struct node *nodes;
	uint32_t used;
	uint32_t room;
};

/*
 * Maximum number of known graph nodes per process. Beyond it, operations have the launch's stack.
 */
#define NODES_MAX (1u << 22)

int gpumon_nodes_add(struct nodes *nodes, const struct gpumon_record_graph_node *record);
/*
 * False if its record, or that of the node it was cloned from, is missing. @stack 0: it has none.
 */
bool gpumon_nodes_stack(const struct nodes *nodes, uint64_t node, uint32_t *stack);
void gpumon_nodes_clear(struct nodes *nodes);

/* --- uprobe hits, hits.c */

/* A launch that waits for its hit. @serial finds it in struct join. */
struct call {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t serial;
	uint32_t function;
	uint32_t has_stack;
	uint32_t reserved;
};

/* Arrays with a moving beginning. */
struct hit_queue {
	struct gpumon_record_hit *at;
	uint32_t first;
	uint32_t used; /* after @first */
	uint32_t room;
};

struct call_queue {
	struct call *at;
	uint32_t first;
	uint32_t used;
	uint32_t room;
};

/**
 * struct hit_thread - unjoined hits and launches of a thread
 * @tid: thread
 * @any: a hit was decided, and the next fields describe the last one
 * @last_number: its number
 * @done_until: launches that began before this time are decided
 * @newest_start: latest start of its launches
 * @call_start: start of the last call with a stack: hits within it are nested calls
 * @call_end: end of that call
 */
struct hit_thread {
	uint32_t tid;
	bool any;
	uint64_t last_number;
	uint64_t done_until;
	uint64_t newest_start;
	uint64_t call_start;
	uint64_t call_end;
	struct hit_queue hits;
	struct call_queue calls;
};

struct hits {
	struct gpumon_map by_tid; /* index + 1 */
	struct hit_thread *threads;
	uint32_t used;
	uint32_t room;
	uint32_t queued;	/* hits that wait */
	uint32_t calls;		/* launches that wait */
	bool lost;		/* some were lost: the last one of a thread is not conclusive */
	struct gpumon_map text; /* string id to function number + 2; 1: not a function */
};

/* --- all of it */

/* What of a process belongs to one API: correlation ids are its own. */
struct process {
	uint32_t number;
	uint32_t api;
	bool no_hits;  /* no hits will come */
	bool no_nodes; /* no nodes will come */
	struct join join;
	struct nodes nodes;
	struct hits hits;
};

struct gpumon_correlate {
	struct gpumon_correlate_output output;
	struct gpumon_correlate_counts counts;
	struct gpumon_functions functions;
	struct process **processes;
	uint32_t room;
	uint32_t count; /* number of processes */
	struct process *last;
};

/* The share of a process in the total limit. */
static inline uint32_t gpumon_correlate_share(const struct gpumon_correlate *correlate,
					      uint32_t total)
{
	uint32_t share = total / (correlate->count ? correlate->count : 1);

	return share > 4096 ? share : 4096;
}

static inline void gpumon_correlate_wait(struct gpumon_correlate *correlate)
{
	if (++correlate->counts.in_flight > correlate->counts.in_flight_max)
		correlate->counts.in_flight_max = correlate->counts.in_flight;
}

int gpumon_join_launch(struct gpumon_correlate *correlate, struct process *process,
		       const struct gpumon_record_launch *launch);
int gpumon_join_work(struct gpumon_correlate *correlate, struct process *process,
		     enum gpumon_work_kind kind, const struct gpumon_record *record);
/* A graph node is now known that operations may be waiting for. */
void gpumon_join_node(struct gpumon_correlate *correlate, struct process *process);
/* Set the stack of a launch according to the hits, or 0; @unsure if they are ambiguous. */
void gpumon_join_resolve(struct gpumon_correlate *correlate, struct process *process,
			 uint32_t serial, uint32_t stack, bool unsure);
void gpumon_join_finish(struct gpumon_correlate *correlate, struct process *process);

int gpumon_hits_launch(struct gpumon_correlate *correlate, struct process *process,
		       const struct launch *launch);
int gpumon_hits_hit(struct gpumon_correlate *correlate, struct process *process,
		    const struct gpumon_record_hit *hit);
int gpumon_hits_string(struct gpumon_correlate *correlate, struct process *process,
		       const struct gpumon_record_string *string);
void gpumon_hits_finish(struct gpumon_correlate *correlate, struct process *process);
void gpumon_hits_clear(struct process *process);

#endif /* GPUMON_CAPTURE_ENGINE_H */
