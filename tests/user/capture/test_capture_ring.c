// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A ring keeps the end of what a capture would have, and all that this refers to. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/definitions.h"
#include "capture/ring.h"
#include "capture_check.h"
#include "capture_maker.h"
#include "common.h"

#define LIMIT	  GPUMON_RING_BYTES_MIN
#define PROCESSES 3
/* Launches that are more than a ring keeps. */
#define MANY 240000

/* Events or definitions of one process, as read. */
struct list {
	struct gpumon_record **records;
	size_t count;
	size_t room;
};

struct contents {
	struct list events[PROCESSES + 1]; /* the last one is of the driver */
	struct list definitions[PROCESSES + 1];
	struct gpumon_record_dropped dropped[PROCESSES + 1];
	struct gpumon_record_totals totals[PROCESSES + 1];
	uint64_t lost[GPUMON_LOSS_CAUSES];
	uint32_t processes;
};

static void put(struct list *list, const struct gpumon_record *record)
{
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 1024;
		list->records = reallocarray(list->records, list->room, sizeof(void *));
		assert_non_null(list->records);
	}
	list->records[list->count] = malloc(record->size);
	assert_non_null(list->records[list->count]);
	memcpy(list->records[list->count++], record, record->size);
}

static void contents_free(struct contents *contents)
{
	for (int i = 0; i <= PROCESSES; i++) {
		for (size_t k = 0; k < contents->events[i].count; k++)
			free(contents->events[i].records[k]);
		for (size_t k = 0; k < contents->definitions[i].count; k++)
			free(contents->definitions[i].records[k]);
		free(contents->events[i].records);
		free(contents->definitions[i].records);
	}
}

static void contents_read(struct contents *contents, const char *path)
{
	struct gpumon_capture *capture = capture_open(path);
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;

	memset(contents, 0, sizeof(*contents));
	while ((record = gpumon_capture_next(capture, &cursor))) {
		uint32_t i = cursor.process < PROCESSES ? cursor.process : PROCESSES;

		if (record->type == GPUMON_RECORD_LOSS) {
			const struct gpumon_record_loss *loss = (const void *)record;

			contents->lost[loss->cause] += loss->count;
		} else if (record->type == GPUMON_RECORD_DROPPED) {
			memcpy(&contents->dropped[i], record, sizeof(contents->dropped[i]));
		} else if (record->type == GPUMON_RECORD_TOTALS) {
			memcpy(&contents->totals[i], record, sizeof(contents->totals[i]));
		} else {
			put(gpumon_definition_is(record->type) ? &contents->definitions[i] :
								 &contents->events[i],
			    record);
		}
	}
	contents->processes = gpumon_capture_processes(capture);
	assert_true(gpumon_capture_info(capture)->ended);
	capture_assert_whole(capture);
	gpumon_capture_free(capture);
}

/* Bytes of all files in a directory. */
static uint64_t folder_bytes(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	struct stat status;
	uint64_t bytes = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (!fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(status.st_mode))
			bytes += (uint64_t)status.st_size;
	closedir(dir);
	return bytes;
}

static void ignore_trouble(void *data, const struct gpumon_error *err)
{
	(void)data;
	(void)err;
}

static struct gpumon_capture_writer *create_ring(const char *path, uint64_t bytes)
{
	const struct gpumon_ring_limits limits = { .bytes = bytes };
	struct gpumon_capture_writer *writer;

	if (gpumon_capture_create_ring(path, &limits, &writer))
		fail_msg("%s", gpumon_capture_error()->message);
	return writer;
}

static void append(struct gpumon_capture_file *file, uint32_t tid,
		   const struct capture_maker *maker)
{
	size_t size;
	const void *records = capture_maker_records(maker, &size);

	assert_int_equal(gpumon_capture_append(file, tid, records, size), 0);
}

static bool same_record(const struct gpumon_record *a, const struct gpumon_record *b)
{
	return a->size == b->size && !memcmp(a, b, a->size);
}

