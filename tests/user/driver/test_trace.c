// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * "trace" from constructed records: sorted, joined, filtered, printed. With the argument "show" it
 * prints the table in colour to look at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json.h>

#include "driver/alert_message.h"
#include "driver/trace.h"

#define MS    1000000ULL
#define START (5000 * MS)

static const struct gpumon_ring *find_ring(void *data, unsigned int id)
{
	static const struct gpumon_ring rings[] = {
		{ .device = (char *)"mock_gpu.0", .name = (char *)"ring0" },
		{ .device = (char *)"mock_gpu.1", .name = (char *)"ring0" },
	};

	(void)data;
	return id < 2 ? &rings[id] : NULL;
}

static struct gpumon_event event_at(uint64_t us, unsigned int type, unsigned int cpu,
				    uint64_t seqno)
{
	struct gpumon_event event = {
		.time_ns = START + us * 1000,
		.context = 12,
		.seqno = seqno,
		.queue_depth = 3,
		.hw_depth = 1,
	};

	event.event = (uint16_t)type;
	event.cpu = (uint16_t)cpu;
	if (type == GPUMON_EVENT_QUEUE) {
		event.flags = GPUMON_EVENT_F_SUBMITTER;
		event.pid = 100 + (uint32_t)seqno;
		event.tid = event.pid;
		strcpy(event.comm, "blender");
		/* The kernel need not say of which client a job is. */
		event.arg = seqno == 1 ? 7 : 0;
	}
	return event;
}

/* In the module's order: one CPU after the other. */
static size_t story(struct gpumon_event *events)
{
	size_t n = 0;

	/* CPU 0: the submitters. */
	events[n++] = event_at(100, GPUMON_EVENT_QUEUE, 0, 1);
	events[n++] = event_at(200, GPUMON_EVENT_QUEUE, 0, 2);
	events[n - 1].ring = 1;
	events[n - 1].tid++;
	events[n++] = event_at(300, GPUMON_EVENT_QUEUE, 0, 3);
	/* CPU 1: the scheduler and the interrupts. */
	events[n++] = event_at(150, GPUMON_EVENT_RUN, 1, 1);
	events[n - 1].pid = 9; /* a worker, not the submitter */
	events[n - 1].queue_depth = GPUMON_DEPTH_UNKNOWN;
	events[n++] = event_at(250, GPUMON_EVENT_WAIT, 1, 2);
	events[n - 1].ring = 1;
	events[n - 1].arg = 12;
	events[n - 1].arg2 = 1;
	events[n++] = event_at(1350, GPUMON_EVENT_DONE, 1, 1);
	events[n++] = event_at(1400, GPUMON_EVENT_LOST, 1, 0);
	events[n - 1].arg = 17;
	events[n++] = event_at(1400, GPUMON_EVENT_RUN, 1, 2);
	events[n - 1].ring = 1;
	events[n - 1].flags = GPUMON_EVENT_F_LATENCY;
	events[n - 1].arg = 1200000;
	events[n++] = event_at(1500, GPUMON_EVENT_DONE, 1, 2);
	events[n - 1].ring = 1;
	events[n - 1].error = -62;
	events[n++] = event_at(1600, GPUMON_EVENT_KILLED, 1, 3);
	events[n - 1].error = -125;
	events[n++] = event_at(1700, GPUMON_EVENT_DONE, 1, 99);
	events[n - 1].ring = 7;
	return n;
}

static struct gpumon_trace *trace_new(struct gpumon_trace_options options, char **text,
				      size_t *size, FILE **out)
{
	struct gpumon_trace *trace;

	*out = open_memstream(text, size);
	options.start_ns = START;
	options.cpus = 2;
	options.held_max = 100;
	options.jobs_max = 100;
	options.find_ring = find_ring;
	trace = gpumon_trace_new(&options, *out);
	assert_non_null(trace);
	return trace;
}

