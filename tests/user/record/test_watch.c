// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* When threads were found waiting, by files and a clock of the test. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/watch.h"

#define TID    7
#define PERIOD 20

static char folder[64], thread_folder[80];
static uint64_t now_ns, blocks_at_ns;
static struct gpumon_record_wait written[4];
static unsigned int written_count;

static void write_file(const char *name, const char *text)
{
	char path[112];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", thread_folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void block(void)
{
	char text[64];

	snprintf(text, sizeof(text), "%ld 0x1 0x0 0x0 0x0 0x0 0x0 0x100 0x200", (long)SYS_futex);
	write_file("syscall", text);
}

/* Time goes on with each question, and the thread begins to wait just after one. */
static uint64_t next_time(void)
{
	if (now_ns == blocks_at_ns)
		block();
	return now_ns++;
}

static bool is_in_call(void *data, const void *caller)
{
	(void)data;
	(void)caller;
	return false;
}

static uint32_t read_stack(void *data, const struct gpumon_watched *one,
			   const struct gpumon_look *look)
{
	(void)data;
	return gpumon_watch_is_still(one, look) ? 1 : 0;
}

static void append(void *data, const struct gpumon_record_wait *record)
{
	(void)data;
	assert_in_range(written_count, 0, 3);
	written[written_count++] = *record;
}

static void look_at_ns(struct gpumon_watch *watch, uint64_t ns)
{
	now_ns = ns;
	assert_int_equal(gpumon_watch_look(watch, TID, TID, NULL, PERIOD), 0);
}

static void test_wait_begins_in_a_look(void **state)
{
	static struct gpumon_watch watch = { .folder = folder,
					     .now = next_time,
					     .is_in_call = is_in_call,
					     .stack = read_stack,
					     .append = append };

	(void)state;
	write_file("syscall", "running\n");
	write_file("schedstat", "1 2 3\n");
	blocks_at_ns = 120;
	look_at_ns(&watch, 100);
	look_at_ns(&watch, 120);
	look_at_ns(&watch, 140);
	gpumon_watch_write(&watch);
	gpumon_watch_end(&watch, true);
	assert_int_equal(written_count, 2);
	assert_int_equal(written[0].kind, GPUMON_WAIT_RUNNING);
	assert_int_equal(written[0].start_ns, 100);
	assert_int_equal(written[0].end_ns, 100);
	assert_int_equal(written[1].kind, GPUMON_WAIT_FUTEX);
	assert_int_equal(written[1].stack, 1);
	assert_int_equal(written[1].looks, 2);
	assert_in_range(written[1].start_ns, blocks_at_ns + 1, 139);
	assert_int_equal(written[1].end_ns, 140);
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test-watch-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(thread_folder, sizeof(thread_folder), "%s/%d", folder, TID);
	return mkdir(thread_folder, 0700);
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "syscall", "schedstat" };
	char path[112];

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", thread_folder, names[i]);
		unlink(path);
	}
	return rmdir(thread_folder) || rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait_begins_in_a_look),
	};

	return cmocka_run_group_tests_name("watch", tests, make_folder, remove_folder);
}
