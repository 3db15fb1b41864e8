// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The rules of capture/correlate.c, one at a time: which launch an operation has, and for how long. */
#include "common.h"

#include <string.h>

#include "capture/capture_maker.h"
#include "capture/correlate.h"

#define TID   7
#define CALLS 16

/**
 * struct rules - a program's records and the results
 * @match: match of each launch's operation, by its correlation id
 * @stack: likewise
 * @works: number of operations delivered
 * @launches_left: launches without operations, as many as the test expects
 */
struct rules {
	struct capture_maker *maker;
	enum gpumon_match match[CALLS];
	uint32_t stack[CALLS];
	unsigned int works;
	unsigned int launches_left;
	unsigned int launches_left_expected;
	struct gpumon_correlate_counts counts;
};

static void on_work(void *data, const struct gpumon_work *work)
{
	struct rules *rules = data;
	uint32_t id = work->kernel->correlation;

	assert_true(id < CALLS);
	rules->match[id] = work->match;
	rules->stack[id] = work->stack;
	rules->works++;
}

static void on_launch(void *data, const struct gpumon_unmatched_launch *launch)
{
	struct rules *rules = data;

	(void)launch;
	rules->launches_left++;
}

static void rules_begin(struct rules *rules)
{
	*rules = (struct rules){ .maker = capture_maker_new() };
}

static void rules_end(struct rules *rules)
{
	const struct gpumon_correlate_output output = { .work = on_work,
							.launch = on_launch,
							.data = rules };
	struct gpumon_correlate *correlate = gpumon_correlate_new(&output);

	for (const struct gpumon_record *record = NULL;
	     (record = capture_maker_next(rules->maker, record));)
		gpumon_correlate_record(correlate, 0, record);
	gpumon_correlate_finish(correlate, 0);
	rules->counts = *gpumon_correlate_counts(correlate);
	gpumon_correlate_free(correlate);
	capture_maker_free(rules->maker);
	assert_int_equal(rules->launches_left, rules->launches_left_expected);
}

static void assert_stack(const struct rules *rules, uint32_t id, uint32_t stack)
{
	assert_int_equal(rules->match[id], GPUMON_MATCH_STACK);
	assert_int_equal(rules->stack[id], stack);
}

static void assert_none(const struct rules *rules, uint32_t id, enum gpumon_match match)
{
	assert_int_equal(rules->match[id], match);
	assert_int_equal(rules->stack[id], 0);
}

/* Each has a stack of its own. The kernel's time decides which one a kernel of that id gets. */
/* As CUPTI gives them to all launches of a thread: their operations have a stack only where all have the same. */
static void an_id_that_several_launches_have(void **state)
{
	static const uint64_t starts[] = { 1000, 9000000, 5000000 };
	/*
	 * Without a time; after the first and the third; early by the clocks' error, and by more.
	 */
	static const uint64_t kernels[] = { 0, 2000, 6000000, 1000, 900, 10000000 };

	(void)state;
	for (size_t i = 0; i < 3 * sizeof(kernels) / sizeof(kernels[0]); i++) {
		/* The kernel comes before the launches, between them, and after them. */
		size_t after = i % 3 * 3 / 2;
		bool same = i & 1;
		struct rules rules;

		rules_begin(&rules);
		for (uint32_t j = 0; j <= 3; j++) {
			if (j == after)
				make_kernel(rules.maker, .correlation = 1,
					    .start_ns = kernels[i / 3],
					    .end_ns = kernels[i / 3] + 1);
			if (j < 3)
				make_launch(rules.maker, .tid = TID, .correlation = 1,
					    .stack = same ? 50 : 50 + j, .start_ns = starts[j],
					    .end_ns = starts[j] + 10);
		}
		rules.launches_left_expected = same ? 2 : 3;
		rules_end(&rules);
		if (same)
			assert_stack(&rules, 1, 50);
		else
			assert_none(&rules, 1, GPUMON_MATCH_AMBIGUOUS);
	}
	for (unsigned int late = 0; late < 2; late++) {
		struct rules rules;

		rules_begin(&rules);
		make_launch(rules.maker, .tid = TID, .correlation = 1, .stack = 50,
			    .start_ns = 5000000 - !late, .end_ns = 5000010);
		make_kernel(rules.maker, .correlation = 1,
			    .start_ns = 5000000 - GPUMON_CORRELATE_CLOCK_NS, .end_ns = 5000020);
		rules.launches_left_expected = late;
		rules_end(&rules);
		if (late)
			assert_none(&rules, 1, GPUMON_MATCH_NO_LAUNCH);
		else
			assert_stack(&rules, 1, 50);
	}
}

/* --- how long launches are kept */

static uint32_t last_match, last_stack;

static void keep_last(void *data, const struct gpumon_work *work)
{
	(void)data;
	last_match = work->match;
	last_stack = work->stack;
}

static void feed_launch(struct gpumon_correlate *correlate, uint32_t id, uint16_t flags)
{
	const struct gpumon_record_launch record = {
		.head = { GPUMON_RECORD_LAUNCH, flags, sizeof(record) },
		.start_ns = 10,
		.end_ns = 20,
		.tid = TID,
		.correlation = id,
		.stack = 500 + id % 7,
	};

	gpumon_correlate_record(correlate, 0, &record.head);
}

static void feed_kernel(struct gpumon_correlate *correlate, uint32_t id)
{
	const struct gpumon_record_kernel record = {
		.head = { GPUMON_RECORD_KERNEL, 0, sizeof(record) },
		.start_ns = 30,
		.end_ns = 40,
		.correlation = id,
	};

	gpumon_correlate_record(correlate, 0, &record.head);
}

/* Does a launch's second kernel find it after this number of launches and kernels of others? */
static bool kept_for(uint16_t flags, uint32_t records)
{
	const struct gpumon_correlate_output output = { .work = keep_last };
	struct gpumon_correlate *correlate = gpumon_correlate_new(&output);

	gpumon_correlate_expect_nodes(correlate, 0, false);
	feed_launch(correlate, 3, flags);
	feed_kernel(correlate, 3);
	for (uint32_t i = 0; i < records / 2; i++) {
		feed_launch(correlate, 100 + i, 0);
		feed_kernel(correlate, 100 + i);
	}
	feed_kernel(correlate, 3);
	gpumon_correlate_finish(correlate, 0);
	gpumon_correlate_free(correlate);
	assert_true(last_match == GPUMON_MATCH_STACK || last_match == GPUMON_MATCH_NO_LAUNCH);
	assert_int_equal(last_stack, last_match == GPUMON_MATCH_STACK ? 503 : 0);
	return last_match == GPUMON_MATCH_STACK;
}

/* Old launches are removed when room is made for new ones, not exactly when they expire. */
static void launches_are_kept_for_more_work(void **state)
{
	(void)state;
	assert_true(kept_for(0, GPUMON_CORRELATE_RETAIN - 10));
	assert_false(kept_for(0, 8 * GPUMON_CORRELATE_RETAIN - 10));
	assert_true(kept_for(GPUMON_LAUNCH_GRAPH, GPUMON_CORRELATE_RETAIN_GRAPH - 10));
	assert_false(kept_for(GPUMON_LAUNCH_GRAPH, 3 * GPUMON_CORRELATE_RETAIN_GRAPH));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_that_several_launches_have),
		cmocka_unit_test(launches_are_kept_for_more_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
