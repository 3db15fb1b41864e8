/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Files with symbols, opened once for all processes that have them mapped:
 * those of a job have the same libraries. Each is opened when something of it
 * is asked for, and only if it is still the one that was mapped.
 */
#ifndef GPUMON_SYMBOL_IMAGE_H
#define GPUMON_SYMBOL_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "symbol.h"
#include "symbol_file.h"
#include "symbol_strings.h"

struct gpumon_symbol_image;

/**
 * gpumon_symbol_image_get - a file
 * @root: in front of its path
 * @wanted: which
 *
 * Return: it, the same for the same file; NULL without memory.
 */
struct gpumon_symbol_image *gpumon_symbol_image_get(const char *root,
						    const struct gpumon_symbol_wanted *wanted);

/* Who got it needs it no more. */
void gpumon_symbol_image_put(struct gpumon_symbol_image *image);

/**
 * gpumon_symbol_image_find - functions at a place of a file
 * @image: file
 * @strings: where names are kept
 * @offset: in the file
 * @found: filled in, the innermost first, but for the module; a function without a name has NULL
 * @room: of @found
 * @address: set to what the offset is in the file's own numbers, or to @offset where the
 *           file cannot be read
 *
 * Return: how many, 0 if nothing is known.
 */
unsigned int gpumon_symbol_image_find(struct gpumon_symbol_image *image,
				      struct gpumon_symbol_strings *strings, uint64_t offset,
				      struct gpumon_symbol *found, unsigned int room,
				      uint64_t *address);

/* Why it could not be used, and what to do; NULL if it could, or nobody asked. */
const char *gpumon_symbol_image_why(const struct gpumon_symbol_image *image);

#endif /* GPUMON_SYMBOL_IMAGE_H */
