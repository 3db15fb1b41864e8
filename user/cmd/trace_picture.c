// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "driver/trace_words.h"
#include "lib/format.h"
#include "lib/memory.h"
#include "lib/output_file.h"
#include "lib/text.h"
#include "record/directories.h"
#include "record/driver.h"
#include "report/load.h"
#include "report/output.h"
#include "trace_picture.h"

/* Records are written when there are so many bytes of them: a chunk packs better if it is long. */
#define WRITE_BYTES (GPUMON_CHUNK_SIZE_MAX / 4)

/**
 * struct gpumon_trace_picture - a picture that is being taken
 * @context: for messages
 * @output: file that is written at the end
 * @temporary: folder of the capture
 * @writer: capture, NULL once it is closed
 * @file: its only file, that of the driver
 * @records: records that wait to be written
 * @jobs: jobs that were done
 * @rings: rings with events
 * @ring_seen: by number: it is counted in @rings
 * @others: events that are not of rings
 * @alerts: alerts
 * @unwritten: records that the capture has no room for
 */
struct gpumon_trace_picture {
	struct gpumon_context *context;
	struct gpumon_output_file output;
	struct gpumon_temporary temporary;
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	struct gpumon_driver_records records;
	uint64_t jobs;
	unsigned int rings;
	bool ring_seen[UINT16_MAX + 1];
	uint64_t others;
	uint64_t alerts;
	uint64_t unwritten;
};

static int open_capture(struct gpumon_trace_picture *picture, struct gpumon_error *err)
{
	if (gpumon_temporary_make(&picture->temporary, err))
		return -1;
	if (gpumon_capture_create(picture->temporary.path, "", &picture->writer) ||
	    gpumon_capture_add_file(picture->writer, GPUMON_CAPTURE_DRIVER, &picture->file)) {
		*err = *gpumon_capture_error();
		return -1;
	}
	return 0;
}

int gpumon_trace_picture_open(struct gpumon_trace_picture **picture, struct gpumon_context *context,
			      const char *path, bool force, struct gpumon_error *err)
{
	struct gpumon_trace_picture *new = gpumon_calloc(1, sizeof(*new));

	*picture = new;
	new->context = context;
	new->output.parent = -1;
	if (!strcmp(path, "-") && isatty(fileno(context->out)))
		return gpumon_error_set(
			err, GPUMON_EXIT_USAGE, 0, GPUMON_ERROR_USAGE,
			"refusing to write a picture to a terminal: name a file, --perfetto FILE");
	if (gpumon_output_file_open(&new->output, path, force, GPUMON_OUTPUT_BINARY, context->out,
				    err))
		return -1;
	return open_capture(new, err);
}

static void write_records(struct gpumon_trace_picture *picture, size_t most)
{
	if (picture->records.size > most)
		gpumon_driver_records_write(&picture->records, picture->file);
}

static void take_event(void *data, const struct gpumon_event_joined *joined, const char *row)
{
	struct gpumon_trace_picture *picture = data;
	struct gpumon_event event = joined->event;
	bool has_latency = event.event == GPUMON_EVENT_RUN || event.event == GPUMON_EVENT_DONE ||
			   event.event == GPUMON_EVENT_KILLED;

	if (gpumon_trace_has_words(event.event)) {
		picture->others++;
	} else if (event.event != GPUMON_EVENT_LOST) {
		picture->jobs += event.event == GPUMON_EVENT_DONE;
		picture->rings += !picture->ring_seen[event.ring];
		picture->ring_seen[event.ring] = true;
	}
	/* What the join knows is more than the record has. */
	if (has_latency && joined->latency_known) {
		event.arg = joined->latency_ns;
		event.flags |= GPUMON_EVENT_F_LATENCY;
	}
	event.pid = joined->submitter_known ? joined->pid : 0;
	event.tid = joined->submitter_known ? joined->tid : 0;
	memset(event.comm, 0, sizeof(event.comm));
	if (joined->submitter_known) {
		event.flags |= GPUMON_EVENT_F_SUBMITTER;
		memcpy(event.comm, joined->comm, sizeof(event.comm));
	}
	gpumon_driver_records_named(&picture->records, &event, row);
	write_records(picture, WRITE_BYTES);
}

