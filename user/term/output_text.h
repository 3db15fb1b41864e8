/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Names and numbers as the outputs need them: escaped, cut to a width, with units. */
#ifndef GPUMON_OUTPUT_TEXT_H
#define GPUMON_OUTPUT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * gpumon_text_next - the next character of a text that may be no UTF-8 at all
 * @text: where to read, moved behind the character
 *
 * Return: its code; '?' for a broken byte, a control character, and what XML
 * does not have (U+FFFE, U+FFFF); 0 at the end.
 */
uint32_t gpumon_text_next(const char **text);

/* UTF-8 of a character: how many bytes, 1 to 4. */
size_t gpumon_text_encode(char *to, uint32_t code);

/* Columns that a character takes in a terminal or a font of one width: 0, 1 or 2. */
unsigned int gpumon_text_character_columns(uint32_t code);
unsigned int gpumon_text_columns(const char *text);

/* With &, <, >, " and ' as XML has them; good in HTML too. */
void gpumon_text_xml(FILE *out, const char *text);
/* The inside of a JSON string. */
void gpumon_text_json(FILE *out, const char *text);
/* Printable UTF-8 and no more. */
void gpumon_text_plain(FILE *out, const char *text);
/* The same with ';' as ':', for folded stacks. */
void gpumon_text_folded(FILE *out, const char *text);

/**
 * gpumon_text_cut - as much of a text as a width has room for
 * @buf: out, made safe, with "…" at its end if something was cut
 * @len: size of it
 * @text: text
 * @columns: at most; 0: no limit
 *
 * Return: @buf.
 */
const char *gpumon_text_cut(char *buf, size_t len, const char *text, unsigned int columns);

/**
 * gpumon_text_function - a demangled name without what does not tell it apart
 * @buf: out
 * @len: size of it
 * @name: as "void at::native::fill<float>(int, float*)"
 *
 * Drops the type that a template returns and the parameters behind the name, never
 * template arguments: "at::native::fill<float>". What is no C++ name is left alone.
 *
 * Return: @buf.
 */
const char *gpumon_text_function(char *buf, size_t len, const char *name);

/**
 * gpumon_text_fit - a name in so many columns, the shortest loss first
 * @buf: out
 * @len: size of it
 * @name: demangled
 * @columns: at most; 0: no limit
 *
 * As it is; without result and parameters; without namespaces within template
 * arguments; without the outermost of its own, one after the other, as long as more than
 * "call" or the like is left; cut.
 *
 * Return: @buf.
 */
const char *gpumon_text_fit(char *buf, size_t len, const char *name, unsigned int columns);

/* The same but for the cut: what is left may be longer. */
const char *gpumon_text_strip(char *buf, size_t len, const char *name, unsigned int columns);

#define GPUMON_TEXT_NUMBER 48

/* "12.3 µs" with a blank that does not break, for pictures. */
const char *gpumon_text_ns(char *buf, size_t len, uint64_t ns);
/* "1,234,567" */
const char *gpumon_text_count(char *buf, size_t len, uint64_t count);
/* "12.3%", "<0.01%"; "-" of nothing at all. */
const char *gpumon_text_percent(char *buf, size_t len, uint64_t part, uint64_t whole);

/* Sum that stays at the highest number. */
static inline uint64_t gpumon_add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif /* GPUMON_OUTPUT_TEXT_H */
