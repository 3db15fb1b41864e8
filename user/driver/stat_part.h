/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the files that print "stat". */
#ifndef GPUMON_DRIVER_STAT_PART_H
#define GPUMON_DRIVER_STAT_PART_H

#include <stdio.h>

#include "lib/format.h"
#include "model.h"

/* What to print, where, and of which group (NULL: all). */
struct gpumon_stat {
	const struct gpumon_model *model;
	const char *group;
	const struct gpumon_term *term;
	FILE *stream;
};

bool gpumon_stat_wanted(const struct gpumon_stat *stat, const char *group);
void gpumon_stat_heading(const struct gpumon_stat *stat, const char *text);

/* Parts of the page. Those without data print nothing. 0, or -1 without memory. */
int gpumon_stat_statistics(const struct gpumon_stat *stat);
int gpumon_stat_layouts(const struct gpumon_stat *stat);
int gpumon_stat_alerts(const struct gpumon_stat *stat);
int gpumon_stat_processes(const struct gpumon_stat *stat);

#endif /* GPUMON_DRIVER_STAT_PART_H */
