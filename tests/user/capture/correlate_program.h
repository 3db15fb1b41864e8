/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A generated program with a known correct answer: the calls of its threads, their GPU operations,
 * which of them were recorded, and the order of the records.
 */
#ifndef GPUMON_TEST_CORRELATE_PROGRAM_H
#define GPUMON_TEST_CORRELATE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/correlate.h"

/* How often records are lost, in 1/1000. */
struct program_loss {
	unsigned int launches;
	unsigned int works;
	unsigned int nodes;
};

enum program_order {
	PROGRAM_IN_TIME,  /* as a recorder writes it: operations some hundred calls later */
	PROGRAM_SHUFFLED, /* any order between writers; each writer's own order is kept */
	PROGRAM_RANDOM,	  /* any order */
};

/**
 * struct program_options - options of the program
 * @threads: number of calling threads
 * @calls: calls per thread
 * @streams: streams per thread
 * @graphs: some launches are of graphs, some are captured, and operations have nodes
 * @first_id: correlation id of the first call
 * @stride: distance between ids of calls
 */
struct program_options {
	uint64_t seed;
	unsigned int threads;
	unsigned int calls;
	unsigned int streams;
	bool graphs;
	uint64_t first_id;
	uint32_t stride;
	struct program_loss loss;
	enum program_order order;
};

enum program_call_kind {
	PROGRAM_LAUNCH,
	PROGRAM_COPY,
	PROGRAM_SET,
	PROGRAM_GRAPH,
	PROGRAM_CAPTURED,
	PROGRAM_FAILED,
};

/**
 * struct program_call - a call of the API
 * @stack: the correct stack, different for each call
 * @works: its GPU operations
 * @has_record: its launch was recorded
 */
struct program_call {
	enum program_call_kind kind;
	unsigned int thread;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t id; /* before it was cut to 32 bits */
	uint32_t stack;
	unsigned int works;
	bool has_record;
};

/* An operation. Its number is in grid[0], or in bytes. */
struct program_work {
	unsigned int call;
	uint64_t node; /* 0: none */
	uint64_t start_ns;
	uint64_t duration_ns;
	bool recorded;
};

union program_record {
	struct gpumon_record head;
	struct gpumon_record_launch launch;
	struct gpumon_record_kernel kernel;
	struct gpumon_record_copy copy;
	struct gpumon_record_set set;
	struct gpumon_record_graph_node node;
};

/**
 * struct program - a generated program
 * @calls: of all threads, sorted by start
 * @works: in the order of their calls
 * @node_stack: by node from 1 on; stack numbers of nodes are above those of calls
 * @node_recorded: its records exist, including those of its originals
 * @records: the records in order
 */
struct program {
	struct program_options options;
	struct program_call *calls;
	unsigned int call_count;
	struct program_work *works;
	unsigned int work_count;
	uint32_t *node_stack;
	bool *node_recorded;
	unsigned int node_count;
	union program_record *records;
	unsigned int record_count;
	unsigned int launches_recorded;
	unsigned int works_recorded;
};

struct program *program_new(const struct program_options *options);
void program_free(struct program *program);

/* The number of an operation in the program. */
unsigned int program_work_number(const struct gpumon_work *work);

#endif /* GPUMON_TEST_CORRELATE_PROGRAM_H */