static char *trace_story(struct gpumon_trace_options options, struct gpumon_trace_totals *totals)
{
	struct gpumon_event events[16];
	struct gpumon_trace *trace;
	char *text = NULL;
	size_t size;
	FILE *out;

	trace = trace_new(options, &text, &size, &out);
	gpumon_trace_header(trace);
	gpumon_trace_feed(trace, events, story(events));
	gpumon_trace_drained(trace, UINT64_MAX);
	assert_int_equal(gpumon_trace_print(trace, SIZE_MAX), 0);
	gpumon_trace_get_totals(trace, totals);
	gpumon_trace_free(trace);
	fclose(out);
	return text;
}

static void table(void **state)
{
	static const char wanted[] =
		"    TIME(ms)  EVENT     JOB             RING                      QUEUED/HW  DETAILS\n"
		"       0.100  QUEUE     12:1            mock_gpu.0/ring0              3/1    by blender[101] client 7\n"
		"       0.150  RUN       12:1            mock_gpu.0/ring0              -/1    queued 50.0us\n"
		"       0.200  QUEUE     12:2            mock_gpu.1/ring0              3/1    by blender[102] thread 103\n"
		"       0.250  WAIT_DEP  12:2            mock_gpu.1/ring0              3/1    for 12:1\n"
		"       0.300  QUEUE     12:3            mock_gpu.0/ring0              3/1    by blender[103]\n"
		"       1.350  COMPLETE  12:1            mock_gpu.0/ring0              3/1    ran 1.20ms\n"
		"       1.400  LOST      -               -                                 -  17 events of CPU 1 overwritten before they were read\n"
		"       1.400  RUN       12:2            mock_gpu.1/ring0              3/1    queued 1.20ms\n"
		"       1.500  COMPLETE  12:2            mock_gpu.1/ring0              3/1    ran 100us  ETIME  of blender[102]\n"
		"       1.600  KILLED    12:3            mock_gpu.0/ring0              3/1    queued 1.30ms, never ran  ECANCELED  of blender[103]\n"
		"       1.700  COMPLETE  12:99           #7                            3/1    ran -\n";
	struct gpumon_trace_totals totals;
	char *text = trace_story((struct gpumon_trace_options){ 0 }, &totals);

	(void)state;
	assert_string_equal(text, wanted);
	assert_int_equal(totals.printed, 10);
	assert_int_equal(totals.hidden, 0);
	assert_int_equal(totals.overwritten, 17);
	assert_int_equal(totals.merge.late, 0);
	assert_int_equal(totals.join.unmatched, 1);
	free(text);
}

/* Every line is a document of its own, with all fields of the record. */
static void json_lines(void **state)
{
	struct gpumon_trace_totals totals;
	char *text = trace_story((struct gpumon_trace_options){ .json = true }, &totals);
	static const char *const names[] = { "queue", "run", "queue", "wait",	"queue", "done",
					     "lost",  "run", "done",  "killed", "done" };
	struct json_object *value;
	size_t n = 0;

	(void)state;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), n++) {
		struct json_object *object = json_tokener_parse(line);

		assert_non_null(object);
		assert_true(n < sizeof(names) / sizeof(names[0]));
		assert_true(json_object_object_get_ex(object, "event", &value));
		assert_string_equal(json_object_get_string(value), names[n]);
		assert_true(json_object_object_get_ex(object, "time_ns", &value));
		assert_true(json_object_get_uint64(value) >= START);
		switch (n) {
		case 0:
			assert_true(json_object_object_get_ex(object, "drm_client_id", &value));
			assert_int_equal(json_object_get_uint64(value), 7);
			break;
		case 2:
			assert_true(json_object_object_get_ex(object, "drm_client_id", &value));
			assert_null(value);
			break;
		case 1:
			/* Unknown values are present as null. */
			assert_true(json_object_object_get_ex(object, "queue_depth", &value));
			assert_null(value);
			assert_true(json_object_object_get_ex(object, "queue_latency_ns", &value));
			assert_int_equal(json_object_get_uint64(value), 50000);
			/* The submitter, not the worker. */
			assert_true(json_object_object_get_ex(object, "pid", &value));
			assert_int_equal(json_object_get_int(value), 101);
			break;
		case 3:
			assert_true(json_object_object_get_ex(object, "dependency_seqno", &value));
			assert_int_equal(json_object_get_uint64(value), 1);
			break;
		case 5:
			assert_true(json_object_object_get_ex(object, "run_latency_ns", &value));
			assert_int_equal(json_object_get_uint64(value), 1200000);
			assert_false(json_object_object_get_ex(object, "errno", &value));
			break;
		case 6:
			assert_true(json_object_object_get_ex(object, "overwritten", &value));
			assert_int_equal(json_object_get_uint64(value), 17);
			break;
		case 8:
			assert_true(json_object_object_get_ex(object, "errno", &value));
			assert_int_equal(json_object_get_int(value), 62);
			assert_true(json_object_object_get_ex(object, "errno_name", &value));
			assert_string_equal(json_object_get_string(value), "ETIME");
			break;
		case 10:
			assert_true(json_object_object_get_ex(object, "ring", &value));
			assert_null(value);
			assert_true(json_object_object_get_ex(object, "run_latency_ns", &value));
			assert_null(value);
			assert_true(json_object_object_get_ex(object, "pid", &value));
			assert_null(value);
			break;
		}
		json_object_put(object);
	}
	assert_int_equal(n, 11);
	free(text);
}

