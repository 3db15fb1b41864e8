// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alert_message.h"
#include "lib/errno_name.h"
#include "lib/memory.h"
#include "json_model.h"
#include "model_fields.h"
#include "trace.h"
#include "trace_words.h"

#define RING_WIDTH     24
#define RING_WIDTH_MAX 40

struct gpumon_trace {
	struct gpumon_trace_options options;
	FILE *out;
	struct gpumon_event_merge *merge;
	struct gpumon_event_join *join;
	struct gpumon_model alerts; /* not printed so far, by time */
	uint64_t printed;
	uint64_t alerts_printed;
	uint64_t hidden;
	uint64_t overwritten;
	bool past_end;
};

/* The names that users of the DRM scheduler know. JSON has those of GPUMON_EVENTS(). */
static const char *const labels[__GPUMON_EVENT_TYPE_MAX] = {
	[GPUMON_EVENT_LOST] = "LOST",	  [GPUMON_EVENT_QUEUE] = "QUEUE",
	[GPUMON_EVENT_RUN] = "RUN",	  [GPUMON_EVENT_DONE] = "COMPLETE",
	[GPUMON_EVENT_WAIT] = "WAIT_DEP", [GPUMON_EVENT_KILLED] = "KILLED",
	[GPUMON_EVENT_ERROR] = "ERROR",
};

static const char *const names[__GPUMON_EVENT_TYPE_MAX] = {
#define EVENT_NAME(number, enumerator, name, group) [number] = (name),
	GPUMON_EVENTS(EVENT_NAME)
#undef EVENT_NAME
};

struct gpumon_trace *gpumon_trace_new(const struct gpumon_trace_options *options, FILE *out)
{
	struct gpumon_trace *trace = gpumon_calloc(1, sizeof(*trace));

	trace->options = *options;
	trace->out = out;
	if (!trace->options.ring_width)
		trace->options.ring_width = RING_WIDTH;
	if (trace->options.ring_width > RING_WIDTH_MAX)
		trace->options.ring_width = RING_WIDTH_MAX;

	trace->merge = gpumon_event_merge_new(options->cpus, options->window_ns, options->held_max);
	trace->join = gpumon_event_join_new(options->jobs_max);
	return trace;
}

void gpumon_trace_free(struct gpumon_trace *trace)
{
	if (!trace)
		return;
	gpumon_event_merge_free(trace->merge);
	gpumon_event_join_free(trace->join);
	gpumon_model_free(&trace->alerts);
	free(trace);
}

static const struct gpumon_ring *trace_ring(const struct gpumon_trace *trace, unsigned int id)
{
	if (!trace->options.find_ring)
		return NULL;
	return trace->options.find_ring(trace->options.find_ring_data, id);
}

static bool ring_matches(const struct gpumon_ring *ring, const char *wanted)
{
	const char *name = ring && ring->name ? ring->name : "";
	const char *device = ring && ring->device ? ring->device : "";
	size_t length = strlen(device);

	if (!ring)
		return false;
	if (!strcmp(name, wanted))
		return true;
	return !strncmp(device, wanted, length) && wanted[length] == '/' &&
	       !strcmp(name, wanted + length + 1);
}

static const char *trace_row(const struct gpumon_trace *trace, const struct gpumon_event *event)
{
	if (!trace->options.find_row)
		return NULL;
	return trace->options.find_row(trace->options.find_ring_data,
				       gpumon_trace_event_group(event->event),
				       gpumon_trace_event_table(event->event), event->ring);
}

/* Match all labels together, or one of them. */
static bool row_matches(const char *row, const char *wanted)
{
	size_t length = strlen(wanted);
	const char *at = row;

	if (!row)
		return false;
	if (!strcmp(row, wanted))
		return true;
	while (length && (at = strstr(at, wanted))) {
		if ((at == row || at[-1] == '/') && (!at[length] || at[length] == '/'))
			return true;
		at++;
	}
	return false;
}

