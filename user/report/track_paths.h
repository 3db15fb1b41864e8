/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Call paths of a timeline. Definitions are read in the first pass; a path is made when an
 * operation needs it. Paths and their lines are stored once.
 */
#ifndef GPUMON_REPORT_TRACK_PATHS_H
#define GPUMON_REPORT_TRACK_PATHS_H

#include "lib/pool.h"
#include "capture/capture.h"
#include "profile_tables.h"
#include "profile_tree.h"

/**
 * struct gpumon_track_paths - call paths of a timeline
 * @tables: definitions of the captures
 * @tree: paths by line, without levels for processes and threads, which are rows
 * @lines: from a node to its line
 */
struct gpumon_track_paths {
	struct gpumon_pool pool;
	struct gpumon_tables tables;
	struct gpumon_tree tree;
	struct gpumon_map lines;
};

/* 0, or -1 without memory. */
int gpumon_track_paths_begin(struct gpumon_track_paths *paths,
			     const struct gpumon_profile_options *options);
/* Call this after the first pass. @directories are those of the captures. */
int gpumon_track_paths_end(struct gpumon_track_paths *paths, const char *const *directories);

/* The node of an operation's API call. NULL if there is none, or without memory. */
const struct gpumon_node *gpumon_track_paths_find(struct gpumon_track_paths *paths,
						  const struct gpumon_work *work,
						  uint64_t start_ns);
/* The line that "correlate" shows for an operation of that name. NULL without memory. */
const char *gpumon_track_paths_line(struct gpumon_track_paths *paths,
				    const struct gpumon_node *path, const char *name);
void gpumon_track_paths_clear(struct gpumon_track_paths *paths);

#endif /* GPUMON_REPORT_TRACK_PATHS_H */