/* In the module's words. */
static void add_alert(struct gpumon_model *model, uint64_t us, const char *kind, uint64_t ring,
		      const char *message)
{
	struct gpumon_alert *alert = gpumon_model_add_alert(model);

	alert->time_ns = gpumon_value_of(START + us * 1000);
	alert->group = strdup("drm_sched");
	alert->kind = strdup(kind);
	alert->device = strdup(ring ? "mock_gpu.1" : "mock_gpu.0");
	alert->code = gpumon_value_of(ring);
	alert->message = strdup(message);
	alert->count = gpumon_value_of(1);
	gpumon_alert_complete(alert);
}

/* Not in the order of their times: two sources told them. */
static void add_alerts(struct gpumon_model *model)
{
	struct gpumon_alert *alert;

	add_alert(model, 1400, "starved", 1,
		  "ring0: job in its queue for 1200 ms, in blender [102]");
	add_alert(model, 220, "hang", 0,
		  "ring0: job on the hardware for 5240 ms, in blender [101]");
	alert = gpumon_model_add_alert(model);
	alert->source = GPUMON_ALERT_SOURCE_LOG;
	alert->time_ns = gpumon_value_of(START + 9 * MS);
	alert->group = strdup("nvidia");
	alert->kind = strdup("xid");
	alert->device = strdup("0000:01:00.0");
	alert->code = gpumon_value_of(79);
	alert->message = strdup("pid=7, name=Xorg, GPU has \033[2Jfallen");
	alert->count = gpumon_value_of(1);
	gpumon_alert_complete(alert);
}

/* The story, with alerts. */
static char *trace_alerts(struct gpumon_trace_options options, struct gpumon_trace_totals *totals)
{
	struct gpumon_event events[16];
	struct gpumon_model alerts = { 0 };
	struct gpumon_trace *trace;
	char *text;
	size_t size;
	FILE *out;

	trace = trace_new(options, &text, &size, &out);
	gpumon_trace_feed(trace, events, story(events));
	add_alerts(&alerts);
	gpumon_trace_feed_alerts(trace, &alerts);
	assert_int_equal(alerts.n_alerts, 0);
	gpumon_trace_drained(trace, UINT64_MAX);
	assert_false(gpumon_trace_print(trace, SIZE_MAX));
	gpumon_trace_get_totals(trace, totals);
	gpumon_trace_free(trace);
	fclose(out);
	return text;
}

