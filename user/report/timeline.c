// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reads captures as a timeline: definitions in a first pass, events in a second one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/correlate.h"
#include "frames.h"
#include "lib/array.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "profile_internal.h"
#include "timeline_metrics.h"
#include "timeline_paths.h"
#include "timeline_rows.h"
#include "view.h"

/* Maximum number of operations that wait for earlier ones, so that a row's slices are in order. */
#define WORKS_MAX (1u << 15)

/* Maximum number of open ranges. Others are not shown. */
#define RANGES_MAX (1u << 16)

/* An operation that waits. */
struct waiting_work {
	uint64_t start_ns;
	struct gpumon_work work;
	union {
		struct gpumon_record_kernel kernel;
		struct gpumon_record_copy copy;
		struct gpumon_record_set set;
		struct gpumon_record_graph graph;
	};
};

/* An open NVTX range, which may end on any thread. */
struct open_range {
	uint64_t start_ns;
	const char *name;
	uint32_t process;
	uint32_t next_free; /* index + 1 */
};

/**
 * struct timeline - what is known while captures are read
 * @paths: call paths, and what threads did outside of calls
 * @metrics: metrics of GPUs
 * @kernels: from the name of a kernel to its demangled one
 * @functions: from the name of an API function to that without version and variant
 * @waiting: a heap, the earliest first
 * @open_ranges: from process and id to index + 1 in @ranges
 * @ends: by capture: the latest time in it
 * @last_ns: of the capture that is being read first
 * @range: the part that is asked for
 */
struct timeline {
	const struct gpumon_track_sink *sink;
	struct gpumon_pool pool;
	struct gpumon_captures captures;
	struct gpumon_track_paths paths;
	struct gpumon_track_metrics metrics;
	struct gpumon_map kernels;
	struct gpumon_map functions;
	struct gpumon_track_rows rows;
	struct gpumon_correlate *correlate;
	struct waiting_work *waiting;
	uint32_t waiting_count;
	struct open_range *ranges;
	size_t range_count;
	uint32_t free_range; /* index + 1 */
	struct gpumon_map open_ranges;
	uint64_t *ends;
	uint64_t first_ns;
	uint64_t last_ns;
	struct gpumon_time_range range;
};

/* Links a launch to its operations: a correlation id is of one process and one API. */
static uint64_t flow_of(uint32_t process, uint32_t context, uint32_t correlation)
{
	return (uint64_t)GPUMON_API_OF(context) << 56 | (uint64_t)(process + 1) << 32 | correlation;
}

/* Arguments that do not fit are dropped. */
static void add_value(struct gpumon_track_event *event, const char *key, uint64_t value)
{
	if (event->argument_count < GPUMON_TRACK_ARGUMENTS)
		event->arguments[event->argument_count++] =
			(struct gpumon_track_argument){ .key = key, .value = value };
}

static void add_text(struct gpumon_track_event *event, const char *key, const char *text)
{
	if (event->argument_count < GPUMON_TRACK_ARGUMENTS)
		event->arguments[event->argument_count++] =
			(struct gpumon_track_argument){ .key = key, .text = text };
}

/* When its capture ended. */
static uint64_t end_of(const struct timeline *timeline, uint32_t process)
{
	const struct gpumon_tables *tables = &timeline->captures.tables;

	return process < tables->used ? timeline->ends[tables->processes[process].capture] : 0;
}

/* --- names: each text is one pointer */

static const char *name_of(struct timeline *timeline, const char *text)
{
	return gpumon_pool_text(&timeline->pool, text);
}

/* The text of a string; @unknown if it is not known. */
static const char *string_of(const struct timeline *timeline, uint32_t process, uint32_t string,
			     const char *unknown)
{
	const char *text = gpumon_tables_text(&timeline->captures.tables, process, string);

	return text ? text : unknown;
}

static const char *kernel_name(struct timeline *timeline, uint32_t process, uint32_t string)
{
	const char *text = string_of(timeline, process, string, NULL), *name;
	char *demangled;

	if (!text)
		return name_of(timeline, "[unknown kernel]");
	name = (const char *)(uintptr_t)gpumon_map_get(&timeline->kernels, (uintptr_t)text);
	if (name)
		return name;
	demangled = gpumon_demangle(text);
	name = demangled ? name_of(timeline, demangled) : text;
	free(demangled);
	gpumon_map_set(&timeline->kernels, (uintptr_t)text, (uintptr_t)name);
	return name;
}

static const char *function_name(struct timeline *timeline, uint32_t process, uint32_t string)
{
	const char *text = string_of(timeline, process, string, NULL), *name;
	size_t length;

	if (!text)
		return NULL;
	name = (const char *)(uintptr_t)gpumon_map_get(&timeline->functions, (uintptr_t)text);
	if (name)
		return name;
	length = strlen(text);
	if (length >= GPUMON_FUNCTION_MAX)
		return text;
	name = gpumon_function_base(text, &length);
	name = gpumon_pool_part(&timeline->pool, name, length);
	gpumon_map_set(&timeline->functions, (uintptr_t)text, (uintptr_t)name);
	return name;
}

static void put_event(struct timeline *timeline, struct gpumon_track_event *event)
{
	if (!event->name)
		event->name = name_of(timeline, "[unknown]");
	timeline->sink->event(timeline->sink->data, event);
}

