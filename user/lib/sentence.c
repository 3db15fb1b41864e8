// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "output_text.h"
#include "sentence.h"

void gpumon_sentence_print(FILE *out, const struct gpumon_term *term, const char *colour,
			   unsigned int taken, unsigned int indent, const char *sentence)
{
	unsigned int columns = term->columns, at = taken, width;
	char text[1024], word[512], *rest = text, *next;

	snprintf(text, sizeof(text), "%s", sentence);
	fputs(colour, out);
	while ((next = strsep(&rest, " "))) {
		unsigned int blank = next != text;

		gpumon_text_cut(word, sizeof(word), next,
				columns > indent + 8 ? columns - indent : 0);
		width = gpumon_text_columns(word);
		if (at > indent && at + blank + width > columns) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			blank = 0;
		}
		fprintf(out, "%s%s", blank ? " " : "", word);
		at += blank + width;
	}
	fprintf(out, "%s\n", *colour ? gpumon_term_reset(term) : "");
}
