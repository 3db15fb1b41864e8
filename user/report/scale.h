/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Estimates of what was not recorded, from what was.
 *
 * Operations outside of windows: launches that do the same form a group, those of one graph, or of
 * one stack and API function. Of some, operations were recorded; others were left out. Each part of a
 * group (its operations with one name on one path) has a sum of what was recorded. In the end it is
 * multiplied by the number of launches left out for each recorded one, so that all operations with
 * one name have the same estimate however many paths they are on.
 *
 * Call paths that were not sampled: all operations of a process with one name form a group. What has
 * no path is given to the sampled paths, in proportion to what these have.
 */
#ifndef GPUMON_REPORT_SCALE_H
#define GPUMON_REPORT_SCALE_H

#include "lib/map.h"
#include "profile.h"

enum gpumon_scale_kind {
	GPUMON_SCALE_WORK,   /* operations: their leaf of the tree and row of the table by kernel */
	GPUMON_SCALE_CALL,   /* launches left out: the node of their call */
	GPUMON_SCALE_RANGES, /* likewise: the path of open NVTX ranges */
};

/**
 * struct gpumon_scale_group - launches that do the same
 * @recorded: number of launches with operations
 * @left: number of launches left out
 * @count: number of recorded operations
 * @ns: GPU time of these
 */
struct gpumon_scale_group {
	uint64_t recorded;
	uint64_t left;
	uint64_t count;
	uint64_t ns;
};

/**
 * struct gpumon_scale_stacks - operations with one name
 * @count: number of those with a sampled path
 * @ns: GPU time of these
 * @left_count: number of those without, with the estimate of what is not recorded
 * @left_ns: GPU time of these
 * @done: part of @count that got its share
 * @done_ns: part of @ns, likewise
 */
struct gpumon_scale_stacks {
	uint64_t count;
	uint64_t ns;
	uint64_t left_count;
	uint64_t left_ns;
	uint64_t done;
	uint64_t done_ns;
};

/**
 * struct gpumon_scale_part - a part of a group
 * @group: GPUMON_KEY_NONE if operations are recorded all the time
 * @stacks: GPUMON_KEY_NONE if the path is known in any case
 * @unsampled: it is not
 * @node: may be NULL
 * @number: of the row, or of the path
 * @count: number of operations or of launches left out
 * @ns: GPU time of operations
 * @left_count: estimate of operations that are not recorded, in the end
 * @left_ns: GPU time of these
 */
struct gpumon_scale_part {
	uint32_t group;
	uint32_t stacks;
	bool unsampled;
	enum gpumon_scale_kind kind;
	struct gpumon_node *node;
	uint32_t number;
	uint64_t count;
	uint64_t ns;
	uint64_t left_count;
	uint64_t left_ns;
};

/* What was multiplied of the operations of a group with one name. */
struct gpumon_scale_sum {
	uint64_t count;
	uint64_t ns;
};

/* A zeroed one is empty. */
struct gpumon_scale {
	struct gpumon_keys group_keys;
	struct gpumon_scale_group *groups;
	uint32_t groups_room;
	struct gpumon_keys stacks_keys;
	struct gpumon_scale_stacks *stacks;
	uint32_t stacks_room;
	struct gpumon_keys part_keys;
	struct gpumon_scale_part *parts;
	uint32_t parts_room;
	struct gpumon_keys sum_keys; /* group and row */
	struct gpumon_scale_sum *sums;
	uint32_t sums_room;
};

/**
 * struct gpumon_scale_place - where an operation is entered
 * @windows: the operations of its process are recorded in windows
 * @stacks: its call paths are sampled
 * @sample: it is not shown, and only says what similar launches did
 * @leaf: leaf of the tree, may be NULL
 * @row: row of the table by kernel
 */
struct gpumon_scale_place {
	bool windows;
	bool stacks;
	bool sample;
	struct gpumon_node *leaf;
	uint32_t row;
};

/* An operation. */
void gpumon_scale_work(struct gpumon_scale *scale, const struct gpumon_work *work,
		       const struct gpumon_scale_place *place, uint64_t gpu_ns);
/* A launch that was left out, with the node of its call (may be NULL) and its open ranges. */
void gpumon_scale_launch(struct gpumon_scale *scale, uint32_t process,
			 const struct gpumon_record_launch *launch, struct gpumon_node *call,
			 uint32_t ranges);
void gpumon_scale_clear(struct gpumon_scale *scale);

#endif /* GPUMON_REPORT_SCALE_H */
