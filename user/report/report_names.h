/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The functions, kernels and lines of a report: each stands once in the page, and flame graphs and tables have
 * its number. Names of templates are long, and are in hundreds of frames and paths.
 */
#ifndef GPUMON_REPORT_REPORT_NAMES_H
#define GPUMON_REPORT_REPORT_NAMES_H

#include "flamegraph.h"
#include "lib/map.h"

/* A zeroed one is empty. */
struct gpumon_report_names {
	struct gpumon_intern functions;
	struct gpumon_intern lines;
};

/* The number of a function or another node of a tree, from 0 on. */
uint32_t gpumon_report_function(struct gpumon_report_names *names, enum gpumon_node_kind kind,
				const char *name, const char *module);
/* The same for a frame, which may stand for several functions without names. */
uint32_t gpumon_report_frame(struct gpumon_report_names *names, const struct gpumon_frame *frame);
/* The same for a kernel, a copy, a set or a graph. */
uint32_t gpumon_report_kernel(struct gpumon_report_names *names, enum gpumon_work_kind kind,
			      const char *name);
/* The number of a line, from 1 on; 0: it is not known. */
uint32_t gpumon_report_line(struct gpumon_report_names *names, const char *line);

/* Write all of them for the script. */
void gpumon_report_names_write(FILE *out, const struct gpumon_report_names *names);
void gpumon_report_names_clear(struct gpumon_report_names *names);

#endif /* GPUMON_REPORT_REPORT_NAMES_H */
