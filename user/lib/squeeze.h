/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shortens names that are too long for a column and keeps them distinguishable. */
#ifndef GPUMON_LIB_SQUEEZE_H
#define GPUMON_LIB_SQUEEZE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * gpumon_text_squeeze - shorten a text to a width, with "…" in the gaps
 * @text: text
 * @columns: maximum width
 * @marks: sorted byte offsets of words to keep; NULL if @count is 0
 * @count: number of marks
 *
 * Besides the marks, the beginning stays, and so does the end of a name with template arguments.
 *
 * Return: a text to free, safe for a terminal.
 */
char *gpumon_text_squeeze(const char *text, unsigned int columns, const size_t *marks,
			  size_t count);

/* Byte offset at which two texts differ first; the length of the shorter one if it is a prefix. */
size_t gpumon_text_difference(const char *one, const char *other);

/**
 * gpumon_text_squeeze_rows - shorten all names of a table to a width
 * @names: demangled names, or other texts
 * @count: number of names
 * @columns: maximum width
 * @functions: they are names of functions, which lose parameters and return types first
 * @texts: out, each to be freed
 *
 * Applies gpumon_text_strip(), for functions, and gpumon_text_squeeze() to each. If different
 * names would look alike, the positions where they differ are kept.
 */
void gpumon_text_squeeze_rows(const char *const *names, size_t count, unsigned int columns,
			      bool functions, char **texts);

#endif /* GPUMON_LIB_SQUEEZE_H */