/* Each where its time is, with the ring that its code is the number of. */
static void alerts_between_the_events(void **state)
{
	static const char *const wanted[] = {
		"       0.200  QUEUE     12:2            mock_gpu.1/ring0              3/1    by blender[102] thread 103\n"
		"       0.220  ALERT                     mock_gpu.0/ring0                  -  hang  ring0: job on the hardware for 5240 ms, in blender [101]\n"
		"       0.250  WAIT_DEP  12:2 ",
		"       1.350  COMPLETE  12:1            mock_gpu.0/ring0              3/1    ran 1.20ms\n"
		"       1.400  ALERT                     mock_gpu.1/ring0                  -  starved  ring0: job in its queue for 1200 ms, in blender [102]\n"
		"       1.400  LOST ",
		"       1.700  COMPLETE  12:99           #7                            3/1    ran -\n"
		"       9.000  ALERT                     0000:01:00.0                      -  xid 79 (GPU fell off the bus)  pid=7, name=Xorg, GPU has ?[2Jfallen\n",
	};
	struct gpumon_trace_totals totals;
	char *text = trace_alerts((struct gpumon_trace_options){ 0 }, &totals);

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!strstr(text, wanted[i]))
			fail_msg("not there:\n%s\nin:\n%s", wanted[i], text);
	}
	assert_int_equal(totals.printed, 13);
	assert_int_equal(totals.alerts, 3);
	free(text);
}

static const char *string_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	assert_true(json_object_object_get_ex(object, key, &value));
	return json_object_get_string(value);
}

static void alerts_in_json(void **state)
{
	struct gpumon_trace_totals totals;
	char *text = trace_alerts((struct gpumon_trace_options){ .json = true }, &totals);
	static const char *const kinds[] = { "hang", "starved", "xid" };
	static const char *const sources[] = { "kmod", "kmod", "log" };
	uint64_t before = 0;
	size_t n = 0;

	(void)state;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		struct json_object *object = json_tokener_parse(line), *time;

		assert_non_null(object);
		assert_true(json_object_object_get_ex(object, "time_ns", &time));
		assert_true(json_object_get_uint64(time) >= before);
		before = json_object_get_uint64(time);
		if (!strcmp(string_of(object, "event"), "alert")) {
			assert_true(n < 3);
			assert_string_equal(string_of(object, "kind"), kinds[n]);
			assert_string_equal(string_of(object, "source"), sources[n]);
			if (n < 2) {
				assert_string_equal(string_of(object, "ring"), "ring0");
				assert_string_equal(string_of(object, "process"), "blender");
				assert_int_equal(atoi(string_of(object, "pid")), 101 + n);
			} else {
				assert_null(string_of(object, "ring"));
				assert_int_equal(atoi(string_of(object, "code")), 79);
			}
			n++;
		}
		json_object_put(object);
	}
	assert_int_equal(n, 3);
	free(text);
}