/* --- events but operations */

static bool is_shown(const struct timeline *timeline, uint64_t time_ns)
{
	return gpumon_time_within(timeline->rows.from_ns, timeline->rows.until_ns, time_ns);
}

/* A slice from a beginning to an end, which may be unknown: its part that is shown. False if nothing is. */
static bool set_times(const struct timeline *timeline, struct gpumon_track_event *event,
		      uint64_t start_ns, uint64_t end_ns)
{
	bool begins = is_shown(timeline, start_ns);

	event->start_ns = start_ns;
	event->end_ns = end_ns > start_ns ? end_ns : start_ns;
	return gpumon_time_clip(timeline->rows.from_ns, timeline->rows.until_ns, &event->start_ns,
				&event->end_ns) ||
	       begins;
}

static void put_launch(struct timeline *timeline, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_API };
	struct gpumon_track_thread *thread;
	struct gpumon_record_launch launch;
	uint64_t flow;

	gpumon_record_copy(&launch, sizeof(launch), record);
	thread = gpumon_rows_thread(&timeline->rows, process, launch.tid);
	event.name = function_name(timeline, process, launch.function);
	if (!launch.start_ns || !set_times(timeline, &event, launch.start_ns, launch.end_ns))
		return;
	gpumon_rows_show_pushed(&timeline->rows, thread);
	event.track = thread->track;
	event.type = GPUMON_TRACK_SLICE;
	/* If every call is recorded, the launch is one of them. */
	if (thread->call == launch.correlation && launch.correlation &&
	    thread->call_function == event.name)
		return;
	thread->launch = launch.correlation;
	thread->launch_function = event.name;
	flow = flow_of(process, launch.context, launch.correlation);
	add_value(&event, "correlation", launch.correlation);
	if (launch.head.flags & GPUMON_LAUNCH_CAPTURED)
		add_text(&event, "captured", "into a graph");
	/* CUPTI may give all launches of a thread one id. */
	else if (thread->flow != flow)
		event.flow = thread->flow = flow;
	if (launch.head.flags & GPUMON_LAUNCH_FAILED)
		add_value(&event, "result", (uint64_t)(int64_t)launch.result);
	put_event(timeline, &event);
}

static void put_call(struct timeline *timeline, uint32_t process,
		     const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_API };
	struct gpumon_track_thread *thread;
	struct gpumon_record_call call;
	uint64_t flow;

	gpumon_record_copy(&call, sizeof(call), record);
	thread = gpumon_rows_thread(&timeline->rows, process, call.tid);
	if (!call.start_ns || !set_times(timeline, &event, call.start_ns, call.end_ns))
		return;
	gpumon_rows_show_pushed(&timeline->rows, thread);
	event.name = function_name(timeline, process, call.function);
	if (thread->launch == call.correlation && call.correlation &&
	    thread->launch_function == event.name)
		return;
	thread->call = call.correlation;
	thread->call_function = event.name;
	event.track = thread->track;
	flow = flow_of(process, call.context, call.correlation);
	if (thread->flow != flow)
		event.flow = thread->flow = flow;
	add_value(&event, "correlation", call.correlation);
	if (call.head.flags & GPUMON_CALL_BLOCKING)
		event.category = GPUMON_CATEGORY_WAIT;
	put_event(timeline, &event);
}

/* In a process without the library, hits are the only information about launches. */
static void put_hit(struct timeline *timeline, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_API };
	struct gpumon_record_hit hit;

	gpumon_record_copy(&hit, sizeof(hit), record);
	if (!hit.time_ns || process >= timeline->captures.tables.used ||
	    timeline->captures.tables.processes[process].has_launches ||
	    !set_times(timeline, &event, hit.time_ns,
		       gpumon_add_saturated(hit.time_ns, hit.duration_ns)))
		return;
	event.track = gpumon_rows_thread(&timeline->rows, process, hit.tid)->track;
	event.name = function_name(timeline, process, hit.function);
	event.type = hit.duration_ns ? GPUMON_TRACK_SLICE : GPUMON_TRACK_INSTANT;
	if (hit.duration_ns)
		event.category = GPUMON_CATEGORY_WAIT;
	add_value(&event, "hit", hit.number);
	put_event(timeline, &event);
}

static void put_open_range(struct timeline *timeline, size_t place, uint64_t end_ns)
{
	struct open_range *range = &timeline->ranges[place];
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_RANGE };

	event.name = range->name;
	if (set_times(timeline, &event, range->start_ns, end_ns)) {
		event.track = gpumon_rows_lane(
			&timeline->rows, gpumon_rows_other(&timeline->rows, range->process, 0),
			event.start_ns, event.end_ns);
		put_event(timeline, &event);
	}
	range->start_ns = 0;
	range->next_free = timeline->free_range;
	timeline->free_range = (uint32_t)place + 1;
}

static void start_range(struct timeline *timeline, uint32_t process, uint64_t key,
			const struct gpumon_record_range *record, const char *name)
{
	uint32_t place = timeline->free_range;

	if (place) {
		timeline->free_range = timeline->ranges[place - 1].next_free;
	} else if (timeline->range_count < RANGES_MAX) {
		(void)GPUMON_GROW(timeline->ranges, timeline->range_count);
		place = (uint32_t)timeline->range_count;
	} else {
		return;
	}
	timeline->ranges[place - 1].start_ns = record->time_ns;
	timeline->ranges[place - 1].name = name;
	timeline->ranges[place - 1].process = process;
	gpumon_map_set(&timeline->open_ranges, key, place);
}

