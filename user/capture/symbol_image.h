/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Files with symbols, opened once for all processes that map them, since the processes of a job
 * have the same libraries. A file is opened on first use, and only if it still is the mapped one.
 */
#ifndef GPUMON_CAPTURE_SYMBOL_IMAGE_H
#define GPUMON_CAPTURE_SYMBOL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol.h"
#include "symbol_file.h"
#include "symbol_table.h"

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

/* The files that a process maps, and its memory without a file. */

struct gpumon_symbol_objects;
struct gpumon_symbol_object;

/**
 * gpumon_symbol_objects_new - create an empty set
 * @root: prefix of paths
 * @strings: storage for names, owned by the caller
 *
 * Return: NULL without memory.
 */
struct gpumon_symbol_objects *gpumon_symbol_objects_new(const char *root,
							struct gpumon_symbol_strings *strings);

/**
 * gpumon_symbol_objects_get - get the file of a mapping
 * @objects: objects of the process
 * @mapping: mapping with inode and build id
 * @path: path of the file
 *
 * Return: the same object for the same file; NULL without memory.
 */
struct gpumon_symbol_object *gpumon_symbol_objects_get(struct gpumon_symbol_objects *objects,
						       const struct gpumon_record_mapping *mapping,
						       const char *path);

/* True for memory without a file that has symbols. It may contain generated code. */
bool gpumon_symbol_object_is_memory(const struct gpumon_symbol_object *object);

/* Base name; "[unknown]" without one. */
const char *gpumon_symbol_object_module(const struct gpumon_symbol_object *object);

/**
 * gpumon_symbol_object_find - find the functions at an offset of a file
 * @objects: objects that contain it
 * @object: file
 * @offset: offset in the file
 * @found: out, the innermost first
 * @room: size of @found
 * @address: set to the address in the file, or to @offset if the file cannot be read
 *
 * Return: number of functions, 0 if there is no name.
 */
unsigned int gpumon_symbol_object_find(struct gpumon_symbol_objects *objects,
				       struct gpumon_symbol_object *object, uint64_t offset,
				       struct gpumon_symbol *found, unsigned int room,
				       uint64_t *address);

void gpumon_symbol_objects_free(struct gpumon_symbol_objects *objects);

#endif /* GPUMON_CAPTURE_SYMBOL_IMAGE_H */