static uint32_t correlation_of(const struct gpumon_record *record)
{
	return record->type == GPUMON_RECORD_LAUNCH ?
		       ((const struct gpumon_record_launch *)(const void *)record)->correlation :
		       ((const struct gpumon_record_kernel *)(const void *)record)->correlation;
}

/*
 * From the end on, both have the same, but for kernels whose launches were dropped. All that the
 * ring does not have was counted as dropped.
 */
static void compare_ends(const struct list *full, const struct list *kept,
			 const struct gpumon_record_dropped *dropped)
{
	uint64_t launches = 0, kernels = 0;
	uint32_t first = UINT32_MAX;
	size_t i = kept->count, k = full->count;

	for (size_t n = 0; n < kept->count; n++)
		if (kept->records[n]->type == GPUMON_RECORD_LAUNCH &&
		    correlation_of(kept->records[n]) < first)
			first = correlation_of(kept->records[n]);
	for (size_t n = 0; n < kept->count && dropped->records; n++)
		assert_true(correlation_of(kept->records[n]) >= first);
	while (k > 0) {
		const struct gpumon_record *record = full->records[--k];

		if (i && same_record(record, kept->records[i - 1])) {
			i--;
			continue;
		}
		launches += record->type == GPUMON_RECORD_LAUNCH;
		kernels += record->type == GPUMON_RECORD_KERNEL;
		if (i) {
			assert_int_equal(record->type, GPUMON_RECORD_KERNEL);
			assert_true(correlation_of(record) < first);
		}
	}
	assert_int_equal(i, 0);
	assert_true(launches > 0);
	assert_int_equal(launches, dropped->launches);
	assert_int_equal(kernels, dropped->kernels);
	assert_int_equal(full->count - kept->count, dropped->records);
}

static void compare_definitions(const struct list *full, const struct list *kept)
{
	assert_int_equal(full->count, kept->count);
	for (size_t i = 0; i < full->count; i++)
		assert_true(same_record(full->records[i], kept->records[i]));
}

/* A launch, and the kernel of an earlier one. */
static void make_events(struct capture_maker *maker, uint32_t number, uint64_t *random)
{
	uint64_t now = 1000000000ull + number * 5000ull;
	char name[32];

	snprintf(name, sizeof(name), "kernel_%u", number % 97);
	make_launch(maker, .tid = 7, .correlation = number, .start_ns = now, .end_ns = now + 900,
		    .stack = make_stack(maker, 0x1000 + number % 501, 0x2000, 0x3000),
		    .function = make_string(maker, "cudaLaunchKernel"));
	if (number <= 40)
		return;
	make_kernel(maker, .correlation = number - (uint32_t)(test_random(random) % 40),
		    .start_ns = now + 1000, .end_ns = now + 1000 + test_random(random) % 4000,
		    .node = test_random(random), .name = make_string(maker, name));
}

static void kept_is_the_end_of_all(void **state)
{
	char *path = capture_maker_directory(), *whole = capture_maker_directory();
	struct gpumon_capture_writer *ring, *writer = capture_create(whole);
	struct gpumon_capture_file *in_ring[PROCESSES], *in_whole[PROCESSES];
	struct capture_maker *makers[PROCESSES];
	char folder[300], capture[300], name[32];
	struct contents full, kept;
	uint64_t random = 27;
	(void)state;
	ring = create_ring(path, LIMIT);
	snprintf(folder, sizeof(folder), "%s/.ring", path);
	snprintf(capture, sizeof(capture), "%s/capture", path);
	for (int i = 0; i < PROCESSES; i++) {
		snprintf(name, sizeof(name), "process-%d-1", i + 1);
		in_ring[i] = capture_add(ring, name);
		in_whole[i] = capture_add(writer, name);
		makers[i] = capture_maker_new();
	}
	for (uint32_t n = 0; n < 160000; n += 20) {
		/* The last one does little. */
		int i = n % 1000 == 500 ? PROCESSES - 1 : (int)(test_random(&random) % 2);

		for (uint32_t k = 0; k < 20; k++)
			make_events(makers[i], n + k + 1, &random);
		append(in_ring[i], 7, makers[i]);
		append(in_whole[i], 7, makers[i]);
		capture_maker_clear(makers[i]);
		if (n % 4000 == 0)
			assert_true(folder_bytes(folder) <= LIMIT - LIMIT / 4);
	}
	assert_int_equal(gpumon_capture_write_ring(ring, capture, "made", "a test", 0), 0);
	assert_true(folder_bytes(capture) <= LIMIT);
	assert_int_equal(gpumon_capture_close(writer), 0);
	contents_read(&full, whole);
	contents_read(&kept, capture);
	assert_int_equal(kept.processes, PROCESSES);
	for (int i = 0; i < PROCESSES; i++) {
		compare_ends(&full.events[i], &kept.events[i], &kept.dropped[i]);
		compare_definitions(&full.definitions[i], &kept.definitions[i]);
		capture_maker_free(makers[i]);
	}
	contents_free(&full);
	contents_free(&kept);
	assert_int_equal(gpumon_capture_close(ring), 0);
	assert_int_equal(folder_bytes(folder), 0);
	capture_maker_remove(path);
	capture_maker_remove(whole);
}

