// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The reader returns whole records from a stream that is split anywhere. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/event_reader.h"

#define RECORD sizeof(struct gpumon_event)

static struct gpumon_event_reader reader;
static int write_end;

static int setup(void **state)
{
	int fds[2];

	(void)state;
	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC))
		return -1;
	gpumon_event_reader_attach(&reader, fds[0]);
	write_end = fds[1];
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gpumon_event_reader_close(&reader);
	if (write_end >= 0)
		close(write_end);
	return 0;
}

static void fill(struct gpumon_event *events, size_t n, uint64_t first)
{
	memset(events, 0, n * sizeof(*events));
	for (size_t i = 0; i < n; i++) {
		events[i].seqno = first + i;
		events[i].time_ns = ~(first + i);
	}
}

static void put(const void *bytes, size_t n)
{
	assert_int_equal(write(write_end, bytes, n), n);
}

static void check(const struct gpumon_event *events, size_t n, uint64_t first)
{
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(events[i].seqno, first + i);
		assert_int_equal(events[i].time_ns, ~(first + i));
	}
}

static void empty_is_eagain_then_eof(void **state)
{
	const struct gpumon_event *events;

	(void)state;
	assert_int_equal(gpumon_event_reader_wait(&reader, 0, NULL), 0);
	assert_int_equal(gpumon_event_reader_read(&reader, &events), -EAGAIN);
	close(write_end);
	write_end = -1;
	assert_int_equal(gpumon_event_reader_wait(&reader, 0, NULL), 1);
	assert_int_equal(gpumon_event_reader_read(&reader, &events), 0);
	assert_int_equal(reader.cut, 0);
}

static void part_of_a_record_waits_for_its_rest(void **state)
{
	const struct gpumon_event *events;
	struct gpumon_event sent[3];

	(void)state;
	fill(sent, 3, 7);
	put(sent, 10);
	assert_int_equal(gpumon_event_reader_read(&reader, &events), -EAGAIN);
	put((char *)sent + 10, RECORD);
	assert_int_equal(gpumon_event_reader_read(&reader, &events), 1);
	check(events, 1, 7);
	assert_int_equal(gpumon_event_reader_read(&reader, &events), -EAGAIN);
	put((char *)sent + 10 + RECORD, 2 * RECORD - 10);
	assert_int_equal(gpumon_event_reader_read(&reader, &events), 2);
	check(events, 2, 8);
}

static void cut_at_the_end_is_counted(void **state)
{
	const struct gpumon_event *events;
	struct gpumon_event sent[2];

	(void)state;
	fill(sent, 2, 1);
	put(sent, RECORD + 5);
	close(write_end);
	write_end = -1;
	assert_int_equal(gpumon_event_reader_read(&reader, &events), 1);
	check(events, 1, 1);
	assert_int_equal(gpumon_event_reader_read(&reader, &events), 0);
	assert_int_equal(reader.cut, 1);
}

static void random_cuts(void **state)
{
	struct gpumon_event sent[400];
	size_t written = 0;
	size_t got = 0;

	(void)state;
	srand(1);
	fill(sent, 400, 0);
	while (got < 400) {
		const struct gpumon_event *events;
		size_t n = (size_t)rand() % (3 * RECORD);
		ssize_t records;

		if (n > sizeof(sent) - written)
			n = sizeof(sent) - written;
		put((char *)sent + written, n);
		written += n;
		records = gpumon_event_reader_read(&reader, &events);
		if (records == -EAGAIN) {
			assert_int_equal(written / RECORD, got);
			continue;
		}
		assert_true(records > 0);
		check(events, (size_t)records, got);
		got += (size_t)records;
	}
	assert_int_equal(got, written / RECORD);
}

/* More than the buffer holds: several reads without a loss in between. */
static void more_than_the_buffer(void **state)
{
	size_t n = GPUMON_EVENT_READER_RECORDS * 2 + 17;
	struct gpumon_event *sent = calloc(n, RECORD);
	char path[] = "/tmp/gpumon-reader-XXXXXX";
	const struct gpumon_event *events;
	struct gpumon_event_reader file;
	size_t got = 0;
	ssize_t records;
	int fd = mkstemp(path);

	(void)state;
	assert_non_null(sent);
	assert_true(fd >= 0);
	fill(sent, n, 0);
	assert_int_equal(write(fd, sent, n * RECORD), n * RECORD);
	close(fd);
	assert_int_equal(gpumon_event_reader_open(&file, path), 0);
	while ((records = gpumon_event_reader_read(&file, &events)) > 0) {
		check(events, (size_t)records, got);
		got += (size_t)records;
	}
	assert_int_equal(records, 0);
	assert_int_equal(got, n);
	gpumon_event_reader_close(&file);
	unlink(path);
	free(sent);
}

static void open_failure_is_an_errno(void **state)
{
	struct gpumon_event_reader none;

	(void)state;
	assert_int_equal(gpumon_event_reader_open(&none, "/nonexistent/events"), -ENOENT);
	gpumon_event_reader_close(&none);
}

static void read_failure_is_an_errno(void **state)
{
	const struct gpumon_event *events;
	struct gpumon_event_reader directory;

	(void)state;
	assert_int_equal(gpumon_event_reader_open(&directory, "/"), 0);
	assert_int_equal(gpumon_event_reader_read(&directory, &events), -EISDIR);
	gpumon_event_reader_close(&directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(empty_is_eagain_then_eof, setup, teardown),
		cmocka_unit_test_setup_teardown(part_of_a_record_waits_for_its_rest, setup,
						teardown),
		cmocka_unit_test_setup_teardown(cut_at_the_end_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(random_cuts, setup, teardown),
		cmocka_unit_test(more_than_the_buffer),
		cmocka_unit_test(open_failure_is_an_errno),
		cmocka_unit_test(read_failure_is_an_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
