/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Within stat_print.c and stat_usage.c: the page that "stat" prints. */
#ifndef GPUMON_DRIVER_STAT_PAGE_H
#define GPUMON_DRIVER_STAT_PAGE_H

#include "lib/table.h"
#include "stat_print.h"
#include "usage.h"

/* What to print, where, and of which group (NULL: all). */
struct stat_page {
	const struct gpumon_model *model;
	const struct gpumon_usage *usage;
	const char *group;
	const struct gpumon_term *term;
	FILE *stream;
};

void gpumon_stat_heading(const struct stat_page *stat, const char *text);
/* A sentence on lines of its own, broken at the edge of a terminal. */
void gpumon_stat_sentence(const struct stat_page *stat, const char *text);

/* Columns of times and waits, and their cells. Nothing is printed of what the source does not count. */
void gpumon_stat_usage_columns(struct gpumon_table *table);
void gpumon_stat_usage_cells(const struct stat_page *stat, struct gpumon_table *table,
			     const struct gpumon_usage_total *total);

/* Which ring was busiest, and which process used most GPU time. Nothing where no job ended. */
void gpumon_stat_print_answer(const struct stat_page *stat);

/* Columns of what processes have now, and their cells. Nothing is printed of what is not counted. */
void gpumon_stat_memory_columns(struct gpumon_table *table);
void gpumon_stat_memory_cells(struct gpumon_table *table, struct gpumon_value vram_bytes,
			      struct gpumon_value live_object_bytes);

/* GPU time by process and ring, by container and cgroup, and by DRM client. */
void gpumon_stat_print_usage(const struct stat_page *stat);
void gpumon_stat_print_cgroups(const struct stat_page *stat);
void gpumon_stat_print_clients(const struct stat_page *stat);

/* Device memory by container or cgroup and by region, where the kernel charges it. */
void gpumon_stat_print_dmem(const struct stat_page *stat);

/* What the mark of shares means, if there was one. */
void gpumon_stat_print_share(const struct stat_page *stat);

#endif /* GPUMON_DRIVER_STAT_PAGE_H */
