/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Streams' names and priorities, of many records to one for each stream. */
#ifndef GPUMON_OUTPUT_SCAN_STREAMS_H
#define GPUMON_OUTPUT_SCAN_STREAMS_H

#include <stddef.h>

#include "output.h"

/* A stream as one record tells it; @string is of its process. */
struct gpumon_stream_told {
	uint32_t process;
	uint32_t context;
	uint32_t stream;
	int32_t priority;
	uint32_t string;
	uint32_t order; /* the last name holds */
};

/* Sorted, one for each stream; how many are left. */
size_t gpumon_streams_merge(struct gpumon_stream_told *told, size_t count);

/* Among merged ones, NULL where it is not. */
const struct gpumon_stream_told *gpumon_streams_find(const struct gpumon_stream_told *told,
						     size_t count, uint32_t process,
						     uint32_t context, uint32_t stream);

/* Of a view's table, NULL where no record told of it. */
const struct gpumon_scan_stream *gpumon_view_stream(const struct gpumon_view *view,
						    uint32_t process, uint32_t context,
						    uint32_t stream);

/* gpumon_stream_text() of a view's. */
void gpumon_view_stream_text(const struct gpumon_view *view, uint32_t process, uint32_t context,
			     uint32_t stream, char *text, size_t room);

/* "stream 7", and in brackets what is known of it. */
void gpumon_stream_text(char *text, size_t room, uint32_t stream, const char *name,
			int32_t priority);

#endif /* GPUMON_OUTPUT_SCAN_STREAMS_H */