/* Fill the ring with launches of a process. */
static uint64_t fill(struct gpumon_capture_file *file, struct capture_maker *maker, uint32_t tid,
		     uint64_t from_ns)
{
	uint64_t random = from_ns;

	for (uint32_t n = 0; n < MANY; n++) {
		from_ns += 100 + test_random(&random) % 100000;
		make_launch(maker, .tid = tid, .correlation = (uint32_t)test_random(&random),
			    .start_ns = from_ns, .end_ns = from_ns + test_random(&random) % 9999,
			    .result = (int32_t)test_random(&random));
		if (n % 500 != 499)
			continue;
		append(file, tid, maker);
		capture_maker_clear(maker);
	}
	return from_ns;
}

/* What was open when the kept part began is stated again, at its beginning, and nothing else is. */
static void open_ranges_and_windows(void **state)
{
	char *path = capture_maker_directory();
	struct gpumon_capture_writer *ring = create_ring(path, LIMIT);
	struct gpumon_capture_file *file = capture_add(ring, "process-1-1");
	struct capture_maker *maker = capture_maker_new();
	const struct gpumon_record_range *range;
	const struct gpumon_record_window *window;
	struct contents kept;
	char capture[300];
	uint64_t first = 0;

	(void)state;
	make_window(maker, .time_ns = 10, .head.flags = GPUMON_WINDOW_OPERATIONS);
	make_range(maker, .tid = 1, .kind = GPUMON_RANGE_PUSH, .time_ns = 11, .text = 1);
	make_range(maker, .tid = 1, .kind = GPUMON_RANGE_PUSH, .time_ns = 12, .text = 2);
	make_range(maker, .tid = 2, .kind = GPUMON_RANGE_PUSH, .time_ns = 13, .text = 3);
	make_range(maker, .tid = 2, .kind = GPUMON_RANGE_START, .id = 5, .time_ns = 14, .text = 4);
	make_range(maker, .tid = 1, .kind = GPUMON_RANGE_POP, .time_ns = 15);
	make_range(maker, .tid = 3, .kind = GPUMON_RANGE_END, .id = 5, .time_ns = 16);
	make_window(maker, .time_ns = 17,
		    .head.flags = GPUMON_WINDOW_OPERATIONS | GPUMON_WINDOW_END);
	append(file, 1, maker);
	capture_maker_clear(maker);
	fill(file, maker, 1, 1000);
	snprintf(capture, sizeof(capture), "%s/capture", path);
	assert_int_equal(gpumon_capture_write_ring(ring, capture, "", NULL, 0), 0);
	contents_read(&kept, capture);
	assert_true(kept.events[0].count > 1000 && kept.dropped[0].launches > 1000);

	window = (const void *)kept.events[0].records[0];
	assert_int_equal(window->head.type, GPUMON_RECORD_WINDOW);
	assert_int_equal(window->time_ns, 17);
	for (size_t i = 0; i < kept.events[0].count; i++) {
		range = (const void *)kept.events[0].records[i];
		if (range->head.type == GPUMON_RECORD_LAUNCH && !first)
			first = ((const struct gpumon_record_launch *)(const void *)range)->start_ns;
		assert_int_equal(range->head.type == GPUMON_RECORD_RANGE, i == 1 || i == 2);
	}
	range = (const void *)kept.events[0].records[1];
	assert_int_equal(range->tid, 1);
	assert_int_equal(range->text, 1);
	/* After the last launch that was dropped. */
	assert_in_range(range->time_ns, first - 100100, first - 100);
	range = (const void *)kept.events[0].records[2];
	assert_int_equal(range->tid, 2);
	assert_int_equal(range->text, 3);
	assert_int_equal(range->time_ns, 14);
	contents_free(&kept);
	capture_maker_free(maker);
	assert_int_equal(gpumon_capture_close(ring), 0);
	capture_maker_remove(path);
}

