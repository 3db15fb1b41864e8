/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Text in columns that never passes the edge of the terminal. */
#ifndef GPUMON_USER_TOP_PAGE_H
#define GPUMON_USER_TOP_PAGE_H

#include "top.h"

/* A page being drawn; @at is the column reached on this line, which is never passed by. */
struct gpumon_page {
	const struct gpumon_top *top;
	const struct gpumon_top_view *view;
	FILE *out;
	unsigned int columns;
	unsigned int at;
	unsigned int lines;
};

/* Bytes of the character at @text, which is UTF-8 or made so by gpumon_format_name(). */
size_t gpumon_page_character(const char *text);
/* Columns that a text takes. */
unsigned int gpumon_page_width(const char *text);
/* Write a text, or what fits of it: as it is, coloured, or filled up with blanks to a width. */
void gpumon_page_put(struct gpumon_page *page, const char *text);
void gpumon_page_colour(struct gpumon_page *page, const char *colour, const char *text);
void gpumon_page_blanks(struct gpumon_page *page, unsigned int n);
void gpumon_page_right(struct gpumon_page *page, unsigned int width, const char *colour,
		       const char *text);
void gpumon_page_left(struct gpumon_page *page, unsigned int width, const char *colour,
		      const char *text);
void gpumon_page_end_line(struct gpumon_page *page);
/* True if so many more lines fit. */
bool gpumon_page_room(const struct gpumon_page *page, unsigned int lines);

/* "and N more WHAT" */
void gpumon_page_more(struct gpumon_page *page, size_t n, const char *what);

/* The tables of a page, leaving so many lines of it free. */
void gpumon_top_draw_rings(struct gpumon_page *page, unsigned int reserved);
void gpumon_top_draw_tables(struct gpumon_page *page, const char *group, unsigned int reserved);

#endif /* GPUMON_USER_TOP_PAGE_H */
