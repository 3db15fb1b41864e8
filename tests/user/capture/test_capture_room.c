// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Captures whose recorder has no room, or is killed. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_check.h"
#include "capture_maker.h"
#include "common.h"

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
	struct gpumon_capture *capture = capture_open(path);
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
	capture_assert_whole(capture);
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
	struct gpumon_capture_writer *writer = capture_create(directory);
	struct gpumon_capture_file *file = capture_add(writer, "process-1-1");
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

/* A loss that cannot be written is not less of a loss: it is there later, with its cause. */
static void losses_without_room(void **state)
{
	const struct gpumon_record_loss loss = {
		.head = { GPUMON_RECORD_LOSS, 0, sizeof(loss) },
		.time_ns = 1,
		.count = 5000,
		.cause = GPUMON_LOSS_CHANNEL_FULL,
	};
	char *directory = capture_maker_directory();
	struct gpumon_capture_writer *writer = capture_create(directory);
	struct gpumon_capture_file *file = capture_add(writer, "process-1-1");
	uint64_t lost[GPUMON_LOSS_CAUSES] = { 0 };
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	struct gpumon_capture *capture;
	struct rlimit old, small;

	(void)state;
	gpumon_capture_on_trouble(writer, tell, &told);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(gpumon_capture_append(file, 0, &loss, sizeof(loss)), -1);
	assert_int_equal(write_hits(file, 20), 20);
	assert_int_equal(gpumon_capture_append(file, 0, &loss, sizeof(loss)), -1);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(gpumon_capture_lost(writer), 20);
	assert_int_equal(gpumon_capture_close(writer), -1);
	capture = capture_open(directory);
	while ((record = gpumon_capture_next(capture, &cursor)))
		if (record->type == GPUMON_RECORD_LOSS)
			lost[((const struct gpumon_record_loss *)record)->cause] +=
				((const struct gpumon_record_loss *)record)->count;
	capture_assert_whole(capture);
	gpumon_capture_free(capture);
	assert_int_equal(lost[GPUMON_LOSS_CHANNEL_FULL], 10000);
	assert_int_equal(lost[GPUMON_LOSS_RECORDER], 20);
	capture_maker_remove(directory);
}

/* In a namespace of its own. 0, or 77 if that is not allowed here. */
static int fill_disk(const char *directory)
{
	char *path = capture_inside(directory, "capture");
	uint64_t refused, hits, lost;
	struct gpumon_capture_writer *writer;

	if ((unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", directory, "tmpfs", 0, "size=512k")) {
		free(path);
		return 77;
	}
	writer = capture_create(path);
	gpumon_capture_on_trouble(writer, tell, &told);
	refused = write_hits(capture_add(writer, "process-1-1"), 40000);
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
			struct gpumon_capture_file *file =
				capture_add(capture_create(directory), "process-1-1");

			for (uint64_t i = 0;; i++)
				capture_append_hit(file, 1, i);
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
		cmocka_unit_test(room_that_comes_back),
		cmocka_unit_test(losses_without_room),
		cmocka_unit_test(a_disk_that_is_full),
		cmocka_unit_test(a_recorder_that_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
