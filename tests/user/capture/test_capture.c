// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Reading a capture returns what was written, also during writing and after failed writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture_check.h"
#include "capture_maker.h"
#include "common.h"

/* Expect the hit with that number, of that process. */
static void expect_hit(struct gpumon_capture *capture, uint32_t process, uint64_t number)
{
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record = gpumon_capture_next(capture, &cursor);

	assert_non_null(record);
	assert_int_equal(record->type, GPUMON_RECORD_HIT);
	assert_int_equal(((const struct gpumon_record_hit *)record)->number, number);
	assert_int_equal(cursor.process, process);
}

static void expect_end(struct gpumon_capture *capture)
{
	struct gpumon_capture_cursor cursor;

	assert_null(gpumon_capture_next(capture, &cursor));
}

static void everything_comes_back(void **state)
{
	static const size_t chunks[] = { 64, 300, 1000, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		char *directory = capture_maker_directory();
		struct capture_maker *maker = capture_maker_new();
		struct capture_maker *expected = capture_maker_new();
		struct gpumon_capture_writer *writer = capture_create(directory);
		const struct gpumon_record *want = NULL;
		const struct gpumon_record *got;
		struct gpumon_capture_cursor cursor;
		struct gpumon_capture *capture;

		make_example(maker, 1000000, 3);
		make_example(expected, 1000000, 3);
		capture_maker_flush(maker, capture_add(writer, "process-103-1"), 77, chunks[i]);
		assert_int_equal(gpumon_capture_close(writer), 0);

		capture = capture_open(directory);
		for (int pass = 0; pass < 2; pass++) {
			while ((got = gpumon_capture_next(capture, &cursor))) {
				want = capture_maker_next(expected, want);
				assert_non_null(want);
				assert_int_equal(got->size, want->size);
				assert_memory_equal(got, want, want->size);
				assert_int_equal((uintptr_t)got % 8, 0);
				assert_int_equal(cursor.tid, 77);
				assert_int_equal(cursor.process, 0);
			}
			assert_null(capture_maker_next(expected, want));
			want = NULL;
			capture_assert_whole(capture);
			gpumon_capture_rewind(capture);
		}
		gpumon_capture_free(capture);
		capture_maker_free(maker);
		capture_maker_free(expected);
		capture_maker_remove(directory);
	}
}

static void the_example_has_every_type(void **state)
{
	struct capture_maker *maker = capture_maker_new();
	bool seen[256] = { false };

	(void)state;
	make_example(maker, 1000000, 0);
	make_unmapping(maker, .start = 1, .end = 2);
	make_alert(maker, .code = 79);
	make_hit(maker, .number = 1);
	make_whole_graph(maker, .graph = 1);
	make_dropped(maker, .records = 1);
	make_driver_event(maker, "row", "12345678", 8);
	capture_maker_stalls(maker, &(struct gpumon_record_stalls){ .offset = 16 },
			     &(struct gpumon_stall){ .samples = 1 }, 1);
	make_stall_totals(maker, .samples = 1);
	MAKE_RECORD(maker, GPUMON_RECORD_METRIC_SET, metric_set, .set = 1);
	MAKE_RECORD(maker, GPUMON_RECORD_METRIC_SAMPLE, metric_sample, .set = 1);
	make_swapchain(maker, .id = 1);
	make_present(maker, .swapchain = 1);
	MAKE_RECORD(maker, GPUMON_RECORD_SHOWN, shown, .swapchain = 1);
	for (const struct gpumon_record *record = NULL;
	     (record = capture_maker_next(maker, record));) {
		assert_int_equal(gpumon_record_check(record, record->size), GPUMON_RECORD_GOOD);
		seen[record->type] = true;
	}
	for (unsigned int type = 1; type < 256; type++)
		assert_int_equal(seen[type], gpumon_record_name(type) != NULL);
	capture_maker_free(maker);
}

