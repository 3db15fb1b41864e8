/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Call paths as one line, and the heaviest of a tree. */
#ifndef GPUMON_OUTPUT_PATH_TEXT_H
#define GPUMON_OUTPUT_PATH_TEXT_H

#include "output/output.h"

/**
 * gpumon_path_text - the callers of a piece of work in a line
 * @node: the work; not in the line itself, nor is the API call
 * @columns: at most, 0: no limit, and nothing is cut or left out
 *
 * Where not all have room, Python's functions come before those of machine code, these
 * before places without a name, inner ones before outer ones, and "…" stands for what is
 * left out. Places of one library in a row are "libfoo.so (7)" then. A reason for having
 * no path is told as it is.
 *
 * Return: to be freed; "" without callers; NULL without memory.
 */
char *gpumon_path_text(const struct gpumon_node *node, unsigned int columns);

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
