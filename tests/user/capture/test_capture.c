// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Reading a capture returns what was written, also during writing and after failed writes. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_maker.h"
#include "common.h"

static char *inside(const char *directory, const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	return path;
}

static struct gpumon_capture_writer *create(const char *path)
{
	struct gpumon_capture_writer *writer;

	if (gpumon_capture_create(path, "./train --fast", &writer))
		fail_msg("%s", gpumon_capture_error()->message);
	return writer;
}

static struct gpumon_capture_file *add(struct gpumon_capture_writer *writer, const char *name)
{
	struct gpumon_capture_file *file;

	if (gpumon_capture_add_file(writer, name, &file))
		fail_msg("%s", gpumon_capture_error()->message);
	return file;
}

static struct gpumon_capture *open_capture(const char *path)
{
	struct gpumon_capture *capture;

	if (gpumon_capture_open(path, &capture))
		fail_msg("%s", gpumon_capture_error()->message);
	return capture;
}

static void assert_no_damage(const struct gpumon_capture *capture)
{
	const struct gpumon_capture_damage *damage = gpumon_capture_damage(capture);

	assert_int_equal(damage->truncated_bytes, 0);
	assert_int_equal(damage->broken_chunks, 0);
	assert_int_equal(damage->broken_records, 0);
	assert_int_equal(damage->unknown_records, 0);
	assert_int_equal(damage->missing_chunks, 0);
	assert_int_equal(damage->unreadable_files, 0);
	assert_false(damage->broken_info);
}

/* A hit with a number, which identifies the records of a thread. */
static void append_hit(struct gpumon_capture_file *file, uint32_t tid, uint64_t number)
{
	struct gpumon_record_hit hit = {
		.head = { .type = GPUMON_RECORD_HIT, .size = sizeof(hit) },
		.number = number,
		.tid = tid,
	};

	assert_int_equal(gpumon_capture_append(file, tid, &hit, sizeof(hit)), 0);
}

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
		struct gpumon_capture_writer *writer = create(directory);
		const struct gpumon_record *want = NULL;
		const struct gpumon_record *got;
		struct gpumon_capture_cursor cursor;
		struct gpumon_capture *capture;

		make_example(maker, 1000000, 3);
		make_example(expected, 1000000, 3);
		capture_maker_flush(maker, add(writer, "process-103-1"), 77, chunks[i]);
		assert_int_equal(gpumon_capture_close(writer), 0);

		capture = open_capture(directory);
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
			assert_no_damage(capture);
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
	make_driver_event(maker, "row", "12345678", 8);
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
	char *path = inside(directory, "capture");
	char *file = inside(path, "process-1-1" GPUMON_CAPTURE_SUFFIX);
	char *info = inside(path, GPUMON_CAPTURE_INFO);
	char *reserve = inside(path, ".reserve");
	struct gpumon_capture_writer *writer;
	struct stat stat;
	mode_t mask = umask(0);

	(void)state;
	writer = create(path);
	append_hit(add(writer, "process-1-1"), 1, 1);
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
	char *empty = inside(directory, "empty");
	char *link = inside(directory, "link");
	char *slash = inside(directory, "link/");
	char *file = inside(directory, "file");
	char *deep = inside(directory, "no/where");
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

	writer = create(empty);
	assert_int_equal(gpumon_capture_add_file(writer, "../escape", &one), -1);
	assert_int_equal(gpumon_capture_add_file(writer, ".hidden", &one), -1);
	assert_int_equal(gpumon_capture_add_file(writer, "", &one), -1);
	assert_null(one);
	add(writer, "process-1-1");
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
	struct gpumon_capture_writer *writer = create(directory);
	struct gpumon_capture *capture = open_capture(directory);
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
	struct gpumon_capture_writer *writer = create(directory);
	struct gpumon_capture_file *ten = add(writer, "process-10-5");
	struct gpumon_capture_file *nine = add(writer, "process-9-7");
	struct gpumon_capture_file *driver = add(writer, GPUMON_CAPTURE_DRIVER);
	struct gpumon_capture *capture;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		append_hit(nine, 9, i);
	append_hit(ten, 10, 100);
	append_hit(driver, 0, 200);
	append_hit(driver, 0, 201);
	gpumon_capture_end_file(ten);
	assert_int_equal(gpumon_capture_close(writer), 0);

	capture = open_capture(directory);
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
	assert_no_damage(capture);
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
	struct gpumon_capture_writer *writer = create(directory);
	struct rlimit old, few;
	struct gpumon_capture *capture;

	(void)state;
	for (uint32_t i = 0; i < FILES; i++) {
		char name[32];
		struct gpumon_capture_file *file;

		snprintf(name, sizeof(name), "process-%u-1", i);
		file = add(writer, name);
		append_hit(file, i, i);
		append_hit(file, i, i + FILES);
		gpumon_capture_end_file(file);
	}
	assert_int_equal(gpumon_capture_close(writer), 0);

	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = 300;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	capture = open_capture(directory);
	for (uint64_t i = 0; i < 2 * FILES; i++)
		expect_hit(capture, i % FILES, i);
	expect_end(capture);
	assert_no_damage(capture);
	gpumon_capture_free(capture);
	setrlimit(RLIMIT_NOFILE, &old);
	capture_maker_remove(directory);
}

