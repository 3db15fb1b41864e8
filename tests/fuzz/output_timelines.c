// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Timelines: everything that an event refers to comes before it. */
#include <inttypes.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>

#include "output.h"

static const struct gpumon_profile_options no_options;

#define TRACKS_MAX 4096

/* Nanoseconds, exact: the number has microseconds with three decimals, more digits than a double. */
static uint64_t time_of(struct json_object *event, const char *key)
{
	const char *text = json_object_to_json_string(fuzz_json_get(event, key));
	uint64_t whole, parts;

	MUST(sscanf(text, "%" SCNu64 ".%3" SCNu64, &whole, &parts) == 2 && parts < 1000);
	MUST(whole <= (UINT64_MAX - parts) / 1000);
	return whole * 1000 + parts;
}

void fuzz_check_chrome(const char *const *paths, unsigned int count)
{
	struct json_object *document, *events, *frames;
	struct fuzz_stream stream;

	fuzz_stream_begin(&stream);
	MUST(!gpumon_output_chrome(stream.stream, paths, count, &no_options));
	fuzz_stream_end(&stream);
	document = fuzz_json(stream.data, stream.size);
	events = fuzz_json_get(document, "traceEvents");
	frames = fuzz_json_get(document, "stackFrames");
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i), *frame;

		MUST(json_object_is_type(fuzz_json_get(event, "ph"), json_type_string));
		fuzz_json_get(event, "pid");
		/* With an end before the beginning, the sum would be too large. */
		if (json_object_object_get_ex(event, "dur", NULL))
			MUST(time_of(event, "dur") <= UINT64_MAX - time_of(event, "ts"));
		if (json_object_object_get_ex(event, "sf", &frame))
			fuzz_json_get(frames, json_object_get_string(frame));
	}
	json_object_put(document);
	fuzz_stream_free(&stream);
}

void fuzz_check_sqlite(const char *const *paths, unsigned int count)
{
	FILE *file = tmpfile();

	MUST(file);
	MUST(!gpumon_output_has_sqlite() || !gpumon_output_sqlite(file, paths, count, &no_options));
	fclose(file);
}

/* Names, tracks and numbers that a packet uses must have been defined before. */
struct perfetto {
	bool tracks[TRACKS_MAX];
	uint32_t open[TRACKS_MAX]; /* slices */
	uint8_t *names;
	uint8_t *texts; /* of annotations */
	size_t n_names;
};

static void read_descriptor(struct perfetto *perfetto, const struct fuzz_field *packet)
{
	const uint8_t *at = packet->data, *end = at + packet->size, *in;
	struct fuzz_field field, inner;

	while (fuzz_protobuf_next(&at, end, &field)) {
		if (field.number == 1) {
			MUST(field.value && !perfetto->tracks[field.value % TRACKS_MAX]);
			perfetto->tracks[field.value % TRACKS_MAX] = true;
		} else if (field.number == 5) {
			MUST(perfetto->tracks[field.value % TRACKS_MAX]);
		} else if (field.number == 2) {
			fuzz_is_text((const char *)field.data, field.size, "");
		} else {
			MUST(field.number == 3 || field.number == 4);
			for (in = field.data;
			     fuzz_protobuf_next(&in, field.data + field.size, &inner);)
				if (inner.data)
					fuzz_is_text((const char *)inner.data, inner.size, "");
		}
	}
}

static void read_interned(struct perfetto *perfetto, const struct fuzz_field *data)
{
	const uint8_t *at = data->data, *end = at + data->size, *in;
	struct fuzz_field entry, inner;

	while (fuzz_protobuf_next(&at, end, &entry)) {
		uint64_t number = 0;

		for (in = entry.data; fuzz_protobuf_next(&in, entry.data + entry.size, &inner);) {
			if (inner.number == 1)
				number = inner.value;
			else
				fuzz_is_text((const char *)inner.data, inner.size, "");
		}
		MUST(number && number < perfetto->n_names * 8);
		if (entry.number == 2)
			perfetto->names[number / 8] |= (uint8_t)(1 << number % 8);
		else if (entry.number == 29)
			perfetto->texts[number / 8] |= (uint8_t)(1 << number % 8);
	}
}

static void read_track_event(struct perfetto *perfetto, const struct fuzz_field *event)
{
	const uint8_t *at = event->data, *end = at + event->size, *in;
	uint64_t type = 0, track = 0, name = 0;
	struct fuzz_field field, inner;

	while (fuzz_protobuf_next(&at, end, &field)) {
		if (field.number == 9)
			type = field.value;
		else if (field.number == 11)
			track = field.value;
		else if (field.number == 10)
			name = field.value;
		else if (field.number == 4)
			for (in = field.data;
			     fuzz_protobuf_next(&in, field.data + field.size, &inner);) {
				if (inner.data)
					fuzz_is_text((const char *)inner.data, inner.size, "");
				if (inner.number == 17)
					MUST(inner.value < perfetto->n_names * 8 &&
					     perfetto->texts[inner.value / 8] &
						     1 << inner.value % 8);
			}
	}
	MUST(type >= 1 && type <= 3 && track && perfetto->tracks[track % TRACKS_MAX]);
	if (type == 2) {
		/* An end needs a beginning, or it would end an enclosing slice. */
		MUST(perfetto->open[track % TRACKS_MAX]);
		perfetto->open[track % TRACKS_MAX]--;
		return;
	}
	MUST(name && name < perfetto->n_names * 8 && perfetto->names[name / 8] & 1 << name % 8);
	perfetto->open[track % TRACKS_MAX] += type == 1;
}

void fuzz_check_perfetto(const char *const *paths, unsigned int count)
{
	struct perfetto *perfetto = calloc(1, sizeof(*perfetto));
	const uint8_t *at, *end, *in;
	struct fuzz_field packet, field;
	struct fuzz_stream stream;

	MUST(perfetto);
	fuzz_stream_begin(&stream);
	MUST(!gpumon_output_perfetto(stream.stream, paths, count, &no_options));
	fuzz_stream_end(&stream);
	perfetto->n_names = stream.size / 8 + 16;
	perfetto->names = calloc(perfetto->n_names, 1);
	perfetto->texts = calloc(perfetto->n_names, 1);
	MUST(perfetto->names && perfetto->texts);
	at = (const uint8_t *)stream.data;
	end = at + stream.size;
	while (fuzz_protobuf_next(&at, end, &packet)) {
		MUST(packet.number == 1 && packet.data);
		for (in = packet.data;
		     fuzz_protobuf_next(&in, packet.data + packet.size, &field);) {
			if (field.number == 60)
				read_descriptor(perfetto, &field);
			else if (field.number == 12)
				read_interned(perfetto, &field);
			else if (field.number == 11)
				read_track_event(perfetto, &field);
		}
	}
	free(perfetto->names);
	free(perfetto->texts);
	free(perfetto);
	fuzz_stream_free(&stream);
}
