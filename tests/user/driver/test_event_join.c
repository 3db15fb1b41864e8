// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Compares the joiner with a reference that searches all earlier events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver/event_join.h"

#define JOBS	 2000
#define CONTEXTS 7

/* A random sequence of jobs that are queued, run, and done or killed, in order of time. */
static size_t workload(struct gpumon_event *events, unsigned int loss_percent)
{
	struct {
		uint64_t context, seqno;
		int stage;
	} live[64];
	uint64_t seqno[CONTEXTS] = { 0 };
	size_t n_live = 0;
	size_t started = 0;
	uint64_t now = 1000;
	size_t n = 0;

	while (started < JOBS || n_live) {
		struct gpumon_event event = { .event = GPUMON_EVENT_QUEUE };
		size_t pick;

		now += (uint64_t)rand() % 50;
		if (started < JOBS && n_live < 64 && (!n_live || rand() % 3 == 0)) {
			pick = n_live++;
			live[pick].context = (uint64_t)rand() % CONTEXTS;
			live[pick].seqno = ++seqno[live[pick].context];
			live[pick].stage = 0;
			started++;
			/* Only this event contains the submitter. */
			event.pid = 100 + (uint32_t)live[pick].context;
			event.tid = event.pid + 1000;
			memcpy(event.comm, "submitter", 10);
		} else {
			pick = (size_t)rand() % n_live;
			event.event = live[pick].stage ? GPUMON_EVENT_DONE :
				      rand() % 10      ? GPUMON_EVENT_RUN :
							 GPUMON_EVENT_KILLED;
			/* These come from workers and interrupts. */
			event.pid = 9;
			memcpy(event.comm, "kworker", 8);
			live[pick].stage = 1;
		}
		event.time_ns = now;
		event.context = live[pick].context;
		event.seqno = live[pick].seqno;
		if (event.event == GPUMON_EVENT_DONE || event.event == GPUMON_EVENT_KILLED)
			live[pick] = live[--n_live];
		if ((unsigned int)rand() % 100 >= loss_percent)
			events[n++] = event;
	}
	return n;
}

static const struct gpumon_event *find_before(const struct gpumon_event *events, size_t at,
					      uint16_t type)
{
	for (size_t i = at; i-- > 0;) {
		if (events[i].context == events[at].context &&
		    events[i].seqno == events[at].seqno && events[i].event == type)
			return &events[i];
	}
	return NULL;
}

static uint16_t beginning(uint16_t type)
{
	return type == GPUMON_EVENT_DONE ? GPUMON_EVENT_RUN : GPUMON_EVENT_QUEUE;
}

static void against_reference(unsigned int seed, unsigned int loss_percent, size_t capacity)
{
	struct gpumon_event *events = calloc(JOBS * 3, sizeof(*events));
	struct gpumon_event_join *join = gpumon_event_join_new(capacity);
	struct gpumon_event_join_stats stats;
	uint64_t matched = 0;
	uint64_t unmatched = 0;
	uint64_t missed = 0;
	size_t n;

	srand(seed);
	n = workload(events, loss_percent);
	for (size_t i = 0; i < n; i++) {
		const struct gpumon_event *queue = find_before(events, i, GPUMON_EVENT_QUEUE);
		const struct gpumon_event *begin =
			find_before(events, i, beginning(events[i].event));
		struct gpumon_event_joined joined;

		gpumon_event_join_add(join, &events[i], &joined);
		assert_memory_equal(&joined.event, &events[i], sizeof(events[i]));
		if (events[i].event == GPUMON_EVENT_QUEUE) {
			assert_false(joined.latency_known);
			assert_true(joined.submitter_known);
			assert_int_equal(joined.pid, events[i].pid);
			continue;
		}

		matched += joined.latency_known;
		unmatched += !joined.latency_known;
		/* Never a wrong answer, and never a missing one if there is room for all. */
		if (joined.latency_known) {
			assert_non_null(begin);
			assert_int_equal(joined.latency_ns, events[i].time_ns - begin->time_ns);
		} else {
			missed += begin != NULL;
		}
		if (joined.submitter_known) {
			assert_non_null(queue);
			assert_int_equal(joined.pid, queue->pid);
			assert_int_equal(joined.tid, queue->tid);
			assert_string_equal(joined.comm, "submitter");
		} else if (capacity >= JOBS) {
			assert_null(queue);
		}
	}
	gpumon_event_join_get_stats(join, &stats);
	assert_int_equal(stats.matched, matched);
	assert_int_equal(stats.unmatched, unmatched);
	if (capacity >= JOBS) {
		assert_int_equal(missed, 0);
		assert_int_equal(stats.evicted, 0);
	} else {
		/* An evicted job only misses its run and done events. */
		assert_true(missed <= 2 * stats.evicted);
	}
	if (!loss_percent && capacity >= JOBS)
		assert_int_equal(unmatched, 0);
	if (capacity < 16)
		assert_true(stats.evicted > 0 && missed > 0);
	gpumon_event_join_free(join);
	free(events);
}

