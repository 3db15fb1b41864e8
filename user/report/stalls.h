/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Samples of the program counter: why the warps of each kernel waited, and at which line or instruction.
 * Samples belong to a kernel, not to a launch.
 */
#ifndef GPUMON_REPORT_STALLS_H
#define GPUMON_REPORT_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/format.h"

struct gpumon_captures;
struct gpumon_node;
struct gpumon_pool;

/* With fewer samples of a kernel nothing is concluded. */
#define GPUMON_STALLS_FEW 100

/**
 * struct gpumon_stall_sum - samples of a reason
 * @reason: name without CUPTI's prefix
 * @samples: all of them
 * @not_issued: those of @samples in which the scheduler issued no instruction of any warp
 */
struct gpumon_stall_sum {
	const char *reason;
	uint64_t samples;
	uint64_t not_issued;
};

/**
 * struct gpumon_stall_place - a line of source, or an instruction of which no line is known
 * @file: path of the source; NULL: an instruction
 * @line: line in it
 * @module: of an instruction: CUPTI's CRC of the cubin
 * @offset: of an instruction: bytes from the begin of the function
 * @samples: all samples here
 * @reasons: these by reason, the most first
 */
struct gpumon_stall_place {
	const char *file;
	uint32_t line;
	uint64_t module;
	uint32_t offset;
	uint64_t samples;
	const struct gpumon_stall_sum *reasons;
	unsigned int reason_count;
};

/**
 * struct gpumon_stall_launch - how a kernel was launched
 * @compute_major: compute capability of the device, 0 if unknown
 * @count: launches like this
 * @gpu_ns: their time
 */
struct gpumon_stall_launch {
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t registers;
	uint32_t static_shared_bytes;
	uint32_t dynamic_shared_bytes;
	uint32_t local_bytes;
	uint16_t compute_major;
	uint16_t compute_minor;
	uint64_t count;
	uint64_t gpu_ns;
};

/**
 * struct gpumon_stall_row - a kernel with samples
 * @name: demangled name
 * @mangled: name in the capture
 * @samples: all samples of it
 * @without_line: those of them at instructions of which no line is known
 * @reasons: @samples by reason, the most first
 * @places: @samples by line or instruction, the most first
 * @launch: the way of launching it with the most time, if @launch_count
 * @launch_count: how many different ways there are
 */
struct gpumon_stall_row {
	const char *name;
	const char *mangled;
	uint64_t samples;
	uint64_t without_line;
	const struct gpumon_stall_sum *reasons;
	unsigned int reason_count;
	const struct gpumon_stall_place *places;
	unsigned int place_count;
	struct gpumon_stall_launch launch;
	unsigned int launch_count;
};

/**
 * struct gpumon_stalls - all of them
 * @rows: kernels, those with the most samples first
 * @samples: samples of @rows
 * @without_line: those of them without a line
 * @counted: all samples as CUPTI counts them, with the next two, if @totals_known
 * @dropped: by the hardware
 * @other: of kernels that are not the program's
 * @period_least: each multiprocessor takes a sample every 2^n cycles; of several contexts the least
 * @period_most: the most
 */
struct gpumon_stalls {
	const struct gpumon_stall_row *rows;
	unsigned int row_count;
	uint64_t samples;
	uint64_t without_line;
	bool totals_known;
	uint64_t counted;
	uint64_t dropped;
	uint64_t other;
	uint32_t period_least;
	uint32_t period_most;
};

/**
 * struct gpumon_node_stalls - samples of the kernel of a node, if it has only one call path
 * @samples: sum of @sums
 * @sums: by reason, the most first
 */
struct gpumon_node_stalls {
	uint64_t samples;
	const struct gpumon_stall_sum *sums;
	unsigned int count;
};

/* The part of @whole that the samples of reason @number stand for. All parts together are @whole. */
uint64_t gpumon_stall_part(const struct gpumon_node_stalls *stalls, unsigned int number,
			   uint64_t whole);

/* The most frequent reason that is a stall; NULL without one, or if there are too few samples. */
const struct gpumon_stall_sum *gpumon_stall_first(const struct gpumon_stall_row *row);

/* Counted samples that are in no record: records were lost. */
uint64_t gpumon_stalls_unreported(const struct gpumon_stalls *stalls);

/* --- reading */

struct gpumon_stalls_reader;

/* @pool: for everything that stays */
struct gpumon_stalls_reader *gpumon_stalls_begin(const struct gpumon_captures *captures,
						 struct gpumon_pool *pool);
/* Each record of the first pass: which kernels have samples. */
void gpumon_stalls_look(struct gpumon_stalls_reader *reader, uint32_t process,
			const struct gpumon_record *record);
/* Definitions are known, and which part of the time is shown; 0: no limit. */
void gpumon_stalls_turn(struct gpumon_stalls_reader *reader, uint64_t from_ns, uint64_t until_ns);
/* Each record of the second pass. */
void gpumon_stalls_add(struct gpumon_stalls_reader *reader, uint32_t process,
		       const struct gpumon_record *record);
/* A kernel that is shown. @mangled: from the pool */
void gpumon_stalls_kernel(struct gpumon_stalls_reader *reader, uint32_t process,
			  const struct gpumon_record_kernel *kernel, const char *mangled,
			  uint64_t gpu_ns);
/*
 * Everything was read: sort it, and give the nodes of kernels with one call path their samples. NULL if
 * nothing was sampled.
 */
const struct gpumon_stalls *gpumon_stalls_end(struct gpumon_stalls_reader *reader,
					      struct gpumon_node *root);
void gpumon_stalls_reader_free(struct gpumon_stalls_reader *reader);

#endif /* GPUMON_REPORT_STALLS_H */