static void the_directory_is_private(void **state)
{
	char *directory = capture_maker_directory();
	char *path = capture_inside(directory, "capture");
	char *file = capture_inside(path, "process-1-1" GPUMON_CAPTURE_SUFFIX);
	char *info = capture_inside(path, GPUMON_CAPTURE_INFO);
	char *reserve = capture_inside(path, ".reserve");
	struct gpumon_capture_writer *writer;
	struct stat stat;
	mode_t mask = umask(0);

	(void)state;
	writer = capture_create(path);
	capture_append_hit(capture_add(writer, "process-1-1"), 1, 1);
	assert_int_equal(lstat(path, &stat), 0);
	assert_int_equal(stat.st_mode & 07777, 0700);
	assert_int_equal(lstat(file, &stat), 0);
	assert_int_equal(stat.st_mode & 07777, 0600);
	assert_int_equal(gpumon_capture_close(writer), 0);
	assert_int_equal(lstat(info, &stat), 0);
	assert_int_equal(stat.st_mode & 07777, 0600);
	assert_int_equal(lstat(reserve, &stat), -1);
	umask(mask);
	free(path);
	free(file);
	free(info);
	free(reserve);
	capture_maker_remove(directory);
}

static void assert_refused(const char *path, const char *why)
{
	struct gpumon_capture_writer *writer;

	assert_int_equal(gpumon_capture_create(path, "", &writer), -1);
	assert_null(writer);
	assert_non_null(strstr(gpumon_capture_error()->message, why));
	assert_int_equal(gpumon_capture_error()->status, GPUMON_EXIT_FAILED);
}

static void what_is_there_is_not_touched(void **state)
{
	char *directory = capture_maker_directory();
	char *empty = capture_inside(directory, "empty");
	char *link = capture_inside(directory, "link");
	char *slash = capture_inside(directory, "link/");
	char *file = capture_inside(directory, "file");
	char *deep = capture_inside(directory, "no/where");
	struct gpumon_capture_file *one;
	struct gpumon_capture_writer *writer;

	(void)state;
	assert_int_equal(mkdir(empty, 0700), 0);
	assert_int_equal(symlink("empty", link), 0);
	assert_int_equal(close(open(file, O_CREAT | O_WRONLY, 0600)), 0);
	assert_refused(directory, "not empty");
	assert_refused(link, "a link or a file");
	assert_refused(slash, "a link or a file");
	assert_refused(file, "a link or a file");
	assert_refused(deep, "directory above");
	assert_int_equal(rmdir(empty), 0);

	writer = capture_create(empty);
	assert_int_equal(gpumon_capture_add_file(writer, "../escape", &one), -1);
	assert_int_equal(gpumon_capture_add_file(writer, ".hidden", &one), -1);
	assert_int_equal(gpumon_capture_add_file(writer, "", &one), -1);
	assert_null(one);
	capture_add(writer, "process-1-1");
	assert_int_equal(gpumon_capture_add_file(writer, "process-1-1", &one), -1);
	assert_non_null(strstr(gpumon_capture_error()->message, "process-1-1"));
	assert_int_equal(gpumon_capture_close(writer), 0);
	free(empty);
	free(link);
	free(slash);
	free(file);
	free(deep);
	capture_maker_remove(directory);
}

static void capture_json_says_what_it_is(void **state)
{
	char *directory = capture_maker_directory();
	struct gpumon_capture_writer *writer = capture_create(directory);
	struct gpumon_capture *capture = capture_open(directory);
	const struct gpumon_capture_info *info = gpumon_capture_info(capture);
	char host[72] = "";

	(void)state;
	gethostname(host, sizeof(host) - 1);
	assert_int_equal(info->version, GPUMON_CAPTURE_VERSION);
	assert_string_equal(info->command, "./train --fast");
	assert_string_equal(info->host, host);
	assert_int_equal(strlen(info->boot_id), 36);
	assert_true(info->created_ns > 1600000000000000000u);
	assert_true(info->created_monotonic_ns > 0);
	assert_false(info->ended);
	assert_int_equal(gpumon_capture_processes(capture), 0);
	expect_end(capture);
	assert_int_equal(gpumon_capture_close(writer), 0);
	expect_end(capture);
	assert_true(info->ended);
	gpumon_capture_free(capture);
	capture_maker_remove(directory);
}