static void put_range(struct timeline *timeline, uint32_t process,
		      const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_RANGE };
	struct gpumon_track_thread *thread;
	struct gpumon_record_range range;
	uint64_t place, key;

	gpumon_record_copy(&range, sizeof(range), record);
	event.name = string_of(timeline, process, range.text, NULL);
	event.start_ns = range.time_ns;
	if (range.domain)
		add_text(&event, "domain", string_of(timeline, process, range.domain, "[unknown]"));
	/* Every process has its own ids. */
	key = gpumon_hash((uint64_t)process << 32) ^ range.id;
	switch (range.kind) {
	case GPUMON_RANGE_START:
		start_range(timeline, process, key, &range, event.name);
		return;
	case GPUMON_RANGE_END:
		place = gpumon_map_get(&timeline->open_ranges, key);
		if (place && timeline->ranges[place - 1].start_ns)
			put_open_range(timeline, (size_t)place - 1, range.time_ns);
		return;
	case GPUMON_RANGE_PUSH:
		thread = gpumon_rows_thread(&timeline->rows, process, range.tid);
		event.type = GPUMON_TRACK_BEGIN;
		if (!gpumon_rows_push(&timeline->rows, thread, &event))
			return;
		break;
	case GPUMON_RANGE_POP:
		thread = gpumon_rows_thread(&timeline->rows, process, range.tid);
		event.type = GPUMON_TRACK_END;
		if (!gpumon_rows_pop(&timeline->rows, thread, &event))
			return;
		break;
	case GPUMON_RANGE_MARK:
		if (!is_shown(timeline, range.time_ns))
			return;
		thread = gpumon_rows_thread(&timeline->rows, process, range.tid);
		event.type = GPUMON_TRACK_INSTANT;
		break;
	default:
		return;
	}
	event.track = thread->track;
	put_event(timeline, &event);
}

static void flush_ranges(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->rows.thread_count; i++)
		gpumon_rows_show_pushed(&timeline->rows, &timeline->rows.threads[i]);
	for (size_t i = 0; i < timeline->range_count; i++) {
		if (timeline->ranges[i].start_ns)
			put_open_range(timeline, i, end_of(timeline, timeline->ranges[i].process));
	}
}

static void put_sync(struct timeline *timeline, uint32_t process,
		     const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_WAIT };
	struct gpumon_record_sync sync;
	struct gpumon_lanes *lanes;

	gpumon_record_copy(&sync, sizeof(sync), record);
	if (!sync.start_ns || !set_times(timeline, &event, sync.start_ns, sync.end_ns))
		return;
	lanes = gpumon_rows_other(&timeline->rows, process, 1);
	event.name = name_of(timeline,
			     sync.stream == ~0u ? "wait for the context" : "wait for a stream");
	event.track = gpumon_rows_lane(&timeline->rows, lanes, event.start_ns, event.end_ns);
	add_value(&event, "context", sync.context);
	if (sync.stream != ~0u)
		add_value(&event, "stream", sync.stream);
	add_value(&event, "correlation", sync.correlation);
	put_event(timeline, &event);
}

static void put_memory(struct timeline *timeline, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .type = GPUMON_TRACK_INSTANT,
					    .category = GPUMON_CATEGORY_MEMORY };
	struct gpumon_record_memory memory;
	struct gpumon_lanes *lanes;

	gpumon_record_copy(&memory, sizeof(memory), record);
	if (!is_shown(timeline, memory.time_ns))
		return;
	lanes = gpumon_rows_other(&timeline->rows, process, 2);
	event.start_ns = memory.time_ns;
	event.name =
		name_of(timeline, memory.head.flags & GPUMON_MEMORY_FREED ? "free" : "allocate");
	event.track = gpumon_rows_lane(&timeline->rows, lanes, event.start_ns, event.start_ns);
	add_value(&event, "bytes", memory.bytes);
	add_value(&event, "device", memory.device);
	put_event(timeline, &event);
}

static void put_unified(struct timeline *timeline, uint32_t process,
			const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_MEMORY };
	struct gpumon_record_unified_memory unified;
	struct gpumon_lanes *lanes;
	enum gpumon_unified_kind kind;

	gpumon_record_copy(&unified, sizeof(unified), record);
	kind = gpumon_unified_kind(unified.kind);
	if (!unified.start_ns)
		return;
	if (!gpumon_unified_has_end(kind))
		unified.end_ns = 0;
	if (!set_times(timeline, &event, unified.start_ns, unified.end_ns))
		return;
	lanes = gpumon_rows_other(&timeline->rows, process, 3);
	event.type = unified.end_ns > unified.start_ns ? GPUMON_TRACK_SLICE : GPUMON_TRACK_INSTANT;
	event.name = name_of(timeline, gpumon_unified_text(kind));
	event.track = gpumon_rows_lane(&timeline->rows, lanes, event.start_ns, event.end_ns);
	add_value(&event,
		  gpumon_unified_has_bytes(kind)   ? "bytes" :
		  kind == GPUMON_UNIFIED_GPU_FAULT ? "faults" :
		  kind == GPUMON_UNIFIED_CPU_FAULT ? "program_counter" :
						     "value",
		  unified.value);
	add_value(&event, "address", unified.address);
	/* The host has a number, too, but it says nothing. */
	if (gpumon_unified_has_end(kind) && kind != GPUMON_UNIFIED_TO_DEVICE)
		add_value(&event, "from_device", unified.from_device);
	if (kind == GPUMON_UNIFIED_TO_DEVICE || kind == GPUMON_UNIFIED_BETWEEN_DEVICES)
		add_value(&event, "to_device", unified.to_device);
	put_event(timeline, &event);
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

