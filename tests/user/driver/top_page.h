/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef TOP_PAGE_H
#define TOP_PAGE_H

#include "driver/top.h"

/* The page as text, to be freed. */
char *top_page_draw(const struct gpumon_top *top, const struct gpumon_top_view *view);

unsigned int top_page_lines(const char *text);

/* Width of the longest line. */
unsigned int top_page_columns(const char *text);

/* Print a page in colour to look at, and free @top. @size has COLUMNS and ROWS, or nothing. */
void top_page_show(struct gpumon_top *top, const char *page, int n_size, char **size);

#endif
