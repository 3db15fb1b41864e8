// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "lib/output_text.h"
#include "top_page.h"

/* A character that the terminal cannot show is as many question marks as it has columns. */
static void put_character(const struct gpumon_page *page, uint32_t code, unsigned int columns)
{
	char bytes[4];

	if (code < 0x80 || page->view->utf8)
		fwrite(bytes, 1, gpumon_text_encode(bytes, code), page->out);
	else
		fprintf(page->out, "%.*s", (int)columns, "??");
}

void gpumon_page_put(struct gpumon_page *page, const char *text)
{
	uint32_t code;

	while ((code = gpumon_text_next(&text))) {
		unsigned int columns = gpumon_text_character_columns(code);

		if (page->at + columns > page->columns)
			break;
		put_character(page, code, columns);
		page->at += columns;
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
	unsigned int used = gpumon_text_columns(text);

	gpumon_page_blanks(page, used < width ? width - used : 0);
	gpumon_page_colour(page, colour, text);
}

void gpumon_page_left(struct gpumon_page *page, unsigned int width, const char *colour,
		      const char *text)
{
	unsigned int used = gpumon_text_columns(text);

	gpumon_page_colour(page, colour, text);
	gpumon_page_blanks(page, used < width ? width - used : 0);
}

void gpumon_page_end_line(struct gpumon_page *page)
{
	/* Behind a full line the cursor may still be on its last character. */
	if (page->view->clear && page->at < page->columns)
		fputs("\033[K", page->out);
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