static void complete_streams(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 5; seed++)
		against_reference(seed, 0, JOBS);
}

static void streams_with_losses(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 5; seed++)
		against_reference(seed, 20, JOBS);
}

/* At most 64 concurrent jobs: with 64 entries, finished jobs make room and none is evicted. */
static void finished_jobs_make_room(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 5; seed++) {
		struct gpumon_event *events = calloc(JOBS * 3, sizeof(*events));
		struct gpumon_event_join *join = gpumon_event_join_new(64);
		struct gpumon_event_join_stats stats;
		struct gpumon_event_joined joined;
		size_t n;

		srand(seed);
		n = workload(events, 0);
		for (size_t i = 0; i < n; i++)
			gpumon_event_join_add(join, &events[i], &joined);
		gpumon_event_join_get_stats(join, &stats);
		assert_int_equal(stats.unmatched, 0);
		assert_int_equal(stats.evicted, 0);
		assert_int_equal(stats.matched + JOBS, n);
		gpumon_event_join_free(join);
		free(events);
	}
}

static void small_tables_never_lie(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 5; seed++) {
		against_reference(seed, 0, 8);
		against_reference(seed, 20, 8);
		against_reference(seed, 5, 1);
		against_reference(seed, 5, 50);
	}
}

static void the_modules_own_answer_is_taken(void **state)
{
	struct gpumon_event_join *join = gpumon_event_join_new(10);
	struct gpumon_event_join_stats stats;
	struct gpumon_event_joined joined;
	struct gpumon_event event = {
		.time_ns = 500,
		.context = 1,
		.seqno = 2,
		.arg = 123,
		.event = GPUMON_EVENT_DONE,
		.flags = GPUMON_EVENT_F_LATENCY | GPUMON_EVENT_F_SUBMITTER,
		.pid = 42,
		.tid = 43,
	};

	(void)state;
	/* All 16 bytes are used, without a terminating NUL. */
	memset(event.comm, 'x', sizeof(event.comm));
	gpumon_event_join_add(join, &event, &joined);
	assert_true(joined.latency_known);
	assert_int_equal(joined.latency_ns, 123);
	assert_true(joined.submitter_known);
	assert_int_equal(joined.pid, 42);
	assert_string_equal(joined.comm, "xxxxxxxxxxxxxxxx");
	gpumon_event_join_get_stats(join, &stats);
	assert_int_equal(stats.matched, 1);
	gpumon_event_join_free(join);
}

/* An error may be reported after the end of the job. */
static void submitter_outlives_the_end(void **state)
{
	struct gpumon_event_join *join = gpumon_event_join_new(10);
	struct gpumon_event_joined joined;
	struct gpumon_event event = { .time_ns = 1,
				      .context = 1,
				      .seqno = 2,
				      .pid = 42,
				      .event = GPUMON_EVENT_QUEUE,
				      .comm = "app" };

	(void)state;
	gpumon_event_join_add(join, &event, &joined);
	event.pid = 0;
	event.time_ns = 2;
	event.event = GPUMON_EVENT_RUN;
	gpumon_event_join_add(join, &event, &joined);
	event.event = GPUMON_EVENT_DONE;
	event.time_ns = 3;
	gpumon_event_join_add(join, &event, &joined);
	event.event = GPUMON_EVENT_ERROR;
	event.error = -62;
	gpumon_event_join_add(join, &event, &joined);
	assert_true(joined.submitter_known);
	assert_int_equal(joined.pid, 42);
	assert_string_equal(joined.comm, "app");
	gpumon_event_join_free(join);
}