/* The time of a job that an event ends, in a row of its own below that of the ring's events. */
static void put_job(struct timeline *timeline, const struct gpumon_event *of, const char *ring)
{
	struct gpumon_track_event event = { .category = GPUMON_CATEGORY_JOB };
	bool is_queued = of->event == GPUMON_EVENT_RUN || of->event == GPUMON_EVENT_KILLED;
	struct gpumon_lanes *lanes;
	char name[256];

	if ((!is_queued && of->event != GPUMON_EVENT_DONE) || !(of->flags & GPUMON_EVENT_F_LATENCY))
		return;
	if (!set_times(timeline, &event, of->arg < of->time_ns ? of->time_ns - of->arg : 0,
		       of->time_ns))
		return;
	snprintf(name, sizeof(name), "%s, %s", ring, is_queued ? "queued" : "on the hardware");
	lanes = gpumon_rows_jobs(&timeline->rows, name);
	/* More at once have no rows, but their events say how long it was. */
	if (!gpumon_rows_has_lane(lanes, event.start_ns))
		return;
	if (of->pid)
		snprintf(name, sizeof(name), "%s[%u]", of->comm, of->pid);
	event.name = name_of(timeline, of->pid ? name : "job");
	event.track = gpumon_rows_lane(&timeline->rows, lanes, event.start_ns, event.end_ns);
	add_value(&event, "context", of->context);
	add_value(&event, "seqno", of->seqno);
	if (of->error)
		add_value(&event, "errno", (uint64_t)llabs(of->error));
	put_event(timeline, &event);
}

static void put_driver(struct timeline *timeline, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .type = GPUMON_TRACK_INSTANT,
					    .category = GPUMON_CATEGORY_DRIVER };
	struct gpumon_event of;
	const char *row;
	uint32_t id;

	if (!gpumon_captures_event(record, &of, &id))
		return;
	row = string_of(timeline, process, id, "events");
	put_job(timeline, &of, row);
	if (!is_shown(timeline, of.time_ns))
		return;
	event.track = gpumon_rows_driver(&timeline->rows, row);
	event.start_ns = of.time_ns;
	event.name = name_of(timeline, event_names[of.event]);
	for (unsigned int i = 0; i < 4; i++) {
		const uint64_t words[] = { of.context, of.seqno, of.arg, of.arg2 };
		const char *key = event_words[of.event][i];

		/* All bits set means unknown. */
		if (key && *key && words[i] != UINT64_MAX)
			add_value(&event, key, words[i]);
	}
	if (!event_words[of.event][0]) {
		add_value(&event, "context", of.context);
		add_value(&event, "seqno", of.seqno);
		if (of.flags & GPUMON_EVENT_F_LATENCY)
			add_value(&event, "latency_ns", of.arg);
	}
	if (of.pid)
		add_value(&event, "pid", of.pid);
	if (of.comm[0])
		add_text(&event, "comm", of.comm);
	put_event(timeline, &event);
}

static void put_alert(struct timeline *timeline, uint32_t process,
		      const struct gpumon_record *record)
{
	struct gpumon_track_event event = { .type = GPUMON_TRACK_INSTANT,
					    .category = GPUMON_CATEGORY_ALERT };
	struct gpumon_record_alert alert;
	const char *message;
	char name[32];
	size_t kind;

	gpumon_record_copy(&alert, sizeof(alert), record);
	if (!is_shown(timeline, alert.time_ns))
		return;
	message = string_of(timeline, process, alert.message, "");
	/* Only the message says what kind of an alert it is: "hang: ...". */
	kind = strspn(message, "abcdefghijklmnopqrstuvwxyz_");
	if (!strncmp(message, "reset: ", strlen("reset: ")))
		snprintf(name, sizeof(name), "GPU reset");
	else if (kind && kind < sizeof(name) && message[kind] == ':' &&
		 strncmp(message, "xid:", strlen("xid:")) != 0)
		snprintf(name, sizeof(name), "%.*s", (int)kind, message);
	else
		snprintf(name, sizeof(name), "Xid %u", alert.code);
	event.track = gpumon_rows_driver(&timeline->rows, "alerts");
	event.start_ns = alert.time_ns;
	event.name = name_of(timeline, name);
	add_text(&event, "device", string_of(timeline, process, alert.device, "unknown"));
	add_text(&event, "message", message);
	put_event(timeline, &event);
}

static void put_window(struct timeline *timeline, uint32_t process,
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
	if (gpumon_captures_is_driver(process) || !is_shown(timeline, window.time_ns))
		return;
	event.track = gpumon_rows_of_process(&timeline->rows, process);
	event.start_ns = window.time_ns;
	event.name =
		name_of(timeline,
			names[window.head.flags & (GPUMON_WINDOW_END | GPUMON_WINDOW_OPERATIONS)]);
	add_text(&event, "reason", string_of(timeline, process, window.reason, ""));
	put_event(timeline, &event);
}

