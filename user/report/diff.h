/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Compares two profiles: by kernel, and as one tree with the paths of both. */
#ifndef GPUMON_REPORT_DIFF_H
#define GPUMON_REPORT_DIFF_H

#include "output.h"

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
 * @line_before: its line in the tree before, "" if unknown or if it is not there
 * @before: of the node itself, without its children
 * @after: as @before
 * @parent: index of its parent, which comes before it; ~0 for the root
 */
struct gpumon_diff_node {
	const struct gpumon_node *of;
	const char *line_before;
	struct gpumon_diff_side before;
	struct gpumon_diff_side after;
	size_t parent;
};

/**
 * struct gpumon_diff - the comparison
 * @kernels: the greatest change first
 * @nodes: parents first
 * @moved: number of @nodes whose lines differ: the code moved between the two
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
	size_t moved;
};

/* A line of a function in both profiles: indices of its nodes. */
struct gpumon_line_pair {
	size_t before;
	size_t after;
};

/* In rising order on both sides. */
struct gpumon_line_pairs {
	struct gpumon_line_pair *at;
	size_t n;
};

/**
 * gpumon_diff_pair_lines - find the lines of a function in another version of it
 * @before: nodes of one function below one caller, by line
 * @before_n: number of @before
 * @after: the same of the other profile
 * @after_n: number of @after
 * @pairs: out; the caller frees @pairs->at
 *
 * If all lines are the same, they are the pairs. Otherwise code was edited: calls keep their order,
 * and a pair calls the same function. Of all ways to pair as many as possible, that one is taken in
 * which most lines moved by the most common distance.
 *
 */
void gpumon_diff_pair_lines(const struct gpumon_node *const *before, size_t before_n,
			    const struct gpumon_node *const *after, size_t after_n,
			    struct gpumon_line_pairs *pairs);

/* The signed difference, limited to the range of the type. */
int64_t gpumon_diff_change(uint64_t before, uint64_t after);
/* The absolute difference, for sorting. */
static inline uint64_t gpumon_diff_size(const struct gpumon_diff_side *before,
					const struct gpumon_diff_side *after)
{
	return after->ns > before->ns ? after->ns - before->ns : before->ns - after->ns;
}

#endif /* GPUMON_REPORT_DIFF_H */
