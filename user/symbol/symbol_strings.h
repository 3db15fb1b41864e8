/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Strings that are kept once, until all of them go. */
#ifndef GPUMON_SYMBOL_STRINGS_H
#define GPUMON_SYMBOL_STRINGS_H

#include <stddef.h>

/*
 * The longest name that is kept; more of one is cut off. A broken file can have one text of
 * hundreds of megabytes as the name of each of its functions.
 */
#define GPUMON_SYMBOL_NAME_MAX (64u << 10)

struct gpumon_symbol_strings;

struct gpumon_symbol_strings *gpumon_symbol_strings_new(void);

/**
 * gpumon_symbol_strings_add - a text's one copy
 * @strings: where it is kept
 * @text: need not end with a 0
 * @length: bytes of it
 *
 * Return: the copy, with a 0 behind it, the same pointer for the same text;
 * NULL without memory.
 */
const char *gpumon_symbol_strings_add(struct gpumon_symbol_strings *strings, const char *text,
				      size_t length);

/**
 * gpumon_symbol_strings_demangled - the name for people of a name
 * @strings: where both are kept
 * @name: mangled or not
 *
 * Each name is demangled once.
 *
 * Return: it; NULL without memory.
 */
const char *gpumon_symbol_strings_demangled(struct gpumon_symbol_strings *strings,
					    const char *name);

/* Bytes of all of them. */
size_t gpumon_symbol_strings_bytes(const struct gpumon_symbol_strings *strings);

void gpumon_symbol_strings_free(struct gpumon_symbol_strings *strings);

#endif /* GPUMON_SYMBOL_STRINGS_H */
