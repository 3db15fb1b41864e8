/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Strings that are stored once, and freed together. */
#ifndef GPUMON_CAPTURE_SYMBOL_STRINGS_H
#define GPUMON_CAPTURE_SYMBOL_STRINGS_H

#include <stddef.h>

/*
 * Longer names are cut. A broken file can have one text of hundreds of megabytes as the name of
 * each function.
 */
#define GPUMON_SYMBOL_NAME_MAX (64u << 10)

struct gpumon_symbol_strings;

struct gpumon_symbol_strings *gpumon_symbol_strings_new(void);

/**
 * gpumon_symbol_strings_add - get the only copy of a text
 * @strings: storage
 * @text: text, need not be NUL-terminated
 * @length: its length
 *
 * Return: the NUL-terminated copy, the same pointer for the same text; NULL without memory.
 */
const char *gpumon_symbol_strings_add(struct gpumon_symbol_strings *strings, const char *text,
				      size_t length);

/**
 * gpumon_symbol_strings_demangled - demangle a name
 * @strings: storage for both names
 * @name: name, mangled or not
 *
 * Each name is only demangled once.
 *
 * Return: the demangled name; NULL without memory.
 */
const char *gpumon_symbol_strings_demangled(struct gpumon_symbol_strings *strings,
					    const char *name);

/* Bytes of all strings. */
size_t gpumon_symbol_strings_bytes(const struct gpumon_symbol_strings *strings);

void gpumon_symbol_strings_free(struct gpumon_symbol_strings *strings);

#endif /* GPUMON_CAPTURE_SYMBOL_STRINGS_H */
