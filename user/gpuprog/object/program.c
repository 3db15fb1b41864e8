// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "program.h"

uint32_t gpumon_gpuprog_texts_add(struct gpumon_gpuprog_texts *texts, const char *text)
{
	size_t size = strlen(text) + 1;
	uint32_t at;

	for (at = 0; at < texts->used; at += (uint32_t)strlen(texts->bytes + at) + 1)
		if (!strcmp(texts->bytes + at, text))
			return at;
	if (size > sizeof(texts->bytes) - texts->used)
		return UINT32_MAX;
	memcpy(texts->bytes + at, text, size);
	texts->used += (uint32_t)size;
	return at;
}

#define MAX_TEXT 60 /* bytes of a source line in a message */

/* The line that an instruction belongs to, or NULL. */
static const struct gpumon_gpuprog_line *find_line(const struct gpumon_gpuprog *program,
						   uint32_t instruction)
{
	uint32_t low = 0, high = program->lines_n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (program->lines[middle].instruction <= instruction)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &program->lines[low - 1] : NULL;
}

static void write_place(const struct gpumon_gpuprog_line *line, char *place, size_t size)
{
	const char *file, *text;

	place[0] = '\0';
	if (!line || !line->line)
		return;
	file = strrchr(line->file, '/');
	file = file ? file + 1 : line->file;
	text = line->text + strspn(line->text, " \t");
	if (*text)
		snprintf(place, size, " (%.100s:%u, \"%.*s\")", file, line->line, MAX_TEXT, text);
	else
		snprintf(place, size, " (%.100s:%u)", file, line->line);
}

int gpumon_gpuprog_refuse(const struct gpumon_gpuprog *program, uint32_t instruction,
			  struct gpumon_error *err, const char *format, ...)
{
	char place[192], reason[256];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	write_place(find_line(program, instruction), place, sizeof(place));
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				"%.60s: instruction %u%s: %s", program->name, instruction, place,
				reason);
}
