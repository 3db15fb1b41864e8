/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Captures as rows of a timeline, processes with threads and GPUs with streams, and a stream of
 * events on these. Memory does not grow with the length of the capture.
 */
#ifndef GPUMON_REPORT_TIMELINE_H
#define GPUMON_REPORT_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile.h"

enum gpumon_track_kind {
	GPUMON_TRACK_PROCESS, /* on the CPU, no parent */
	GPUMON_TRACK_GPU,     /* no parent */
	GPUMON_TRACK_DRIVER,  /* no parent */
	GPUMON_TRACK_THREAD,
	GPUMON_TRACK_METRIC, /* counters of a GPU, which is its parent */
	GPUMON_TRACK_ROW, /* a stream of a GPU, a row of the driver, states of a thread, frames, or no thread's */
};

/**
 * struct gpumon_track - a row, or the parent of rows
 * @id: from 1 on
 * @kind: kind of track
 * @parent: NULL for processes, GPUs and the driver
 * @number: pid of a process, tid of a thread, otherwise its index in its parent
 * @name: readable name
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
	GPUMON_TRACK_BEGIN, /* of a slice whose end comes later; nested ones end in reverse order */
	GPUMON_TRACK_END,
	GPUMON_TRACK_INSTANT,
	GPUMON_TRACK_COUNTER, /* the value from then on */
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
	GPUMON_CATEGORY_GRAPH,
	GPUMON_CATEGORY_METRIC,
	GPUMON_CATEGORY_STATE, /* what a thread did outside of calls */
	GPUMON_CATEGORY_FRAME, /* from one present to the next one */
	GPUMON_CATEGORY_JOB,   /* of the DRM scheduler, in its queue or on the hardware */
	GPUMON_CATEGORIES
};

#define GPUMON_TRACK_ARGUMENTS 14

struct gpumon_track_argument {
	const char *key;  /* plain letters */
	const char *text; /* NULL: the value is @value */
	uint64_t value;
};

/**
 * struct gpumon_track_event - an event on a row
 * @name: its name, the same pointer for the same text; of a frame it is of this event alone
 * @start_ns: CLOCK_MONOTONIC
 * @end_ns: end of a slice
 * @flow: connects a launch with its GPU operations, 0 for none
 * @from: for an operation with @flow: the launching thread; NULL for the launch itself
 * @from_ns: time of the launch
 * @path: for an operation: the node of its API call; for a state: its function. It may be NULL. The root
 *        is not part of the path
 * @path_line: @path as a line
 * @number: of a counter: its value
 */
struct gpumon_track_event {
	const struct gpumon_track *track;
	enum gpumon_track_type type;
	enum gpumon_track_category category;
	const char *name;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t flow;
	const struct gpumon_track *from;
	uint64_t from_ns;
	const struct gpumon_node *path;
	const char *path_line;
	struct gpumon_track_argument arguments[GPUMON_TRACK_ARGUMENTS];
	unsigned int argument_count;
	double number;
};

/**
 * struct gpumon_track_sink - a writer of a timeline
 * @begin: called first, with the time of the first event; @range: which part of the time it has, "" for all
 * @track: called with a row before its events
 * @end: called last, while paths still exist; may be NULL
 * @event: called with an event, roughly in order of time; the slices of each row are exactly in
 * order
 */
struct gpumon_track_sink {
	void (*begin)(void *data, uint64_t first_ns, const char *command, const char *range);
	void (*track)(void *data, const struct gpumon_track *track);
	void (*event)(void *data, const struct gpumon_track_event *event);
	void (*end)(void *data);
	void *data;
};

/**
 * gpumon_tracks_read - read captures as a timeline
 * @paths: directories
 * @count: number of @paths
 * @options: options of call paths: @symbol_root, @no_inline, @interpreter; and @asked
 * @sink: writer
 *
 * Return: 0, or -1 with errno, which is 0 if the reason is in gpumon_capture_error().
 */
int gpumon_tracks_read(const char *const *paths, unsigned int count,
		       const struct gpumon_profile_options *options,
		       const struct gpumon_track_sink *sink);

/* "kernel" and so on. */
const char *gpumon_track_category_name(enum gpumon_track_category category);

#endif /* GPUMON_REPORT_TIMELINE_H */
