// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/uapi/gpumon_event.h"
#include "capture/capture.h"
#include "lib/array.h"
#include "lib/output_text.h"
#include "track_read.h"
#include "unified.h"

static void put_event(struct gpumon_track_reader *reader, struct gpumon_track_event *event)
{
	if (!event->name)
		event->name = gpumon_names_text(&reader->names, "[unknown]");
	event->text = gpumon_names_of(&reader->names, event->name, "[unknown]");
	if (event->track)
		reader->sink->event(reader->sink->data, event);
	else
		reader->failed = true;
}

static void put_launch(struct gpumon_track_reader *reader, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_API };
	struct gpumon_track_thread *thread;
	struct gpumon_record_launch launch;

	gpumon_record_copy(&launch, sizeof(launch), record);
	thread = gpumon_rows_thread(&reader->rows, process, launch.tid);
	event.name = gpumon_names_function(&reader->names, process, launch.function);
	if (!thread || !launch.start_ns) {
		reader->failed |= !thread;
		return;
	}
	event.track = thread->track;
	event.type = GPUMON_TRACK_SLICE;
	event.start_ns = launch.start_ns;
	event.end_ns = launch.end_ns > launch.start_ns ? launch.end_ns : launch.start_ns;
	/* If every call is recorded, the launch is one of them. */
	if (thread->call == launch.correlation && launch.correlation &&
	    thread->call_function == event.name)
		return;
	thread->launch = launch.correlation;
	thread->launch_function = event.name;
	gpumon_track_value(&event, "correlation", launch.correlation);
	if (launch.head.flags & GPUMON_LAUNCH_CAPTURED)
		gpumon_track_text(&event, "captured", "into a graph");
	else
		event.flow = gpumon_track_flow(process, launch.context, launch.correlation);
	if (launch.head.flags & GPUMON_LAUNCH_FAILED)
		gpumon_track_value(&event, "result", (uint64_t)(int64_t)launch.result);
	put_event(reader, &event);
}

static void put_call(struct gpumon_track_reader *reader, uint32_t process,
		     const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_API };
	struct gpumon_track_thread *thread;
	struct gpumon_record_call call;

	gpumon_record_copy(&call, sizeof(call), record);
	thread = gpumon_rows_thread(&reader->rows, process, call.tid);
	if (!thread || !call.start_ns) {
		reader->failed |= !thread;
		return;
	}
	event.name = gpumon_names_function(&reader->names, process, call.function);
	if (thread->launch == call.correlation && call.correlation &&
	    thread->launch_function == event.name)
		return;
	thread->call = call.correlation;
	thread->call_function = event.name;
	event.track = thread->track;
	event.start_ns = call.start_ns;
	event.end_ns = call.end_ns > call.start_ns ? call.end_ns : call.start_ns;
	event.flow = gpumon_track_flow(process, call.context, call.correlation);
	gpumon_track_value(&event, "correlation", call.correlation);
	if (call.head.flags & GPUMON_CALL_BLOCKING)
		event.category = GPUMON_CATEGORY_WAIT;
	put_event(reader, &event);
}

/* In a process without the library, hits are the only information about launches. */
static void put_hit(struct gpumon_track_reader *reader, uint32_t process,
		    const struct gpumon_record *record)
{
	struct gpumon_track_process *of = gpumon_rows_find_process(&reader->rows, process);
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_API };
	struct gpumon_track_thread *thread;
	struct gpumon_record_hit hit;

	gpumon_record_copy(&hit, sizeof(hit), record);
	if (!of || of->launches || !hit.time_ns)
		return;
	thread = gpumon_rows_thread(&reader->rows, process, hit.tid);
	event.name = gpumon_names_function(&reader->names, process, hit.function);
	event.track = thread ? thread->track : NULL;
	event.start_ns = hit.time_ns;
	event.end_ns = gpumon_add_saturated(hit.time_ns, hit.duration_ns);
	event.type = hit.duration_ns ? GPUMON_TRACK_SLICE : GPUMON_TRACK_INSTANT;
	if (hit.duration_ns)
		event.category = GPUMON_CATEGORY_WAIT;
	gpumon_track_value(&event, "hit", hit.number);
	put_event(reader, &event);
}

