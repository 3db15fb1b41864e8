// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/map.h"
#include "lib/memory.h"
#include "output.h"
#include "protobuf.h"
#include "lib/text.h"
#include "timeline.h"

/* Field numbers of Perfetto's messages. */
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
	DESCRIPTOR_COUNTER = 8,
};

enum track_event {
	EVENT_CATEGORY_IIDS = 3,
	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_COUNTER = 44, /* as a double */
	EVENT_FLOW_IDS = 47,
};

enum event_type {
	TYPE_SLICE_BEGIN = 1,
	TYPE_SLICE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
};

enum interned_data {
	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_ANNOTATIONS = 3,
	INTERNED_ANNOTATION_STRINGS = 29,
};

enum annotation {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_STRING = 6,
	ANNOTATION_STRING_IID = 17,
};

#define SEQUENCE 1

/* Annotations of GPU operations. */
#define CALL_PATH  "call_path"
#define CALL_STACK "call_stack"

struct perfetto {
	FILE *out;
	struct gpumon_protobuf packet;
	struct gpumon_intern keys;
	struct gpumon_map paths; /* node to the number of its line; its stack has the next one */
	uint64_t path_strings;
	struct gpumon_map names; /* numbers of those already written */
	bool categories[GPUMON_CATEGORIES];
};

static void put_packet(struct perfetto *perfetto)
{
	struct gpumon_protobuf head = { 0 };

	gpumon_protobuf_bytes(&head, TRACE_PACKET, perfetto->packet.data, perfetto->packet.size);
	fwrite(head.data, 1, head.size, perfetto->out);
	gpumon_protobuf_free(&head);
	gpumon_protobuf_clear(&perfetto->packet);
}

static void perfetto_begin(void *data, uint64_t first_ns, const char *command, const char *range)
{
	struct perfetto *perfetto = data;

	/* Times are absolute, so that they compare with other traces of the machine. */
	(void)first_ns;
	(void)command;
	(void)range;
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
	if (track->kind == GPUMON_TRACK_METRIC)
		gpumon_protobuf_end(packet, gpumon_protobuf_begin(packet, DESCRIPTOR_COUNTER));
	gpumon_protobuf_end(packet, descriptor);
	put_packet(perfetto);
}

/* The number of a name, from 1 on. Equal names are one pointer. */
static uint64_t name_number(struct perfetto *perfetto, const char *name, bool *added)
{
	uint64_t number = gpumon_map_get(&perfetto->names, (uintptr_t)name);

	*added = !number;
	if (!number) {
		number = perfetto->names.used + 1;
		gpumon_map_set(&perfetto->names, (uintptr_t)name, number);
	}
	return number;
}

static void put_entry(struct gpumon_protobuf *packet, unsigned int field, uint64_t number,
		      const char *text)
{
	size_t entry = gpumon_protobuf_begin(packet, field);

	gpumon_protobuf_uint(packet, 1, number);
	gpumon_protobuf_string(packet, 2, text);
	gpumon_protobuf_end(packet, entry);
}

static void put_stack(FILE *out, const struct gpumon_node *node)
{
	if (node->parent->parent) {
		put_stack(out, node->parent);
		putc(';', out);
	}
	gpumon_text_folded(out, *node->name ? node->name : "[unknown]");
}

/* Write the line of a path and its frames as a folded stack, once for each path. */
static void put_path_strings(struct perfetto *perfetto, const struct gpumon_track_event *event,
			     uint64_t number)
{
	char *stack = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&stack, &size);

	if (out)
		put_stack(out, event->path);
	if (!out || fclose(out))
		gpumon_memory_failed(size);
	put_entry(&perfetto->packet, INTERNED_ANNOTATION_STRINGS, number, event->path_line);
	put_entry(&perfetto->packet, INTERNED_ANNOTATION_STRINGS, number + 1, stack);
	free(stack);
}

/* The number of its line. @added: it was not written yet. */
static uint64_t path_number(struct perfetto *perfetto, const struct gpumon_node *path, bool *added)
{
	uint64_t number = gpumon_map_get(&perfetto->paths, (uintptr_t)path);

	*added = !number;
	if (number)
		return number;
	number = perfetto->path_strings + 1;
	perfetto->path_strings += 2;
	gpumon_map_set(&perfetto->paths, (uintptr_t)path, number);
	return number;
}

/**
 * struct used - numbers that an event uses
 * @name: its name
 * @keys: keys of its arguments
 * @line: key of the path's line
 * @stack: key of its frames
 * @path: number of the path
 */
struct used {
	uint64_t name;
	uint32_t keys[GPUMON_TRACK_ARGUMENTS];
	uint32_t line;
	uint32_t stack;
	uint64_t path;
};

/* Write the strings that this event is the first to use. */
static void put_interned(struct perfetto *perfetto, const struct gpumon_track_event *event,
			 struct used *used)
{
	struct gpumon_protobuf *packet = &perfetto->packet;
	bool added[GPUMON_TRACK_ARGUMENTS], any = false, name, category;
	bool line = false, stack = false, path = false;
	size_t data;

