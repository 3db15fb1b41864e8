// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile_internal.h"
#include "view.h"
#include "track_read.h"

void gpumon_track_value(struct gpumon_track_event *event, const char *key, uint64_t value)
{
	if (event->argument_count < GPUMON_TRACK_ARGUMENTS)
		event->arguments[event->argument_count++] =
			(struct gpumon_track_argument){ .key = key, .value = value };
}

void gpumon_track_text(struct gpumon_track_event *event, const char *key, const char *text)
{
	if (event->argument_count < GPUMON_TRACK_ARGUMENTS)
		event->arguments[event->argument_count++] =
			(struct gpumon_track_argument){ .key = key, .text = text };
}

static void describe_kernel(struct gpumon_track_reader *reader, struct gpumon_track_event *event,
			    const struct gpumon_track_work *waiting, char *grid, char *block,
			    size_t len)
{
	const struct gpumon_record_kernel *kernel = &waiting->kernel;

	event->category = GPUMON_CATEGORY_KERNEL;
	event->name = gpumon_names_kernel(&reader->names, waiting->work.process, kernel->name);
	if (!event->name)
		event->name = gpumon_names_text(&reader->names, "[unknown kernel]");
	snprintf(grid, len, "%u %u %u", kernel->grid[0], kernel->grid[1], kernel->grid[2]);
	snprintf(block, len, "%u %u %u", kernel->block[0], kernel->block[1], kernel->block[2]);
	gpumon_track_text(event, "grid", grid);
	gpumon_track_text(event, "block", block);
	/* Others do not say it. */
	if (GPUMON_API_OF(kernel->context) == GPUMON_API_CUDA) {
		gpumon_track_value(event, "registers", kernel->registers);
		gpumon_track_value(event, "shared_bytes",
				   (uint64_t)kernel->static_shared_bytes +
					   kernel->dynamic_shared_bytes);
	}
	/* In one value: there may be more than 32 bits of each. */
	if (kernel->global[0])
		gpumon_track_value(event, "work_items",
				   kernel->global[0] * kernel->global[1] * kernel->global[2]);
	if (kernel->queued_ns)
		gpumon_track_value(event, "queued_ns", kernel->queued_ns);
	if (kernel->submitted_ns)
		gpumon_track_value(event, "submitted_ns", kernel->submitted_ns);
}

static void describe_copy(struct gpumon_track_reader *reader, struct gpumon_track_event *event,
			  const struct gpumon_record_copy *copy)
{
	event->category = GPUMON_CATEGORY_COPY;
	event->name = gpumon_names_text(&reader->names, gpumon_copy_name(copy));
	gpumon_track_value(event, "bytes", copy->bytes);
	if (copy->to_device != copy->device)
		gpumon_track_value(event, "to_device", copy->to_device);
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
	default:
		return "kernel without launch";
	}
}

