/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Finds the row of a timeline for an event. Rows are created on demand. */
#ifndef GPUMON_REPORT_TRACK_ROWS_H
#define GPUMON_REPORT_TRACK_ROWS_H

#include "lib/map.h"
#include "abi/format.h"
#include "capture/gpu.h"
#include "record_names.h"
#include "scan_streams.h"
#include "track.h"

/*
 * Rows of one stream, for operations that overlap. If there are more, the rest share the last one.
 */
#define GPUMON_LANES_MAX 64

/**
 * struct gpumon_lanes - adjacent rows for slices that may overlap
 * @parent: parent of the rows
 * @name: number of the name of the first row
 * @rows: rows created so far
 * @ends: by row: end of its last slice
 * @n: number of @rows
 */
struct gpumon_lanes {
	const struct gpumon_track *parent;
	uint32_t name;
	struct gpumon_track *rows[GPUMON_LANES_MAX];
	uint64_t ends[GPUMON_LANES_MAX];
	unsigned int n;
};

/**
 * struct gpumon_track_thread - the row of a thread, with its open slices
 * @depth: number of pushed ranges
 * @launch: correlation id of the last launch, with the number of its function
 * @call: the same of the last call
 */
struct gpumon_track_thread {
	struct gpumon_track *track;
	unsigned int depth;
	uint32_t launch;
	uint32_t launch_function;
	uint32_t call;
	uint32_t call_function;
};

/* Information about a process from the first pass, by its number. */
struct gpumon_track_process {
	uint32_t number;
	uint32_t pid;
	uint32_t command; /* numbers of names */
	uint32_t executable;
	uint32_t host;
	uint8_t boot_id[16];
	bool launches;	  /* the library was in it, so uprobe hits are redundant */
	uint64_t last_ns; /* when its capture ended */
	struct gpumon_track *track;
};

struct gpumon_track_device {
	uint32_t process;
	struct gpumon_record_device record;
	struct gpumon_track *track;
};

struct gpumon_track_rows {
	const struct gpumon_track_sink *sink;
	struct gpumon_record_names *names;
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
	struct gpumon_map thread_names; /* from process and tid to a name */
	struct gpumon_streams streams;
	struct gpumon_map context_map;
	struct gpumon_map stream_map;
	uint32_t contexts;
	struct gpumon_map row_map; /* of the driver, by name */
	struct gpumon_track **tracks;
	size_t track_count;
	struct gpumon_track *driver;
	bool several_hosts;
	bool failed; /* an allocation failed */
};

/* First pass. */
void gpumon_rows_process(struct gpumon_track_rows *rows, uint32_t number,
			 const struct gpumon_record_process *record);
void gpumon_rows_thread_name(struct gpumon_track_rows *rows, uint32_t process, uint32_t tid,
			     uint32_t name);
void gpumon_rows_device(struct gpumon_track_rows *rows, uint32_t process,
			const struct gpumon_record_device *record);
/* Creates it if no record described it. NULL without memory. */
struct gpumon_track_process *gpumon_rows_find_process(struct gpumon_track_rows *rows,
						      uint32_t number);

/* Second pass only. NULL without memory, or before. */
const struct gpumon_track *gpumon_rows_of_process(struct gpumon_track_rows *rows, uint32_t number);
struct gpumon_track_thread *gpumon_rows_thread(struct gpumon_track_rows *rows, uint32_t process,
					       uint32_t tid);
struct gpumon_lanes *gpumon_rows_stream(struct gpumon_track_rows *rows, uint32_t process,
					uint32_t device, uint32_t context, uint32_t stream);
/* Rows for slices without a thread: kind 0 ranges, 1 waits, 2 memory, 3 unified memory. */
struct gpumon_lanes *gpumon_rows_other(struct gpumon_track_rows *rows, uint32_t process,
				       unsigned int kind);
const struct gpumon_track *gpumon_rows_driver(struct gpumon_track_rows *rows, const char *name);

/* The row in which the slice overlaps nothing. It is occupied from then on. */
const struct gpumon_track *gpumon_rows_lane(struct gpumon_track_rows *rows,
					    struct gpumon_lanes *lanes, uint64_t start_ns,
					    uint64_t end_ns);
void gpumon_rows_clear(struct gpumon_track_rows *rows);

#endif /* GPUMON_REPORT_TRACK_ROWS_H */
