/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Call paths as one line each, and the heaviest of a tree. */
#ifndef GPUMON_OUTPUT_PATH_TEXT_H
#define GPUMON_OUTPUT_PATH_TEXT_H

#include "output/output.h"

/**
 * gpumon_path_texts - the callers of each row of a table in a line
 * @nodes: the work; not in the line itself
 * @count: how many
 * @columns: at most
 * @texts: filled in, each to be freed; "" without callers
 *
 * Wrappers (wrappers.c) are left out. Where the others have no room, levels that were asked
 * for come first, then Python's functions, those of machine code, and places without a name;
 * inner ones before outer ones. "…" stands for functions that had no room. Places of one
 * library in a row are "libfoo.so (7)", a function that calls itself is "visit tree.c:12 (7)".
 *
 * Where lines of different paths would be the same, what differs comes before all else: a
 * function; of the same kernel also the call, a wrapper or a place.
 *
 * Return: 0, or -1 without memory: then all of @texts are NULL.
 */
int gpumon_path_texts(const struct gpumon_node *const *nodes, unsigned int count,
		      unsigned int columns, char **texts);

/**
 * gpumon_paths_top - nodes with the most weight of their own
 * @root: of the tree
 * @weight: which
 * @top: filled in, the heaviest first
 * @room: of it
 *
 * Return: how many.
 */
unsigned int gpumon_paths_top(const struct gpumon_node *root, enum gpumon_weight weight,
			      const struct gpumon_node **top, unsigned int room);

/* Has any of them a caller? */
bool gpumon_paths_any(const struct gpumon_node *const *nodes, unsigned int count);

#endif /* GPUMON_OUTPUT_PATH_TEXT_H */
