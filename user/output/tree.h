/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Walking a profile's tree without recursion, and sums below its nodes. */
#ifndef GPUMON_OUTPUT_TREE_H
#define GPUMON_OUTPUT_TREE_H

#include "output.h"

/* The next node, parents first; NULL behind the last one below @root. */
static inline const struct gpumon_node *gpumon_tree_next(const struct gpumon_node *node,
							 const struct gpumon_node *root)
{
	if (node->child)
		return node->child;
	while (node != root && !node->next)
		node = node->parent;
	return node == root ? NULL : node->next;
}

/* What a node itself weighs. */
static inline uint64_t gpumon_tree_weight(const struct gpumon_node *node, enum gpumon_weight weight)
{
	switch (weight) {
	case GPUMON_WEIGHT_COUNT:
		return node->count;
	case GPUMON_WEIGHT_CPU_NS:
		return node->cpu_ns;
	case GPUMON_WEIGHT_UNTIMED:
		return node->gpu_ns || node->cpu_ns ? 0 : node->count;
	case GPUMON_WEIGHT_GPU_NS:
		break;
	}
	return node->gpu_ns;
}

/* Work and not a call path: what a time on the GPU is told of. */
static inline bool gpumon_tree_is_work(const struct gpumon_node *node)
{
	return node->kind == GPUMON_NODE_KERNEL || node->kind == GPUMON_NODE_COPY ||
	       node->kind == GPUMON_NODE_SET;
}

/* "libfoo.so+0x123": all that is known of the function is its place. */
bool gpumon_tree_unnamed(const struct gpumon_node *node);
/* "kernel", "python": the word for it in JSON and pictures. */
const char *gpumon_node_kind_name(enum gpumon_node_kind kind);
/* "gpu_ns" and so on. */
const char *gpumon_weight_key(enum gpumon_weight weight);
/* "ring of the injection library full" and so on; "cupti_dropped" for programs. */
const char *gpumon_loss_text(enum gpumon_loss cause);
const char *gpumon_loss_key(enum gpumon_loss cause);
/* What to do against it, "" if nothing is known. */
const char *gpumon_loss_advice(enum gpumon_loss cause);
const char *gpumon_match_text(enum gpumon_match match);
const char *gpumon_match_key(enum gpumon_match match);
const char *gpumon_launch_end_text(enum gpumon_launch_end end);
const char *gpumon_launch_end_key(enum gpumon_launch_end end);
const char *gpumon_work_kind_text(enum gpumon_work_kind kind);

/**
 * struct gpumon_missing - what is not in a profile, in all
 * @lost: records lost, by any cause
 * @unmatched: work without a call path for a reason other than CUDA's own
 * @unmatched_launches: launches that nothing came for
 * @cut_paths: call paths for which the tree has no room
 * @damaged: bytes or chunks that could not be read
 * @notes: that say why something is not recorded
 * @no_gpu: what the GPU did is not recorded, at least of one process
 * @cut_off: the capture was not ended
 * @work: GPU operations in all
 */
struct gpumon_missing {
	uint64_t lost;
	uint64_t unmatched;
	uint64_t unmatched_launches;
	uint64_t cut_paths;
	uint64_t damaged;
	unsigned int notes;
	bool no_gpu;
	bool cut_off;
	uint64_t work;
};

void gpumon_missing_of(const struct gpumon_view *view, struct gpumon_missing *missing);

/* "call paths beyond the limit of 1,048,576 nodes" */
const char *gpumon_cut_paths_text(char *buf, size_t len);

/* One line of it, "" where nothing is missing. */
const char *gpumon_missing_line(char *buf, size_t len, const struct gpumon_missing *missing);

#endif /* GPUMON_OUTPUT_TREE_H */
