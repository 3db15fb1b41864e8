/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Names and priorities of streams, of which there may be many records. */
#ifndef GPUMON_REPORT_SCAN_STREAMS_H
#define GPUMON_REPORT_SCAN_STREAMS_H

#include <stddef.h>

#include "lib/pool.h"
#include "output.h"
#include "record_names.h"

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

/* Add a record of a stream. Of several, the last priority and name count. -1 without memory. */
int gpumon_streams_add(struct gpumon_streams *streams, uint32_t process,
		       const struct gpumon_record *record);
/* NULL if no record described it. */
const struct gpumon_stream_told *gpumon_streams_find(struct gpumon_streams *streams,
						     uint32_t process, uint32_t context,
						     uint32_t stream);
void gpumon_streams_clear(struct gpumon_streams *streams);

/* All strings are known: make the scan's table. -1 without memory. */
int gpumon_scan_streams(const struct gpumon_streams *streams, struct gpumon_scan *scan,
			const struct gpumon_record_names *names);

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

#endif /* GPUMON_REPORT_SCAN_STREAMS_H */
