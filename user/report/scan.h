/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Makes a struct gpumon_scan of the records of a first pass: processes, notes, streams and the like. Strings are
 * looked up once all are known.
 */
#ifndef GPUMON_REPORT_SCAN_H
#define GPUMON_REPORT_SCAN_H

#include <stddef.h>

#include "lib/map.h"
#include "output.h"

struct gpumon_scan_reader;

struct gpumon_scan_reader *gpumon_scan_begin(void);
/* Any record of a process, or of a driver. */
void gpumon_scan_record(struct gpumon_scan_reader *reader, uint32_t process,
			const struct gpumon_record *record);
/* Unified memory, of what began in a part of the time; @until_ns may be 0: no limit. */
void gpumon_scan_unified(struct gpumon_scan_reader *reader, const struct gpumon_record *record,
			 uint64_t from_ns, uint64_t until_ns);
/* All records are known, and the profile has its rows: make the scan. Frees the reader. */
struct gpumon_scan *gpumon_scan_end(struct gpumon_scan_reader *reader,
				    const struct gpumon_profile *profile);
void gpumon_scan_reader_free(struct gpumon_scan_reader *reader);

/* What is known of a stream. @string belongs to its process. */
struct gpumon_stream_told {
	uint32_t process;
	uint32_t context;
	uint32_t stream;
	int32_t priority;
	uint32_t string;
};

/* A zeroed one is empty. @keys: process, context, stream to the index of @told */
struct gpumon_streams {
	struct gpumon_keys keys;
	struct gpumon_stream_told *told;
	uint32_t room;
};

/* Add a record of a stream. Of several, the last priority and name count. */
void gpumon_streams_add(struct gpumon_streams *streams, uint32_t process,
			const struct gpumon_record *record);
/* NULL if no record described it. */
const struct gpumon_stream_told *gpumon_streams_find(struct gpumon_streams *streams,
						     uint32_t process, uint32_t context,
						     uint32_t stream);
void gpumon_streams_clear(struct gpumon_streams *streams);

/* Find a stream in a view's table. NULL if no record described it. */
const struct gpumon_scan_stream *gpumon_view_stream(const struct gpumon_view *view,
						    uint32_t process, uint32_t context,
						    uint32_t stream);

/* gpumon_stream_text() for a stream of a view. */
void gpumon_view_stream_text(const struct gpumon_view *view, uint32_t process, uint32_t context,
			     uint32_t stream, char *text, size_t room);

/* "stream 7", with its known properties in brackets. */
void gpumon_stream_text(char *text, size_t room, uint32_t stream, const char *name,
			int32_t priority);

#endif /* GPUMON_REPORT_SCAN_H */
