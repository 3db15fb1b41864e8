/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Captures as rows of a timeline: processes with threads, GPUs with streams, and
 * what happened on them, streamed. Names are read in a first pass, as they may be
 * defined behind their use; what is kept then does not grow with the length.
 */
#ifndef GPUMON_OUTPUT_TRACK_H
#define GPUMON_OUTPUT_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "correlate/profile/profile.h"

enum gpumon_track_kind {
	GPUMON_TRACK_PROCESS, /* of the CPU; without a parent */
	GPUMON_TRACK_GPU,     /* without a parent */
	GPUMON_TRACK_DRIVER,  /* without a parent */
	GPUMON_TRACK_THREAD,
	GPUMON_TRACK_ROW, /* a stream of a GPU, a row of the driver's, or what has no thread */
};

/**
 * struct gpumon_track - a row, or what rows belong to
 * @id: from 1 on
 * @kind: what it is
 * @parent: NULL of processes, GPUs and the driver
 * @number: pid of a process, tid of a thread, else its place among its parent's
 * @name: for people
 */
struct gpumon_track {
	uint32_t id;
	enum gpumon_track_kind kind;
	const struct gpumon_track *parent;
	uint32_t number;
	char *name;
};

enum gpumon_track_type {
	GPUMON_TRACK_SLICE,
	GPUMON_TRACK_BEGIN, /* of a slice whose end comes later, the last begun first */
	GPUMON_TRACK_END,
	GPUMON_TRACK_INSTANT,
};

enum gpumon_track_category {
	GPUMON_CATEGORY_API,
	GPUMON_CATEGORY_KERNEL,
	GPUMON_CATEGORY_COPY,
	GPUMON_CATEGORY_SET,
	GPUMON_CATEGORY_RANGE,
	GPUMON_CATEGORY_WAIT,
	GPUMON_CATEGORY_MEMORY,
	GPUMON_CATEGORY_DRIVER,
	GPUMON_CATEGORY_ALERT,
	GPUMON_CATEGORY_RECORDING,
	GPUMON_CATEGORIES
};

#define GPUMON_TRACK_ARGUMENTS 14

struct gpumon_track_argument {
	const char *key;  /* plain letters */
	const char *text; /* NULL: the value is @value */
	uint64_t value;
};

/**
 * struct gpumon_track_event - something on a row
 * @name: number of the name, from 1 on, the same for the same text
 * @text: that name
 * @start_ns: when; CLOCK_MONOTONIC
 * @end_ns: of a slice
 * @flow: which launch belongs to which work, 0 of none
 * @from: of work with @flow: the thread that launched it, NULL of the launch itself
 * @from_ns: when that did
 * @path: of work: the node of its API call, NULL where it has none; its root is not part of it
 * @path_line: the same as a line, with @path
 */
struct gpumon_track_event {
	const struct gpumon_track *track;
	enum gpumon_track_type type;
	enum gpumon_track_category category;
	uint32_t name;
	const char *text;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t flow;
	const struct gpumon_track *from;
	uint64_t from_ns;
	const struct gpumon_node *path;
	const char *path_line;
	struct gpumon_track_argument arguments[GPUMON_TRACK_ARGUMENTS];
	unsigned int argument_count;
};

/**
 * struct gpumon_track_sink - who writes them
 * @begin: first, with the time of the first event
 * @track: a row, before anything on it
 * @end: last, while paths are still there; NULL if nobody asks
 * @event: an event; about in the order of time, of each row's slices exactly so
 */
struct gpumon_track_sink {
	void (*begin)(void *data, uint64_t first_ns, const char *command);
	void (*track)(void *data, const struct gpumon_track *track);
	void (*event)(void *data, const struct gpumon_track_event *event);
	void (*end)(void *data);
	void *data;
};

/**
 * gpumon_tracks_read - read captures as a timeline
 * @paths: directories
 * @count: how many
 * @options: of call paths: @symbol_root, @no_inline, @interpreter
 * @sink: gets it
 *
 * Return: 0, or -1 with errno: 0 where the reason is in gpumon_capture_error().
 */
int gpumon_tracks_read(const char *const *paths, unsigned int count,
		       const struct gpumon_profile_options *options,
		       const struct gpumon_track_sink *sink);

/* "kernel" and so on. */
const char *gpumon_track_category_name(enum gpumon_track_category category);

#endif /* GPUMON_OUTPUT_TRACK_H */
