/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Estimates of GPU operations that were not recorded, from those that were.
 *
 * Launches that do the same form a group: those of one graph, or of one stack and API function. Of
 * some, operations were recorded; others were left out. Each part of a group (its operations with
 * one name on one path) has a sum of what was recorded. In the end it is multiplied by the number of
 * launches left out for each recorded one.
 */
#ifndef GPUMON_CORRELATE_SCALE_H
#define GPUMON_CORRELATE_SCALE_H

#include "base/pool.h"
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
 * struct gpumon_scale_part - a part of a group
 * @node: may be NULL
 * @number: of the row, or of the path
 * @count: number of operations or of launches left out
 * @ns: GPU time of operations
 */
struct gpumon_scale_part {
	uint32_t group;
	enum gpumon_scale_kind kind;
	struct gpumon_node *node;
	uint32_t number;
	uint64_t count;
	uint64_t ns;
};

/* A zeroed one is empty. */
struct gpumon_scale {
	struct gpumon_keys group_keys;
	struct gpumon_scale_group *groups;
	uint32_t groups_used;
	uint32_t groups_room;
	struct gpumon_keys part_keys;
	struct gpumon_scale_part *parts;
	uint32_t parts_used;
	uint32_t parts_room;
};

/* An operation, with its leaf of the tree (may be NULL) and its row. 0, or -1 without memory. */
int gpumon_scale_work(struct gpumon_scale *scale, const struct gpumon_work *work,
		      struct gpumon_node *leaf, uint32_t row, uint64_t gpu_ns);
/* A launch that was left out, with the node of its call (may be NULL) and its open ranges. */
int gpumon_scale_launch(struct gpumon_scale *scale, uint32_t process,
			const struct gpumon_record_launch *launch, struct gpumon_node *call,
			uint32_t ranges);
void gpumon_scale_clear(struct gpumon_scale *scale);

#endif /* GPUMON_CORRELATE_SCALE_H */