static void take_alert(void *data, const struct gpumon_alert *alert)
{
	struct gpumon_trace_picture *picture = data;

	picture->alerts++;
	gpumon_driver_records_alert(&picture->records, alert);
	write_records(picture, WRITE_BYTES);
}

void gpumon_trace_picture_take(struct gpumon_trace_picture *picture,
			       struct gpumon_trace_options *options)
{
	options->take_event = take_event;
	options->take_alert = take_alert;
	options->take_data = picture;
}

bool gpumon_trace_picture_empty(const struct gpumon_trace_picture *picture)
{
	return !picture->rings && !picture->others && !picture->alerts;
}

/* Closes the capture. What did not fit into it is counted. */
static void end_capture(struct gpumon_trace_picture *picture)
{
	write_records(picture, 0);
	picture->unwritten = gpumon_capture_lost(picture->writer);
	gpumon_capture_end_file(picture->file);
	/* The first failed write was told, and losses are in the capture. */
	(void)gpumon_capture_close(picture->writer);
	picture->writer = NULL;
}

/* "12,034 jobs", behind what is there already. */
static void add_part(char *text, size_t room, bool last, uint64_t number, const char *one,
		     const char *many)
{
	size_t at = strlen(text);
	char count[40];

	snprintf(text + at, room - at, "%s%s %s",
		 !at  ? "" :
		 last ? " and " :
			", ",
		 gpumon_text_count(count, sizeof(count), number), number == 1 ? one : many);
}

static const char *file_text(const struct gpumon_trace_picture *picture)
{
	return strcmp(picture->output.path, "-") ? picture->output.path : "the standard output";
}

static void print_sentence(const struct gpumon_trace_picture *picture, uint64_t took_ns,
			   uint64_t lost)
{
	char what[256] = "", losses[64] = "nothing was lost", time[GPUMON_FORMAT_LEN], count[40];
	FILE *out = picture->context->err;

	if (picture->rings) {
		add_part(what, sizeof(what), false, picture->jobs, "job on", "jobs on");
		snprintf(what + strlen(what), sizeof(what) - strlen(what), " %u ring%s",
			 picture->rings, picture->rings == 1 ? "" : "s");
	}
	if (picture->others)
		add_part(what, sizeof(what), !picture->alerts, picture->others,
			 picture->rings ? "other event" : "event",
			 picture->rings ? "other events" : "events");
	if (picture->alerts)
		add_part(what, sizeof(what), true, picture->alerts, "alert", "alerts");
	if (lost + picture->unwritten)
		snprintf(losses, sizeof(losses), "%s events were lost",
			 gpumon_text_count(count, sizeof(count), lost + picture->unwritten));
	gpumon_format_ns(time, sizeof(time), (struct gpumon_value){ .v = took_ns, .known = true });
	fprintf(out, "%s in %s are in %s, %s: open it in https://ui.perfetto.dev\n", what, time,
		file_text(picture), losses);
}

int gpumon_trace_picture_write(struct gpumon_trace_picture *picture, uint64_t took_ns,
			       uint64_t lost, struct gpumon_error *err)
{
	const char *paths[] = { picture->temporary.path };
	const struct gpumon_profile_options options = { 0 };
	bool good;
	int ret;

	end_capture(picture);
	errno = 0;
	good = !gpumon_output_perfetto(picture->output.stream, paths, 1, &options);
	ret = good ? 0 : gpumon_load_output_failed(picture->output.path, errno, err);
	if (gpumon_output_file_close(&picture->output, good, err))
		ret = -1;
	picture->output.stream = NULL;
	if (!ret)
		print_sentence(picture, took_ns, lost);
	return ret;
}

