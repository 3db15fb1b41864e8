/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Compares two profiles: by kernel, and as one tree with the paths of both. */
#ifndef GPUMON_OUTPUT_PROFILE_DIFF_H
#define GPUMON_OUTPUT_PROFILE_DIFF_H

#include "output/output.h"

/* One side of a comparison. */
struct gpumon_diff_side {
	bool there;
	uint64_t count;
	uint64_t ns;	     /* GPU time; in profiles of the CPU side, time in launch calls */
	uint64_t left_count; /* what of @count is estimated */
	uint64_t left_ns;
};

struct gpumon_diff_kernel {
	const char *name;
	enum gpumon_work_kind kind;
	struct gpumon_diff_side before;
	struct gpumon_diff_side after;
};

/**
 * struct gpumon_diff_node - a path, in one tree or in both
 * @of: the node in the tree after, otherwise in the tree before
 * @before: of the node itself, without its children
 * @after: as @before
 * @parent: index of its parent, which comes before it; ~0 for the root
 */
struct gpumon_diff_node {
	const struct gpumon_node *of;
	struct gpumon_diff_side before;
	struct gpumon_diff_side after;
	size_t parent;
};

/**
 * struct gpumon_diff - the comparison
 * @kernels: the greatest change first
 * @nodes: parents first
 * @weight: meaning of the times
 */
struct gpumon_diff {
	const struct gpumon_view *before;
	const struct gpumon_view *after;
	enum gpumon_weight weight;
	struct gpumon_diff_kernel *kernels;
	size_t kernel_count;
	struct gpumon_diff_node *nodes;
	size_t node_count;
};

/* The signed difference, limited to the range of the type. */
int64_t gpumon_diff_change(uint64_t before, uint64_t after);
/* The absolute difference, for sorting. */
static inline uint64_t gpumon_diff_size(const struct gpumon_diff_side *before,
					const struct gpumon_diff_side *after)
{
	return after->ns > before->ns ? after->ns - before->ns : before->ns - after->ns;
}

#endif /* GPUMON_OUTPUT_PROFILE_DIFF_H */
