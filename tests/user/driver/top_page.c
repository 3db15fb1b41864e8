// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "top_page.h"

char *top_page_draw(const struct gpumon_top *top, const struct gpumon_top_view *view)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	gpumon_top_draw(top, view, out);
	fclose(out);
	return text;
}

unsigned int top_page_lines(const char *text)
{
	unsigned int n = 1;

	for (; *text; text++)
		n += *text == '\n' && text[1];
	return n;
}

unsigned int top_page_columns(const char *text)
{
	char *copy = strdup(text), *rest = copy;
	unsigned int widest = 0;
	const char *line;

	assert_non_null(copy);
	while ((line = strsep(&rest, "\n"))) {
		unsigned int columns = gpumon_text_columns(line);

		widest = columns > widest ? columns : widest;
	}
	free(copy);
	return widest;
}

void top_page_show(struct gpumon_top *top, const char *page, int n_size, char **size)
{
	struct gpumon_top_view view = {
		.utf8 = true,
		.live = true,
		.interval_ns = 1000000000,
		.clock = "14:05:33",
		.term = { .tty = true, .colour = true, .columns = 120, .rows = 28 },
	};

	snprintf(view.page, sizeof(view.page), "%s", page);
	if (n_size > 1) {
		view.term.columns = (unsigned int)atoi(size[0]);
		view.term.rows = (unsigned int)atoi(size[1]);
	}
	gpumon_top_draw(top, &view, stdout);
	putchar('\n');
	gpumon_top_free(top);
}
