// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "scan_streams.h"

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

int gpumon_streams_add(struct gpumon_streams *streams, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_record_stream stream;
	struct gpumon_stream_told *told;
	struct gpumon_key key;

	gpumon_record_copy(&stream, sizeof(stream), record);
	key = (struct gpumon_key){ { process, stream.context, stream.id } };
	told = GPUMON_KEYS_VALUE(&streams->keys, &key, streams->told, streams->room, NULL);
	if (!told)
		return -1;
	*told = (struct gpumon_stream_told){ process, stream.context, stream.id, stream.priority,
					     stream.name ? stream.name : told->string };
	return 0;
}

const struct gpumon_stream_told *gpumon_streams_find(struct gpumon_streams *streams,
						     uint32_t process, uint32_t context,
						     uint32_t stream)
{
	const struct gpumon_key key = { { process, context, stream } };
	uint32_t place = gpumon_keys_number(&streams->keys, &key, NULL);

	return place == GPUMON_KEY_NONE ? NULL : &streams->told[place];
}

void gpumon_streams_clear(struct gpumon_streams *streams)
{
	gpumon_keys_clear(&streams->keys);
	free(streams->told);
}

static int by_key(const void *key, const void *element)
{
	const struct gpumon_scan_stream *x = key, *y = element;
	int order = compare_numbers(x->process, y->process);

	if (!order)
		order = compare_numbers(x->context, y->context);
	return order ? order : compare_numbers(x->stream, y->stream);
}

int gpumon_scan_streams(const struct gpumon_streams *streams, struct gpumon_scan *scan,
			const struct gpumon_record_names *names)
{
	scan->streams = calloc(streams->keys.used + 1, sizeof(*scan->streams));
	if (!scan->streams)
		return -1;
	for (uint32_t i = 0; i < streams->keys.used; i++) {
		const struct gpumon_stream_told *told = &streams->told[i];
		struct gpumon_scan_stream *to = &scan->streams[scan->stream_count++];

		*to = (struct gpumon_scan_stream){
			told->process, told->context, told->stream, told->priority,
			gpumon_names_copy(names, told->process, told->string)
		};
		if (!to->name)
			return -1;
	}
	qsort(scan->streams, scan->stream_count, sizeof(*scan->streams), by_key);
	return 0;
}

const struct gpumon_scan_stream *gpumon_view_stream(const struct gpumon_view *view,
						    uint32_t process, uint32_t context,
						    uint32_t stream)
{
	const struct gpumon_scan_stream key = { process, context, stream, 0, NULL };
	const struct gpumon_scan *scan = view->scan;

	if (!scan || !scan->stream_count)
		return NULL;
	return bsearch(&key, scan->streams, scan->stream_count, sizeof(key), by_key);
}

void gpumon_stream_text(char *text, size_t room, uint32_t stream, const char *name,
			int32_t priority)
{
	char number[32] = "";

	if (priority)
		snprintf(number, sizeof(number), "priority %d", priority);
	if (name && *name)
		snprintf(text, room, "stream %u (%.80s%s%s)", GPUMON_NUMBER_OF(stream), name,
			 priority ? ", " : "", number);
	else if (priority)
		snprintf(text, room, "stream %u (%s)", GPUMON_NUMBER_OF(stream), number);
	else
		snprintf(text, room, "stream %u", GPUMON_NUMBER_OF(stream));
}

void gpumon_view_stream_text(const struct gpumon_view *view, uint32_t process, uint32_t context,
			     uint32_t stream, char *text, size_t room)
{
	const struct gpumon_scan_stream *known = gpumon_view_stream(view, process, context, stream);

	gpumon_stream_text(text, room, stream, known ? known->name : NULL,
			   known ? known->priority : 0);
}
