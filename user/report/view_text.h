/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Texts about a view that several outputs share. */
#ifndef GPUMON_REPORT_VIEW_TEXT_H
#define GPUMON_REPORT_VIEW_TEXT_H

#include "output.h"
#include "lib/figure.h"

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

/* The pid of a process by its number, 0 if unknown. */
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

/* Which of the sheets it is: its tool, and of several captures the number. */
const char *gpumon_view_sheet(char *buf, size_t len, const struct gpumon_view *view,
			      unsigned int sheet);

/*
 * What programs in kernels have found out of each kernel. Of several captures nothing: their kernels are
 * one row. Returns how many.
 */
unsigned int gpumon_view_figures(const struct gpumon_view *view,
				 struct gpumon_sheet_figure figures[GPUMON_SHEET_FIGURES]);

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

#endif /* GPUMON_REPORT_VIEW_TEXT_H */