static bool trace_wanted(const struct gpumon_trace *trace, const struct gpumon_event_joined *joined,
			 const struct gpumon_ring *ring, const char *row)
{
	const struct gpumon_trace_options *options = &trace->options;
	const char *group = gpumon_trace_event_group(joined->event.event);

	if (options->group && !gpumon_same_text(group, options->group))
		return false;
	if (options->ring && !ring_matches(ring, options->ring) && !row_matches(row, options->ring))
		return false;
	return !options->pid || (joined->submitter_known && joined->pid == options->pid);
}

static void print_depth(FILE *out, int width, bool left, uint32_t depth)
{
	char text[16] = "-";

	if (depth != GPUMON_DEPTH_UNKNOWN)
		snprintf(text, sizeof(text), "%" PRIu32, depth);
	fprintf(out, left ? "%-*s" : "%*s", width, text);
}

/* NULL if it is not an errno. */
static const char *error_name(int error)
{
	return error < 0 && error > -4096 ? gpumon_errno_name(-error) : NULL;
}

static void print_error(FILE *out, int error)
{
	const char *name = error_name(error);

	if (name)
		fputs(name, out);
	else
		fprintf(out, "error %d", error);
}

static void print_details(struct gpumon_trace *trace, const struct gpumon_event_joined *joined)
{
	const struct gpumon_event *event = &joined->event;
	struct gpumon_value latency = { .v = joined->latency_ns, .known = joined->latency_known };
	const struct gpumon_term *term = &trace->options.term;
	char text[GPUMON_FORMAT_LEN];
	char comm[4 * GPUMON_COMM_LEN];
	FILE *out = trace->out;

	gpumon_format_ns(text, sizeof(text), latency);
	gpumon_format_name(comm, sizeof(comm), joined->comm[0] ? joined->comm : NULL);

	switch (event->event) {
	case GPUMON_EVENT_QUEUE:
		if (!joined->submitter_known)
			fputs("by -", out);
		else if (joined->tid != joined->pid)
			fprintf(out, "by %s[%" PRIu32 "] thread %" PRIu32, comm, joined->pid,
				joined->tid);
		else
			fprintf(out, "by %s[%" PRIu32 "]", comm, joined->pid);
		if (event->arg)
			fprintf(out, " client %llu", event->arg);
		return;
	case GPUMON_EVENT_RUN:
		fprintf(out, "queued %s", text);
		break;
	case GPUMON_EVENT_DONE:
		fprintf(out, "ran %s", text);
		break;
	case GPUMON_EVENT_WAIT:
		fprintf(out, "for %llu:%llu", event->arg, event->arg2);
		break;
	case GPUMON_EVENT_KILLED:
		fprintf(out, "queued %s, never ran", text);
		break;
	}

	if (event->error) {
		const char *space = event->event == GPUMON_EVENT_ERROR ? "" : "  ";

		fprintf(out, "%s%s", space, gpumon_term_red(term));
		print_error(out, event->error);
		fputs(gpumon_term_reset(term), out);
	}
	/* After an error, the first question is which process submitted the job. */
	if ((event->error || event->event == GPUMON_EVENT_KILLED ||
	     event->event == GPUMON_EVENT_ERROR) &&
	    joined->submitter_known)
		fprintf(out, "  of %s[%" PRIu32 "]", comm, joined->pid);
}

static const char *event_colour(const struct gpumon_term *term, unsigned int event)
{
	switch (event) {
	case GPUMON_EVENT_DONE:
		return gpumon_term_green(term);
	case GPUMON_EVENT_WAIT:
		return gpumon_term_yellow(term);
	case GPUMON_EVENT_KILLED:
	case GPUMON_EVENT_ERROR:
	case GPUMON_EVENT_LOST:
		return gpumon_term_red(term);
	default:
		return "";
	}
}

