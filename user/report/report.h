/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Parts of the HTML report. */
#ifndef GPUMON_REPORT_REPORT_H
#define GPUMON_REPORT_REPORT_H

#include "lib/map.h"
#include "output.h"
#include "flamegraph.h"

/* Begin a section with an id for links and a title. End it with gpumon_report_end(). */
void gpumon_report_section(FILE *out, const char *id, const char *title, const char *what);
void gpumon_report_end(FILE *out);
/* "12.3%" or "<0.01%", escaped for HTML. */
void gpumon_report_percent(FILE *out, uint64_t part, uint64_t whole);

/* Maximum number of rows of a table, and of notes, in a page. */
#define GPUMON_REPORT_ROWS  1000
#define GPUMON_REPORT_NOTES 100
/* Maximum number of frames of the heaviest call paths together, and of those of kernels. */
#define GPUMON_REPORT_FRAMES 60000

/* "and 12 more streams", if there are more than were shown. */
void gpumon_report_more(FILE *out, unsigned int shown, unsigned int all, const char *what);

/* A text in grey behind another one; nothing without a text. */
void gpumon_report_aside(FILE *out, const char *text);

/* " pid 4242" in grey, where there are several processes. */
void gpumon_report_pid(FILE *out, const struct gpumon_view *view, uint32_t process);

/* A timeline of each GPU and stream, with the longest gaps marked. */
void gpumon_report_timeline(FILE *out, const struct gpumon_view *view);
/* Bars on a logarithmic axis, with median and p99. */
void gpumon_report_histogram(FILE *out, const struct gpumon_distribution *distribution);

/* A table that the script can sort. Of @n columns, the last @texts are no numbers. */
void gpumon_report_open_table(FILE *out, const char *const *titles, unsigned int n,
			      unsigned int texts);
void gpumon_report_close_table(FILE *out);
/* Cells with their values. @left of it is an estimate from a number of @samples. */
void gpumon_report_estimate(FILE *out, bool is_ns, uint64_t value, uint64_t left, uint64_t samples);
void gpumon_report_share(FILE *out, bool estimate, uint64_t part, uint64_t whole);
void gpumon_report_name(FILE *out, const char *name);

/* The number of a kernel in all tables, by its name and kind: from 1 on. */
uint32_t gpumon_report_kernel(struct gpumon_intern *kernels, enum gpumon_work_kind kind,
			      const char *name);

/**
 * gpumon_report_paths - write the table of call paths
 * @out: stream
 * @view: profile
 * @flame: flame graph of the profile, which has been written
 * @weight: meaning of its widths
 * @kernels: numbers of kernels
 *
 * Rows are the GPUMON_REPORT_ROWS heaviest paths, and the heaviest of each kernel that has a row;
 * fewer of each if they have more than GPUMON_REPORT_FRAMES frames.
 */
void gpumon_report_paths(FILE *out, const struct gpumon_view *view, struct gpumon_flame *flame,
			 enum gpumon_weight weight, struct gpumon_intern *kernels);
void gpumon_report_kernels(FILE *out, const struct gpumon_view *view,
			   struct gpumon_intern *kernels);
void gpumon_report_devices(FILE *out, const struct gpumon_view *view);
void gpumon_report_gaps(FILE *out, const struct gpumon_view *view);
void gpumon_report_ranges(FILE *out, const struct gpumon_view *view);
void gpumon_report_processes(FILE *out, const struct gpumon_view *view);

#endif /* GPUMON_REPORT_REPORT_H */