static void put_record(struct timeline *timeline, uint32_t process,
		       const struct gpumon_record *record)
{
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		put_launch(timeline, process, record);
		break;
	case GPUMON_RECORD_CALL:
		put_call(timeline, process, record);
		break;
	case GPUMON_RECORD_HIT:
		put_hit(timeline, process, record);
		break;
	case GPUMON_RECORD_RANGE:
		put_range(timeline, process, record);
		break;
	case GPUMON_RECORD_SYNC:
		put_sync(timeline, process, record);
		break;
	case GPUMON_RECORD_MEMORY:
		put_memory(timeline, process, record);
		break;
	case GPUMON_RECORD_UNIFIED_MEMORY:
		put_unified(timeline, process, record);
		break;
	case GPUMON_RECORD_DRIVER_EVENT:
		put_driver(timeline, process, record);
		break;
	case GPUMON_RECORD_ALERT:
		put_alert(timeline, process, record);
		break;
	case GPUMON_RECORD_WINDOW:
		put_window(timeline, process, record);
		break;
	default:
		break;
	}
}

/* --- operations */

static void describe_kernel(struct timeline *timeline, struct gpumon_track_event *event,
			    const struct waiting_work *waiting, char *grid, char *block, size_t len)
{
	const struct gpumon_record_kernel *kernel = &waiting->kernel;

	event->category = GPUMON_CATEGORY_KERNEL;
	event->name = kernel_name(timeline, waiting->work.process, kernel->name);
	snprintf(grid, len, "%u %u %u", kernel->grid[0], kernel->grid[1], kernel->grid[2]);
	snprintf(block, len, "%u %u %u", kernel->block[0], kernel->block[1], kernel->block[2]);
	add_text(event, "grid", grid);
	add_text(event, "block", block);
	/* Others do not say it. */
	if (GPUMON_API_OF(kernel->context) == GPUMON_API_CUDA) {
		add_value(event, "registers", kernel->registers);
		add_value(event, "shared_bytes",
			  (uint64_t)kernel->static_shared_bytes + kernel->dynamic_shared_bytes);
	}
	/* In one value: there may be more than 32 bits of each. */
	if (kernel->global[0])
		add_value(event, "work_items",
			  kernel->global[0] * kernel->global[1] * kernel->global[2]);
	if (kernel->queued_ns)
		add_value(event, "queued_ns", kernel->queued_ns);
	if (kernel->submitted_ns)
		add_value(event, "submitted_ns", kernel->submitted_ns);
}

static void describe_copy(struct timeline *timeline, struct gpumon_track_event *event,
			  const struct gpumon_record_copy *copy)
{
	event->category = GPUMON_CATEGORY_COPY;
	event->name = name_of(timeline, gpumon_copy_name(copy));
	add_value(event, "bytes", copy->bytes);
	if (copy->to_device != copy->device)
		add_value(event, "to_device", copy->to_device);
}

static const char *match_name(enum gpumon_match match)
{
	switch (match) {
	case GPUMON_MATCH_STACK:
	case GPUMON_MATCH_GRAPH_NODE:
		return NULL;
	case GPUMON_MATCH_NO_STACK:
		return "kernel without stack";
	case GPUMON_MATCH_INTERNAL:
		return "launched by CUDA";
	case GPUMON_MATCH_UNSAMPLED:
		return "stack not sampled";
	case GPUMON_MATCH_AMBIGUOUS:
		return "launch ambiguous";
	default:
		return "kernel without launch";
	}
}

