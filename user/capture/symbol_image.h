/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Files with symbols, opened once for all processes that map them, since the processes of a job
 * have the same libraries. A file is opened on first use, and only if it still is the mapped one.
 */
#ifndef GPUMON_CAPTURE_SYMBOL_IMAGE_H
#define GPUMON_CAPTURE_SYMBOL_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "symbol.h"
#include "symbol_file.h"
#include "symbol_strings.h"

struct gpumon_symbol_image;

/**
 * gpumon_symbol_image_get - get a file
 * @root: prefix of its path
 * @wanted: file
 *
 * Return: the same image for the same file; NULL without memory.
 */
struct gpumon_symbol_image *gpumon_symbol_image_get(const char *root,
						    const struct gpumon_symbol_wanted *wanted);

/* Release an image. */
void gpumon_symbol_image_put(struct gpumon_symbol_image *image);

/**
 * gpumon_symbol_image_find - find the functions at an offset of a file
 * @image: file
 * @strings: storage for names
 * @offset: offset in the file
 * @found: out except for the module, the innermost first; a function without a name has NULL
 * @room: size of @found
 * @address: set to the address in the file, or to @offset if the file cannot be read
 *
 * Return: number of functions, 0 if unknown.
 */
unsigned int gpumon_symbol_image_find(struct gpumon_symbol_image *image,
				      struct gpumon_symbol_strings *strings, uint64_t offset,
				      struct gpumon_symbol *found, unsigned int room,
				      uint64_t *address);

#endif /* GPUMON_CAPTURE_SYMBOL_IMAGE_H */
