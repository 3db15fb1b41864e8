/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Call paths as lines of text, and the heaviest paths of a tree. */
#ifndef GPUMON_REPORT_PATH_TEXT_H
#define GPUMON_REPORT_PATH_TEXT_H

#include "output.h"

/**
 * gpumon_path_texts - format the callers of each row of a table as a line
 * @nodes: the GPU operations, which are not in the lines
 * @count: number of @nodes
 * @columns: maximum width
 * @texts: out, each to be freed; "" without callers
 *
 * Wrappers (wrappers.c) are left out. If there is too little room, requested levels come first,
 * then Python functions, functions of machine code, and unnamed places; inner ones before outer
 * ones. "…" replaces functions that do not fit. A run of places in one library is "libfoo.so (7)",
 * a recursive function is "visit tree.c:12 (7)".
 *
 * If lines of different paths would be equal, a difference comes first: a function, or for the same
 * kernel also the API call, a wrapper or a place.
 */
void gpumon_path_texts(const struct gpumon_node *const *nodes, unsigned int count,
		       unsigned int columns, char **texts);

/**
 * gpumon_paths_top - find the nodes with the highest own weight
 * @root: root of the tree
 * @weight: kind of weight
 * @top: out, the heaviest first
 * @room: size of @top
 *
 * Return: number of nodes.
 */
unsigned int gpumon_paths_top(const struct gpumon_node *root, enum gpumon_weight weight,
			      const struct gpumon_node **top, unsigned int room);

/* True if any node has a caller. */
bool gpumon_paths_any(const struct gpumon_node *const *nodes, unsigned int count);

#endif /* GPUMON_REPORT_PATH_TEXT_H */
