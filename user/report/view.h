/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What outputs of a view share: its tree without recursion, sums, names, and what is missing. */
#ifndef GPUMON_REPORT_VIEW_H
#define GPUMON_REPORT_VIEW_H

#include "capture/findings.h"
#include "lib/text.h"
#include "output.h"

/* --- the tree */

/* The next node, parents first. NULL after the last one below @root. */
static inline const struct gpumon_node *gpumon_tree_next(const struct gpumon_node *node,
							 const struct gpumon_node *root)
{
	if (node->child)
		return node->child;
	while (node != root && !node->next)
		node = node->parent;
	return node == root ? NULL : node->next;
}

/* The own weight of a node, with the estimate of what was left out. */
static inline uint64_t gpumon_tree_weight(const struct gpumon_node *node, enum gpumon_weight weight)
{
	switch (weight) {
	case GPUMON_WEIGHT_COUNT:
		return gpumon_add_saturated(node->count, node->left_count);
	case GPUMON_WEIGHT_CPU_NS:
		return node->cpu_ns;
	case GPUMON_WEIGHT_UNTIMED:
		return node->gpu_ns || node->cpu_ns || node->left_ns ? 0 : node->count;
	case GPUMON_WEIGHT_WALL_NS:
		return gpumon_add_saturated(node->wall_ns, node->wall_left_ns);
	case GPUMON_WEIGHT_IDLE_NS:
		return node->idle_ns;
	case GPUMON_WEIGHT_GPU_NS:
		break;
	}
	return gpumon_add_saturated(node->gpu_ns, node->left_ns);
}

/* The sum over all nodes. */
uint64_t gpumon_tree_sum(const struct gpumon_node *root, enum gpumon_weight weight);

/* Whether its weight is partly an estimate. */
static inline bool gpumon_tree_is_estimate(const struct gpumon_node *node)
{
	return node->left_count || node->left_ns || node->wall_left_ns;
}

/* Whether this weight is. */
static inline bool gpumon_tree_is_scaled(const struct gpumon_node *node, enum gpumon_weight weight)
{
	return weight == GPUMON_WEIGHT_WALL_NS ? node->wall_left_ns != 0 :
	       weight == GPUMON_WEIGHT_IDLE_NS ? false :
						 node->left_count || node->left_ns;
}

/* "libfoo.so+0x123": only the address of the function is known. */
bool gpumon_tree_unnamed(const struct gpumon_node *node);
/* "kernel", "python": its name in JSON and pictures. */
const char *gpumon_node_kind_name(enum gpumon_node_kind kind);
/* "gpu_ns" and so on. */
const char *gpumon_weight_key(enum gpumon_weight weight);
/* "api_dropped" and so on. */
const char *gpumon_loss_key(enum gpumon_loss cause);
const char *gpumon_match_key(enum gpumon_match match);
const char *gpumon_untimed_key(enum gpumon_untimed why);
const char *gpumon_untimed_text(enum gpumon_untimed why);
const char *gpumon_launch_end_key(enum gpumon_launch_end end);
const char *gpumon_work_kind_text(enum gpumon_work_kind kind);

/* --- what is missing */

/**
 * struct gpumon_missing - everything that a profile lacks
 * @lost: records lost for any cause
 * @unmatched: operations without a call path, except CUDA's own
 * @unmatched_launches: launches without GPU operations
 * @cut_paths: call paths that did not fit the tree
 * @cut_stacks: operations, or calls, whose path lacks the outermost callers
 * @forgotten: idle times of GPUs whose launch is no longer kept
 * @damaged: bytes or chunks that could not be read
 * @notes: number of notes that say why something is not recorded
 * @no_gpu: for at least one process, the GPU is not recorded
 * @cut_off: the capture was not closed
 * @nothing: if there is no launch and no operation, the likeliest reason; otherwise NULL
 * @work: total number of GPU operations
 */
struct gpumon_missing {
	uint64_t lost;
	uint64_t unmatched;
	uint64_t untimed;
	uint64_t unmatched_launches;
	uint64_t cut_paths;
	uint64_t cut_stacks;
	uint64_t forgotten;
	uint64_t damaged;
	unsigned int notes;
	bool no_gpu;
	bool cut_off;
	const char *nothing;
	uint64_t work;
};

/*
 * Records lost for a cause. Losses that could not be written at the end are only counted in capture.json.
 */
uint64_t gpumon_view_lost(const struct gpumon_view *view, enum gpumon_loss cause);

void gpumon_missing_of(const struct gpumon_view *view, struct gpumon_missing *missing);

/* A summary in one line, "" if nothing is missing. */
const char *gpumon_missing_line(char *buf, size_t len, const struct gpumon_missing *missing);

/**
 * struct gpumon_cause - a line of the list of what is missing, and of what explains other numbers
 * @count: how many; never 0
 * @of: GPU operations in all, if the cause is one of how they got their call path; otherwise 0
 * @what: what happened to them
 * @advice: what to do, or ""
 * @bad: it is missing, in place of being explained
 * @whole: nothing is missing, these have their call path
 */
struct gpumon_cause {
	uint64_t count;
	uint64_t of;
	const char *what;
	const char *advice;
	bool bad;
	bool whole;
};