static void put_open_range(struct gpumon_track_reader *reader, size_t place, uint64_t end_ns)
{
	struct gpumon_track_range *range = &reader->ranges[place];
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_RANGE };
	struct gpumon_lanes *lanes = gpumon_rows_other(&reader->rows, range->process, 0);

	event.name = range->name;
	event.start_ns = range->start_ns;
	event.end_ns = end_ns > range->start_ns ? end_ns : range->start_ns;
	event.track = lanes ? gpumon_rows_lane(&reader->rows, lanes, event.start_ns, event.end_ns) :
			      NULL;
	put_event(reader, &event);
	range->start_ns = 0;
	range->next_free = reader->free_range;
	reader->free_range = (uint32_t)place + 1;
}

static void start_range(struct gpumon_track_reader *reader, uint32_t process, uint64_t key,
			const struct gpumon_record_range *record, uint32_t name)
{
	uint32_t place = reader->free_range;

	if (place) {
		reader->free_range = reader->ranges[place - 1].next_free;
	} else if (reader->range_count < GPUMON_TRACK_RANGES_MAX) {
		if (!GPUMON_GROW(reader->ranges, reader->range_count)) {
			reader->failed = true;
			return;
		}
		place = (uint32_t)reader->range_count;
	} else {
		return;
	}
	reader->ranges[place - 1].start_ns = record->time_ns;
	reader->ranges[place - 1].name = name;
	reader->ranges[place - 1].process = process;
	if (gpumon_map_set(&reader->open_ranges, key, place))
		reader->failed = true;
}

static void put_range(struct gpumon_track_reader *reader, uint32_t process,
		      const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_RANGE };
	struct gpumon_track_thread *thread = NULL;
	struct gpumon_record_range range;
	uint64_t place, key;

	gpumon_record_copy(&range, sizeof(range), record);
	event.name = gpumon_names_string(&reader->names, process, range.text);
	event.start_ns = range.time_ns;
	if (range.domain)
		gpumon_track_text(
			&event, "domain",
			gpumon_names_of(&reader->names,
					gpumon_names_string(&reader->names, process, range.domain),
					"[unknown]"));
	/* Every process has its own ids. */
	key = gpumon_hash((uint64_t)process << 32) ^ range.id;
	switch (range.kind) {
	case GPUMON_RANGE_START:
		start_range(reader, process, key, &range, event.name);
		return;
	case GPUMON_RANGE_END:
		place = gpumon_map_get(&reader->open_ranges, key);
		if (place && reader->ranges[place - 1].start_ns)
			put_open_range(reader, (size_t)place - 1, range.time_ns);
		return;
	case GPUMON_RANGE_PUSH:
		thread = gpumon_rows_thread(&reader->rows, process, range.tid);
		event.type = GPUMON_TRACK_BEGIN;
		if (thread)
			thread->depth++;
		break;
	case GPUMON_RANGE_POP:
		thread = gpumon_rows_thread(&reader->rows, process, range.tid);
		event.type = GPUMON_TRACK_END;
		/* The range began before the recording. */
		if (thread && !thread->depth)
			return;
		if (thread)
			thread->depth--;
		break;
	case GPUMON_RANGE_MARK:
		thread = gpumon_rows_thread(&reader->rows, process, range.tid);
		event.type = GPUMON_TRACK_INSTANT;
		break;
	default:
		return;
	}
	event.track = thread ? thread->track : NULL;
	put_event(reader, &event);
}

void gpumon_track_ranges_flush(struct gpumon_track_reader *reader)
{
	for (size_t i = 0; i < reader->range_count; i++) {
		const struct gpumon_track_process *of =
			gpumon_rows_find_process(&reader->rows, reader->ranges[i].process);

		if (reader->ranges[i].start_ns && of)
			put_open_range(reader, i, of->last_ns);
	}
}

static void put_sync(struct gpumon_track_reader *reader, uint32_t process,
		     const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_WAIT };
	struct gpumon_lanes *lanes = gpumon_rows_other(&reader->rows, process, 1);
	struct gpumon_record_sync sync;

	gpumon_record_copy(&sync, sizeof(sync), record);
	if (!sync.start_ns)
		return;
	event.start_ns = sync.start_ns;
	event.end_ns = sync.end_ns > sync.start_ns ? sync.end_ns : sync.start_ns;
	event.name = gpumon_names_text(&reader->names, sync.stream == ~0u ? "wait for the context" :
									    "wait for a stream");
	event.track = lanes ? gpumon_rows_lane(&reader->rows, lanes, event.start_ns, event.end_ns) :
			      NULL;
	gpumon_track_value(&event, "context", sync.context);
	if (sync.stream != ~0u)
		gpumon_track_value(&event, "stream", sync.stream);
	gpumon_track_value(&event, "correlation", sync.correlation);
	put_event(reader, &event);
}

