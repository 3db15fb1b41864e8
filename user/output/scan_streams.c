// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>

#include "scan_streams.h"

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int by_stream(const void *a, const void *b)
{
	const struct gpumon_stream_told *x = a, *y = b;
	int order = compare_numbers(x->process, y->process);

	if (!order)
		order = compare_numbers(x->context, y->context);
	if (!order)
		order = compare_numbers(x->stream, y->stream);
	return order ? order : compare_numbers(x->order, y->order);
}

size_t gpumon_streams_merge(struct gpumon_stream_told *told, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(told, count, sizeof(*told), by_stream);
	for (size_t i = 0; i < count; i++) {
		struct gpumon_stream_told *last = kept ? &told[kept - 1] : NULL;

		if (!last || last->process != told[i].process || last->context != told[i].context ||
		    last->stream != told[i].stream) {
			told[kept++] = told[i];
			continue;
		}
		last->priority = told[i].priority;
		if (told[i].string)
			last->string = told[i].string;
	}
	return kept;
}

static int by_place(const void *key, const void *element)
{
	struct gpumon_stream_told x = *(const struct gpumon_stream_told *)key;

	x.order = ((const struct gpumon_stream_told *)element)->order;
	return by_stream(&x, element);
}

const struct gpumon_stream_told *gpumon_streams_find(const struct gpumon_stream_told *told,
						     size_t count, uint32_t process,
						     uint32_t context, uint32_t stream)
{
	const struct gpumon_stream_told key = { process, context, stream, 0, 0, 0 };

	return count ? bsearch(&key, told, count, sizeof(key), by_place) : NULL;
}

static int by_key(const void *key, const void *element)
{
	const struct gpumon_scan_stream *x = key, *y = element;
	int order = compare_numbers(x->process, y->process);

	if (!order)
		order = compare_numbers(x->context, y->context);
	return order ? order : compare_numbers(x->stream, y->stream);
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