/* Call @tell with each of them. */
void gpumon_missing_causes(const struct gpumon_view *view,
			   void (*tell)(void *data, const struct gpumon_cause *cause), void *data);

/* --- texts */

/**
 * struct gpumon_view_totals - sums over a view's tree
 * @count: GPU operations, or launches (of uprobes calls) if the tree has no GPU time
 * @untimed: launches of @count without a known duration
 * @left_count: estimate of those of @count that were not recorded
 * @left_ns: of @gpu_ns, as @left_count
 * @work_ns: GPU time in the table by kernel, which a tree of the CPU side lacks
 * @wall_ns: from the first beginning to the last end of all activity
 */
struct gpumon_view_totals {
	uint64_t gpu_ns;
	uint64_t cpu_ns;
	uint64_t count;
	uint64_t untimed;
	uint64_t left_count;
	uint64_t left_ns;
	uint64_t work_ns;
	uint64_t wall_ns;
};

void gpumon_view_totals(const struct gpumon_view *view, struct gpumon_view_totals *totals);

/* The recorded command, "" if unknown. */
const char *gpumon_view_command(const struct gpumon_view *view);

/* A process by its number, NULL if unknown. */
const struct gpumon_scan_process *gpumon_view_process(const struct gpumon_view *view,
						      uint32_t number);
/* Its pid, 0 if unknown. */
uint32_t gpumon_view_pid(const struct gpumon_view *view, uint32_t process);

/* What is estimated, and from how many samples; "" if nothing is. */
const char *gpumon_view_sampling(char *buf, size_t len, const struct gpumon_view *view);

/* What is said where nothing is missing. */
const char *gpumon_view_complete(const struct gpumon_view *view);

/* Whether operations were recorded in windows only. */
static inline bool gpumon_view_has_windows(const struct gpumon_view *view)
{
	return view->sampling && view->sampling->windows;
}

/* Whether the calls are those that uprobes saw: also such as only wait, which launch nothing. */
static inline bool gpumon_view_has_hits(const struct gpumon_view *view)
{
	return view->hits;
}

/* The time of which a device or stream was busy: that of its windows, if it has some. */
static inline uint64_t gpumon_view_elapsed(const struct gpumon_device_row *row,
					   const struct gpumon_view_totals *totals)
{
	return row->elapsed_ns ? row->elapsed_ns : totals->wall_ns;
}

/* Whether a row is that of a GPU, not of one of several users or of a stream. */
static inline bool gpumon_view_is_gpu(const struct gpumon_device_row *row)
{
	return row->stream == ~0u && !row->part;
}

/* "GPU0", or with a part of its UUID where another GPU has that number in its process. */
const char *gpumon_view_gpu(char text[GPUMON_DEVICE_TEXT], const struct gpumon_device_row *row);
/* The same for the GPU that idled. */
const char *gpumon_view_gap(char text[GPUMON_DEVICE_TEXT], const struct gpumon_view *view,
			    const struct gpumon_gap *gap);

/* What it is to one of several users: "" or, if it has another number there, "GPU1". */
const char *gpumon_view_part(char text[GPUMON_DEVICE_TEXT], const struct gpumon_view *view,
			     const struct gpumon_device_row *row);

/* The name of findings: their tool, and of several captures the number. */
const char *gpumon_view_findings_name(char *buf, size_t len, const struct gpumon_view *view,
				      unsigned int number);

/*
 * What programs in kernels have found out of each kernel. Of several captures nothing: their kernels are
 * one row. Returns how many.
 */
unsigned int gpumon_view_figures(const struct gpumon_view *view,
				 struct gpumon_figure figures[GPUMON_FIGURES]);

/* "python3 4711", with its process and host where there are several. */
const char *gpumon_view_thread(char *buf, size_t len, const struct gpumon_view *view,
			       const struct gpumon_budget_row *row);

/* What is to be known of the budget of wall time, in sentences; "" if nothing is. */
const char *gpumon_view_budget_note(char *buf, size_t len, const struct gpumon_view *view);

/* The time in which a GPU is in use: from its first to its last operation, without start-up; 0 if unknown. */
uint64_t gpumon_view_in_use(const struct gpumon_view *view, const struct gpumon_device_row *row);

/* Beginning of the recording, from which times are counted. */
static inline uint64_t gpumon_view_began(const struct gpumon_view *view)
{
	return view->range ? view->range->began_ns : view->first_ns;
}

/*
 * "only 125ms to 174ms of 275ms: range step:3", and what is of all the recording nevertheless; "" if all is shown.
 */
const char *gpumon_view_range(char *buf, size_t len, const struct gpumon_view *view);

/* The title of a flame graph, NULL for the one that is usual for this weight. */
static inline const char *gpumon_view_title(const struct gpumon_view *view,
					    enum gpumon_weight weight)
{
	return weight == GPUMON_WEIGHT_CPU_NS && gpumon_view_has_hits(view) ?
		       "Time in blocking calls by call path" :
		       NULL;
}

/* What ran where, for how long, and its GPU time. */
const char *gpumon_view_subtitle(char *buf, size_t len, const struct gpumon_view *view);

#endif /* GPUMON_REPORT_VIEW_H */
