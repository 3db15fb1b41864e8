/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Merges the names and priorities of streams from many records. */
#ifndef GPUMON_OUTPUT_SCAN_STREAMS_H
#define GPUMON_OUTPUT_SCAN_STREAMS_H

#include <stddef.h>

#include "output.h"

/* A stream as described by one record. @string belongs to its process. */
struct gpumon_stream_told {
	uint32_t process;
	uint32_t context;
	uint32_t stream;
	int32_t priority;
	uint32_t string;
	uint32_t order; /* the last name counts */
};

/* Sort and merge them, one for each stream. Returns their number. */
size_t gpumon_streams_merge(struct gpumon_stream_told *told, size_t count);

/* Find a stream among merged ones. NULL if there is none. */
const struct gpumon_stream_told *gpumon_streams_find(const struct gpumon_stream_told *told,
						     size_t count, uint32_t process,
						     uint32_t context, uint32_t stream);

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

#endif /* GPUMON_OUTPUT_SCAN_STREAMS_H */
