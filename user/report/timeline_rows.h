/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Finds the row of a timeline for an event. Rows are created on demand. */
#ifndef GPUMON_REPORT_TIMELINE_ROWS_H
#define GPUMON_REPORT_TIMELINE_ROWS_H

#include "capture/gpu.h"
#include "captures.h"
#include "lib/map.h"
#include "scan.h"
#include "timeline.h"

/*
 * Rows of one stream, for operations that overlap. If there are more, the rest share the last one.
 */
#define GPUMON_LANES_MAX 64

/**
 * struct gpumon_lanes - adjacent rows for slices that may overlap
 * @parent: parent of the rows
 * @name: name of the first row
 * @rows: rows created so far
 * @ends: by row: end of its last slice
 * @n: number of @rows
 */
struct gpumon_lanes {
	const struct gpumon_track *parent;
	const char *name;
	struct gpumon_track *rows[GPUMON_LANES_MAX];
	uint64_t ends[GPUMON_LANES_MAX];
	unsigned int n;
};

/* A pushed range. @before: it began before the part of the time that is shown; @shown: it has an event. */
struct gpumon_track_pushed {
	const char *name;
	const char *domain;
	bool before;
	bool shown;
};

/**
 * struct gpumon_track_thread - the row of a thread, with its open slices
 * @states: row of what it did outside of calls, NULL until it is used
 * @pushed: pushed ranges
 * @depth: number of them
 * @launch: correlation id of the last launch, with the name of its function
 * @call: the same of the last call
 * @flow: of the last launch or call
 */
struct gpumon_track_thread {
	struct gpumon_track *track;
	struct gpumon_track *states;
	struct gpumon_track_pushed *pushed;
	uint32_t depth;
	uint32_t room;
	uint32_t launch;
	const char *launch_function;
	uint32_t call;
	const char *call_function;
	uint64_t flow;
};

/* The row of a process. */
struct gpumon_track_process {
	uint32_t number;
	struct gpumon_track *track;
};

/* The row of a device. */
struct gpumon_track_device {
	uint32_t process;
	struct gpumon_record_device record;
	struct gpumon_track *track;
};

/**
 * struct gpumon_track_rows - the rows; the rest is not for others
 * @sink: gets them
 * @tables: definitions of the captures
 * @from_ns: operations that began since then are shown, and the time since then
 * @until_ns: and before then; 0: no limit
 */
struct gpumon_track_rows {
	const struct gpumon_track_sink *sink;
	const struct gpumon_tables *tables;
	uint64_t from_ns;
	uint64_t until_ns;
	struct gpumon_track_process *processes;
	size_t process_count;
	struct gpumon_track_device *devices;
	size_t device_count;
	struct gpumon_track_thread *threads;
	size_t thread_count;
	struct gpumon_lanes **lanes;
	size_t lane_count;
	struct gpumon_map process_map; /* values are indexes + 1 */
	struct gpumon_map device_map;
	struct gpumon_map thread_map;
	struct gpumon_streams streams;
	struct gpumon_map context_map;
	struct gpumon_map stream_map;
	uint32_t contexts;
	struct gpumon_map row_map; /* of the driver, by name */
	struct gpumon_map job_map; /* lanes of the driver, by name */
	struct gpumon_track **tracks;
	size_t track_count;
	struct gpumon_track *driver;
	bool several_hosts;
};

/* First pass: what it describes gets a row in that order. */
void gpumon_rows_define_process(struct gpumon_track_rows *rows, uint32_t number);
void gpumon_rows_define_device(struct gpumon_track_rows *rows, uint32_t process,
			       const struct gpumon_record_device *record);

/* Second pass only. */
const struct gpumon_track *gpumon_rows_of_process(struct gpumon_track_rows *rows, uint32_t number);
struct gpumon_track_thread *gpumon_rows_thread(struct gpumon_track_rows *rows, uint32_t process,
					       uint32_t tid);
/* The row below that of a thread. */
const struct gpumon_track *gpumon_rows_states(struct gpumon_track_rows *rows, uint32_t process,
					      uint32_t tid);
struct gpumon_lanes *gpumon_rows_stream(struct gpumon_track_rows *rows, uint32_t process,
					uint32_t device, uint32_t context, uint32_t stream);
/* Rows for slices without a thread: kind 0 ranges, 1 waits, 2 memory, 3 unified memory. */
struct gpumon_lanes *gpumon_rows_other(struct gpumon_track_rows *rows, uint32_t process,
				       unsigned int kind);
/* A new row for frames of a swapchain. */
const struct gpumon_track *gpumon_rows_frames(struct gpumon_track_rows *rows, uint32_t process,
					      uint32_t swapchain);
const struct gpumon_track *gpumon_rows_driver(struct gpumon_track_rows *rows, const char *name);
/* Rows for jobs of a ring. @name: of the first one */
struct gpumon_lanes *gpumon_rows_jobs(struct gpumon_track_rows *rows, const char *name);

/* A new row of counters of a GPU. */
const struct gpumon_track *gpumon_rows_counter(struct gpumon_track_rows *rows, uint32_t process,
					       uint32_t device, const char *name);

/* False if the slice overlaps one of each row, and there can be no more rows. */
bool gpumon_rows_has_lane(const struct gpumon_lanes *lanes, uint64_t start_ns);
/* The row in which the slice overlaps nothing. It is occupied from then on. */
const struct gpumon_track *gpumon_rows_lane(struct gpumon_track_rows *rows,
					    struct gpumon_lanes *lanes, uint64_t start_ns,
					    uint64_t end_ns);

/* Ranges that began before the part of the time that is shown, once something on the thread is in it. */
void gpumon_rows_show_pushed(struct gpumon_track_rows *rows, struct gpumon_track_thread *thread);
/* The beginning of a range. False if it has no event, now or at all. */
bool gpumon_rows_push(struct gpumon_track_rows *rows, struct gpumon_track_thread *thread,
		      const struct gpumon_track_event *event);
/* Its end, which may be cut. False if it has none. */
bool gpumon_rows_pop(struct gpumon_track_rows *rows, struct gpumon_track_thread *thread,
		     struct gpumon_track_event *event);
void gpumon_rows_clear(struct gpumon_track_rows *rows);

#endif /* GPUMON_REPORT_TIMELINE_ROWS_H */