static void clock_backwards_is_zero(void **state)
{
	struct gpumon_event_join *join = gpumon_event_join_new(10);
	struct gpumon_event_joined joined;
	struct gpumon_event event = {
		.time_ns = 100, .context = 1, .seqno = 2, .event = GPUMON_EVENT_RUN
	};

	(void)state;
	gpumon_event_join_add(join, &event, &joined);
	assert_false(joined.latency_known);
	event.event = GPUMON_EVENT_DONE;
	event.time_ns = 90;
	gpumon_event_join_add(join, &event, &joined);
	assert_true(joined.latency_known);
	assert_int_equal(joined.latency_ns, 0);
	gpumon_event_join_free(join);
}

/* A job by the number of one before: what that did is not its beginning. */
static void a_job_that_is_queued_again(void **state)
{
	struct gpumon_event_join *join = gpumon_event_join_new(10);
	struct gpumon_event event = { .context = 3, .seqno = 4, .pid = 5, .tid = 6 };
	static const uint16_t events[] = { GPUMON_EVENT_QUEUE, GPUMON_EVENT_RUN, GPUMON_EVENT_QUEUE,
					   GPUMON_EVENT_DONE };
	static const bool known[] = { false, true, false, false };
	struct gpumon_event_joined joined;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		event.event = events[i];
		event.time_ns = 100 * (i + 1);
		gpumon_event_join_add(join, &event, &joined);
		assert_int_equal(joined.latency_known, known[i]);
	}
	gpumon_event_join_free(join);
}

/* Their words may be what a job's number is: they are of no job all the same. */
static void events_of_other_groups(void **state)
{
	struct gpumon_event_join *join = gpumon_event_join_new(10);
	struct gpumon_event event = {
		.context = 3, .seqno = 4, .pid = 5, .event = GPUMON_EVENT_QUEUE
	};
	struct gpumon_event_joined joined;

	(void)state;
	gpumon_event_join_add(join, &event, &joined);
	assert_true(joined.submitter_known);
	for (uint16_t type = GPUMON_EVENT_ERROR + 1; type < __GPUMON_EVENT_TYPE_MAX; type++) {
		event.event = type;
		event.pid = 7;
		event.flags = 0;
		gpumon_event_join_add(join, &event, &joined);
		assert_false(joined.submitter_known);
		assert_false(joined.latency_known);
		assert_int_equal(joined.pid, 7);
		event.flags = GPUMON_EVENT_F_SUBMITTER;
		gpumon_event_join_add(join, &event, &joined);
		assert_true(joined.submitter_known);
	}
	gpumon_event_join_free(join);
}

static void unknown_events_pass(void **state)
{
	struct gpumon_event_join *join = gpumon_event_join_new(10);
	struct gpumon_event_join_stats stats;
	struct gpumon_event_joined joined;
	struct gpumon_event event = { .time_ns = 100, .event = 999, .arg = 5 };

	(void)state;
	gpumon_event_join_add(join, &event, &joined);
	assert_memory_equal(&joined.event, &event, sizeof(event));
	event.event = GPUMON_EVENT_LOST;
	gpumon_event_join_add(join, &event, &joined);
	assert_false(joined.latency_known);
	gpumon_event_join_get_stats(join, &stats);
	assert_int_equal(stats.matched + stats.unmatched, 0);
	gpumon_event_join_free(join);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_streams),
		cmocka_unit_test(streams_with_losses),
		cmocka_unit_test(a_job_that_is_queued_again),
		cmocka_unit_test(events_of_other_groups),
		cmocka_unit_test(finished_jobs_make_room),
		cmocka_unit_test(small_tables_never_lie),
		cmocka_unit_test(the_modules_own_answer_is_taken),
		cmocka_unit_test(submitter_outlives_the_end),
		cmocka_unit_test(clock_backwards_is_zero),
		cmocka_unit_test(unknown_events_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