/* The filters of events are those of alerts. */
static void wanted_alerts(void **state)
{
	static const struct {
		struct gpumon_trace_options options;
		uint64_t alerts;
		const char *kind;
	} cases[] = {
		{ { .group = "nvidia" }, 1, "xid 79" },
		{ { .group = "drm_sched" }, 2, "hang" },
		{ { .ring = "mock_gpu.1/ring0" }, 1, "starved" },
		{ { .ring = "ring0" }, 2, "hang" },
		{ { .ring = "0000:01:00.0" }, 1, "xid 79" },
		{ { .pid = 102 }, 1, "starved" },
		{ { .pid = 7 }, 1, "xid 79" },
		{ { .count = 4 }, 1, "hang" },
		{ { .end_ns = START + 5 * MS }, 2, "starved" },
		/* By BPF rings have other numbers than in the module. */
		{ { .source = "bpf", .ring = "mock_gpu.1/ring0" }, 0, NULL },
		{ { .source = "bpf", .ring = "mock_gpu.1" }, 1, "starved" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gpumon_trace_totals totals;
		char *text = trace_alerts(cases[i].options, &totals);

		assert_int_equal(totals.alerts, cases[i].alerts);
		if (cases[i].kind)
			assert_non_null(strstr(text, cases[i].kind));
		assert_int_equal(totals.printed + totals.hidden, 13);
		free(text);
	}
}

/* The module tells of an Xid by an event, too; by BPF there may be only the alert. */
static void no_xid_twice(void **state)
{
	(void)state;
	for (int by_bpf = 0; by_bpf < 2; by_bpf++) {
		struct gpumon_trace_options options = { .source = by_bpf ? "bpf" : NULL };
		struct gpumon_trace_totals totals;
		struct gpumon_model alerts = { 0 };
		struct gpumon_trace *trace;
		char *text;
		size_t size;
		FILE *out;

		trace = trace_new(options, &text, &size, &out);
		add_alert(&alerts, 1, "xid", 79, "GPU has fallen off the bus.");
		strcpy(alerts.alerts[0].group, "nvidia");
		gpumon_trace_feed_alerts(trace, &alerts);
		gpumon_trace_drained(trace, UINT64_MAX);
		gpumon_trace_print(trace, SIZE_MAX);
		gpumon_trace_get_totals(trace, &totals);
		assert_int_equal(totals.alerts, by_bpf);
		assert_int_equal(totals.hidden, 0);
		gpumon_trace_free(trace);
		fclose(out);
		free(text);
	}
}

/* Nothing is printed before what may still be earlier; what is late is printed all the same. */
static void alerts_wait_for_earlier_events(void **state)
{
	struct gpumon_model alerts = { 0 };
	struct gpumon_event event;
	struct gpumon_trace *trace;
	char *text;
	size_t size;
	FILE *out;

	(void)state;
	trace = trace_new((struct gpumon_trace_options){ 0 }, &text, &size, &out);
	add_alert(&alerts, 500, "hang", 0, "ring0: job on the hardware for 1 ms");
	gpumon_trace_feed_alerts(trace, &alerts);
	gpumon_trace_drained(trace, START + 400 * 1000);
	assert_false(gpumon_trace_print(trace, SIZE_MAX));
	fflush(out);
	assert_int_equal(size, 0);
	event = event_at(450, GPUMON_EVENT_QUEUE, 0, 1);
	gpumon_trace_feed(trace, &event, 1);
	gpumon_trace_drained(trace, START + 600 * 1000);
	assert_false(gpumon_trace_print(trace, SIZE_MAX));
	fflush(out);
	assert_non_null(strstr(text, "0.450  QUEUE"));
	assert_true(strstr(text, "0.450  QUEUE") < strstr(text, "0.500  ALERT"));
	add_alert(&alerts, 300, "starved", 0, "ring0: job in its queue for 1 ms");
	gpumon_trace_feed_alerts(trace, &alerts);
	assert_false(gpumon_trace_print(trace, SIZE_MAX));
	fflush(out);
	assert_true(strstr(text, "0.500  ALERT") < strstr(text, "0.300  ALERT"));
	/* One that nothing follows is not lost, and none leaks. */
	add_alert(&alerts, 900, "hang", 0, "ring0: job on the hardware for 2 ms");
	gpumon_trace_feed_alerts(trace, &alerts);
	gpumon_trace_free(trace);
	fclose(out);
	free(text);
}

static unsigned int count_of(const char *text, const char *word)
{
	unsigned int n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

static void filters(void **state)
{
	struct gpumon_trace_totals totals;
	char *text;

	(void)state;
	/* By name: the ring on both devices. Losses are shown with any filter. */
	text = trace_story((struct gpumon_trace_options){ .ring = "ring0" }, &totals);
	assert_int_equal(totals.printed, 9);
	assert_int_equal(totals.hidden, 1);
	assert_int_equal(count_of(text, "LOST"), 1);
	free(text);
	text = trace_story((struct gpumon_trace_options){ .ring = "mock_gpu.1/ring0" }, &totals);
	assert_int_equal(totals.printed, 4);
	assert_int_equal(count_of(text, "mock_gpu.0/"), 0);
	assert_int_equal(count_of(text, "LOST"), 1);
	/* The join still gets the other records. */
	assert_int_equal(totals.join.unmatched, 1);
	free(text);
	text = trace_story((struct gpumon_trace_options){ .ring = "ring" }, &totals);
	assert_int_equal(totals.printed, 0);
	free(text);
	/* All events of its jobs, including those from workers and interrupts. */
	text = trace_story((struct gpumon_trace_options){ .pid = 102 }, &totals);
	assert_int_equal(totals.printed, 4);
	assert_int_equal(count_of(text, "12:2 "), 4);
	free(text);
	text = trace_story((struct gpumon_trace_options){ .pid = 9 }, &totals);
	assert_int_equal(totals.printed, 0);
	free(text);
}

static void count_and_end(void **state)
{
	struct gpumon_trace_totals totals;
	char *text;

	(void)state;
	text = trace_story((struct gpumon_trace_options){ .count = 3 }, &totals);
	assert_int_equal(totals.printed, 3);
	assert_int_equal(totals.hidden, 7);
	assert_int_equal(count_of(text, "\n"), 4);
	free(text);
	/* The end itself is included. */
	text = trace_story((struct gpumon_trace_options){ .end_ns = START + 250000 }, &totals);
	assert_int_equal(totals.printed, 4);
	assert_non_null(strstr(text, "WAIT_DEP"));
	assert_null(strstr(text, "COMPLETE"));
	free(text);
}

/* The ring was already on: records from before the start have a negative time. */
static void before_the_start(void **state)
{
	struct gpumon_trace_options options = { .start_ns = START, .held_max = 10, .jobs_max = 10 };
	struct gpumon_event events[2] = {
		event_at(0, GPUMON_EVENT_QUEUE, 0, 1),
		event_at(0, 999, 0, 2),
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct gpumon_trace *trace = gpumon_trace_new(&options, out);

	(void)state;
	events[0].time_ns -= 250000;
	gpumon_trace_feed(trace, events, 2);
	gpumon_trace_drained(trace, UINT64_MAX);
	assert_int_equal(gpumon_trace_print(trace, SIZE_MAX), 0);
	gpumon_trace_free(trace);
	fclose(out);
	assert_memory_equal(text, "      -0.250  QUEUE ", 20);
	/* An unknown event is shown by its number. */
	assert_non_null(strstr(text, "0.000  #999 "));
	free(text);
}

/* Reading has priority: records are held until there is time to print, or no room. */
static void printed_when_asked(void **state)
{
	struct gpumon_trace_options options = { .start_ns = START, .held_max = 10, .jobs_max = 10 };
	struct gpumon_trace_totals totals;
	struct gpumon_event events[14];
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct gpumon_trace *trace = gpumon_trace_new(&options, out);

	(void)state;
	for (size_t i = 0; i < 14; i++)
		events[i] = event_at(i, GPUMON_EVENT_QUEUE, 0, i);
	gpumon_trace_feed(trace, events, 10);
	gpumon_trace_get_totals(trace, &totals);
	assert_int_equal(totals.printed, 0);
	/* Four are too many: the four oldest are printed in order. */
	gpumon_trace_feed(trace, events + 10, 4);
	gpumon_trace_get_totals(trace, &totals);
	assert_int_equal(totals.printed, 4);
	assert_int_equal(totals.merge.late, 0);
	/* Without a free slot, one more must be printed. With one, an earlier record may come. */
	assert_int_equal(gpumon_trace_print(trace, 1), 1);
	assert_int_equal(gpumon_trace_print(trace, 20), 0);
	gpumon_trace_drained(trace, UINT64_MAX);
	assert_int_equal(gpumon_trace_print(trace, 3), 1);
	gpumon_trace_get_totals(trace, &totals);
	assert_int_equal(totals.printed, 8);
	assert_int_equal(gpumon_trace_print(trace, 20), 0);
	gpumon_trace_get_totals(trace, &totals);
	assert_int_equal(totals.printed, 14);
	gpumon_trace_free(trace);
	fclose(out);
	free(text);
}

static int show(void)
{
	struct gpumon_trace_options options = { .term = { .tty = true, .colour = true } };
	struct gpumon_trace_totals totals;
	char *text = trace_story(options, &totals);

	fputs(text, stdout);
	free(text);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(json_lines),
		cmocka_unit_test(alerts_between_the_events),
		cmocka_unit_test(alerts_in_json),
		cmocka_unit_test(wanted_alerts),
		cmocka_unit_test(no_xid_twice),
		cmocka_unit_test(alerts_wait_for_earlier_events),
		cmocka_unit_test(filters),
		cmocka_unit_test(count_and_end),
		cmocka_unit_test(before_the_start),
		cmocka_unit_test(printed_when_asked),
	};

	if (argc > 1 && !strcmp(argv[1], "show"))
		return show();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
