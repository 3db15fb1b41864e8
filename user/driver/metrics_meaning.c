// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/profile.h"
#include "metrics_meaning.h"

#ifdef GPUMON_SMALL
static const char *pages(void)
{
	return gpumon_small_pages();
}
#else
/* The assembler searches the compiler's paths: user/, or those of -I. */
#define PAGE(name) ".incbin \"../Documentation/reference/" name ".md\"\n"

__asm__(".pushsection .rodata\n"
	"gpumon_pages:\n" PAGE("statistics") PAGE("drivers/amdgpu") PAGE("drivers/drm_sched")
		PAGE("drivers/drm_vblank") PAGE("drivers/i915")
			PAGE("drivers/nvidia") ".byte 0\n"
					       ".globl gpumon_pages\n"
					       ".popsection\n");
extern const char gpumon_pages[];

static const char *pages(void)
{
	return gpumon_pages;
}
#endif

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
static bool is_end(const char *line)
{
	return !strncmp(line, "<!-- end -->", 12) || !strncmp(line, "## ", 3);
}

char *gpumon_meaning(const char *place, const char *name)
{
	const char *line = strstr(pages(), place), *behind;
	char *meaning = NULL;

	line = line ? strchr(line, '\n') : NULL;
	while (line && !meaning) {
		line++;
		if (!*line || is_end(line))
			return NULL;
		behind = strchr(line, '\n');
		meaning = meaning_in_row(line, behind ? behind : line + strlen(line), name);
		line = behind;
	}
	return meaning;
}