static void put_work(struct timeline *timeline, const struct waiting_work *waiting)
{
	const struct gpumon_work *work = &waiting->work;
	uint16_t flags = waiting->kernel.head.flags;
	struct gpumon_track_event event = { .type = GPUMON_TRACK_SLICE }, launch;
	struct gpumon_work_fields fields;
	struct gpumon_lanes *lanes;
	char grid[GPUMON_GRAPH_NAME], block[40];

	gpumon_work_fields(&waiting->kernel.head, &fields);
	event.start_ns = waiting->start_ns;
	/* An operation that still ran at the end of the capture lasted at least until then. */
	event.end_ns = fields.end_ns;
	if (fields.start_ns && flags & GPUMON_WORK_UNFINISHED && event.end_ns <= event.start_ns)
		event.end_ns = end_of(timeline, work->process);
	if (event.end_ns < event.start_ns)
		event.end_ns = event.start_ns;
	lanes = gpumon_rows_stream(&timeline->rows, work->process, fields.device, fields.context,
				   fields.stream);
	event.track = gpumon_rows_lane(&timeline->rows, lanes, event.start_ns, event.end_ns);
	if (work->kind == GPUMON_WORK_COPY) {
		describe_copy(timeline, &event, &waiting->copy);
	} else if (work->kind == GPUMON_WORK_SET) {
		event.category = GPUMON_CATEGORY_SET;
		event.name = name_of(timeline, "memset");
		add_value(&event, "bytes", waiting->set.bytes);
		add_value(&event, "value", waiting->set.value);
	} else if (work->kind == GPUMON_WORK_GRAPH) {
		event.category = GPUMON_CATEGORY_GRAPH;
		event.name = name_of(timeline, gpumon_graph_name(grid, fields.graph));
	} else {
		describe_kernel(timeline, &event, waiting, grid, block, sizeof(block));
	}
	add_value(&event, "correlation", fields.correlation);
	if (fields.graph)
		add_value(&event, "graph", GPUMON_NUMBER_OF(fields.graph));
	if (fields.node)
		add_value(&event, "graph_node", fields.node);
	if (!fields.start_ns)
		add_text(&event, "no_time", gpumon_untimed_text(gpumon_untimed_of(flags)));
	else if (flags & GPUMON_WORK_UNFINISHED)
		add_text(&event, "unfinished", "still ran when the capture ended");
	if (match_name(work->match))
		add_text(&event, "no_call_path", match_name(work->match));
	if (work->launch_ns && work->tid) {
		if (set_times(timeline, &launch, work->launch_ns, work->launch_end_ns)) {
			event.from =
				gpumon_rows_thread(&timeline->rows, work->process, work->tid)->track;
			event.flow = flow_of(work->process, fields.context, fields.correlation);
			event.from_ns = launch.start_ns;
		}
		if (fields.start_ns)
			add_value(&event, "latency_ns",
				  event.start_ns > work->launch_ns ?
					  event.start_ns - work->launch_ns :
					  0);
	}
	event.path = gpumon_track_path(&timeline->paths, work, event.start_ns);
	if (event.path)
		event.path_line = gpumon_track_path_line(&timeline->paths, event.path, event.name);
	timeline->sink->event(timeline->sink->data, &event);
}

static void swap_works(struct waiting_work *a, struct waiting_work *b)
{
	struct waiting_work c = *a;

	*a = *b;
	*b = c;
}

/* Write the earliest operation and restore the heap. */
static void put_first(struct timeline *timeline)
{
	struct waiting_work *heap = timeline->waiting;
	uint32_t n, at = 0;

	put_work(timeline, &heap[0]);
	n = --timeline->waiting_count;
	heap[0] = heap[n];
	for (;;) {
		uint32_t least = at, left = 2 * at + 1, right = left + 1;

		if (left < n && heap[left].start_ns < heap[least].start_ns)
			least = left;
		if (right < n && heap[right].start_ns < heap[least].start_ns)
			least = right;
		if (least == at)
			break;
		swap_works(&heap[at], &heap[least]);
		at = least;
	}
}