static void put_memory(struct gpumon_track_reader *reader, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .type = GPUMON_TRACK_INSTANT,
					    .category = GPUMON_CATEGORY_MEMORY };
	struct gpumon_lanes *lanes = gpumon_rows_other(&reader->rows, process, 2);
	struct gpumon_record_memory memory;

	gpumon_record_copy(&memory, sizeof(memory), record);
	event.start_ns = memory.time_ns;
	event.name = gpumon_names_text(
		&reader->names, memory.head.flags & GPUMON_MEMORY_FREED ? "free" : "allocate");
	event.track =
		lanes ? gpumon_rows_lane(&reader->rows, lanes, event.start_ns, event.start_ns) :
			NULL;
	gpumon_track_value(&event, "bytes", memory.bytes);
	gpumon_track_value(&event, "device", memory.device);
	put_event(reader, &event);
}

static void put_unified(struct gpumon_track_reader *reader, uint32_t process,
			const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_MEMORY };
	struct gpumon_lanes *lanes = gpumon_rows_other(&reader->rows, process, 3);
	struct gpumon_record_unified_memory unified;
	enum gpumon_unified_kind kind;

	gpumon_record_copy(&unified, sizeof(unified), record);
	kind = gpumon_unified_kind(unified.kind);
	if (!unified.start_ns)
		return;
	if (!gpumon_unified_has_end(kind))
		unified.end_ns = 0;
	event.start_ns = unified.start_ns;
	event.end_ns = unified.end_ns > unified.start_ns ? unified.end_ns : unified.start_ns;
	event.type = unified.end_ns > unified.start_ns ? GPUMON_TRACK_SLICE : GPUMON_TRACK_INSTANT;
	event.name = gpumon_names_text(&reader->names, gpumon_unified_text(kind));
	event.track = lanes ? gpumon_rows_lane(&reader->rows, lanes, event.start_ns, event.end_ns) :
			      NULL;
	gpumon_track_value(&event,
			   gpumon_unified_has_bytes(kind)   ? "bytes" :
			   kind == GPUMON_UNIFIED_GPU_FAULT ? "faults" :
			   kind == GPUMON_UNIFIED_CPU_FAULT ? "program_counter" :
							      "value",
			   unified.value);
	gpumon_track_value(&event, "address", unified.address);
	/* The host has a number, too, but it says nothing. */
	if (gpumon_unified_has_end(kind) && kind != GPUMON_UNIFIED_TO_DEVICE)
		gpumon_track_value(&event, "from_device", unified.from_device);
	if (kind == GPUMON_UNIFIED_TO_DEVICE || kind == GPUMON_UNIFIED_BETWEEN_DEVICES)
		gpumon_track_value(&event, "to_device", unified.to_device);
	put_event(reader, &event);
}

/* The names of the four words of an event; "" for unused words. */
static const char *const event_words[__GPUMON_EVENT_TYPE_MAX][4] = {
#define EVENT_WORDS(enumerator, table, context, seqno, arg, arg2) \
	[enumerator] = { (context), (seqno), (arg), (arg2) },
	GPUMON_EVENT_WORDS(EVENT_WORDS)
#undef EVENT_WORDS
};

static const char *const event_names[__GPUMON_EVENT_TYPE_MAX] = {
#define EVENT_NAME(number, enumerator, name, group) [number] = (name),
	GPUMON_EVENTS(EVENT_NAME)
#undef EVENT_NAME
};

