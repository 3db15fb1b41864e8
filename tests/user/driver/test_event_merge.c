// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Compares the merger with a stable sort of all records. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver/event_merge.h"

static struct gpumon_event at(unsigned int cpu, uint64_t time_ns)
{
	struct gpumon_event event = { .time_ns = time_ns, .event = GPUMON_EVENT_QUEUE };

	event.cpu = (uint16_t)cpu;
	return event;
}

/* arg is the number of the push, which shows the order of equal times. */
static int compare(const void *a, const void *b)
{
	const struct gpumon_event *x = a;
	const struct gpumon_event *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->arg < y->arg ? -1 : x->arg > y->arg;
}

struct run {
	unsigned int cpus;
	size_t n; /* records per CPU */
	size_t capacity;
	uint64_t window_ns;
	unsigned int batch; /* maximum number of records read from one CPU before the next */
	uint64_t jitter_ns; /* how far records of one CPU may be out of order */
	bool drains;
};

struct outcome {
	struct gpumon_event_merge_stats stats;
	struct gpumon_event *out;
	size_t n_out;
	struct gpumon_event *in;
	size_t n_in;
};

static void pop_all(struct gpumon_event_merge *merge, struct outcome *outcome)
{
	while (gpumon_event_merge_pop(merge, &outcome->out[outcome->n_out]))
		outcome->n_out++;
}

/* Feed per-CPU streams in batches, like the module. */
static struct outcome play(const struct run *run, unsigned int seed)
{
	size_t total = run->cpus * run->n;
	struct gpumon_event *streams = calloc(total, sizeof(*streams));
	size_t *next = calloc(run->cpus, sizeof(*next));
	struct outcome outcome = { 0 };
	struct gpumon_event_merge *merge;

	srand(seed);
	outcome.out = calloc(total + 1, sizeof(*outcome.out));
	outcome.in = calloc(total, sizeof(*outcome.in));
	merge = gpumon_event_merge_new(run->cpus, run->window_ns, run->capacity);
	assert_non_null(merge);
	for (unsigned int cpu = 0; cpu < run->cpus; cpu++) {
		/* Some CPUs are much busier than others. */
		uint64_t step = 1 + (uint64_t)rand() % 200;
		uint64_t time_ns = 1000000;

		for (size_t i = 0; i < run->n; i++) {
			uint64_t back = run->jitter_ns ? (uint64_t)rand() % run->jitter_ns : 0;

			time_ns += (uint64_t)rand() % step;
			streams[cpu * run->n + i] = at(cpu, time_ns - back);
		}
	}

	while (outcome.n_in < total) {
		unsigned int cpu = (unsigned int)rand() % run->cpus;
		unsigned int batch = 1 + (unsigned int)rand() % run->batch;

		for (; batch && next[cpu] < run->n; batch--) {
			struct gpumon_event *event = &streams[cpu * run->n + next[cpu]++];
			int ret;

			event->arg = outcome.n_in;
			outcome.in[outcome.n_in++] = *event;
			ret = gpumon_event_merge_push(merge, event);
			assert_true(!ret || ret == -ESTALE);
			pop_all(merge, &outcome);
		}
		if (run->drains && rand() % 3 == 0) {
			/* Read everything up to a time, so that the stream is drained. */
			uint64_t now = 1000000 + (uint64_t)rand() % (run->n * 100);

			for (unsigned int c = 0; c < run->cpus; c++) {
				while (next[c] < run->n &&
				       streams[c * run->n + next[c]].time_ns < now) {
					struct gpumon_event *event =
						&streams[c * run->n + next[c]++];

					event->arg = outcome.n_in;
					outcome.in[outcome.n_in++] = *event;
					assert_int_equal(gpumon_event_merge_push(merge, event), 0);
					pop_all(merge, &outcome);
				}
			}
			gpumon_event_merge_drained(merge, now);
			pop_all(merge, &outcome);
		}
	}
	gpumon_event_merge_drained(merge, UINT64_MAX);
	pop_all(merge, &outcome);
	gpumon_event_merge_get_stats(merge, &outcome.stats);

	assert_int_equal(outcome.stats.in, total);
	assert_int_equal(outcome.stats.out, outcome.n_out);
	assert_int_equal(outcome.stats.held, 0);
	assert_int_equal(outcome.stats.out + outcome.stats.late, total);
	for (size_t i = 1; i < outcome.n_out; i++)
		assert_true(outcome.out[i - 1].time_ns <= outcome.out[i].time_ns);

	gpumon_event_merge_free(merge);
	free(streams);
	free(next);
	return outcome;
}

static void release(struct outcome *outcome)
{
	free(outcome->in);
	free(outcome->out);
}

static void equals_a_sort(const struct run *run, unsigned int seed)
{
	struct outcome outcome = play(run, seed);

	assert_int_equal(outcome.stats.late, 0);
	assert_int_equal(outcome.stats.forced, 0);
	qsort(outcome.in, outcome.n_in, sizeof(*outcome.in), compare);
	assert_memory_equal(outcome.in, outcome.out, outcome.n_in * sizeof(*outcome.in));
	release(&outcome);
}