static void see_range(struct gpumon_ring_state *state, uint32_t tid, uint32_t domain, uint16_t kind,
		      uint32_t text)
{
	const struct gpumon_record_range range = {
		.head = { GPUMON_RECORD_RANGE, 0, sizeof(range) },
		.tid = tid,
		.domain = domain,
		.kind = kind,
		.text = text,
	};

	gpumon_ring_state_see(state, &range.head);
}

/* The range of a thread that was opened last: its text, or 0. */
static uint32_t innermost(const struct gpumon_ring_state *state, uint32_t tid)
{
	static struct gpumon_record_range ranges[GPUMON_RING_RANGES_MAX];
	size_t n = gpumon_ring_state_write(state, ranges) / sizeof(*ranges);

	while (n > 0)
		if (ranges[--n].tid == tid)
			return ranges[n].text;
	return 0;
}

/* A pop belongs to the last push, also if that one is not kept. */
static void more_ranges_than_are_kept(void **unused)
{
	struct gpumon_ring_state state = { 0 };

	(void)unused;
	see_range(&state, 1, 0, GPUMON_RANGE_PUSH, 1);
	for (uint32_t i = 1; i < GPUMON_RING_RANGES_MAX; i++)
		see_range(&state, 2, 0, GPUMON_RANGE_PUSH, i);
	for (uint32_t i = 2; i < 5; i++)
		see_range(&state, 1, 0, GPUMON_RANGE_PUSH, i);
	see_range(&state, 1, 8, GPUMON_RANGE_PUSH, 5); /* another domain's stack */
	see_range(&state, 3, 0, GPUMON_RANGE_PUSH, 6); /* a thread of which nothing is kept */
	see_range(&state, 1, 8, GPUMON_RANGE_POP, 0);
	see_range(&state, 3, 0, GPUMON_RANGE_POP, 0);
	see_range(&state, 1, 0, GPUMON_RANGE_POP, 0);
	assert_int_equal(innermost(&state, 1), 1);
	/* There is room again, above two that are not kept. */
	see_range(&state, 2, 0, GPUMON_RANGE_POP, 0);
	see_range(&state, 1, 0, GPUMON_RANGE_PUSH, 7);
	assert_int_equal(innermost(&state, 1), 7);
	for (int i = 0; i < 3; i++) {
		see_range(&state, 1, 0, GPUMON_RANGE_POP, 0);
		assert_int_equal(innermost(&state, 1), 1);
	}
	see_range(&state, 1, 0, GPUMON_RANGE_POP, 0);
	assert_int_equal(innermost(&state, 1), 0);
	assert_int_equal(innermost(&state, 2), GPUMON_RING_RANGES_MAX - 2);
	gpumon_ring_state_clear(&state);
}

