/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Text in columns, cut at the edge of the terminal. */
#ifndef GPUMON_DRIVER_TOP_PAGE_H
#define GPUMON_DRIVER_TOP_PAGE_H

#include "top.h"

/* A page being drawn. @at is the current column. */
struct gpumon_page {
	const struct gpumon_top *top;
	const struct gpumon_top_view *view;
	FILE *out;
	unsigned int columns;
	unsigned int at;
	unsigned int lines;
};

static inline const char *gpumon_page_dim(const struct gpumon_page *page)
{
	return gpumon_term_dim(&page->view->term);
}

static inline const char *gpumon_page_bold(const struct gpumon_page *page)
{
	return gpumon_term_bold(&page->view->term);
}

/* Write as much of a text as fits: plain, coloured, or padded to a width. */
void gpumon_page_put(struct gpumon_page *page, const char *text);
void gpumon_page_colour(struct gpumon_page *page, const char *colour, const char *text);
void gpumon_page_blanks(struct gpumon_page *page, unsigned int n);
void gpumon_page_right(struct gpumon_page *page, unsigned int width, const char *colour,
		       const char *text);
void gpumon_page_left(struct gpumon_page *page, unsigned int width, const char *colour,
		      const char *text);
void gpumon_page_end_line(struct gpumon_page *page);
/* True if this number of lines still fits. */
bool gpumon_page_room(const struct gpumon_page *page, unsigned int lines);

/* "and N more WHAT" */
void gpumon_page_more(struct gpumon_page *page, size_t n, const char *what);

struct gpumon_table;

/* Draw a table with its name above it, but leave this number of lines free. The table is freed. */
void gpumon_page_table(struct gpumon_page *page, struct gpumon_table *table, const char *name,
		       unsigned int reserved);

/* A cell with the end of a container's name, or of a cgroup's path, which tells most. */
void gpumon_page_place(struct gpumon_table *table, const char *container, const char *cgroup);

/* Names of the GPUs, where there is room. */
void gpumon_top_draw_devices(struct gpumon_page *page, unsigned int reserved);
/* Processes, or containers and cgroups; and how many there are. */
void gpumon_top_draw_owners(struct gpumon_page *page, unsigned int reserved);
size_t gpumon_top_owners(const struct gpumon_top *top, const struct gpumon_top_view *view);
void gpumon_top_draw_groups(struct gpumon_page *page, unsigned int reserved);
/* Who was on which ring. */
void gpumon_top_draw_usage(struct gpumon_page *page, unsigned int reserved);

/* Draw the tables of a page, but leave this number of lines free. */
void gpumon_top_draw_rings(struct gpumon_page *page, unsigned int reserved);
void gpumon_top_draw_tables(struct gpumon_page *page, const char *group, unsigned int reserved);

#endif /* GPUMON_DRIVER_TOP_PAGE_H */
