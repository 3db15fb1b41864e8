// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>

#include "lib/text.h"
#include "path_text.h"
#include "profile_internal.h"
#include "timeline_paths.h"
#include "view.h"
#include "wrappers.h"

/* Width of a call path's line in an event's arguments. */
#define LINE_COLUMNS 200

static const char *name_of(struct gpumon_track_paths *paths, const char *text)
{
	return gpumon_pool_text(paths->pool, text);
}

/* --- operations */

const struct gpumon_node *gpumon_track_path(struct gpumon_track_paths *paths,
					    const struct gpumon_work *work, uint64_t start_ns)
{
	if (work->match != GPUMON_MATCH_STACK && work->match != GPUMON_MATCH_GRAPH_NODE)
		return NULL;
	return gpumon_tree_work(&paths->tree, work, start_ns);
}

const char *gpumon_track_path_line(struct gpumon_track_paths *paths, const struct gpumon_node *path,
				   const char *name)
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
	gpumon_path_texts(&row, 1, LINE_COLUMNS, &text);
	line = name_of(paths, text);
	free(text);
	gpumon_map_set(&paths->lines, (uintptr_t)path, (uintptr_t)line);
	return line;
}

/* --- states of threads */

/* The innermost function that tells a reader something: "step". NULL if there is none. */
static const char *function_of(const struct gpumon_node *state)
{
	for (const struct gpumon_node *node = state->parent; node; node = node->parent) {
		if ((node->kind == GPUMON_NODE_FUNCTION || node->kind == GPUMON_NODE_PYTHON) &&
		    !gpumon_tree_unnamed(node) && gpumon_frame_role(node) != GPUMON_FRAME_WRAPPER)
			return node->name;
	}
	return NULL;
}

/* "[between calls] in step" */
static const char *state_name(struct gpumon_track_paths *paths, const struct gpumon_node *state)
{
	const char *name =
		(const char *)(uintptr_t)gpumon_map_get(&paths->states, (uintptr_t)state);
	const char *function;
	char text[512], plain[400];

	if (name)
		return name;
	function = function_of(state);
	if (function)
		snprintf(text, sizeof(text), "%.64s in %s", state->name,
			 gpumon_text_function(plain, sizeof(plain), function));
	name = name_of(paths, function ? text : state->name);
	gpumon_map_set(&paths->states, (uintptr_t)state, (uintptr_t)name);
	return name;
}

static void put_state(void *data, const struct gpumon_budget_row *thread,
		      const struct gpumon_node *state, uint64_t start_ns, uint64_t end_ns)
{
	struct gpumon_track_paths *paths = data;
	struct gpumon_track_event event = {
		.type = GPUMON_TRACK_SLICE,
		.category = GPUMON_CATEGORY_STATE,
		.track = gpumon_rows_states(paths->rows, thread->process, thread->tid),
		.name = state_name(paths, state),
		.start_ns = start_ns,
		.end_ns = end_ns,
	};

	if (state->parent->parent) {
		event.path = state->parent;
		event.path_line = gpumon_track_path_line(paths, event.path, event.name);
	}
	paths->sink->event(paths->sink->data, &event);
}

/* --- passes */

void gpumon_track_paths_begin(struct gpumon_track_paths *paths, struct gpumon_tables *tables,
			      const struct gpumon_profile_options *options)
{
	paths->tree.pool = paths->pool;
	paths->tree.tables = tables;
	paths->tree.options.no_inline = options->no_inline;
	paths->tree.options.interpreter = options->interpreter;
	gpumon_tree_begin(&paths->tree);
	paths->budget.tree = &paths->tree;
	paths->budget.state = put_state;
	paths->budget.state_data = paths;
}

void gpumon_track_paths_look(struct gpumon_track_paths *paths, uint32_t process,
			     const struct gpumon_record *record)
{
	uint64_t start_ns, end_ns;

	if (gpumon_activity_times(record, &start_ns, &end_ns))
		gpumon_budget_time(&paths->budget, process, start_ns, end_ns);
	gpumon_budget_look(&paths->budget, process, record);
}

void gpumon_track_paths_turn(struct gpumon_track_paths *paths)
{
	gpumon_budget_turn(&paths->budget);
}

void gpumon_track_paths_add(struct gpumon_track_paths *paths, uint32_t process,
			    const struct gpumon_record *record)
{
	gpumon_budget_add(&paths->budget, process, record);
}

void gpumon_track_paths_end(struct gpumon_track_paths *paths)
{
	gpumon_budget_end(&paths->budget);
}

void gpumon_track_paths_clear(struct gpumon_track_paths *paths)
{
	gpumon_budget_clear(&paths->budget);
	gpumon_tree_clear(&paths->tree);
	gpumon_map_clear(&paths->lines);
	gpumon_map_clear(&paths->states);
}