/* Totals are less what was dropped; a process of which nothing is kept is gone, and its name too. */
static void ended_processes(void **state)
{
	char *path = capture_maker_directory();
	struct gpumon_capture_writer *ring = create_ring(path, LIMIT);
	struct gpumon_capture_file *file = capture_add(ring, "process-1-1"), *again;
	struct capture_maker *maker = capture_maker_new(), *other = capture_maker_new();
	struct gpumon_record_totals totals = {
		.head = { GPUMON_RECORD_TOTALS, 0, sizeof(totals) },
		.launches = MANY + 10,
		.kernels = 5,
	};
	struct contents kept;
	char capture[300];

	(void)state;
	assert_int_equal(gpumon_capture_add_file(ring, "process-1-1", &again), -1);
	assert_int_equal(gpumon_capture_error()->sys, -EEXIST);
	fill(file, maker, 1, 1000);
	assert_int_equal(gpumon_capture_append(file, 1, &totals, sizeof(totals)), 0);
	gpumon_capture_end_file(file);
	snprintf(capture, sizeof(capture), "%s/first", path);
	assert_int_equal(gpumon_capture_write_ring(ring, capture, "", NULL, 0), 0);
	contents_read(&kept, capture);
	assert_int_equal(kept.events[0].count + kept.dropped[0].launches, MANY);
	/* 10 were lost. */
	assert_int_equal(kept.totals[0].launches, kept.events[0].count + 10);
	assert_int_equal(kept.totals[0].kernels, 5);
	contents_free(&kept);

	file = capture_add(ring, "process-2-1");
	fill(file, other, 1, 1000);
	snprintf(capture, sizeof(capture), "%s/second", path);
	assert_int_equal(gpumon_capture_write_ring(ring, capture, "", NULL, 0), 0);
	contents_read(&kept, capture);
	assert_int_equal(kept.processes, 1);
	assert_true(kept.events[0].count > 1000);
	contents_free(&kept);
	capture_add(ring, "process-1-1");
	capture_maker_free(maker);
	capture_maker_free(other);
	assert_int_equal(gpumon_capture_close(ring), 0);
	capture_maker_remove(path);
}

/* Definitions have a quarter of the size. Those without room are lost, and counted. */
static void too_many_definitions(void **state)
{
	char *path = capture_maker_directory();
	struct gpumon_capture_writer *ring = create_ring(path, LIMIT);
	struct gpumon_capture_file *file = capture_add(ring, "process-1-1");
	struct capture_maker *maker = capture_maker_new();
	char capture[300], text[200];
	struct contents kept;
	uint64_t bytes = 0;

	(void)state;
	for (uint32_t n = 0; n < 20000; n++) {
		snprintf(text, sizeof(text), "%0150u", n);
		make_string(maker, text);
		if (n % 100 != 99)
			continue;
		append(file, 1, maker);
		capture_maker_clear(maker);
	}
	snprintf(capture, sizeof(capture), "%s/capture", path);
	assert_int_equal(gpumon_capture_write_ring(ring, capture, "", NULL, 0), 0);
	contents_read(&kept, capture);
	for (size_t i = 0; i < kept.definitions[0].count; i++)
		bytes += kept.definitions[0].records[i]->size;
	assert_in_range(bytes, LIMIT / 8, LIMIT / 4);
	assert_int_equal(kept.definitions[0].count + kept.lost[GPUMON_LOSS_STRING_TABLE], 20000);
	contents_free(&kept);
	capture_maker_free(maker);
	assert_int_equal(gpumon_capture_close(ring), 0);
	capture_maker_remove(path);
}

/* Threads, clocks and the like replace earlier ones, so that they do not become more. */
static void definitions_that_change(void **state)
{
	struct gpumon_definitions definitions = { 0 };
	struct gpumon_record_clock clock = {
		.head = { GPUMON_RECORD_CLOCK, 0, sizeof(clock) },
		.device = 3,
	};
	struct gpumon_record_thread thread = {
		.head = { GPUMON_RECORD_THREAD, 0, sizeof(thread) },
	};
	const struct gpumon_record_clock *kept;
	size_t size;

	(void)state;
	for (uint32_t i = 1; i <= 1000; i++) {
		clock.offset_ns = i;
		thread.tid = i % 10;
		thread.name = i;
		assert_int_equal(gpumon_definitions_add(&definitions, &clock.head, 1 << 20), 0);
		assert_int_equal(gpumon_definitions_add(&definitions, &thread.head, 1 << 20), 0);
	}
	kept = gpumon_definitions_block(&definitions, 0, &size);
	assert_int_equal(size, sizeof(clock) + 10 * sizeof(thread));
	assert_int_equal(kept->offset_ns, 1000);
	assert_null(gpumon_definitions_block(&definitions, 1, &size));
	assert_int_equal(gpumon_definitions_add(&definitions, &clock.head, 0), 0);
	clock.device = 4;
	assert_int_equal(gpumon_definitions_add(&definitions, &clock.head, 0), -ENOSPC);
	gpumon_definitions_clear(&definitions);
}