static void on_work(void *data, const struct gpumon_work *work)
{
	struct timeline *timeline = data;
	struct waiting_work *waiting;
	struct gpumon_work_fields fields;
	uint32_t at;

	if (!timeline->waiting)
		timeline->waiting = gpumon_malloc(WORKS_MAX * sizeof(*timeline->waiting));
	if (timeline->waiting_count == WORKS_MAX)
		put_first(timeline);
	at = timeline->waiting_count;
	waiting = &timeline->waiting[at];
	waiting->work = *work;
	if (work->kernel)
		waiting->kernel = *work->kernel;
	else if (work->copy)
		waiting->copy = *work->copy;
	else if (work->set)
		waiting->set = *work->set;
	else if (work->graph)
		waiting->graph = *work->graph;
	else
		return;
	gpumon_work_fields(&waiting->kernel.head, &fields);
	waiting->start_ns = fields.start_ns;
	/* Without times it is shown where its call returned. */
	if (!waiting->start_ns)
		waiting->start_ns = work->launch_end_ns ? work->launch_end_ns : work->launch_ns;
	/* That of an operation without a launch is counted, but it has no place on a timeline. */
	if (!waiting->start_ns ||
	    !is_shown(timeline, fields.start_ns ? fields.start_ns : work->launch_ns))
		return;
	/* These pointers become invalid when the callback returns. */
	waiting->work.kernel = NULL;
	waiting->work.copy = NULL;
	waiting->work.set = NULL;
	waiting->work.graph = NULL;
	timeline->waiting_count++;
	while (at && timeline->waiting[(at - 1) / 2].start_ns > timeline->waiting[at].start_ns) {
		swap_works(&timeline->waiting[at], &timeline->waiting[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static void flush_works(struct timeline *timeline)
{
	while (timeline->waiting_count)
		put_first(timeline);
}

/* --- frames */

/* @row: what is known of a late one, or NULL */
static void put_frame(struct timeline *timeline, const struct gpumon_track *track,
		      const struct gpumon_frames_chain *chain,
		      const struct gpumon_frame_time *frame, const struct gpumon_late_frame *row)
{
	char name[48], late[64], why[1024];
	struct gpumon_track_event event = {
		.track = track,
		.type = GPUMON_TRACK_SLICE,
		.category = GPUMON_CATEGORY_FRAME,
		.name = name,
		.start_ns = frame->start_ns,
		.end_ns = gpumon_add_saturated(frame->start_ns, frame->frame_ns),
	};

	if (!gpumon_time_clip(timeline->rows.from_ns, timeline->rows.until_ns, &event.start_ns,
			      &event.end_ns))
		return;
	snprintf(name, sizeof(name), "frame %" PRIu64 "%s", frame->number,
		 frame->late ? " late" : "");
	if (frame->late) {
		add_text(&event, "late",
			 row ? gpumon_late_text(late, sizeof(late), row) :
			       "not among the longest, of which the reason is looked for");
		if (row)
			add_text(&event, "evidence", gpumon_late_evidence(why, sizeof(why), row));
		add_value(&event, "frame_ns", frame->frame_ns);
		add_value(&event, "median_ns", chain->median_ns);
	}
	if (row) {
		add_value(&event, "submissions", row->submissions);
		add_value(&event, "operations", row->operations);
	}
	put_event(timeline, &event);
}

static void put_chain(struct timeline *timeline, const struct gpumon_frames *frames,
		      uint32_t number)
{
	const struct gpumon_frames_chain *chain = &frames->chains[number];
	const struct gpumon_track *track =
		gpumon_rows_frames(&timeline->rows, chain->process, chain->id);

	for (uint64_t i = 0; i < chain->frames; i++) {
		const struct gpumon_frame_time *frame = &frames->all[chain->first + i];

		put_frame(timeline, track, chain, frame, gpumon_frames_row(frames, number, frame));
	}
}

/* A row for each swapchain. Captures with presents are read once more for it. */
static int put_frames(struct timeline *timeline)
{
	const struct gpumon_captures *captures = &timeline->captures;
	const struct gpumon_profile_options options = { .symbol_root =
								captures->tables.symbol_root };
	struct gpumon_frames frames;
	int ret;

	if (!gpumon_captures_have_presents(captures))
		return 0;
	ret = gpumon_frames_read(captures->paths, captures->count, &options, 0, &frames);
	for (uint32_t i = 0; !ret && i < frames.chain_count; i++) {
		if (frames.chains[i].frames)
			put_chain(timeline, &frames, i);
	}
	gpumon_frames_clear(&frames);
	return ret;
}

/* --- passes */

/* The time of a record that appears on a timeline, 0 for others. */
static uint64_t time_of(const struct gpumon_record *record, uint64_t *end_ns)
{
	struct gpumon_record_launch launch;
	struct gpumon_record_alert alert;

	*end_ns = 0;
	switch (record->type) {
	/* These have a start and an end at the same offsets. */
	case GPUMON_RECORD_LAUNCH:
	case GPUMON_RECORD_CALL:
	case GPUMON_RECORD_KERNEL:
	case GPUMON_RECORD_COPY:
	case GPUMON_RECORD_SET:
	case GPUMON_RECORD_GRAPH:
	case GPUMON_RECORD_SYNC:
	case GPUMON_RECORD_PRESENT:
		gpumon_record_copy(&launch, sizeof(launch), record);
		*end_ns = launch.end_ns;
		return launch.start_ns;
	/* And of these the first time counts. */
	case GPUMON_RECORD_METRIC_SAMPLE:
	case GPUMON_RECORD_UNIFIED_MEMORY:
	case GPUMON_RECORD_HIT:
	case GPUMON_RECORD_RANGE:
	case GPUMON_RECORD_MEMORY:
	case GPUMON_RECORD_ALERT:
	case GPUMON_RECORD_WINDOW:
		gpumon_record_copy(&alert, sizeof(alert), record);
		return alert.time_ns;
	case GPUMON_RECORD_DRIVER_EVENT:
		if (record->size >= sizeof(struct gpumon_record_driver_event) + sizeof(uint64_t))
			return *(const uint64_t *)((const struct gpumon_record_driver_event *)record)
					->event;
		return 0;
	default:
		return 0;
	}
}

static void on_definition(void *data, uint32_t process, const struct gpumon_record *record)
{
	struct timeline *timeline = data;
	struct gpumon_record_device device;
	uint64_t begin, end;

	if (!gpumon_captures_is_driver(process) && gpumon_activity_times(record, &begin, &end))
		gpumon_time_include(&timeline->range.began_ns, &timeline->range.ended_ns, begin,
				    end);
	switch (record->type) {
	case GPUMON_RECORD_PROCESS:
	case GPUMON_RECORD_LAUNCH:
		gpumon_rows_define_process(&timeline->rows, process);
		break;
	case GPUMON_RECORD_DEVICE:
		gpumon_record_copy(&device, sizeof(device), record);
		gpumon_rows_define_device(&timeline->rows, process, &device);
		break;
	case GPUMON_RECORD_STREAM:
		gpumon_streams_add(&timeline->rows.streams, process, record);
		break;
	default:
		break;
	}
	begin = time_of(record, &end);
	if (!gpumon_captures_is_driver(process)) {
		gpumon_track_paths_look(&timeline->paths, process, record);
		gpumon_track_metrics_look(&timeline->metrics, process, record);
	}
	if (begin && begin < timeline->first_ns)
		timeline->first_ns = begin;
	/* Samples go on when the program has ended. */
	if (record->type == GPUMON_RECORD_METRIC_SAMPLE)
		return;
	if (begin > timeline->last_ns)
		timeline->last_ns = begin;
	if (end > timeline->last_ns)
		timeline->last_ns = end;
}

/* Captures have an end each, and those of several machines a clock. */
static void end_definitions(void *data, unsigned int capture)
{
	struct timeline *timeline = data;

	timeline->ends[capture] = timeline->last_ns;
	timeline->last_ns = 0;
}

static void on_event(void *data, uint32_t process, const struct gpumon_record *record)
{
	struct timeline *timeline = data;

	put_record(timeline, process, record);
	if (gpumon_captures_is_driver(process))
		return;
	gpumon_track_paths_add(&timeline->paths, process, record);
	gpumon_track_metrics_add(&timeline->metrics, process, record);
	gpumon_correlate_record(timeline->correlate, process, record);
}

static void end_events(void *data, unsigned int capture)
{
	struct timeline *timeline = data;
	const struct gpumon_captures *captures = &timeline->captures;

	for (uint32_t i = captures->first[capture]; i < captures->first[capture + 1]; i++)
		gpumon_correlate_finish(timeline->correlate, i);
}

static void find_hosts(struct timeline *timeline)
{
	const struct gpumon_tables *tables = &timeline->captures.tables;
	const char *first = NULL;

	for (uint32_t i = 0; i < tables->used; i++) {
		const char *host = gpumon_tables_text(tables, i, tables->processes[i].record.host);

		if (!host)
			continue;
		timeline->rows.several_hosts |= first && first != host;
		first = host;
	}
}

static int find_part(struct timeline *timeline, const struct gpumon_asked_range *asked)
{
	struct gpumon_time_range *range = &timeline->range;

	if (!gpumon_range_is_asked(asked))
		return 0;
	if (gpumon_time_range_find(&timeline->captures, asked, range))
		return -1;
	timeline->rows.from_ns = range->from_ns > range->began_ns ? range->from_ns : 0;
	timeline->rows.until_ns = range->until_ns < range->ended_ns ? range->until_ns : 0;
	timeline->paths.budget.from_ns = timeline->rows.from_ns;
	timeline->paths.budget.until_ns = timeline->rows.until_ns;
	return 0;
}

static void begin_sink(struct timeline *timeline)
{
	const struct gpumon_capture_info *info =
		timeline->captures.count ? gpumon_capture_info(timeline->captures.at[0]) : NULL;
	char range[512] = "";

	if (timeline->first_ns == UINT64_MAX)
		timeline->first_ns = 0;
	if (timeline->range.until_ns)
		gpumon_time_range_text(range, sizeof(range), &timeline->range);
	timeline->sink->begin(timeline->sink->data, timeline->first_ns,
			      info && info->command ? info->command : "", range);
}

static int read_all(struct timeline *timeline, const char *const *paths, unsigned int count,
		    const struct gpumon_asked_range *asked)
{
	const struct gpumon_captures_pass definitions = { .record = on_definition,
							  .end = end_definitions,
							  .data = timeline };
	const struct gpumon_captures_pass events = { .record = on_event,
						     .end = end_events,
						     .data = timeline };
	struct gpumon_captures *captures = &timeline->captures;

	if (gpumon_captures_open(captures, paths, count, &timeline->pool) ||
	    gpumon_captures_define(captures, &definitions) || find_part(timeline, asked))
		return -1;
	find_hosts(timeline);
	begin_sink(timeline);
	gpumon_captures_find_symbols(captures);
	gpumon_captures_expect(captures, timeline->correlate);
	gpumon_track_paths_turn(&timeline->paths);
	gpumon_track_metrics_turn(&timeline->metrics);
	if (gpumon_captures_read(captures, &events))
		return -1;
	gpumon_track_paths_end(&timeline->paths);
	flush_works(timeline);
	flush_ranges(timeline);
	gpumon_track_metrics_end(&timeline->metrics);
	if (put_frames(timeline))
		return -1;
	if (timeline->sink->end)
		timeline->sink->end(timeline->sink->data);
	return 0;
}

int gpumon_tracks_read(const char *const *paths, unsigned int count,
		       const struct gpumon_profile_options *options,
		       const struct gpumon_track_sink *sink)
{
	struct timeline timeline = {
		.sink = sink,
		.first_ns = UINT64_MAX,
		.ends = gpumon_calloc((size_t)count + 1, sizeof(*timeline.ends)),
		.rows.sink = sink,
		.paths = { .sink = sink, .rows = &timeline.rows, .pool = &timeline.pool },
		.metrics = { .sink = sink, .rows = &timeline.rows, .pool = &timeline.pool },
	};
	const struct gpumon_correlate_output output = { .work = on_work, .data = &timeline };
	int ret;

	timeline.rows.tables = &timeline.captures.tables;
	timeline.captures.tables.symbol_root = options->symbol_root;
	gpumon_track_paths_begin(&timeline.paths, &timeline.captures.tables, options);
	timeline.correlate = gpumon_correlate_new(&output);
	ret = read_all(&timeline, paths, count, &options->asked);
	/* The reason is in gpumon_capture_error(). */
	if (ret)
		errno = 0;
	gpumon_correlate_free(timeline.correlate);
	gpumon_track_paths_clear(&timeline.paths);
	gpumon_track_metrics_clear(&timeline.metrics);
	gpumon_rows_clear(&timeline.rows);
	gpumon_captures_close(&timeline.captures);
	gpumon_time_range_clear(&timeline.range);
	gpumon_map_clear(&timeline.kernels);
	gpumon_map_clear(&timeline.functions);
	gpumon_map_clear(&timeline.open_ranges);
	gpumon_pool_clear(&timeline.pool);
	free(timeline.ranges);
	free(timeline.ends);
	free(timeline.waiting);
	return ret;
}
