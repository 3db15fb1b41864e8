// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_intern.h"
#include "output/output.h"
#include "output/protobuf.h"
#include "track.h"

/* Numbers of fields, of Perfetto's messages by their names. */
#define TRACE_PACKET 1

enum trace_packet {
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
};

enum sequence_flags {
	SEQUENCE_CLEARED = 1,
	SEQUENCE_NEEDS_STATE = 2,
};

enum track_descriptor {
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_THREAD = 4,
	DESCRIPTOR_PARENT = 5,
};

enum track_event {
	EVENT_CATEGORY_IIDS = 3,
	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_FLOW_IDS = 47,
};

enum event_type {
	TYPE_SLICE_BEGIN = 1,
	TYPE_SLICE_END = 2,
	TYPE_INSTANT = 3,
};

enum interned_data {
	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_ANNOTATIONS = 3,
};

enum annotation {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_STRING = 6,
};

#define SEQUENCE 1

struct perfetto {
	FILE *out;
	struct gpumon_protobuf packet;
	struct gpumon_intern keys;
	uint8_t *names; /* bits: which were told */
	uint32_t names_room;
	bool categories[GPUMON_CATEGORIES];
	bool failed;
};

static void put_packet(struct perfetto *perfetto)
{
	struct gpumon_protobuf head = { 0 };

	if (perfetto->packet.failed) {
		perfetto->failed = true;
		return;
	}
	gpumon_protobuf_bytes(&head, TRACE_PACKET, perfetto->packet.data, perfetto->packet.size);
	if (head.failed)
		perfetto->failed = true;
	else
		fwrite(head.data, 1, head.size, perfetto->out);
	gpumon_protobuf_free(&head);
	gpumon_protobuf_clear(&perfetto->packet);
}

static void perfetto_begin(void *data, uint64_t first_ns, const char *command)
{
	struct perfetto *perfetto = data;

	/* Times stay those of the clock: they are comparable with other traces of the machine. */
	(void)first_ns;
	(void)command;
	gpumon_protobuf_uint(&perfetto->packet, PACKET_SEQUENCE_ID, SEQUENCE);
	gpumon_protobuf_uint(&perfetto->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
	put_packet(perfetto);
}

static void put_track(void *data, const struct gpumon_track *track)
{
	struct perfetto *perfetto = data;
	struct gpumon_protobuf *packet = &perfetto->packet;
	size_t descriptor, of;

	gpumon_protobuf_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE);
	descriptor = gpumon_protobuf_begin(packet, PACKET_TRACK_DESCRIPTOR);
	gpumon_protobuf_uint(packet, DESCRIPTOR_UUID, track->id);
	if (track->kind == GPUMON_TRACK_PROCESS) {
		of = gpumon_protobuf_begin(packet, DESCRIPTOR_PROCESS);
		gpumon_protobuf_uint(packet, 1, track->number);
		gpumon_protobuf_string(packet, 6, track->name);
		gpumon_protobuf_end(packet, of);
	} else if (track->kind == GPUMON_TRACK_THREAD) {
		gpumon_protobuf_uint(packet, DESCRIPTOR_PARENT, track->parent->id);
		of = gpumon_protobuf_begin(packet, DESCRIPTOR_THREAD);
		gpumon_protobuf_uint(packet, 1, track->parent->number);
		gpumon_protobuf_uint(packet, 2, track->number);
		gpumon_protobuf_string(packet, 5, track->name);
		gpumon_protobuf_end(packet, of);
	} else {
		if (track->parent)
			gpumon_protobuf_uint(packet, DESCRIPTOR_PARENT, track->parent->id);
		gpumon_protobuf_string(packet, DESCRIPTOR_NAME, track->name);
	}
	gpumon_protobuf_end(packet, descriptor);
	put_packet(perfetto);
}

/* False once it was told. */
static bool new_name(struct perfetto *perfetto, uint32_t name)
{
	uint32_t at = name / 8;

	if (at >= perfetto->names_room) {
		uint32_t room = 2 * at + 1024;
		uint8_t *names = realloc(perfetto->names, room);

		if (!names) {
			perfetto->failed = true;
			return true;
		}
		memset(names + perfetto->names_room, 0, room - perfetto->names_room);
		perfetto->names = names;
		perfetto->names_room = room;
	}
	if (perfetto->names[at] & (1u << (name % 8)))
		return false;
	perfetto->names[at] |= (uint8_t)(1u << (name % 8));
	return true;
}

static void put_entry(struct gpumon_protobuf *packet, unsigned int field, uint64_t number,
		      const char *text)
{
	size_t entry = gpumon_protobuf_begin(packet, field);

	gpumon_protobuf_uint(packet, 1, number);
	gpumon_protobuf_string(packet, 2, text);
	gpumon_protobuf_end(packet, entry);
}