void gpumon_trace_header(struct gpumon_trace *trace)
{
	const struct gpumon_term *term = &trace->options.term;

	if (trace->options.json || trace->options.take_event)
		return;
	fprintf(trace->out, "%s%12s  %-8s  %-14s  %-*s  %9s  %s%s\n", gpumon_term_bold(term),
		"TIME(ms)", "EVENT", "JOB", (int)trace->options.ring_width, "RING", "QUEUED/HW",
		"DETAILS", gpumon_term_reset(term));
}

/* The words of an event of other groups than drm_sched say what it is about. */
static void print_words_line(struct gpumon_trace *trace, const struct gpumon_event_joined *joined,
			     const char *time, const char *row)
{
	const struct gpumon_event *event = &joined->event;
	const struct gpumon_term *term = &trace->options.term;
	const char *colour = event->event == GPUMON_EVENT_XID ? gpumon_term_red(term) : "";
	char label[32], about[128] = "-", comm[4 * GPUMON_COMM_LEN];
	FILE *out = trace->out;
	size_t i;

	snprintf(label, sizeof(label), "%s", names[event->event]);
	for (i = 0; label[i]; i++)
		label[i] = (char)toupper((unsigned char)label[i]);
	if (row)
		gpumon_format_name(about, sizeof(about), row);
	else if (event->ring != UINT16_MAX)
		snprintf(about, sizeof(about), "#%u", event->ring);
	fprintf(out, "%12s  %s%-24s%s  %-*s  %9s  ", time, colour, label,
		*colour ? gpumon_term_reset(term) : "", (int)trace->options.ring_width, about, "-");
	gpumon_trace_print_words(out, event);
	if (joined->submitter_known) {
		gpumon_format_name(comm, sizeof(comm), joined->comm[0] ? joined->comm : NULL);
		fprintf(out, "  by %s[%" PRIu32 "]", comm, joined->pid);
	}
	fputc('\n', out);
}

/* Milliseconds since the start. Records can be older if the ring was already on. */
static void format_time(const struct gpumon_trace *trace, uint64_t time_ns, char *text, size_t len)
{
	bool negative = time_ns < trace->options.start_ns;
	uint64_t us =
		(negative ? trace->options.start_ns - time_ns : time_ns - trace->options.start_ns) /
		1000;

	snprintf(text, len, "%s%" PRIu64 ".%03u", negative ? "-" : "", us / 1000,
		 (unsigned int)(us % 1000));
}

/* "DEVICE/NAME" */
static const char *format_ring(const struct gpumon_ring *ring, char *text, size_t len)
{
	char device[256], name[256];

	gpumon_format_name(device, sizeof(device), ring->device);
	gpumon_format_name(name, sizeof(name), ring->name);
	snprintf(text, len, "%s/%s", device, name);
	return text;
}

static void print_line(struct gpumon_trace *trace, const struct gpumon_event_joined *joined,
		       const struct gpumon_ring *ring, const char *row)
{
	const struct gpumon_event *event = &joined->event;
	const struct gpumon_term *term = &trace->options.term;
	const char *colour = event_colour(term, event->event);
	const char *label = event->event < __GPUMON_EVENT_TYPE_MAX ? labels[event->event] : NULL;
	char time[32], unknown[16], job[48] = "-", full[520] = "-";
	FILE *out = trace->out;

	format_time(trace, event->time_ns, time, sizeof(time));
	if (gpumon_trace_has_words(event->event)) {
		print_words_line(trace, joined, time, row);
		return;
	}
	if (!label) {
		snprintf(unknown, sizeof(unknown), "#%u", event->event);
		label = unknown;
	}
	if (event->event != GPUMON_EVENT_LOST) {
		snprintf(job, sizeof(job), "%llu:%llu", event->context, event->seqno);
		snprintf(full, sizeof(full), "#%u", event->ring);
	}
	if (ring)
		format_ring(ring, full, sizeof(full));

	fprintf(out, "%12s  %s%-8s%s  %-14s  %-*s  ", time, colour, label,
		*colour ? gpumon_term_reset(term) : "", job, (int)trace->options.ring_width, full);
	if (event->event == GPUMON_EVENT_LOST) {
		fprintf(out, "%9s  %llu events of CPU %u overwritten before they were read\n", "-",
			event->arg, event->cpu);
		return;
	}
	print_depth(out, 5, false, event->queue_depth);
	fputc('/', out);
	print_depth(out, 3, true, event->hw_depth);
	fputs("  ", out);
	print_details(trace, joined);
	fputc('\n', out);
}

