/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Parts of the HTML report. */
#ifndef GPUMON_REPORT_REPORT_H
#define GPUMON_REPORT_REPORT_H

#include "lib/map.h"
#include "output.h"
#include "flamegraph.h"
#include "report_names.h"

/* Begin a section with an id for links and a title. End it with gpumon_report_end(). */
void gpumon_report_section(FILE *out, const char *id, const char *title, const char *what);
void gpumon_report_end(FILE *out);
/* "12.3%" or "<0.01%", escaped for HTML. */
void gpumon_report_percent(FILE *out, uint64_t part, uint64_t whole);

/* Maximum number of rows of a table, and of notes, in a page. */
#define GPUMON_REPORT_ROWS  1000
#define GPUMON_REPORT_NOTES 100
/* Bytes of the page for the heaviest call paths, and for others: those of kernels, of wall time, of idle time. */
#define GPUMON_REPORT_PATHS	 200000
#define GPUMON_REPORT_PATHS_MORE 80000
/* For the table by kernel. */
#define GPUMON_REPORT_KERNELS 150000
/* For what samples say of kernels. */
#define GPUMON_REPORT_STALLS 120000
/* Maximum number of frames of a flame graph. */
#define GPUMON_REPORT_FRAMES 2000

/* "and 12 more streams", if there are more than were shown. */
void gpumon_report_more(FILE *out, unsigned int shown, unsigned int all, const char *what);

/* A text in grey behind another one; nothing without a text. */
void gpumon_report_aside(FILE *out, const char *text);

/* " pid 4242" in grey, where there are several processes. */
void gpumon_report_pid(FILE *out, const struct gpumon_view *view, uint32_t process);

/*
 * A timeline of threads, of each GPU and stream, with the longest gaps marked, and the longest operations for the
 * script.
 */
void gpumon_report_timeline(FILE *out, const struct gpumon_view *view,
			    struct gpumon_report_names *names);
/* Frame times of swapchains, late ones with their reason; nothing without frames. 0, or -1 if the stream failed. */
int gpumon_report_frame_times(FILE *out, const struct gpumon_view *view);
/* Bands of metrics of a GPU, ~0: of those on which nothing ran. */
void gpumon_report_bands(FILE *out, const struct gpumon_view *view, uint32_t gpu);
bool gpumon_report_has_bands(const struct gpumon_view *view);
/* Metrics in the row of a kernel. */
void gpumon_report_metric_cells(FILE *out, const struct gpumon_view *view,
				const struct gpumon_kernel_row *row);
/* The table of threads, folded. */
void gpumon_report_threads(FILE *out, const struct gpumon_view *view);
/* Bars on a logarithmic axis, with median and p99. */
void gpumon_report_histogram(FILE *out, const struct gpumon_distribution *distribution);

/* Columns of a kernel's name in tables: the whole name is shown at the pointer, and where a row is open. */
#define GPUMON_REPORT_NAME 64
/* A table that the script can sort. Bits of @texts are set for the columns that are no numbers. */
void gpumon_report_open_table(FILE *out, const char *id, const char *const *titles, unsigned int n,
			      unsigned int texts);
void gpumon_report_close_table(FILE *out);
/* Cells with their values. @left of it is an estimate from a number of @samples. */
void gpumon_report_estimate(FILE *out, bool is_ns, uint64_t value, uint64_t left, uint64_t samples);
void gpumon_report_share(FILE *out, bool estimate, uint64_t part, uint64_t whole);
void gpumon_report_name(FILE *out, const char *name);
/* The same with more in grey behind it, or "". */
void gpumon_report_name_with(FILE *out, const char *name, const char *more);

/* How many kernels have a row of their table. */
unsigned int gpumon_report_kernel_rows(const struct gpumon_view *view);

/**
 * gpumon_report_paths - write a table of call paths
 * @out: stream
 * @view: profile
 * @flame: flame graph of the profile, which has been written
 * @weight: meaning of its widths
 * @names: where functions get their numbers; the kernels of the table by kernel have theirs
 *
 * Rows are the GPUMON_REPORT_ROWS heaviest paths, and by GPU time the heaviest of each kernel that has a row;
 * fewer of each if there is no room for them.
 *
 * Return: false if no path has a caller: then nothing was written.
 */
bool gpumon_report_paths(FILE *out, const struct gpumon_view *view, struct gpumon_flame *flame,
			 enum gpumon_weight weight, struct gpumon_report_names *names);
/* The flame graphs and the tables of call paths, of which one each is seen. 0, or -1 if the stream failed. */
int gpumon_report_flames(FILE *out, const struct gpumon_view *view,
			 struct gpumon_report_names *names);
void gpumon_report_kernels(FILE *out, const struct gpumon_view *view,
			   struct gpumon_report_names *names);
void gpumon_report_stalls(FILE *out, const struct gpumon_view *view);
void gpumon_report_devices(FILE *out, const struct gpumon_view *view);
void gpumon_report_gaps(FILE *out, const struct gpumon_view *view);
void gpumon_report_ranges(FILE *out, const struct gpumon_view *view);
void gpumon_report_verdict(FILE *out, const struct gpumon_view *view);
void gpumon_report_ranks(FILE *out, const struct gpumon_view *view);
void gpumon_report_processes(FILE *out, const struct gpumon_view *view);

#endif /* GPUMON_REPORT_REPORT_H */
