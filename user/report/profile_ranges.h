/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* NVTX ranges that were open on a thread at the time of a launch. */
#ifndef GPUMON_REPORT_PROFILE_RANGES_H
#define GPUMON_REPORT_PROFILE_RANGES_H

#include "lib/map.h"
#include "profile.h"
#include "captures.h"

/* Maximum number of open ranges of a thread. Others are only counted. */
#define GPUMON_RANGES_OPEN 64

struct gpumon_range_open {
	uint64_t time_ns;
	uint64_t id;	 /* of start and end, otherwise 0 */
	uint64_t number; /* which of all ranges it is, from 1 on */
	uint64_t around; /* number of the innermost range that was open at its beginning; 0: none */
	uint32_t row;
	uint32_t not_kept; /* pushed in it, on the stack of its domain, but not in @open */
	bool pushed;
};

/* From this time on, the ranges of a path are open. @innermost: number of the innermost of them */
struct gpumon_range_change {
	uint64_t time_ns;
	uint64_t innermost;
	uint32_t path;
};

struct gpumon_range_thread {
	struct gpumon_range_open open[GPUMON_RANGES_OPEN];
	uint32_t depth;
	struct gpumon_range_change *changes;
	uint32_t first;
	uint32_t used; /* after @first */
	uint32_t room;
};

/* Open ranges, as a parent path and one more range. Number 0 is the empty path. */
struct gpumon_range_path {
	uint32_t parent;
	uint32_t row;
	bool again; /* an outer one has the same row */
};

/**
 * struct gpumon_range_ended - a range that has ended
 * @process: number of the process
 * @tid: thread on which it began
 * @open: the range
 * @row: its row
 * @end_ns: its end; 0 if it is not known: it was open at the end, or too many were
 */
struct gpumon_range_ended {
	uint32_t process;
	uint32_t tid;
	const struct gpumon_range_open *open;
	const struct gpumon_range_row *row;
	uint64_t end_ns;
};

/* Called when a range has ended. */
typedef void gpumon_range_fn(void *data, const struct gpumon_range_ended *ended);

/**
 * struct gpumon_ranges - initialise it with zeroes, except:
 * @pool: pool for texts
 * @ended: called when a range has ended, may be NULL
 * @data: passed to @ended
 * @timeline: gpumon_ranges_work() or gpumon_ranges_innermost() will be called
 * @count: number of ranges so far
 * @from_ns: rows have only what began since then, and the time since then
 * @until_ns: and before then; 0: no limit
 */
struct gpumon_ranges {
	struct gpumon_pool *pool;
	gpumon_range_fn *ended;
	void *data;
	bool timeline;
	uint64_t count;
	uint64_t from_ns;
	uint64_t until_ns;
	struct gpumon_keys row_keys; /* domain and text */
	struct gpumon_range_row *rows;
	uint32_t rows_room;
	struct gpumon_keys path_keys; /* parent and row */
	struct gpumon_range_path *paths;
	uint32_t paths_room;
	struct gpumon_keys thread_keys; /* process and tid */
	struct gpumon_range_thread **threads;
	uint32_t threads_room;
};

/* Process a GPUMON_RECORD_RANGE. */
void gpumon_ranges_record(struct gpumon_ranges *ranges, uint32_t number,
			  const struct gpumon_tables_process *process,
			  const struct gpumon_record *record);
/* The ranges that are open on a thread at a time, as a path; 0: none. */
uint32_t gpumon_ranges_path(struct gpumon_ranges *ranges, uint32_t number, uint32_t tid,
			    uint64_t time_ns);
/* The number of the innermost range that is open on a thread at a time; 0: none. */
uint64_t gpumon_ranges_innermost(struct gpumon_ranges *ranges, uint32_t number, uint32_t tid,
				 uint64_t time_ns);
/* The innermost row of a path, which becomes the remaining path; NULL: there is none. */
struct gpumon_range_row *gpumon_ranges_next(const struct gpumon_ranges *ranges, uint32_t *path);
/* Count an operation that a thread launched at a time. */
void gpumon_ranges_work(struct gpumon_ranges *ranges, uint32_t number, uint32_t tid,
			uint64_t launch_ns, uint64_t gpu_ns);
/* All ranges are known: those that are open end without a known time. */
void gpumon_ranges_finish(struct gpumon_ranges *ranges);
void gpumon_ranges_clear(struct gpumon_ranges *ranges);

/**
 * struct gpumon_ranges_ahead - a second reader of a capture, which reads ranges before what is in them
 * @captures: captures, with all definitions
 * @ranges: gets the ranges
 * @reader: NULL: the capture has none
 * @capture: its number
 * @ahead: records that @reader has read
 * @read: records that the pass has read
 */
struct gpumon_ranges_ahead {
	struct gpumon_captures *captures;
	struct gpumon_ranges *ranges;
	struct gpumon_capture *reader;
	unsigned int capture;
	uint64_t ahead;
	uint64_t read;
};

/* A pass begins with a capture. 0, or -1 with the reason in gpumon_capture_error(). */
int gpumon_ranges_ahead_begin(struct gpumon_ranges_ahead *ahead, unsigned int capture);
/* Before each record of the pass. */
void gpumon_ranges_ahead_read(struct gpumon_ranges_ahead *ahead);
/* The capture has no more records. Nothing is done if none was begun. */
void gpumon_ranges_ahead_end(struct gpumon_ranges_ahead *ahead);

#endif /* GPUMON_REPORT_PROFILE_RANGES_H */
