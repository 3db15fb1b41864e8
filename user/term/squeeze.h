/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Names that are too long for a column, shortened so that they still tell each other apart. */
#ifndef GPUMON_TERM_SQUEEZE_H
#define GPUMON_TERM_SQUEEZE_H

#include <stddef.h>

/**
 * gpumon_text_squeeze - a text in so many columns, with "…" where something is left out
 * @text: text
 * @columns: at most
 * @marks: places in @text, in bytes, sorted, whose words stay; NULL where @count is 0
 * @count: how many
 *
 * Next to the marks the begin stays, and of a name with template arguments its end, too.
 *
 * Return: to be freed, safe for a terminal; NULL without memory.
 */
char *gpumon_text_squeeze(const char *text, unsigned int columns, const size_t *marks,
			  size_t count);

/* Where two texts begin to differ, in bytes; at the end of the shorter one where it begins the other. */
size_t gpumon_text_difference(const char *one, const char *other);

/**
 * gpumon_text_squeeze_rows - the names of a table, each in so many columns
 * @names: demangled
 * @count: how many
 * @columns: at most
 * @texts: filled in, each to be freed
 *
 * Each as gpumon_text_strip() has it, then squeezed. Where names that differ would look
 * alike, the places where they differ stay.
 *
 * Return: 0, or -1 without memory: then all of @texts are NULL.
 */
int gpumon_text_squeeze_rows(const char *const *names, size_t count, unsigned int columns,
			     char **texts);

#endif /* GPUMON_TERM_SQUEEZE_H */