static void processes_come_in_turns(void **state)
{
	char *directory = capture_maker_directory();
	struct gpumon_capture_writer *writer = capture_create(directory);
	struct gpumon_capture_file *ten = capture_add(writer, "process-10-5");
	struct gpumon_capture_file *nine = capture_add(writer, "process-9-7");
	struct gpumon_capture_file *driver = capture_add(writer, GPUMON_CAPTURE_DRIVER);
	struct gpumon_capture *capture;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		capture_append_hit(nine, 9, i);
	capture_append_hit(ten, 10, 100);
	capture_append_hit(driver, 0, 200);
	capture_append_hit(driver, 0, 201);
	gpumon_capture_end_file(ten);
	assert_int_equal(gpumon_capture_close(writer), 0);

	capture = capture_open(directory);
	assert_int_equal(gpumon_capture_processes(capture), 2);
	assert_string_equal(gpumon_capture_name(capture, 0), "process-9-7");
	assert_string_equal(gpumon_capture_name(capture, 1), "process-10-5");
	assert_string_equal(gpumon_capture_name(capture, GPUMON_PROCESS_DRIVER), "driver");
	assert_null(gpumon_capture_name(capture, 2));
	expect_hit(capture, GPUMON_PROCESS_DRIVER, 200);
	expect_hit(capture, 0, 1);
	expect_hit(capture, 1, 100);
	expect_hit(capture, GPUMON_PROCESS_DRIVER, 201);
	expect_hit(capture, 0, 2);
	expect_hit(capture, 0, 3);
	expect_end(capture);
	capture_assert_whole(capture);
	gpumon_capture_free(capture);
	capture_maker_remove(directory);
}

/* More files than a reader keeps open, and more than it may open. */
static void many_processes(void **state)
{
	enum {
		FILES = 600
	};
	char *directory = capture_maker_directory();
	struct gpumon_capture_writer *writer = capture_create(directory);
	struct rlimit old, few;
	struct gpumon_capture *capture;

	(void)state;
	for (uint32_t i = 0; i < FILES; i++) {
		char name[32];
		struct gpumon_capture_file *file;

		snprintf(name, sizeof(name), "process-%u-1", i);
		file = capture_add(writer, name);
		capture_append_hit(file, i, i);
		capture_append_hit(file, i, i + FILES);
		gpumon_capture_end_file(file);
	}
	assert_int_equal(gpumon_capture_close(writer), 0);

	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = 300;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	capture = capture_open(directory);
	for (uint64_t i = 0; i < 2 * FILES; i++)
		expect_hit(capture, i % FILES, i);
	expect_end(capture);
	capture_assert_whole(capture);
	gpumon_capture_free(capture);
	setrlimit(RLIMIT_NOFILE, &old);
	capture_maker_remove(directory);
}

static void one_that_is_written_can_be_read(void **state)
{
	char *directory = capture_maker_directory();
	struct gpumon_capture_writer *writer = capture_create(directory);
	struct gpumon_capture_file *first = capture_add(writer, "process-5-1");
	struct gpumon_capture *capture = capture_open(directory);
	struct gpumon_capture_file *second;

	(void)state;
	expect_end(capture);
	capture_append_hit(first, 5, 1);
	expect_hit(capture, 0, 1);
	expect_end(capture);
	/* It sorts before the first one, but has the second number all the same. */
	second = capture_add(writer, "process-4-1");
	capture_append_hit(second, 4, 50);
	capture_append_hit(first, 5, 2);
	expect_hit(capture, 0, 2);
	expect_hit(capture, 1, 50);
	capture_append_hit(second, 4, 51);
	assert_int_equal(gpumon_capture_close(writer), 0);
	assert_false(gpumon_capture_info(capture)->ended);
	expect_hit(capture, 1, 51);
	expect_end(capture);
	assert_true(gpumon_capture_info(capture)->ended);
	capture_assert_whole(capture);
	gpumon_capture_free(capture);
	capture_maker_remove(directory);
}

