/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Two profiles side by side: by kernel, and as one tree of the paths of both. */
#ifndef GPUMON_OUTPUT_PROFILE_DIFF_H
#define GPUMON_OUTPUT_PROFILE_DIFF_H

#include "output/output.h"

/* One side of something. */
struct gpumon_diff_side {
	bool there;
	uint64_t count;
	uint64_t ns; /* GPU time, of profiles of the CPU side time in launch calls */
};

struct gpumon_diff_kernel {
	const char *name;
	enum gpumon_work_kind kind;
	struct gpumon_diff_side before;
	struct gpumon_diff_side after;
};

/**
 * struct gpumon_diff_node - a path, in one tree or in both
 * @of: it, in the tree after or else before
 * @before: of its own, not of what is below
 * @after: as @before
 * @parent: number of its parent in the array, which is before it; ~0 of the root
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
 * @weight: what times are
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

/* Signed, at the ends of what fits. */
int64_t gpumon_diff_change(uint64_t before, uint64_t after);
/* Without a sign, for sorting. */
static inline uint64_t gpumon_diff_size(const struct gpumon_diff_side *before,
					const struct gpumon_diff_side *after)
{
	return after->ns > before->ns ? after->ns - before->ns : before->ns - after->ns;
}

#endif /* GPUMON_OUTPUT_PROFILE_DIFF_H */