	/* Each frame has a name of its own. */
	if (event->category == GPUMON_CATEGORY_FRAME)
		name = false;
	else
		used->name = name_number(perfetto, event->name, &name);
	category = !perfetto->categories[event->category];
	perfetto->categories[event->category] = true;
	for (unsigned int i = 0; i < event->argument_count; i++) {
		used->keys[i] = gpumon_intern(&perfetto->keys, event->arguments[i].key, &added[i]);
		any |= added[i];
	}
	if (event->path) {
		used->line = gpumon_intern(&perfetto->keys, CALL_PATH, &line);
		used->stack = gpumon_intern(&perfetto->keys, CALL_STACK, &stack);
		used->path = path_number(perfetto, event->path, &path);
	}
	if (!name && !category && !any && !line && !stack && !path)
		return;
	data = gpumon_protobuf_begin(packet, PACKET_INTERNED_DATA);
	if (category)
		put_entry(packet, INTERNED_CATEGORIES, event->category + 1,
			  gpumon_track_category_name(event->category));
	if (name)
		put_entry(packet, INTERNED_NAMES, used->name, event->name);
	for (unsigned int i = 0; i < event->argument_count; i++) {
		if (added[i])
			put_entry(packet, INTERNED_ANNOTATIONS, used->keys[i],
				  event->arguments[i].key);
	}
	if (line)
		put_entry(packet, INTERNED_ANNOTATIONS, used->line, CALL_PATH);
	if (stack)
		put_entry(packet, INTERNED_ANNOTATIONS, used->stack, CALL_STACK);
	if (path)
		put_path_strings(perfetto, event, used->path);
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

static void put_interned_text(struct gpumon_protobuf *packet, uint32_t key, uint64_t text)
{
	size_t annotation = gpumon_protobuf_begin(packet, EVENT_ANNOTATIONS);

	gpumon_protobuf_uint(packet, ANNOTATION_NAME_IID, key);
	gpumon_protobuf_uint(packet, ANNOTATION_STRING_IID, text);
	gpumon_protobuf_end(packet, annotation);
}

/* The track says what it is. */
static void put_counter(struct perfetto *perfetto, const struct gpumon_track_event *event)
{
	struct gpumon_protobuf *packet = &perfetto->packet;
	uint64_t number;
	size_t message;

	memcpy(&number, &event->number, sizeof(number));
	gpumon_protobuf_uint(packet, PACKET_TIMESTAMP, event->start_ns);
	gpumon_protobuf_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE);
	message = gpumon_protobuf_begin(packet, PACKET_TRACK_EVENT);
	gpumon_protobuf_uint(packet, EVENT_TYPE, TYPE_COUNTER);
	gpumon_protobuf_uint(packet, EVENT_TRACK, event->track->id);
	gpumon_protobuf_fixed64(packet, EVENT_COUNTER, number);
	gpumon_protobuf_end(packet, message);
	put_packet(perfetto);
}

static void put_event(void *data, const struct gpumon_track_event *event)
{
	struct perfetto *perfetto = data;
	struct gpumon_protobuf *packet = &perfetto->packet;
	struct used used = { 0 };
	size_t message, annotation;

	if (event->type == GPUMON_TRACK_COUNTER) {
		put_counter(perfetto, event);
		return;
	}
	if (event->type == GPUMON_TRACK_END) {
		put_end(perfetto, event->track, event->start_ns);
		return;
	}
	gpumon_protobuf_uint(packet, PACKET_TIMESTAMP, event->start_ns);
	gpumon_protobuf_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE);
	gpumon_protobuf_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	put_interned(perfetto, event, &used);
	message = gpumon_protobuf_begin(packet, PACKET_TRACK_EVENT);
	gpumon_protobuf_uint(packet, EVENT_TYPE,
			     event->type == GPUMON_TRACK_INSTANT ? TYPE_INSTANT : TYPE_SLICE_BEGIN);
	gpumon_protobuf_uint(packet, EVENT_TRACK, event->track->id);
	gpumon_protobuf_uint(packet, EVENT_CATEGORY_IIDS, event->category + 1);
	if (used.name)
		gpumon_protobuf_uint(packet, EVENT_NAME_IID, used.name);
	else
		gpumon_protobuf_string(packet, EVENT_NAME, event->name);
	if (event->flow)
		gpumon_protobuf_fixed64(packet, EVENT_FLOW_IDS, event->flow);
	for (unsigned int i = 0; i < event->argument_count; i++) {
		annotation = gpumon_protobuf_begin(packet, EVENT_ANNOTATIONS);
		gpumon_protobuf_uint(packet, ANNOTATION_NAME_IID, used.keys[i]);
		if (event->arguments[i].text)
			gpumon_protobuf_string(packet, ANNOTATION_STRING, event->arguments[i].text);
		else
			gpumon_protobuf_uint(packet, ANNOTATION_UINT, event->arguments[i].value);
		gpumon_protobuf_end(packet, annotation);
	}
	if (event->path) {
		put_interned_text(packet, used.line, used.path);
		put_interned_text(packet, used.stack, used.path + 1);
	}
	gpumon_protobuf_end(packet, message);
	put_packet(perfetto);
	if (event->type == GPUMON_TRACK_SLICE)
		put_end(perfetto, event->track, event->end_ns);
}

int gpumon_output_perfetto(FILE *out, const char *const *paths, unsigned int count,
			   const struct gpumon_profile_options *options)
{
	struct perfetto perfetto = { .out = out };
	const struct gpumon_track_sink sink = {
		.begin = perfetto_begin,
		.track = put_track,
		.event = put_event,
		.data = &perfetto,
	};
	int ret = gpumon_tracks_read(paths, count, options, &sink);

	gpumon_protobuf_free(&perfetto.packet);
	gpumon_intern_clear(&perfetto.keys);
	gpumon_map_clear(&perfetto.paths);
	gpumon_map_clear(&perfetto.names);
	return ret || ferror(out) ? -1 : 0;
}