static void later_versions_of_records(void **state)
{
	struct gpumon_record_kernel kernel;
	struct {
		struct gpumon_record_hit hit;
		uint64_t more;
	} longer = {
		.hit.head = { .type = GPUMON_RECORD_HIT, .size = sizeof(longer) },
		.hit.number = 4,
		.more = 9,
	};
	struct gpumon_record unknown = { .type = 999, .size = 8 };
	struct {
		struct gpumon_record head;
		uint64_t start_ns;
	} shorter = { .head = { .type = GPUMON_RECORD_KERNEL, .size = sizeof(shorter) },
		      .start_ns = 17 };
	char *directory = capture_maker_directory();
	struct gpumon_capture_writer *writer = capture_create(directory);
	struct gpumon_capture_file *file = capture_add(writer, "process-1-1");
	struct gpumon_record pad = { .type = GPUMON_RECORD_PAD, .size = 8 };
	struct gpumon_capture_cursor cursor;
	struct gpumon_capture *capture;
	const struct gpumon_record *record;

	(void)state;
	assert_int_equal(gpumon_capture_append(file, 1, &unknown, sizeof(unknown)), 0);
	assert_int_equal(gpumon_capture_append(file, 1, &longer, sizeof(longer)), 0);
	assert_int_equal(gpumon_capture_append(file, 1, &pad, sizeof(pad)), 0);
	assert_int_equal(gpumon_capture_append(file, 1, &shorter, sizeof(shorter)), 0);
	assert_int_equal(gpumon_capture_append(file, 1, &shorter, 0), 0);
	assert_int_equal(gpumon_capture_close(writer), 0);
	capture = capture_open(directory);
	expect_hit(capture, 0, 4);
	record = gpumon_capture_next(capture, &cursor);
	memset(&kernel, 0xff, sizeof(kernel));
	gpumon_record_copy(&kernel, sizeof(kernel), record);
	assert_int_equal(kernel.start_ns, 17);
	assert_int_equal(kernel.end_ns, 0);
	assert_int_equal(kernel.registers, 0);
	expect_end(capture);
	assert_int_equal(gpumon_capture_damage(capture)->unknown_records, 1);
	gpumon_capture_free(capture);
	capture_maker_remove(directory);
}

static void assert_no_capture(const char *path, const char *why)
{
	struct gpumon_capture *capture;

	assert_int_equal(gpumon_capture_open(path, &capture), -1);
	assert_null(capture);
	if (!strstr(gpumon_capture_error()->message, why))
		fail_msg("%s", gpumon_capture_error()->message);
}

static void put_file(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void what_is_no_capture(void **state)
{
	static const char later[] =
		"{\"format\":\"gpumon-capture\",\"version\":7,\"gpumon_version\":\"9.1\"}";
	static const char foreign[] = "{\"format\":\"something\"}";
	struct gpumon_chunk chunk = { .magic = GPUMON_CHUNK_MAGIC, .version = 7, .size = 8 };
	char *directory = capture_maker_directory();
	char *records = capture_inside(directory, "process-1-1" GPUMON_CAPTURE_SUFFIX);
	char *info = capture_inside(directory, "capture.json");

	(void)state;
	assert_no_capture("/nonexistent/capture", "No such file");
	put_file(records, &chunk, sizeof(chunk));
	assert_no_capture(records, "a capture is a directory");
	put_file(info, later, strlen(later));
	assert_no_capture(directory, "version 7");
	assert_non_null(strstr(gpumon_capture_error()->message, "9.1"));
	unlink(records);
	assert_no_capture(directory, "version 7");
	put_file(info, foreign, strlen(foreign));
	assert_no_capture(directory, "not written by gpumon");
	put_file(info, "[1, 2", 5);
	assert_no_capture(directory, "not written by gpumon");
	unlink(info);
	assert_no_capture(directory, "no capture.json");
	free(info);
	free(records);
	capture_maker_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_comes_back),
		cmocka_unit_test(the_example_has_every_type),
		cmocka_unit_test(the_directory_is_private),
		cmocka_unit_test(what_is_there_is_not_touched),
		cmocka_unit_test(capture_json_says_what_it_is),
		cmocka_unit_test(processes_come_in_turns),
		cmocka_unit_test(many_processes),
		cmocka_unit_test(one_that_is_written_can_be_read),
		cmocka_unit_test(later_versions_of_records),
		cmocka_unit_test(what_is_no_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
