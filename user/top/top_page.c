// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "top_page.h"

size_t gpumon_page_character(const char *text)
{
	size_t n = 1;

	while (((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	return n;
}

unsigned int gpumon_page_width(const char *text)
{
	unsigned int n = 0;

	for (; *text; text += gpumon_page_character(text))
		n++;
	return n;
}

/* One column for each character. Driver names are ASCII; for process names this is close enough. */
void gpumon_page_put(struct gpumon_page *page, const char *text)
{
	for (; *text && page->at < page->columns; page->at++) {
		size_t n = gpumon_page_character(text);

		if (n > 1 && !page->view->utf8)
			fputc('?', page->out);
		else
			fwrite(text, 1, n, page->out);
		text += n;
	}
}

void gpumon_page_colour(struct gpumon_page *page, const char *colour, const char *text)
{
	fputs(colour, page->out);
	gpumon_page_put(page, text);
	if (*colour)
		fputs(gpumon_term_reset(&page->view->term), page->out);
}

void gpumon_page_blanks(struct gpumon_page *page, unsigned int n)
{
	while (n-- && page->at < page->columns) {
		fputc(' ', page->out);
		page->at++;
	}
}

void gpumon_page_right(struct gpumon_page *page, unsigned int width, const char *colour,
		       const char *text)
{
	unsigned int used = gpumon_page_width(text);

	gpumon_page_blanks(page, used < width ? width - used : 0);
	gpumon_page_colour(page, colour, text);
}

void gpumon_page_left(struct gpumon_page *page, unsigned int width, const char *colour,
		      const char *text)
{
	unsigned int used = gpumon_page_width(text);

	gpumon_page_colour(page, colour, text);
	gpumon_page_blanks(page, used < width ? width - used : 0);
}

void gpumon_page_end_line(struct gpumon_page *page)
{
	page->lines++;
	page->at = 0;
	/* A newline on the last line would scroll. */
	if (!page->view->term.rows || page->lines < page->view->term.rows)
		fputc('\n', page->out);
}

bool gpumon_page_room(const struct gpumon_page *page, unsigned int lines)
{
	return !page->view->term.rows || page->lines + lines <= page->view->term.rows;
}

void gpumon_page_more(struct gpumon_page *page, size_t n, const char *what)
{
	char text[64];

	snprintf(text, sizeof(text), "and %zu more %s", n, what);
	gpumon_page_colour(page, gpumon_term_dim(&page->view->term), text);
	gpumon_page_end_line(page);
}
