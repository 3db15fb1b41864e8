// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "metrics_meaning.h"

/* The assembler searches the compiler's paths: user/, or those of -I. */
#ifndef GPUMON_PAGES
#define GPUMON_PAGES "../Documentation/reference"
#endif
#define PAGE(name) ".incbin \"" GPUMON_PAGES "/" name ".md\"\n"

__asm__(".pushsection .rodata\n"
	"gpumon_pages:\n" PAGE("statistics") PAGE("drivers/amdgpu") PAGE("drivers/drm_sched")
		PAGE("drivers/drm_vblank") PAGE("drivers/i915")
			PAGE("drivers/nvidia") "gpumon_pages_end:\n"
					       ".globl gpumon_pages\n"
					       ".globl gpumon_pages_end\n"
					       ".popsection\n");
extern const char gpumon_pages[], gpumon_pages_end[];

/* Append the text of a cell without its marks: `code`, **bold**, [text](address). */
static char *plain(const char *begin, const char *end)
{
	char *text = gpumon_malloc((size_t)(end - begin) + 1), *to = text;

	for (const char *c = begin; c < end; c++) {
		if (*c == ']' && c + 1 < end && c[1] == '(')
			while (c < end && *c != ')')
				c++;
		else if (*c != '`' && *c != '*' && *c != '[' && *c != ']')
			*to++ = *c;
		/* The next sentence is not wanted. */
		if (c + 2 < end && c[0] == '.' && c[1] == ' ')
			break;
	}
	while (to > text && (to[-1] == ' ' || to[-1] == '.' || to[-1] == ':'))
		to--;
	*to = '\0';
	return text;
}

/* How many names come before that one in the first cell, which ends at @end; -1: it is not there. */
static int place_of(const char *cell, const char *end, const char *name, int *names)
{
	size_t length = strlen(name);
	int place = -1;

	*names = 0;
	for (const char *at = cell; (at = memchr(at, '`', (size_t)(end - at)));) {
		const char *behind = memchr(at + 1, '`', (size_t)(end - at - 1));

		if (!behind)
			break;
		if ((size_t)(behind - at - 1) == length && !memcmp(at + 1, name, length))
			place = *names;
		(*names)++;
		at = behind + 1;
	}
	return place;
}

/* "Capacity, in the table now" of two names: the part of one of them, if there are so many. */
static char *part_of(char *text, int place, int names)
{
	char *part = text, *last = strrchr(text, ',');
	int parts = 1;

	for (const char *c = text; *c; c++)
		parts += *c == ',';
	if (names < 2 || parts != names || !strncmp(last, ", and ", 6))
		return text;
	for (int i = 0; i < place; i++)
		part = strchr(part, ',') + 1;
	part[strcspn(part, ",")] = '\0';
	part += strspn(part, " ");
	memmove(text, part, strlen(part) + 1);
	return text;
}

/* The last cell of a row "| `name`, `name` | … | meaning |" whose first one has the name. */
static char *meaning_in_row(const char *line, const char *end, const char *name)
{
	const char *first, *last;
	int place, names;

	if (end - line < 4 || line[0] != '|')
		return NULL;
	first = memchr(line + 1, '|', (size_t)(end - line - 1));
	place = first ? place_of(line + 1, first, name, &names) : -1;
	if (place < 0)
		return NULL;
	while (end > first && end[-1] != '|')
		end--;
	end--;
	last = end > first ? memrchr(first, '|', (size_t)(end - first)) : NULL;
	if (!last)
		return NULL;
	last += strspn(last, "| ");
	return last < end ? part_of(plain(last, end), place, names) : NULL;
}

/* Where the part of a page ends that begins there. */
static bool is_end(const char *line, size_t left)
{
	static const char *const ends[] = { "<!-- end -->", "## " };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (left >= strlen(ends[i]) && !memcmp(line, ends[i], strlen(ends[i])))
			return true;
	return false;
}

char *gpumon_meaning(const char *place, const char *name)
{
	const char *end = gpumon_pages_end;
	const char *line = memmem(gpumon_pages, (size_t)(end - gpumon_pages), place, strlen(place));
	char *meaning = NULL;

	while (line && !meaning) {
		line = memchr(line, '\n', (size_t)(end - line));
		if (!line || ++line >= end || is_end(line, (size_t)(end - line)))
			return NULL;
		const char *behind = memchr(line, '\n', (size_t)(end - line));

		meaning = meaning_in_row(line, behind ? behind : end, name);
	}
	return meaning;
}
