/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The files that one process has mapped, and memory of it without a file.
 */
#ifndef GPUMON_SYMBOL_OBJECT_H
#define GPUMON_SYMBOL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol.h"
#include "symbol_strings.h"

struct gpumon_symbol_objects;
struct gpumon_symbol_object;

/**
 * gpumon_symbol_objects_new - no files yet
 * @root: in front of paths
 * @strings: where names are kept, the caller's
 *
 * Return: them, NULL without memory.
 */
struct gpumon_symbol_objects *gpumon_symbol_objects_new(const char *root,
							struct gpumon_symbol_strings *strings);

/**
 * gpumon_symbol_objects_get - the file of a mapping
 * @objects: of the process
 * @mapping: with inode and build id
 * @path: of the file
 *
 * Return: it, the same for the same file; NULL without memory.
 */
struct gpumon_symbol_object *gpumon_symbol_objects_get(struct gpumon_symbol_objects *objects,
						       const struct gpumon_record_mapping *mapping,
						       const char *path);

/* Whether it is memory without a file that has symbols: code made at run time may be there. */
bool gpumon_symbol_object_is_memory(const struct gpumon_symbol_object *object);

/* Base name; "[unknown]" without one. */
const char *gpumon_symbol_object_module(const struct gpumon_symbol_object *object);

/**
 * gpumon_symbol_object_find - functions at a place of a file
 * @objects: which it is one of
 * @object: file
 * @offset: in the file
 * @found: filled in, the innermost first
 * @room: of @found
 * @address: set to what the offset is in the file's own numbers, or to @offset where the
 *           file cannot be read
 *
 * Return: how many, 0 if it has no name.
 */
unsigned int gpumon_symbol_object_find(struct gpumon_symbol_objects *objects,
				       struct gpumon_symbol_object *object, uint64_t offset,
				       struct gpumon_symbol *found, unsigned int room,
				       uint64_t *address);

/* As gpumon_symbols_missing(). */
unsigned int gpumon_symbol_objects_missing(const struct gpumon_symbol_objects *objects,
					   void (*each)(void *data, const char *path,
							const char *why),
					   void *data);

void gpumon_symbol_objects_free(struct gpumon_symbol_objects *objects);

#endif /* GPUMON_SYMBOL_OBJECT_H */