static void print_json(struct gpumon_trace *trace, const struct gpumon_event_joined *joined,
		       const struct gpumon_ring *ring, const char *row)
{
	const struct gpumon_event *event = &joined->event;
	struct gpumon_value latency = { .v = joined->latency_ns, .known = joined->latency_known };
	struct gpumon_value queue_depth = { .v = event->queue_depth,
					    .known = event->queue_depth != GPUMON_DEPTH_UNKNOWN };
	struct gpumon_value hw_depth = { .v = event->hw_depth,
					 .known = event->hw_depth != GPUMON_DEPTH_UNKNOWN };
	struct gpumon_value pid = { .v = joined->pid, .known = joined->submitter_known };
	struct gpumon_value tid = { .v = joined->tid, .known = joined->submitter_known };
	struct gpumon_value client = { .v = event->arg, .known = event->arg != 0 };
	struct json_object *object = gpumon_json_object();
	bool known = event->event < __GPUMON_EVENT_TYPE_MAX;

	gpumon_json_add_u64(object, "time_ns", event->time_ns);
	gpumon_json_add_string(object, "event", known ? names[event->event] : NULL);
	/* Interrupts of amdgpu have a word named "source", and only the module sends them. */
	if (trace->options.source)
		gpumon_json_add_string(object, "source", trace->options.source);
	gpumon_json_add_u64(object, "cpu", event->cpu);
	if (event->event == GPUMON_EVENT_LOST) {
		gpumon_json_add_u64(object, "overwritten", event->arg);
		goto out;
	}
	if (!known)
		gpumon_json_add_u64(object, "event_number", event->event);
	if (gpumon_trace_has_words(event->event)) {
		gpumon_json_add_string(object, "group", gpumon_trace_event_group(event->event));
		gpumon_json_add_string(object, "row", row);
		gpumon_json_add_value(object, "pid", pid);
		gpumon_json_add_value(object, "tid", tid);
		gpumon_json_add_string(object, "comm", pid.known ? joined->comm : NULL);
		gpumon_trace_json_words(object, event);
		goto out;
	}

	gpumon_json_add_u64(object, "context", event->context);
	gpumon_json_add_u64(object, "seqno", event->seqno);
	gpumon_json_add_u64(object, "ring_id", event->ring);
	gpumon_json_add_string(object, "device", ring ? ring->device : NULL);
	gpumon_json_add_string(object, "ring", ring ? ring->name : NULL);
	gpumon_json_add_value(object, "queue_depth", queue_depth);
	gpumon_json_add_value(object, "hw_depth", hw_depth);
	gpumon_json_add_value(object, "pid", pid);
	gpumon_json_add_value(object, "tid", tid);
	gpumon_json_add_string(object, "comm", pid.known ? joined->comm : NULL);
	if (event->event == GPUMON_EVENT_QUEUE)
		gpumon_json_add_value(object, "drm_client_id", client);
	if (event->event == GPUMON_EVENT_RUN || event->event == GPUMON_EVENT_KILLED)
		gpumon_json_add_value(object, "queue_latency_ns", latency);
	if (event->event == GPUMON_EVENT_DONE)
		gpumon_json_add_value(object, "run_latency_ns", latency);
	if (event->event == GPUMON_EVENT_WAIT) {
		gpumon_json_add_u64(object, "dependency_context", event->arg);
		gpumon_json_add_u64(object, "dependency_seqno", event->arg2);
	}
	if (event->error) {
		gpumon_json_add_i64(object, "errno", -(int64_t)event->error);
		gpumon_json_add_string(object, "errno_name", error_name(event->error));
	}
out:
	fputs(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), trace->out);
	fputc('\n', trace->out);
	json_object_put(object);
}