static void put_work(struct gpumon_track_reader *reader, const struct gpumon_track_work *waiting)
{
	const struct gpumon_work *work = &waiting->work;
	uint16_t flags = waiting->kernel.head.flags;
	const struct gpumon_track_process *of;
	struct gpumon_track_event event = { .type = GPUMON_TRACK_SLICE };
	struct gpumon_track_thread *thread;
	struct gpumon_work_fields fields;
	struct gpumon_lanes *lanes;
	char grid[GPUMON_GRAPH_NAME], block[40];

	gpumon_work_fields(&waiting->kernel.head, &fields);
	event.start_ns = waiting->start_ns;
	/* An operation that still ran at the end of the capture lasted at least until then. */
	event.end_ns = fields.end_ns;
	of = fields.start_ns && flags & GPUMON_WORK_UNFINISHED ?
		     gpumon_rows_find_process(&reader->rows, work->process) :
		     NULL;
	if (of && event.end_ns <= event.start_ns)
		event.end_ns = of->last_ns;
	if (event.end_ns < event.start_ns)
		event.end_ns = event.start_ns;
	lanes = gpumon_rows_stream(&reader->rows, work->process, fields.device, fields.context,
				   fields.stream);
	event.track = lanes ? gpumon_rows_lane(&reader->rows, lanes, event.start_ns, event.end_ns) :
			      NULL;
	if (!event.track) {
		reader->failed = true;
		return;
	}
	if (work->kind == GPUMON_WORK_COPY) {
		describe_copy(reader, &event, &waiting->copy);
	} else if (work->kind == GPUMON_WORK_SET) {
		event.category = GPUMON_CATEGORY_SET;
		event.name = gpumon_names_text(&reader->names, "memset");
		gpumon_track_value(&event, "bytes", waiting->set.bytes);
		gpumon_track_value(&event, "value", waiting->set.value);
	} else if (work->kind == GPUMON_WORK_GRAPH) {
		event.category = GPUMON_CATEGORY_GRAPH;
		event.name =
			gpumon_names_text(&reader->names, gpumon_graph_name(grid, fields.graph));
	} else {
		describe_kernel(reader, &event, waiting, grid, block, sizeof(block));
	}
	event.text = gpumon_names_of(&reader->names, event.name, "[unknown]");
	gpumon_track_value(&event, "correlation", fields.correlation);
	if (fields.graph)
		gpumon_track_value(&event, "graph", GPUMON_NUMBER_OF(fields.graph));
	if (fields.node)
		gpumon_track_value(&event, "graph_node", fields.node);
	if (!fields.start_ns)
		gpumon_track_text(&event, "no_time", gpumon_untimed_text(gpumon_untimed_of(flags)));
	else if (flags & GPUMON_WORK_UNFINISHED)
		gpumon_track_text(&event, "unfinished", "still ran when the capture ended");
	if (match_name(work->match))
		gpumon_track_text(&event, "no_call_path", match_name(work->match));
	if (work->launch_ns && work->tid) {
		thread = gpumon_rows_thread(&reader->rows, work->process, work->tid);
		event.flow = gpumon_track_flow(work->process, fields.context, fields.correlation);
		event.from = thread ? thread->track : NULL;
		event.from_ns = work->launch_ns;
		if (fields.start_ns)
			gpumon_track_value(&event, "latency_ns",
					   event.start_ns > work->launch_ns ?
						   event.start_ns - work->launch_ns :
						   0);
	}
	event.path = gpumon_track_paths_find(&reader->paths, work, event.start_ns);
	if (event.path) {
		event.path_line = gpumon_track_paths_line(&reader->paths, event.path, event.text);
		reader->failed |= !event.path_line;
	} else if (!match_name(work->match) && work->process < reader->paths.tables.used) {
		reader->failed = true;
	}
	if (!reader->failed)
		reader->sink->event(reader->sink->data, &event);
}

static void swap_works(struct gpumon_track_work *a, struct gpumon_track_work *b)
{
	struct gpumon_track_work c = *a;

	*a = *b;
	*b = c;
}

/* Write the earliest operation and restore the heap. */
static void put_first(struct gpumon_track_reader *reader)
{
	struct gpumon_track_work *heap = reader->waiting;
	uint32_t n, at = 0;

	put_work(reader, &heap[0]);
	n = --reader->waiting_count;
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

void gpumon_track_work_add(struct gpumon_track_reader *reader, const struct gpumon_work *work)
{
	struct gpumon_track_work *waiting;
	struct gpumon_work_fields fields;
	uint32_t at;

	if (!reader->waiting) {
		reader->waiting = malloc(GPUMON_TRACK_WINDOW * sizeof(*reader->waiting));
		if (!reader->waiting) {
			reader->failed = true;
			return;
		}
	}
	if (reader->waiting_count == GPUMON_TRACK_WINDOW)
		put_first(reader);
	at = reader->waiting_count;
	waiting = &reader->waiting[at];
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
	if (!waiting->start_ns)
		return;
	/* These pointers become invalid when the callback returns. */
	waiting->work.kernel = NULL;
	waiting->work.copy = NULL;
	waiting->work.set = NULL;
	waiting->work.graph = NULL;
	reader->waiting_count++;
	while (at && reader->waiting[(at - 1) / 2].start_ns > reader->waiting[at].start_ns) {
		swap_works(&reader->waiting[at], &reader->waiting[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

void gpumon_track_work_flush(struct gpumon_track_reader *reader)
{
	while (reader->waiting_count)
		put_first(reader);
}
