// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>

#include "path_text.h"
#include "track_paths.h"

/* Width of a line in an event's arguments. */
#define LINE_COLUMNS 200

int gpumon_track_paths_begin(struct gpumon_track_paths *paths,
			     const struct gpumon_profile_options *options)
{
	paths->tables.pool = &paths->pool;
	paths->tables.symbol_root = options->symbol_root;
	paths->tree.pool = &paths->pool;
	paths->tree.tables = &paths->tables;
	paths->tree.options.no_inline = options->no_inline;
	paths->tree.options.interpreter = options->interpreter;
	return gpumon_tree_begin(&paths->tree);
}

int gpumon_track_paths_end(struct gpumon_track_paths *paths, const char *const *directories)
{
	return gpumon_tables_end(&paths->tables, directories);
}

const struct gpumon_node *gpumon_track_paths_find(struct gpumon_track_paths *paths,
						  const struct gpumon_work *work, uint64_t start_ns)
{
	/* A capture that is still being written may have grown since the first pass. */
	if (work->process >= paths->tables.used ||
	    (work->match != GPUMON_MATCH_STACK && work->match != GPUMON_MATCH_GRAPH_NODE))
		return NULL;
	return gpumon_tree_work(&paths->tree, work, start_ns);
}

const char *gpumon_track_paths_line(struct gpumon_track_paths *paths,
				    const struct gpumon_node *path, const char *name)
{
	const char *line = (const char *)(uintptr_t)gpumon_map_get(&paths->lines, (uintptr_t)path);
	const struct gpumon_node work = {
		.name = name,
		.kind = GPUMON_NODE_KERNEL,
		.parent = (struct gpumon_node *)path,
	};
	const struct gpumon_node *row = &work;
	char *text;

	if (line)
		return line;
	if (gpumon_path_texts(&row, 1, LINE_COLUMNS, &text))
		return NULL;
	line = gpumon_pool_text(&paths->pool, text);
	free(text);
	if (!line || gpumon_map_set(&paths->lines, (uintptr_t)path, (uintptr_t)line))
		return NULL;
	return line;
}

void gpumon_track_paths_clear(struct gpumon_track_paths *paths)
{
	gpumon_map_clear(&paths->lines);
	gpumon_tree_clear(&paths->tree);
	gpumon_tables_clear(&paths->tables);
	gpumon_pool_clear(&paths->pool);
}
