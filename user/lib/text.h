/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Names and numbers for output: escaped, with units, cut or shortened to a width. */
#ifndef GPUMON_LIB_TEXT_H
#define GPUMON_LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * gpumon_text_next - read a character of a text that may not be valid UTF-8
 * @text: position in the text, moved past the character
 *
 * Return: its code; '?' for an invalid byte, a control character, and U+FFFE and U+FFFF, which XML
 * forbids; 0 at the end.
 */
uint32_t gpumon_text_next(const char **text);

/* Encode a character as UTF-8. Returns the number of bytes, 1 to 4. */
size_t gpumon_text_encode(char *to, uint32_t code);

/* Columns of a character in a fixed-width font: 0, 1 or 2. */
unsigned int gpumon_text_character_columns(uint32_t code);
unsigned int gpumon_text_columns(const char *text);

/* Escape &, <, >, " and ' for XML and HTML. */
void gpumon_text_xml(FILE *out, const char *text);
/* The contents of a JSON string. */
void gpumon_text_json(FILE *out, const char *text);
/* Printable UTF-8 only. */
void gpumon_text_plain(FILE *out, const char *text);
/* The same, with ';' replaced by ':' for folded stacks. */
void gpumon_text_folded(FILE *out, const char *text);

/**
 * gpumon_text_cut - cut a text to a width
 * @buf: out, safe for a terminal, ends with "…" if the text was cut
 * @len: size of @buf
 * @text: text
 * @columns: maximum width; 0: no limit
 *
 * Return: @buf.
 */
const char *gpumon_text_cut(char *buf, size_t len, const char *text, unsigned int columns);

/**
 * gpumon_text_function - a demangled name without result and parameters
 * @buf: out
 * @len: size of @buf
 * @name: such as "void at::native::fill<float>(int, float*)"
 *
 * Drops the return type of a template and the parameters, but never template arguments:
 * "at::native::fill<float>". Names that are not C++ are left unchanged.
 *
 * Return: @buf.
 */
const char *gpumon_text_function(char *buf, size_t len, const char *name);

/**
 * gpumon_text_fit - shorten a name to a width
 * @buf: out
 * @len: size of @buf
 * @name: demangled name
 * @columns: maximum width; 0: no limit
 *
 * Stops at the first step that fits: drop result and parameters; drop namespaces within template
 * arguments; drop the name's own namespaces from the left, as long as more than a general name such
 * as "call" is left; cut.
 *
 * Return: @buf.
 */
const char *gpumon_text_fit(char *buf, size_t len, const char *name, unsigned int columns);

/* The same without the last step, so the result may be wider. */
const char *gpumon_text_strip(char *buf, size_t len, const char *name, unsigned int columns);

#define GPUMON_TEXT_NUMBER 48

/* "12.3 µs" with a non-breaking space. */
const char *gpumon_text_ns(char *buf, size_t len, uint64_t ns);
/* "1,234,567" */
const char *gpumon_text_count(char *buf, size_t len, uint64_t count);
/* "12.3%", "<0.01%"; "-" if @whole is 0. */
const char *gpumon_text_percent(char *buf, size_t len, uint64_t part, uint64_t whole);

/* Sum that saturates at the highest number. */
static inline uint64_t gpumon_add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Shortens names that are too long for a column and keeps them distinguishable. */

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

/* Take "0000:3b:00.0" to its four numbers. False: it is no PCI address. */
bool gpumon_text_pci_address(const char *text, unsigned int part[4]);

#endif /* GPUMON_LIB_TEXT_H */