static void one_that_is_written_can_be_read(void **state)
{
	char *directory = capture_maker_directory();
	struct gpumon_capture_writer *writer = create(directory);
	struct gpumon_capture_file *first = add(writer, "process-5-1");
	struct gpumon_capture *capture = open_capture(directory);
	struct gpumon_capture_file *second;

	(void)state;
	expect_end(capture);
	append_hit(first, 5, 1);
	expect_hit(capture, 0, 1);
	expect_end(capture);
	/* It sorts before the first one, but has the second number all the same. */
	second = add(writer, "process-4-1");
	append_hit(second, 4, 50);
	append_hit(first, 5, 2);
	expect_hit(capture, 0, 2);
	expect_hit(capture, 1, 50);
	append_hit(second, 4, 51);
	assert_int_equal(gpumon_capture_close(writer), 0);
	assert_false(gpumon_capture_info(capture)->ended);
	expect_hit(capture, 1, 51);
	expect_end(capture);
	assert_true(gpumon_capture_info(capture)->ended);
	assert_no_damage(capture);
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
	struct gpumon_capture_writer *writer = create(directory);
	struct gpumon_capture_file *file = add(writer, "process-1-1");
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
	capture = open_capture(directory);
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

static unsigned int told;

static void tell(void *data, const struct gpumon_error *err)
{
	assert_ptr_equal(data, &told);
	assert_non_null(strstr(err->message, "records are lost"));
	told++;
}

/* Count the hits of a capture, and the losses reported by the recorder. */
static void count(const char *path, uint64_t *hits, uint64_t *lost)
{
	struct gpumon_capture *capture = open_capture(path);
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;

	*hits = 0;
	*lost = 0;
	while ((record = gpumon_capture_next(capture, &cursor))) {
		if (record->type == GPUMON_RECORD_HIT)
			++*hits;
		if (record->type == GPUMON_RECORD_LOSS) {
			const struct gpumon_record_loss *loss = (const void *)record;

			assert_int_equal(loss->cause, GPUMON_LOSS_RECORDER);
			assert_true(loss->time_ns > 0);
			*lost += loss->count;
		}
	}
	assert_no_damage(capture);
	gpumon_capture_free(capture);
}

/* Write until @total. Returns how many records were refused. */
static uint64_t write_hits(struct gpumon_capture_file *file, uint64_t total)
{
	struct gpumon_record_hit hits[20];
	uint64_t refused = 0;

	for (uint64_t i = 0; i < total; i += 20) {
		for (uint64_t j = 0; j < 20; j++)
			hits[j] = (struct gpumon_record_hit){
				.head = { .type = GPUMON_RECORD_HIT, .size = sizeof(hits[0]) },
				.number = i + j,
				/* Nothing to pack. */
				.time_ns = (uint64_t)mrand48() << 32 ^ (uint64_t)mrand48(),
				.duration_ns = (uint64_t)mrand48() << 32 ^ (uint64_t)mrand48(),
				.function = (uint32_t)mrand48(),
				.stack = (uint32_t)mrand48(),
			};
		if (gpumon_capture_append(file, 1, hits, sizeof(hits)))
			refused += 20;
	}
	return refused;
}

/* The file may not grow over a limit, and later it may, like on a full disk. */
static void room_that_comes_back(void **state)
{
	char *directory = capture_maker_directory();
	struct gpumon_capture_writer *writer = create(directory);
	struct gpumon_capture_file *file = add(writer, "process-1-1");
	struct rlimit old, small;
	uint64_t refused, hits, lost;

	(void)state;
	told = 0;
	gpumon_capture_on_trouble(writer, tell, &told);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 100003;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	refused = write_hits(file, 4000);
	assert_true(refused > 0 && refused < 4000);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(write_hits(file, 100), 0);
	assert_int_equal(told, 1);
	assert_int_equal(gpumon_capture_lost(writer), refused);
	assert_int_equal(gpumon_capture_close(writer), -1);
	assert_non_null(strstr(gpumon_capture_error()->message, "could not be written"));
	count(directory, &hits, &lost);
	assert_int_equal(hits, 4100 - refused);
	assert_int_equal(lost, refused);
	capture_maker_remove(directory);
}

/* In a namespace of its own. 0, or 77 if that is not allowed here. */
static int fill_disk(const char *directory)
{
	char *path = inside(directory, "capture");
	uint64_t refused, hits, lost;
	struct gpumon_capture_writer *writer;

	if ((unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", directory, "tmpfs", 0, "size=512k")) {
		free(path);
		return 77;
	}
	writer = create(path);
	gpumon_capture_on_trouble(writer, tell, &told);
	refused = write_hits(add(writer, "process-1-1"), 40000);
	assert_true(refused > 0 && refused < 40000);
	assert_int_equal(gpumon_capture_close(writer), -1);
	/* The disk is still full, but the losses and the end of the capture were written. */
	count(path, &hits, &lost);
	assert_int_equal(hits, 40000 - refused);
	assert_int_equal(lost, refused);
	assert_int_equal(told, 1);
	free(path);
	return 0;
}

static void a_disk_that_is_full(void **state)
{
	char *directory = capture_maker_directory();
	int status;
	pid_t child;

	(void)state;
	told = 0;
	child = fork();
	if (child == 0)
		_exit(fill_disk(directory));
	assert_int_equal(waitpid(child, &status, 0), child);
	capture_maker_remove(directory);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("a small tmpfs cannot be mounted here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void wait_for_file(const char *directory, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	for (int i = 0; i < 60000 && access(path, F_OK); i++)
		usleep(1000);
	assert_int_equal(access(path, F_OK), 0);
}

static void a_recorder_that_is_killed(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 20; round++) {
		char *directory = capture_maker_directory();
		struct gpumon_capture *capture;
		struct gpumon_capture_cursor cursor;
		const struct gpumon_record *record;
		uint64_t next = 0;
		pid_t child = fork();

		if (child == 0) {
			struct gpumon_capture_file *file = add(create(directory), "process-1-1");

			for (uint64_t i = 0;; i++)
				append_hit(file, 1, i);
		}
		/* Some are killed before there is anything to read. */
		if (round % 5)
			wait_for_file(directory, "process-1-1.records");
		usleep(round * 700);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		if (gpumon_capture_open(directory, &capture) == 0) {
			while ((record = gpumon_capture_next(capture, &cursor)))
				assert_int_equal(((const struct gpumon_record_hit *)record)->number,
						 next++);
			assert_false(gpumon_capture_info(capture)->ended);
			assert_int_equal(gpumon_capture_damage(capture)->broken_chunks, 0);
			assert_int_equal(gpumon_capture_damage(capture)->missing_chunks, 0);
			gpumon_capture_free(capture);
		}
		capture_maker_remove(directory);
	}
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
		cmocka_unit_test(room_that_comes_back),
		cmocka_unit_test(a_disk_that_is_full),
		cmocka_unit_test(a_recorder_that_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
