/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the parts that read captures as a timeline. */
#ifndef GPUMON_REPORT_TRACK_READ_H
#define GPUMON_REPORT_TRACK_READ_H

#include "capture/correlate.h"
#include "track_paths.h"
#include "track_rows.h"

/* Maximum number of operations that wait for earlier ones, so that a row's slices are in order. */
#define GPUMON_TRACK_WINDOW (1u << 15)

/* Maximum number of open ranges. Others are not shown. */
#define GPUMON_TRACK_RANGES_MAX (1u << 16)

/* In each capture, the driver has a number of its own, counted down from the highest. */
static inline bool gpumon_track_is_driver(uint32_t process)
{
	return process > UINT32_MAX / 2;
}

/* Links a launch to its operations: a correlation id is of one process and one API. */
static inline uint64_t gpumon_track_flow(uint32_t process, uint32_t context, uint32_t correlation)
{
	return (uint64_t)GPUMON_API_OF(context) << 56 | (uint64_t)(process + 1) << 32 | correlation;
}

struct gpumon_track_work {
	uint64_t start_ns;
	struct gpumon_work work;
	union {
		struct gpumon_record_kernel kernel;
		struct gpumon_record_copy copy;
		struct gpumon_record_set set;
		struct gpumon_record_graph graph;
	};
};

/* An open NVTX range, which may end on any thread. */
struct gpumon_track_range {
	uint64_t start_ns;
	uint32_t name;
	uint32_t process;
	uint32_t next_free; /* index + 1 */
};

struct gpumon_track_reader {
	const struct gpumon_track_sink *sink;
	struct gpumon_record_names names;
	struct gpumon_track_rows rows;
	struct gpumon_track_paths paths;
	struct gpumon_correlate *correlate;
	struct gpumon_track_work *waiting; /* a heap, the earliest first */
	uint32_t waiting_count;
	struct gpumon_track_range *ranges;
	size_t range_count;
	uint32_t free_range; /* index + 1 */
	struct gpumon_map open_ranges;
	uint64_t *shifts; /* of the captures' clocks */
	uint64_t first_ns;
	uint64_t last_ns;	/* of the capture that is read first */
	uint32_t first_command; /* number of a name */
	bool failed;
};

/* Called by the correlation with joined operations. */
void gpumon_track_work_add(struct gpumon_track_reader *reader, const struct gpumon_work *work);
/* Write all waiting operations. */
void gpumon_track_work_flush(struct gpumon_track_reader *reader);

/* Everything but operations: launches, calls, ranges, waits, memory, events, alerts, windows. */
void gpumon_track_record(struct gpumon_track_reader *reader, uint32_t process,
			 const struct gpumon_record *record);
/* Write the ranges that never ended. */
void gpumon_track_ranges_flush(struct gpumon_track_reader *reader);

/* Add an argument to an event. Arguments that do not fit are dropped. */
void gpumon_track_value(struct gpumon_track_event *event, const char *key, uint64_t value);
void gpumon_track_text(struct gpumon_track_event *event, const char *key, const char *text);

#endif /* GPUMON_REPORT_TRACK_READ_H */