/* What this event uses first is told with it. */
static void put_interned(struct perfetto *perfetto, const struct gpumon_track_event *event,
			 uint32_t *keys)
{
	struct gpumon_protobuf *packet = &perfetto->packet;
	bool added[GPUMON_TRACK_ARGUMENTS], any = false, name, category;
	size_t data;

	name = new_name(perfetto, event->name);
	category = !perfetto->categories[event->category];
	perfetto->categories[event->category] = true;
	for (unsigned int i = 0; i < event->argument_count; i++) {
		keys[i] = gpumon_intern(&perfetto->keys, event->arguments[i].key, &added[i]);
		any |= added[i];
		perfetto->failed |= !keys[i];
	}
	if (!name && !category && !any)
		return;
	data = gpumon_protobuf_begin(packet, PACKET_INTERNED_DATA);
	if (category)
		put_entry(packet, INTERNED_CATEGORIES, event->category + 1,
			  gpumon_track_category_name(event->category));
	if (name)
		put_entry(packet, INTERNED_NAMES, event->name, event->text);
	for (unsigned int i = 0; i < event->argument_count; i++) {
		if (added[i])
			put_entry(packet, INTERNED_ANNOTATIONS, keys[i], event->arguments[i].key);
	}
	gpumon_protobuf_end(packet, data);
}

static void put_end(struct perfetto *perfetto, const struct gpumon_track *track, uint64_t ns)
{
	struct gpumon_protobuf *packet = &perfetto->packet;
	size_t event;

	gpumon_protobuf_uint(packet, PACKET_TIMESTAMP, ns);
	gpumon_protobuf_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE);
	event = gpumon_protobuf_begin(packet, PACKET_TRACK_EVENT);
	gpumon_protobuf_uint(packet, EVENT_TYPE, TYPE_SLICE_END);
	gpumon_protobuf_uint(packet, EVENT_TRACK, track->id);
	gpumon_protobuf_end(packet, event);
	put_packet(perfetto);
}

static void put_event(void *data, const struct gpumon_track_event *event)
{
	struct perfetto *perfetto = data;
	struct gpumon_protobuf *packet = &perfetto->packet;
	uint32_t keys[GPUMON_TRACK_ARGUMENTS];
	size_t message, annotation;

	if (event->type == GPUMON_TRACK_END) {
		put_end(perfetto, event->track, event->start_ns);
		return;
	}
	gpumon_protobuf_uint(packet, PACKET_TIMESTAMP, event->start_ns);
	gpumon_protobuf_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE);
	gpumon_protobuf_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	put_interned(perfetto, event, keys);
	message = gpumon_protobuf_begin(packet, PACKET_TRACK_EVENT);
	gpumon_protobuf_uint(packet, EVENT_TYPE,
			     event->type == GPUMON_TRACK_INSTANT ? TYPE_INSTANT : TYPE_SLICE_BEGIN);
	gpumon_protobuf_uint(packet, EVENT_TRACK, event->track->id);
	gpumon_protobuf_uint(packet, EVENT_CATEGORY_IIDS, event->category + 1);
	gpumon_protobuf_uint(packet, EVENT_NAME_IID, event->name);
	if (event->flow)
		gpumon_protobuf_fixed64(packet, EVENT_FLOW_IDS, event->flow);
	for (unsigned int i = 0; i < event->argument_count; i++) {
		annotation = gpumon_protobuf_begin(packet, EVENT_ANNOTATIONS);
		gpumon_protobuf_uint(packet, ANNOTATION_NAME_IID, keys[i]);
		if (event->arguments[i].text)
			gpumon_protobuf_string(packet, ANNOTATION_STRING, event->arguments[i].text);
		else
			gpumon_protobuf_uint(packet, ANNOTATION_UINT, event->arguments[i].value);
		gpumon_protobuf_end(packet, annotation);
	}
	gpumon_protobuf_end(packet, message);
	put_packet(perfetto);
	if (event->type == GPUMON_TRACK_SLICE)
		put_end(perfetto, event->track, event->end_ns);
}

int gpumon_output_perfetto(FILE *out, const char *const *paths, unsigned int count)
{
	struct perfetto perfetto = { .out = out };
	const struct gpumon_track_sink sink = {
		.begin = perfetto_begin,
		.track = put_track,
		.event = put_event,
		.data = &perfetto,
	};
	int ret = gpumon_tracks_read(paths, count, &sink);

	gpumon_protobuf_free(&perfetto.packet);
	gpumon_intern_clear(&perfetto.keys);
	free(perfetto.names);
	if (!ret && perfetto.failed) {
		errno = ENOMEM;
		return -1;
	}
	return ret || ferror(out) ? -1 : 0;
}