static void take_event(const struct gpumon_trace *trace, const struct gpumon_event_joined *joined,
		       const struct gpumon_ring *ring, const char *row)
{
	char full[520];

	trace->options.take_event(trace->options.take_data, joined,
				  ring ? format_ring(ring, full, sizeof(full)) : row);
}

static void trace_emit(struct gpumon_trace *trace, const struct gpumon_event *event)
{
	const struct gpumon_trace_options *options = &trace->options;
	const struct gpumon_ring *ring = NULL;
	struct gpumon_event_joined joined;
	bool lost = event->event == GPUMON_EVENT_LOST;
	const char *row = NULL;

	if (lost)
		trace->overwritten += event->arg;
	else if (options->end_ns && event->time_ns > options->end_ns)
		trace->past_end = true;
	if (gpumon_trace_finished(trace)) {
		trace->hidden += !lost;
		return;
	}

	/* The join needs all events, since a shown event may depend on a hidden one. */
	gpumon_event_join_add(trace->join, event, &joined);
	if (!lost) {
		if (gpumon_trace_has_words(event->event))
			row = trace_row(trace, event);
		else
			ring = trace_ring(trace, event->ring);
		if (!trace_wanted(trace, &joined, ring, row)) {
			trace->hidden++;
			return;
		}
		trace->printed++;
	}
	if (options->take_event)
		take_event(trace, &joined, ring, row);
	else if (options->json)
		print_json(trace, &joined, ring, row);
	else
		print_line(trace, &joined, ring, row);
}

/*
 * The ring of an alert about a job, whose code is the ring's number. The module and BPF number rings
 * each for itself, and events by BPF come with alerts by the module where that is loaded.
 */
static const struct gpumon_ring *alert_ring(const struct gpumon_trace *trace,
					    const struct gpumon_alert *alert)
{
	if (!gpumon_same_text(alert->group, "drm_sched") || !alert->code.known ||
	    !alert->source != !trace->options.source)
		return NULL;
	return trace_ring(trace, (unsigned int)alert->code.v);
}

/* The module's alert of an Xid comes with an event, which is a line already. */
static bool is_event(const struct gpumon_trace *trace, const struct gpumon_alert *alert)
{
	return !trace->options.source && !alert->source &&
	       gpumon_same_text(alert->group, "nvidia") && gpumon_same_text(alert->kind, "xid");
}

static bool alert_wanted(const struct gpumon_trace *trace, const struct gpumon_alert *alert,
			 const struct gpumon_ring *ring)
{
	const struct gpumon_trace_options *options = &trace->options;

	if (options->group && !gpumon_same_text(alert->group, options->group))
		return false;
	if (options->ring && !ring_matches(ring, options->ring) &&
	    !row_matches(alert->device, options->ring))
		return false;
	return !options->pid || (alert->pid.known && alert->pid.v == options->pid);
}

static void print_alert(struct gpumon_trace *trace, const struct gpumon_alert *alert,
			const struct gpumon_ring *ring)
{
	const struct gpumon_term *term = &trace->options.term;
	char time[32], about[520];
	FILE *out = trace->out;

	format_time(trace, alert->time_ns.v, time, sizeof(time));
	if (ring)
		format_ring(ring, about, sizeof(about));
	else
		gpumon_format_name(about, sizeof(about), alert->device);
	fprintf(out, "%12s  %s%-24s%s  %-*s  %9s  ", time, gpumon_term_red(term), "ALERT",
		gpumon_term_reset(term), (int)trace->options.ring_width, about, "-");
	gpumon_alert_print_words(alert, term, out);
	fputc('\n', out);
}

