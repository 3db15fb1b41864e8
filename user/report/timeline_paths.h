/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Call paths on a timeline: those of operations, and what threads did outside of calls. */
#ifndef GPUMON_REPORT_TIMELINE_PATHS_H
#define GPUMON_REPORT_TIMELINE_PATHS_H

#include "budget_engine.h"
#include "timeline_rows.h"

/**
 * struct gpumon_track_paths - call paths of a timeline; zeroed but for @sink, @rows and @pool
 * @sink: gets the states
 * @rows: rows of the timeline
 * @pool: of the texts
 * @tree: call paths by line, without levels for processes and threads, which are rows
 * @lines: from a node of @tree to its line
 * @states: from the node of a state to the name of its slices
 * @budget: finds the states
 */
struct gpumon_track_paths {
	const struct gpumon_track_sink *sink;
	struct gpumon_track_rows *rows;
	struct gpumon_pool *pool;
	struct gpumon_tree tree;
	struct gpumon_map lines;
	struct gpumon_map states;
	struct gpumon_budget budget;
};

void gpumon_track_paths_begin(struct gpumon_track_paths *paths, struct gpumon_tables *tables,
			      const struct gpumon_profile_options *options);

/* First pass: a record of a process. */
void gpumon_track_paths_look(struct gpumon_track_paths *paths, uint32_t process,
			     const struct gpumon_record *record);
/* Between the passes. */
void gpumon_track_paths_turn(struct gpumon_track_paths *paths);
/* Second pass: a record, after its thread has a row. */
void gpumon_track_paths_add(struct gpumon_track_paths *paths, uint32_t process,
			    const struct gpumon_record *record);
/* After the second pass. */
void gpumon_track_paths_end(struct gpumon_track_paths *paths);

/* The node of an operation's API call. NULL if there is none. */
const struct gpumon_node *gpumon_track_path(struct gpumon_track_paths *paths,
					    const struct gpumon_work *work, uint64_t start_ns);
/* The line that "correlate" shows for something of that name. */
const char *gpumon_track_path_line(struct gpumon_track_paths *paths, const struct gpumon_node *path,
				   const char *name);
void gpumon_track_paths_clear(struct gpumon_track_paths *paths);

#endif /* GPUMON_REPORT_TIMELINE_PATHS_H */