static void random_streams_equal_a_sort(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 40; seed++) {
		struct run run = {
			.cpus = 1 + seed % 9,
			.n = 300,
			.capacity = 9 * 300 + 1,
			.batch = 1 + seed * 7 % 200,
			.drains = seed % 2,
		};

		equals_a_sort(&run, seed);
	}
}

static void disorder_within_the_window_equals_a_sort(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 40; seed++) {
		struct run run = {
			.cpus = 1 + seed % 5,
			.n = 300,
			.capacity = 5 * 300 + 1,
			.batch = 50,
			.jitter_ns = 500,
			.window_ns = 500,
		};

		equals_a_sort(&run, seed);
	}
}

/* Late records are counted exactly, and the order still holds (checked in play()). */
static void late_records_are_counted(void **state)
{
	uint64_t late = 0;

	(void)state;
	for (unsigned int seed = 1; seed <= 40; seed++) {
		struct run run = {
			.cpus = 1 + seed % 5,
			.n = 300,
			.capacity = 5 * 300 + 1,
			.batch = 50,
			.jitter_ns = 3000,
			.window_ns = 300,
		};
		struct outcome outcome = play(&run, seed);

		late += outcome.stats.late;
		release(&outcome);
	}
	assert_true(late > 0);
}

static void small_memory_stays_in_order(void **state)
{
	uint64_t forced = 0;
	uint64_t late = 0;

	(void)state;
	for (unsigned int seed = 1; seed <= 40; seed++) {
		struct run run = {
			.cpus = 1 + seed % 5,
			.n = 300,
			.capacity = 1 + seed % 20,
			.batch = 50,
		};
		struct outcome outcome = play(&run, seed);

		forced += outcome.stats.forced;
		late += outcome.stats.late;
		release(&outcome);
	}
	assert_true(forced > 0);
	assert_true(late > 0);
}

static void silent_cpu_holds_back_until_drained(void **state)
{
	struct gpumon_event_merge *merge = gpumon_event_merge_new(2, 0, 100);
	struct gpumon_event event = at(0, 10);

	(void)state;
	assert_int_equal(gpumon_event_merge_push(merge, &event), 0);
	assert_false(gpumon_event_merge_pop(merge, &event));
	gpumon_event_merge_drained(merge, 10);
	assert_false(gpumon_event_merge_pop(merge, &event));
	gpumon_event_merge_drained(merge, 11);
	assert_true(gpumon_event_merge_pop(merge, &event));
	assert_int_equal(event.time_ns, 10);
	assert_false(gpumon_event_merge_pop(merge, &event));
	gpumon_event_merge_free(merge);
}

static void losses_are_never_late(void **state)
{
	struct gpumon_event_merge *merge = gpumon_event_merge_new(1, 0, 100);
	struct gpumon_event event = at(0, 100);
	struct gpumon_event lost = at(0, 50);

	(void)state;
	assert_int_equal(gpumon_event_merge_push(merge, &event), 0);
	gpumon_event_merge_drained(merge, 101);
	assert_true(gpumon_event_merge_pop(merge, &event));
	lost.event = GPUMON_EVENT_LOST;
	lost.arg = 7;
	assert_int_equal(gpumon_event_merge_push(merge, &lost), 0);
	event = at(0, 50);
	assert_int_equal(gpumon_event_merge_push(merge, &event), -ESTALE);
	assert_true(gpumon_event_merge_pop(merge, &event));
	assert_int_equal(event.event, GPUMON_EVENT_LOST);
	assert_int_equal(event.arg, 7);
	assert_int_equal(event.time_ns, 100);
	gpumon_event_merge_free(merge);
}

static void full_without_pop_is_refused(void **state)
{
	struct gpumon_event_merge *merge = gpumon_event_merge_new(0, 0, 2);
	struct gpumon_event event = at(0, 1);

	(void)state;
	assert_int_equal(gpumon_event_merge_push(merge, &event), 0);
	assert_int_equal(gpumon_event_merge_push(merge, &event), 0);
	assert_int_equal(gpumon_event_merge_push(merge, &event), -ENOSPC);
	gpumon_event_merge_free(merge);
}

/* A CPU beyond the announced number must not stop or break anything. */
static void unannounced_cpu(void **state)
{
	struct gpumon_event_merge *merge = gpumon_event_merge_new(1, 0, 100);
	struct gpumon_event event = at(65535, 5);

	(void)state;
	assert_int_equal(gpumon_event_merge_push(merge, &event), 0);
	assert_false(gpumon_event_merge_pop(merge, &event));
	gpumon_event_merge_drained(merge, UINT64_MAX);
	assert_true(gpumon_event_merge_pop(merge, &event));
	assert_int_equal(event.cpu, 65535);
	gpumon_event_merge_free(merge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_streams_equal_a_sort),
		cmocka_unit_test(disorder_within_the_window_equals_a_sort),
		cmocka_unit_test(late_records_are_counted),
		cmocka_unit_test(small_memory_stays_in_order),
		cmocka_unit_test(silent_cpu_holds_back_until_drained),
		cmocka_unit_test(losses_are_never_late),
		cmocka_unit_test(full_without_pop_is_refused),
		cmocka_unit_test(unannounced_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