/* The object of "alerts --json", and what it is among the lines of "trace". */
static void print_json_alert(struct gpumon_trace *trace, const struct gpumon_alert *alert,
			     const struct gpumon_ring *ring)
{
	struct json_object *object = gpumon_json_alert(alert);

	gpumon_json_add_string(object, "event", "alert");
	gpumon_json_add_string(object, "ring", ring ? ring->name : NULL);
	fputs(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), trace->out);
	fputc('\n', trace->out);
	json_object_put(object);
}

static void emit_alert(struct gpumon_trace *trace, const struct gpumon_alert *alert)
{
	const struct gpumon_trace_options *options = &trace->options;
	const struct gpumon_ring *ring = alert_ring(trace, alert);

	if (is_event(trace, alert))
		return;
	if (options->end_ns && alert->time_ns.v > options->end_ns)
		trace->past_end = true;
	if (gpumon_trace_finished(trace) || !alert_wanted(trace, alert, ring)) {
		trace->hidden++;
		return;
	}
	trace->printed++;
	trace->alerts_printed++;
	if (options->take_event)
		options->take_alert(options->take_data, alert);
	else if (options->json)
		print_json_alert(trace, alert, ring);
	else
		print_alert(trace, alert, ring);
}

/* Those up to this time. */
static void emit_alerts(struct gpumon_trace *trace, uint64_t until_ns)
{
	struct gpumon_model *alerts = &trace->alerts;
	size_t n = 0;

	while (n < alerts->n_alerts && alerts->alerts[n].time_ns.v <= until_ns)
		emit_alert(trace, &alerts->alerts[n++]);
	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		gpumon_fields_free(&gpumon_alert_fields, &alerts->alerts[i]);
	alerts->n_alerts -= n;
	memmove(alerts->alerts, alerts->alerts + n, alerts->n_alerts * sizeof(*alerts->alerts));
}

void gpumon_trace_feed_alerts(struct gpumon_trace *trace, struct gpumon_model *alerts)
{
	for (size_t i = 0; i < alerts->n_alerts; i++) {
		struct gpumon_alert *alert = gpumon_model_add_alert(&trace->alerts);
		const struct gpumon_alert *first = trace->alerts.alerts;

		/* Those of one time stay in their order. */
		for (; alert > first && alert[-1].time_ns.v > alerts->alerts[i].time_ns.v; alert--)
			*alert = alert[-1];
		*alert = alerts->alerts[i];
		memset(&alerts->alerts[i], 0, sizeof(alerts->alerts[i]));
	}
	gpumon_model_clear(alerts, GPUMON_PART_ALERTS);
}

bool gpumon_trace_print(struct gpumon_trace *trace, size_t most)
{
	struct gpumon_event event;

	for (size_t i = 0; i < most; i++) {
		if (!gpumon_event_merge_pop(trace->merge, &event)) {
			emit_alerts(trace, gpumon_event_merge_complete_ns(trace->merge));
			return false;
		}
		emit_alerts(trace, event.time_ns);
		trace_emit(trace, &event);
	}
	return true;
}

void gpumon_trace_feed(struct gpumon_trace *trace, const struct gpumon_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		/* If it is full, release the oldest record. One that is late is counted there. */
		if (gpumon_event_merge_push(trace->merge, &events[i]) != -ENOSPC)
			continue;
		gpumon_trace_print(trace, 1);
		(void)gpumon_event_merge_push(trace->merge, &events[i]);
	}
}

void gpumon_trace_drained(struct gpumon_trace *trace, uint64_t time_ns)
{
	gpumon_event_merge_drained(trace->merge, time_ns);
}

bool gpumon_trace_finished(const struct gpumon_trace *trace)
{
	return trace->past_end || (trace->options.count && trace->printed >= trace->options.count);
}

void gpumon_trace_get_totals(const struct gpumon_trace *trace, struct gpumon_trace_totals *totals)
{
	totals->printed = trace->printed;
	totals->alerts = trace->alerts_printed;
	totals->hidden = trace->hidden;
	totals->overwritten = trace->overwritten;
	gpumon_event_merge_get_stats(trace->merge, &totals->merge);
	gpumon_event_join_get_stats(trace->join, &totals->join);
}
