// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>

#include "lib/array.h"
#include "lib/map.h"
#include "output.h"
#include "lib/text.h"
#include "timeline.h"

/* In this format GPUs and the driver are processes, numbered above Linux's highest pid, 2^22. */
#define PID_GPU	   100000000u
#define PID_DRIVER 200000000u

struct chrome {
	FILE *out;
	uint64_t first_ns;
	uint64_t flows;
	struct gpumon_map frames;	  /* from a node to its number */
	const struct gpumon_node **nodes; /* by number - 1, parents first */
	size_t node_count;
	bool any;
};

/* The unit is the microsecond. Three decimals keep the nanoseconds. */
static void put_time(struct chrome *chrome, const char *key, uint64_t ns)
{
	fprintf(chrome->out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned int)(ns % 1000));
}

static uint64_t chrome_relative_ns(const struct chrome *chrome, uint64_t ns)
{
	return ns > chrome->first_ns ? ns - chrome->first_ns : 0;
}

static uint32_t pid_of(const struct gpumon_track *track)
{
	const struct gpumon_track *of = track->parent ? track->parent : track;

	switch (of->kind) {
	case GPUMON_TRACK_GPU:
		return PID_GPU + of->id;
	case GPUMON_TRACK_DRIVER:
		return PID_DRIVER;
	default:
		return of->number;
	}
}

/* Rows without a thread get numbers that no thread has. */
static uint32_t tid_of(const struct gpumon_track *track)
{
	return track->kind == GPUMON_TRACK_THREAD ? track->number :
	       track->parent			  ? PID_GPU + track->id :
						    pid_of(track);
}

static void open_event(struct chrome *chrome, const char *phase, const struct gpumon_track *track)
{
	fprintf(chrome->out, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u", chrome->any ? ",\n" : "\n",
		phase, pid_of(track), tid_of(track));
	chrome->any = true;
}

static void put_metadata(struct chrome *chrome, const struct gpumon_track *track, const char *what,
			 const char *key)
{
	open_event(chrome, "M", track);
	fprintf(chrome->out, ",\"name\":\"%s\",\"args\":{\"%s\":", what, key);
}

static void chrome_begin(void *data, uint64_t first_ns, const char *command, const char *range)
{
	struct chrome *chrome = data;

	chrome->first_ns = first_ns;
	fprintf(chrome->out,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"gpumon\",\"clock\":\"CLOCK_MONOTONIC\",\"start_ns\":\"%" PRIu64
		"\",\"command\":\"",
		first_ns);
	gpumon_text_json(chrome->out, command);
	if (*range) {
		fputs("\",\"range\":\"", chrome->out);
		gpumon_text_json(chrome->out, range);
	}
	fputs("\"},\"traceEvents\":[", chrome->out);
}

static void put_track(void *data, const struct gpumon_track *track)
{
	struct chrome *chrome = data;
	/* Processes first, then GPUs, the driver last. */
	unsigned int order = track->kind == GPUMON_TRACK_PROCESS ? 0 :
			     track->kind == GPUMON_TRACK_GPU	 ? 1000 :
								   2000;

	/* Counters are of the GPU as a process. */
	if (track->kind == GPUMON_TRACK_METRIC)
		return;
	put_metadata(chrome, track, track->parent ? "thread_name" : "process_name", "name");
	putc('"', chrome->out);
	gpumon_text_json(chrome->out, track->name);
	fputs("\"}}", chrome->out);
	put_metadata(chrome, track, track->parent ? "thread_sort_index" : "process_sort_index",
		     "sort_index");
	fprintf(chrome->out, "%u}}", track->parent ? track->id : order + track->id);
}

/* The number of a node, after those of its parents; 0 for the root. */
static uint64_t frame_number(struct chrome *chrome, const struct gpumon_node *node)
{
	uint64_t number = gpumon_map_get(&chrome->frames, (uintptr_t)node);
	const struct gpumon_node **place;

	if (number || !node->parent)
		return number;
	frame_number(chrome, node->parent);
	place = GPUMON_GROW(chrome->nodes, chrome->node_count);
	*place = node;
	gpumon_map_set(&chrome->frames, (uintptr_t)node, chrome->node_count);
	return chrome->node_count;
}

