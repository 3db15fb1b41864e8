/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Parts of the HTML report. */
#ifndef GPUMON_OUTPUT_REPORT_H
#define GPUMON_OUTPUT_REPORT_H

#include "output/output.h"

/* Begin a section with an id for links and a title. End it with gpumon_report_end(). */
void gpumon_report_section(FILE *out, const char *id, const char *title, const char *what);
void gpumon_report_end(FILE *out);
/* "12.3%" or "<0.01%", escaped for HTML. */
void gpumon_report_percent(FILE *out, uint64_t part, uint64_t whole);

/* Maximum number of rows of a table, and of notes, in a page. */
#define GPUMON_REPORT_ROWS  1000
#define GPUMON_REPORT_NOTES 100

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

void gpumon_report_kernels(FILE *out, const struct gpumon_view *view);
void gpumon_report_devices(FILE *out, const struct gpumon_view *view);
void gpumon_report_gaps(FILE *out, const struct gpumon_view *view);
void gpumon_report_ranges(FILE *out, const struct gpumon_view *view);
void gpumon_report_processes(FILE *out, const struct gpumon_view *view);

#endif /* GPUMON_OUTPUT_REPORT_H */