static void put_driver(struct gpumon_track_reader *reader, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .type = GPUMON_TRACK_INSTANT,
					    .category = GPUMON_CATEGORY_DRIVER };
	struct gpumon_record_driver_event head;
	struct gpumon_event of = { 0 };
	size_t size = record->size - sizeof(head);
	const char *row;

	gpumon_record_copy(&head, sizeof(head), record);
	if (record->size < sizeof(head))
		return;
	size = size < head.event_size ? size : head.event_size;
	memcpy(&of, (const uint8_t *)record + sizeof(head), size < sizeof(of) ? size : sizeof(of));
	if (of.event >= __GPUMON_EVENT_TYPE_MAX || !event_names[of.event] || !of.time_ns)
		return;
	row = gpumon_names_of(&reader->names,
			      gpumon_names_string(&reader->names, process, head.row), "events");
	event.track = gpumon_rows_driver(&reader->rows, row);
	event.start_ns = of.time_ns;
	event.name = gpumon_names_text(&reader->names, event_names[of.event]);
	for (unsigned int i = 0; i < 4; i++) {
		const uint64_t words[] = { of.context, of.seqno, of.arg, of.arg2 };
		const char *key = event_words[of.event][i];

		/* All bits set means unknown. */
		if (key && *key && words[i] != UINT64_MAX)
			gpumon_track_value(&event, key, words[i]);
	}
	if (!event_words[of.event][0]) {
		gpumon_track_value(&event, "context", of.context);
		gpumon_track_value(&event, "seqno", of.seqno);
		if (of.flags & GPUMON_EVENT_F_LATENCY)
			gpumon_track_value(&event, "latency_ns", of.arg);
	}
	if (of.pid)
		gpumon_track_value(&event, "pid", of.pid);
	of.comm[GPUMON_COMM_LEN - 1] = '\0';
	if (of.comm[0])
		gpumon_track_text(&event, "comm", of.comm);
	put_event(reader, &event);
}

static void put_alert(struct gpumon_track_reader *reader, uint32_t process,
		      const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .type = GPUMON_TRACK_INSTANT,
					    .category = GPUMON_CATEGORY_ALERT };
	struct gpumon_record_alert alert;
	const char *message;
	char name[32];

	gpumon_record_copy(&alert, sizeof(alert), record);
	message = gpumon_names_of(&reader->names,
				  gpumon_names_string(&reader->names, process, alert.message), "");
	/* Only the message says what kind of an alert it is. */
	if (!strncmp(message, "reset: ", strlen("reset: ")))
		snprintf(name, sizeof(name), "GPU reset");
	else
		snprintf(name, sizeof(name), "Xid %u", alert.code);
	event.track = gpumon_rows_driver(&reader->rows, "alerts");
	event.start_ns = alert.time_ns;
	event.name = gpumon_names_text(&reader->names, name);
	gpumon_track_text(
		&event, "device",
		gpumon_names_of(&reader->names,
				gpumon_names_string(&reader->names, process, alert.device),
				"unknown"));
	gpumon_track_text(&event, "message", message);
	put_event(reader, &event);
}

static void put_window(struct gpumon_track_reader *reader, uint32_t process,
		       const struct gpumon_record *record)
{
	static const char *const names[] = {
		[0] = "recording began",
		[GPUMON_WINDOW_END] = "recording ended",
		[GPUMON_WINDOW_OPERATIONS] = "recording of GPU work began",
		[GPUMON_WINDOW_OPERATIONS | GPUMON_WINDOW_END] = "recording of GPU work ended",
	};
	struct gpumon_track_event event = { .type = GPUMON_TRACK_INSTANT,
					    .category = GPUMON_CATEGORY_RECORDING };
	struct gpumon_record_window window;

	gpumon_record_copy(&window, sizeof(window), record);
	if (gpumon_track_is_driver(process))
		return;
	event.track = gpumon_rows_of_process(&reader->rows, process);
	event.start_ns = window.time_ns;
	event.name = gpumon_names_text(
		&reader->names,
		names[window.head.flags & (GPUMON_WINDOW_END | GPUMON_WINDOW_OPERATIONS)]);
	gpumon_track_text(
		&event, "reason",
		gpumon_names_of(&reader->names,
				gpumon_names_string(&reader->names, process, window.reason), ""));
	put_event(reader, &event);
}

void gpumon_track_record(struct gpumon_track_reader *reader, uint32_t process,
			 const struct gpumon_record *record)
{
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		put_launch(reader, process, record);
		break;
	case GPUMON_RECORD_CALL:
		put_call(reader, process, record);
		break;
	case GPUMON_RECORD_HIT:
		put_hit(reader, process, record);
		break;
	case GPUMON_RECORD_RANGE:
		put_range(reader, process, record);
		break;
	case GPUMON_RECORD_SYNC:
		put_sync(reader, process, record);
		break;
	case GPUMON_RECORD_MEMORY:
		put_memory(reader, process, record);
		break;
	case GPUMON_RECORD_UNIFIED_MEMORY:
		put_unified(reader, process, record);
		break;
	case GPUMON_RECORD_DRIVER_EVENT:
		put_driver(reader, process, record);
		break;
	case GPUMON_RECORD_ALERT:
		put_alert(reader, process, record);
		break;
	case GPUMON_RECORD_WINDOW:
		put_window(reader, process, record);
		break;
	default:
		break;
	}
}
