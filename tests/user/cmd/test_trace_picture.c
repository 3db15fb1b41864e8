// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* "trace --perfetto" from constructed events: its file, what it says, what it refuses, and what it leaves. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/capture_maker.h"
#include "cmd/trace_picture.h"
#include "lib/files.h"

#define MS 1000000ULL

static char *folder, path[300];
static struct captured said;
static FILE *err_stream;
static struct gpumon_context context;

static const struct gpumon_ring *find_ring(void *data, unsigned int id)
{
	static const struct gpumon_ring ring = { .device = (char *)"mock_gpu.0",
						 .name = (char *)"ring0" };

	(void)data;
	return id ? NULL : &ring;
}

static const char *find_row(void *data, const char *group, const char *table, unsigned int row)
{
	(void)data;
	(void)group;
	(void)table;
	(void)row;
	return "card0/1";
}

static struct gpumon_event job_event(unsigned int type, uint64_t ms, uint64_t seqno)
{
	struct gpumon_event event = {
		.time_ns = ms * MS,
		.event = (uint16_t)type,
		.context = 7,
		.seqno = seqno,
		.pid = 9,
		.comm = "kworker",
	};

	if (type == GPUMON_EVENT_QUEUE) {
		event.flags = GPUMON_EVENT_F_SUBMITTER;
		event.pid = 101;
		strcpy(event.comm, "blender");
	}
	return event;
}

static int make_folder(void **state)
{
	(void)state;
	folder = capture_maker_directory();
	snprintf(path, sizeof(path), "%s/temporary", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	setenv("TMPDIR", path, 1);
	snprintf(path, sizeof(path), "%s/picture", folder);
	return 0;
}

/* Nothing of the capture is left. */
static int remove_folder(void **state)
{
	char temporary[300];

	(void)state;
	snprintf(temporary, sizeof(temporary), "%s/temporary", folder);
	assert_int_equal(rmdir(temporary), 0);
	unsetenv("TMPDIR");
	capture_maker_remove(folder);
	return 0;
}

static struct gpumon_trace_picture *begin(struct gpumon_trace_options *options)
{
	struct gpumon_trace_picture *picture;
	struct gpumon_error err;
	size_t size;

	memset(&said, 0, sizeof(said));
	err_stream = open_memstream(&said.err, &size);
	context = (struct gpumon_context){ .out = stdout, .err = err_stream, .root = "" };
	*options = (struct gpumon_trace_options){
		.find_ring = find_ring, .find_row = find_row, .held_max = 100, .jobs_max = 100
	};
	if (gpumon_trace_picture_open(&picture, &context, path, false, &err))
		fail_msg("%s", err.message);
	gpumon_trace_picture_take(picture, options);
	return picture;
}

static bool has(const char *bytes, size_t size, const char *text)
{
	return memmem(bytes, size, text, strlen(text));
}

static void jobs_events_and_alerts(void **state)
{
	const struct gpumon_event events[] = {
		job_event(GPUMON_EVENT_QUEUE, 10, 1),
		job_event(GPUMON_EVENT_RUN, 12, 1),
		{ .time_ns = 13 * MS, .event = GPUMON_EVENT_VBLANK, .context = 60 },
		job_event(GPUMON_EVENT_DONE, 15, 1),
	};
	struct gpumon_model alerts = { 0 };
	struct gpumon_trace_options options;
	struct gpumon_trace_picture *picture = begin(&options);
	struct gpumon_trace *trace = gpumon_trace_new(&options, stdout);
	struct gpumon_alert *alert = gpumon_model_add_alert(&alerts);
	struct gpumon_error err;
	struct stat status;
	size_t size;
	char *bytes;
	FILE *file;

	(void)state;
	alert->time_ns = gpumon_value_of(14 * MS);
	alert->group = strdup("drm_sched");
	alert->kind = strdup("hang");
	alert->message = strdup("job on the hardware");
	gpumon_trace_feed(trace, events, sizeof(events) / sizeof(events[0]));
	gpumon_trace_feed_alerts(trace, &alerts);
	gpumon_trace_drained(trace, UINT64_MAX);
	gpumon_trace_print(trace, SIZE_MAX);
	gpumon_trace_free(trace);
	assert_false(gpumon_trace_picture_empty(picture));
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(gpumon_trace_picture_write(picture, 5020 * MS, 1234, &err), 0);
	fclose(err_stream);
	gpumon_trace_picture_close(picture);
	bytes = malloc(strlen(path) + 200);
	sprintf(bytes,
		"1 job on 1 ring, 1 other event and 1 alert in 5.02s are in %s, 1,234 events were lost: open it in https://ui.perfetto.dev\n",
		path);
	assert_string_equal(said.err, bytes);
	free(bytes);
	free(said.err);

	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	file = fopen(path, "r");
	assert_non_null(file);
	bytes = gpumon_read_whole(fileno(file), 1 << 20, &size);
	fclose(file);
	assert_non_null(bytes);
	assert_true(has(bytes, size, "mock_gpu.0/ring0, queued"));
	assert_true(has(bytes, size, "mock_gpu.0/ring0, on the hardware"));
	/* The submitter, and not the task in which the job ended. */
	assert_true(has(bytes, size, "blender[101]"));
	assert_false(has(bytes, size, "kworker"));
	assert_true(has(bytes, size, "card0/1"));
	assert_true(has(bytes, size, "vblank"));
	assert_true(has(bytes, size, "hang: job on the hardware"));
	assert_false(has(bytes, size, "Xid"));
	free(bytes);
}

/* Neither of a trace that failed nor of one without events. */
static void no_file_unless_written(void **state)
{
	struct gpumon_trace_options options;
	struct gpumon_trace_picture *picture = begin(&options);

	(void)state;
	assert_true(gpumon_trace_picture_empty(picture));
	gpumon_trace_picture_close(picture);
	assert_int_not_equal(access(path, F_OK), 0);
	fclose(err_stream);
	free(said.err);
}

static void check_refused(int status, const char *why, const char *file, const char *option)
{
	struct captured c =
		capture("", "trace", "--source=module", "--perfetto", file, option, NULL);

	assert_int_equal(c.status, status);
	if (!strstr(c.err, why))
		fail_msg("no \"%s\" in: %s", why, c.err);
	captured_free(&c);
}

static void refused(void **state)
{
	char absent[320];
	FILE *file = fopen(path, "w");

	(void)state;
	assert_non_null(file);
	fputs("old", file);
	fclose(file);
	snprintf(absent, sizeof(absent), "%s/absent/picture", folder);
	check_refused(GPUMON_EXIT_FAILED, "exists: name another file, or --force to replace it",
		      path, NULL);
	check_refused(GPUMON_EXIT_FAILED, "No such file or directory", absent, NULL);
	check_refused(GPUMON_EXIT_FAILED, "is no file", folder, NULL);
	check_refused(GPUMON_EXIT_USAGE, "leave one out", path, "--json");
	check_refused(GPUMON_EXIT_USAGE, "name the file, or leave --force out", "-", "--force");
	setenv("TMPDIR", absent, 1);
	check_refused(GPUMON_EXIT_FAILED, "by TMPDIR", path, "--force");
	file = fopen(path, "r");
	assert_int_equal(fgetc(file), 'o');
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(jobs_events_and_alerts, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(no_file_unless_written, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(refused, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