/* Each frame once, with the name that events use. "parent" is its caller. */
static void put_frames(struct chrome *chrome)
{
	for (size_t i = 0; i < chrome->node_count; i++) {
		const struct gpumon_node *node = chrome->nodes[i];
		uint64_t parent = gpumon_map_get(&chrome->frames, (uintptr_t)node->parent);

		fprintf(chrome->out, "%s\"%zu\":{\"name\":\"", i ? ",\n" : "\n", i + 1);
		gpumon_text_json(chrome->out, node->name);
		fputs("\",\"category\":\"", chrome->out);
		gpumon_text_json(chrome->out, node->module);
		putc('"', chrome->out);
		if (*node->line) {
			fputs(",\"line\":\"", chrome->out);
			gpumon_text_json(chrome->out, node->line);
			putc('"', chrome->out);
		}
		if (parent)
			fprintf(chrome->out, ",\"parent\":\"%" PRIu64 "\"", parent);
		putc('}', chrome->out);
	}
}

static void put_arguments(struct chrome *chrome, const struct gpumon_track_event *event)
{
	if (event->path)
		fprintf(chrome->out, ",\"sf\":\"%" PRIu64 "\"", frame_number(chrome, event->path));
	if (!event->argument_count)
		return;
	fputs(",\"args\":{", chrome->out);
	for (unsigned int i = 0; i < event->argument_count; i++) {
		const struct gpumon_track_argument *argument = &event->arguments[i];

		fprintf(chrome->out, "%s\"%s\":", i ? "," : "", argument->key);
		if (argument->text) {
			putc('"', chrome->out);
			gpumon_text_json(chrome->out, argument->text);
			putc('"', chrome->out);
		} else {
			fprintf(chrome->out, "%" PRIu64, argument->value);
		}
	}
	if (event->path) {
		fputs(",\"call_path\":\"", chrome->out);
		gpumon_text_json(chrome->out, event->path_line);
		putc('"', chrome->out);
	}
	putc('}', chrome->out);
}

/* An arrow from within the launch's slice to the beginning of the GPU operation. */
static void put_flow(struct chrome *chrome, const struct gpumon_track_event *event)
{
	chrome->flows++;
	open_event(chrome, "s", event->from);
	fprintf(chrome->out, ",\"cat\":\"launch\",\"name\":\"launch\",\"id\":%" PRIu64,
		chrome->flows);
	put_time(chrome, "ts", chrome_relative_ns(chrome, event->from_ns));
	putc('}', chrome->out);
	open_event(chrome, "f", event->track);
	fprintf(chrome->out, ",\"bp\":\"e\",\"cat\":\"launch\",\"name\":\"launch\",\"id\":%" PRIu64,
		chrome->flows);
	put_time(chrome, "ts", chrome_relative_ns(chrome, event->start_ns));
	putc('}', chrome->out);
}

static void put_event(void *data, const struct gpumon_track_event *event)
{
	static const char *const phases[] = {
		[GPUMON_TRACK_SLICE] = "X",   [GPUMON_TRACK_BEGIN] = "B",
		[GPUMON_TRACK_END] = "E",     [GPUMON_TRACK_INSTANT] = "i",
		[GPUMON_TRACK_COUNTER] = "C",
	};
	struct chrome *chrome = data;

	open_event(chrome, phases[event->type], event->track);
	if (event->type != GPUMON_TRACK_END) {
		fprintf(chrome->out, ",\"cat\":\"%s\",\"name\":\"",
			gpumon_track_category_name(event->category));
		gpumon_text_json(chrome->out, event->name);
		putc('"', chrome->out);
	}
	put_time(chrome, "ts", chrome_relative_ns(chrome, event->start_ns));
	if (event->type == GPUMON_TRACK_SLICE)
		put_time(chrome, "dur", event->end_ns - event->start_ns);
	if (event->type == GPUMON_TRACK_INSTANT)
		fprintf(chrome->out, ",\"s\":\"%s\"",
			event->category == GPUMON_CATEGORY_ALERT ? "g" : "t");
	if (event->type == GPUMON_TRACK_COUNTER)
		fprintf(chrome->out, ",\"args\":{\"value\":%.9g}", event->number);
	else if (event->type != GPUMON_TRACK_END)
		put_arguments(chrome, event);
	putc('}', chrome->out);
	if (event->flow && event->from)
		put_flow(chrome, event);
}

static void chrome_end(void *data)
{
	struct chrome *chrome = data;

	fputs("\n],\"stackFrames\":{", chrome->out);
	put_frames(chrome);
	fputs("\n}}\n", chrome->out);
}

int gpumon_output_chrome(FILE *out, const char *const *paths, unsigned int count,
			 const struct gpumon_profile_options *options)
{
	struct chrome chrome = { .out = out };
	const struct gpumon_track_sink sink = {
		.begin = chrome_begin,
		.track = put_track,
		.event = put_event,
		.end = chrome_end,
		.data = &chrome,
	};
	int ret = gpumon_tracks_read(paths, count, options, &sink);

	gpumon_map_clear(&chrome.frames);
	free(chrome.nodes);
	return ret || ferror(out) ? -1 : 0;
}
