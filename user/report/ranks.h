/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The ranks of a job in outputs: what their collectives took, and what the last one did instead. */
#ifndef GPUMON_REPORT_RANKS_H
#define GPUMON_REPORT_RANKS_H

#include "lib/json.h"
#include "output.h"

#define GPUMON_RANKS_MEANWHILE 3

/**
 * struct gpumon_rank_paths - what a rank did longer than others, while they waited for it
 * @at: nodes with the most time, the longest first
 * @count: number of them
 * @all_ns: of all nodes, and what its GPU ran longer
 */
struct gpumon_rank_paths {
	const struct gpumon_node *at[GPUMON_RANKS_MEANWHILE];
	unsigned int count;
	uint64_t all_ns;
};

/* The rank that others waited for most; NULL if they waited for none. */
const struct gpumon_rank_row *gpumon_ranks_last(const struct gpumon_view *view);
/* What this rank did longer than those that began first. */
void gpumon_ranks_meanwhile(const struct gpumon_view *view, const struct gpumon_rank_row *row,
			    struct gpumon_rank_paths *paths);
/* "step › load_batch › [sleep] 93 %, ...", to be freed; "" if it is not known. */
char *gpumon_ranks_meanwhile_text(const struct gpumon_view *view,
				  const struct gpumon_rank_row *row);

/*
 * "of which waiting for other ranks 1.46s": of the time of a collective's kernels. "" for other
 * kernels.
 */
const char *gpumon_ranks_of_kernel(char *buf, size_t len, const struct gpumon_kernel_row *row);
const char *gpumon_ranks_of_node(char *buf, size_t len, const struct gpumon_view *view,
				 const struct gpumon_node *node);
/* The same of the busy time of a GPU that has ranks, "" for other rows. */
const char *gpumon_ranks_of_device(char *buf, size_t len, const struct gpumon_view *view,
				   const struct gpumon_device_row *row);

/* Whether any collective is matched with those of other ranks. */
bool gpumon_ranks_matched(const struct gpumon_view *view);
/* "8 of 10": of a row. */
const char *gpumon_ranks_matched_text(char *buf, size_t len, const struct gpumon_rank_row *row);
/* "pid 12 on here, GPU0": of a row. */
const char *gpumon_ranks_process(char *buf, size_t len, const struct gpumon_view *view,
				 const struct gpumon_rank_row *row);
/* What stands below the table: who was last and why, clocks, what is not matched. */
typedef void gpumon_ranks_tell(void *data, const char *sentence);
void gpumon_ranks_sentences(const struct gpumon_view *view, gpumon_ranks_tell *tell, void *data);

/* The table, nothing if there are no collectives. 0, or -1 if it failed. */
int gpumon_ranks_print(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view);
/* An array of the ranks. */
struct json_object *gpumon_ranks_json(const struct gpumon_view *view);

#endif /* GPUMON_REPORT_RANKS_H */