/*
 * A process ends while its launches cannot be written: they are losses of the next capture. What
 * is kept in memory is not lost.
 */
static void ended_after_losses(void **state)
{
	char *path = capture_maker_directory();
	struct gpumon_capture_writer *ring = create_ring(path, LIMIT);
	struct gpumon_capture_file *file = capture_add(ring, "process-1-1");
	struct capture_maker *maker = capture_maker_new();
	struct rlimit old, small;
	struct contents kept;
	uint64_t random = 1;
	char capture[300];

	(void)state;
	gpumon_capture_on_trouble(ring, ignore_trouble, NULL);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (uint32_t number = 1; number <= 2; number++) {
		const void *records;
		size_t size;

		make_events(maker, number, &random);
		records = capture_maker_records(maker, &size);
		assert_int_equal(gpumon_capture_append(file, 1, records, size), -1);
		capture_maker_clear(maker);
	}
	setrlimit(RLIMIT_FSIZE, &old);
	gpumon_capture_end_file(file);
	snprintf(capture, sizeof(capture), "%s/capture", path);
	assert_int_equal(gpumon_capture_write_ring(ring, capture, "", NULL, 0), 0);
	contents_read(&kept, capture);
	assert_int_equal(gpumon_capture_lost(ring), 2);
	assert_int_equal(kept.lost[GPUMON_LOSS_RECORDER], 2);
	/* A stack of each launch, and the names of their functions. */
	assert_in_range(kept.definitions[0].count, 3, 5);
	contents_free(&kept);
	capture_maker_free(maker);
	assert_int_equal(gpumon_capture_close(ring), 0);
	capture_maker_remove(path);
}

static void directories(void **state)
{
	const struct gpumon_ring_limits limits = { .bytes = LIMIT };
	char *path = capture_maker_directory();
	struct gpumon_capture_writer *ring = create_ring(path, LIMIT), *second;
	char other[300];

	(void)state;
	assert_int_equal(gpumon_capture_create_ring(path, &limits, &second), -1);
	assert_non_null(strstr(gpumon_capture_error()->message, "another recorder writes to"));
	assert_int_equal(gpumon_capture_close(ring), 0);
	/* The same directory again, with a capture in it. */
	ring = create_ring(path, LIMIT);
	capture_add(ring, "process-1-1");
	snprintf(other, sizeof(other), "%s/capture", path);
	assert_int_equal(gpumon_capture_write_ring(ring, other, "", NULL, 0), 0);
	assert_int_equal(gpumon_capture_write_ring(ring, other, "", NULL, 0), -1);
	assert_non_null(strstr(gpumon_capture_error()->message, "is not empty"));
	assert_int_equal(gpumon_capture_close(ring), 0);
	ring = create_ring(path, LIMIT);
	assert_int_equal(gpumon_capture_close(ring), 0);
	/* A capture is not one of a ring. */
	assert_int_equal(gpumon_capture_create_ring(other, &limits, &ring), -1);
	assert_non_null(strstr(gpumon_capture_error()->message, "is not empty"));
	capture_maker_remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_is_the_end_of_all),
		cmocka_unit_test(open_ranges_and_windows),
		cmocka_unit_test(more_ranges_than_are_kept),
		cmocka_unit_test(ended_processes),
		cmocka_unit_test(too_many_definitions),
		cmocka_unit_test(definitions_that_change),
		cmocka_unit_test(ended_after_losses),
		cmocka_unit_test(directories),
	};

	return cmocka_run_group_tests_name("capture_ring", tests, NULL, NULL);
}