/* The groups of one kind, "drm_sched, drm_vblank". */
static void list_groups(const struct gpumon_model *model, bool off, char *text, size_t room)
{
	text[0] = '\0';
	for (size_t i = 0; i < model->n_groups; i++) {
		const struct gpumon_group *group = &model->groups[i];
		bool is_off = group->enabled.known && !group->enabled.v;
		size_t at = strlen(text);

		if (off ? is_off : group->state.v == GPUMON_ATTACH_STATE_ATTACHED && !is_off)
			snprintf(text + at, room - at, "%s%s", at ? ", " : "", group->name);
	}
}

static const struct gpumon_group *find_group(const struct gpumon_model *model, const char *name)
{
	for (size_t i = 0; i < model->n_groups; i++) {
		if (!strcmp(model->groups[i].name, name))
			return &model->groups[i];
	}
	return NULL;
}

/* Why the source had no event, and what to do. */
static void explain(struct gpumon_source *source, const struct gpumon_trace_options *options,
		    char *text, size_t room)
{
	const struct gpumon_group *group = NULL;
	struct gpumon_model model = { 0 };
	char attached[160], off[160];
	struct gpumon_error err;

	if (gpumon_source_read(source, GPUMON_PART_GROUPS, 0, &model, &err)) {
		snprintf(text, room, "%.400s", err.message);
		gpumon_model_free(&model);
		return;
	}
	list_groups(&model, false, attached, sizeof(attached));
	list_groups(&model, true, off, sizeof(off));
	if (options->group)
		group = find_group(&model, options->group);
	if (group && group->enabled.known && !group->enabled.v)
		snprintf(text, room, "the group %s is off: gpumon-user set %s on", group->name,
			 group->name);
	else if (group && group->state.v != GPUMON_ATTACH_STATE_ATTACHED)
		snprintf(text, room,
			 "the group %s sees no driver (%s): gpumon-user doctor driver says more",
			 group->name, gpumon_attach_state_name(group->state));
	else if (!attached[0])
		snprintf(text, room,
			 "no group sees a driver%s%s%s: gpumon-user doctor driver says more",
			 off[0] ? ", and these are off (gpumon-user set GROUP on): " : "", off, "");
	else
		snprintf(
			text, room,
			"the groups that see a driver are %s%s%s: let something use the GPU meanwhile",
			attached, off[0] ? "; off are (gpumon-user set GROUP on) " : "", off);
	gpumon_model_free(&model);
}

int gpumon_trace_picture_nothing(const struct gpumon_trace_picture *picture,
				 struct gpumon_source *source,
				 const struct gpumon_trace_options *options, uint64_t hidden,
				 uint64_t took_ns, struct gpumon_error *err)
{
	char why[640], time[GPUMON_FORMAT_LEN], count[40];

	gpumon_format_ns(time, sizeof(time), (struct gpumon_value){ .v = took_ns, .known = true });
	if (hidden && (options->group || options->ring || options->pid))
		snprintf(why, sizeof(why), "%s events were not of%s%s%s",
			 gpumon_text_count(count, sizeof(count), hidden),
			 options->group ? " --group" : "", options->ring ? " --ring" : "",
			 options->pid ? " --pid" : "");
	else
		explain(source, options, why, sizeof(why));
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_GONE,
				"no events by %s in %s, and %s is not written: %s",
				options->source ? "BPF" : "the module", time, file_text(picture),
				why);
}

void gpumon_trace_picture_close(struct gpumon_trace_picture *picture)
{
	struct gpumon_error err;

	if (!picture)
		return;
	if (picture->output.stream)
		(void)gpumon_output_file_close(&picture->output, false, &err);
	if (picture->writer)
		end_capture(picture);
	gpumon_temporary_remove(&picture->temporary);
	gpumon_driver_records_free(&picture->records);
	free(picture);
}
