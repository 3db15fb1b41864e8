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

static char *trace_story(struct gpumon_trace_options options, struct gpumon_trace_totals *totals)
{
	struct gpumon_event events[16];
	struct gpumon_trace *trace;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	size_t n = story(events);

	options.start_ns = START;
	options.cpus = 2;
	options.held_max = 100;
	options.jobs_max = 100;
	options.find_ring = find_ring;
	trace = gpumon_trace_new(&options, out);
	assert_non_null(trace);
	gpumon_trace_header(trace);
	gpumon_trace_feed(trace, events, n);
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
		cmocka_unit_test(filters),
		cmocka_unit_test(count_and_end),
		cmocka_unit_test(before_the_start),
		cmocka_unit_test(printed_when_asked),
	};

	if (argc > 1 && !strcmp(argv[1], "show"))
		return show();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
