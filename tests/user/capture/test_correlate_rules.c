// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The rules of correlate/hits.c and join.c, one at a time: which stack a launch has, or why none. */
#include "common.h"

#include <string.h>

#include "capture/capture_maker.h"
#include "capture/correlate.h"

#define TID   7
#define CALLS 16

/* Stacks of hits have numbers of their own: 1000 and the hit's time. */
#define STACK_AT(time_ns) (1000 + (uint32_t)(time_ns))

/**
 * struct rules - a program's records and the results
 * @match: match of each launch's operation, by its correlation id
 * @stack: likewise
 * @works: number of operations delivered
 * @hits_left: hits without a launch
 * @launches_left: launches without operations, as many as the test expects
 */
struct rules {
	struct capture_maker *maker;
	enum gpumon_match match[CALLS];
	uint32_t stack[CALLS];
	unsigned int works;
	unsigned int hits_left;
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

static void on_hit(void *data, const struct gpumon_unmatched_hit *hit)
{
	struct rules *rules = data;

	(void)hit;
	rules->hits_left++;
}

static void rules_begin(struct rules *rules)
{
	*rules = (struct rules){ .maker = capture_maker_new() };
}

static void hit(struct rules *rules, uint32_t tid, uint64_t number, uint64_t time_ns,
		const char *function)
{
	make_hit(rules->maker, .tid = tid, .number = number, .time_ns = time_ns,
		 .stack = STACK_AT(time_ns), .function = make_string(rules->maker, function));
}

/* A launch without a stack, which ends at @end_ns, and its kernel. */
static void launch(struct rules *rules, uint32_t tid, uint32_t id, uint64_t start_ns,
		   uint64_t end_ns, const char *function)
{
	make_launch(rules->maker, .tid = tid, .correlation = id, .start_ns = start_ns,
		    .end_ns = end_ns, .function = make_string(rules->maker, function));
	make_kernel(rules->maker, .correlation = id, .start_ns = end_ns, .end_ns = end_ns + 1);
}

static void rules_end(struct rules *rules)
{
	const struct gpumon_correlate_output output = {
		.work = on_work, .launch = on_launch, .hit = on_hit, .data = rules
	};
	struct gpumon_correlate *correlate = gpumon_correlate_new(&output);

	for (const struct gpumon_record *record = NULL;
	     (record = capture_maker_next(rules->maker, record));)
		assert_int_equal(gpumon_correlate_record(correlate, 0, record), 0);
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

static void hits_without_losses(void **state)
{
	struct rules rules;

	(void)state;
	rules_begin(&rules);
	hit(&rules, TID, 1, 100, "cudaLaunchKernel");
	launch(&rules, TID, 1, 110, 120, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 2, 200, "cudaMemcpyAsync");
	launch(&rules, TID, 2, 210, 220, "cudaMemcpyAsync_v3020");
	hit(&rules, TID, 3, 300, "cudaLaunchKernel");
	launch(&rules, TID, 3, 310, 320, "cudaLaunchKernel_v7000");
	rules_end(&rules);
	assert_stack(&rules, 1, STACK_AT(100));
	assert_stack(&rules, 2, STACK_AT(200));
	/* The last hit of the thread, and no hit is known to be lost. */
	assert_stack(&rules, 3, STACK_AT(300));
	assert_int_equal(rules.counts.hits_matched, 3);
	assert_int_equal(rules.hits_left, 0);
}

/*
 * Hit 2 and the record of hit 1's call are lost: launch 1 belongs to hit 2, and must not get hit
 * 1's stack.
 */
static void a_hit_is_missing(void **state)
{
	struct rules rules;

	(void)state;
	rules_begin(&rules);
	hit(&rules, TID, 1, 100, "cudaLaunchKernel");
	launch(&rules, TID, 1, 210, 220, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 3, 300, "cudaLaunchKernel");
	launch(&rules, TID, 2, 310, 320, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 4, 400, "cudaLaunchKernel");
	launch(&rules, TID, 3, 410, 420, "cudaLaunchKernel_v7000");
	rules_end(&rules);
	assert_none(&rules, 1, GPUMON_MATCH_AMBIGUOUS);
	assert_stack(&rules, 2, STACK_AT(300));
	/* The last one, with a lost hit: another one may have followed it. */
	assert_none(&rules, 3, GPUMON_MATCH_AMBIGUOUS);
	assert_int_equal(rules.counts.hits_ambiguous, 2);
	assert_int_equal(rules.hits_left, 2);
}

static void the_first_hit_is_missing(void **state)
{
	struct rules rules;

	(void)state;
	rules_begin(&rules);
	launch(&rules, TID, 1, 110, 120, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 2, 200, "cudaLaunchKernel");
	launch(&rules, TID, 2, 210, 220, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 3, 300, "cudaLaunchKernel");
	launch(&rules, TID, 3, 310, 320, "cudaLaunchKernel_v7000");
	rules_end(&rules);
	assert_none(&rules, 1, GPUMON_MATCH_NO_STACK);
	assert_stack(&rules, 2, STACK_AT(200));
	assert_none(&rules, 3, GPUMON_MATCH_AMBIGUOUS);
}

static void two_launches_between_hits(void **state)
{
	struct rules rules;

	(void)state;
	rules_begin(&rules);
	hit(&rules, TID, 1, 100, "cudaLaunchKernel");
	launch(&rules, TID, 1, 110, 120, "cudaLaunchKernel_v7000");
	launch(&rules, TID, 2, 130, 140, "cudaLaunchKernel_v7000");
	/* A call of another function without a uprobe has no stack, and takes no other's. */
	launch(&rules, TID, 3, 150, 160, "cuMemsetD8Async");
	hit(&rules, TID, 2, 200, "cudaLaunchKernel");
	launch(&rules, TID, 4, 205, 206, "cuMemsetD8Async");
	launch(&rules, TID, 5, 210, 220, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 3, 300, "cudaLaunchKernel");
	launch(&rules, TID, 6, 310, 320, "cudaLaunchKernel_v7000");
	launch(&rules, TID, 7, 330, 340, "cuMemsetD8Async");
	hit(&rules, TID, 4, 400, "cudaDeviceSynchronize");
	rules_end(&rules);
	assert_none(&rules, 1, GPUMON_MATCH_AMBIGUOUS);
	assert_none(&rules, 2, GPUMON_MATCH_AMBIGUOUS);
	assert_none(&rules, 3, GPUMON_MATCH_NO_STACK);
	/* One of another function is before it, so the hit may not belong to the second one. */
	assert_none(&rules, 4, GPUMON_MATCH_NO_STACK);
	assert_none(&rules, 5, GPUMON_MATCH_AMBIGUOUS);
	assert_stack(&rules, 6, STACK_AT(300));
	assert_none(&rules, 7, GPUMON_MATCH_NO_STACK);
	assert_int_equal(rules.counts.hits_matched, 1);
	assert_int_equal(rules.counts.hits_ambiguous, 2);
	assert_int_equal(rules.hits_left, 3);
}

/* A loss of any thread, or of the ring, affects the last hits of all threads. */
static void losses_of_others(void **state)
{
	for (unsigned int how = 0; how < 4; how++) {
		struct rules rules;

		(void)state;
		rules_begin(&rules);
		hit(&rules, TID, 1, 100, "cudaLaunchKernel");
		launch(&rules, TID, 1, 110, 120, "cudaLaunchKernel_v7000");
		if (how == 1)
			hit(&rules, TID + 1, 2, 200, "cudaDeviceSynchronize");
		if (how == 2)
			make_loss(rules.maker, .cause = GPUMON_LOSS_UPROBE_RING, .count = 1);
		if (how == 3)
			make_loss(rules.maker, .cause = GPUMON_LOSS_UPROBE_UNDECIDED, .count = 1);
		/* For another cause, and of no records. */
		make_loss(rules.maker, .cause = GPUMON_LOSS_CHANNEL_FULL, .count = 1);
		make_loss(rules.maker, .cause = GPUMON_LOSS_UPROBE_RING, .count = 0);
		rules_end(&rules);
		if (how)
			assert_none(&rules, 1, GPUMON_MATCH_AMBIGUOUS);
		else
			assert_stack(&rules, 1, STACK_AT(100));
	}
}

static void hits_that_come_twice(void **state)
{
	struct rules rules;

	(void)state;
	rules_begin(&rules);
	hit(&rules, TID, 1, 100, "cudaLaunchKernel");
	hit(&rules, TID, 1, 105, "cudaLaunchKernel");
	launch(&rules, TID, 1, 110, 120, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 2, 200, "cudaLaunchKernel");
	launch(&rules, TID, 2, 210, 220, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 1, 230, "cudaLaunchKernel");
	hit(&rules, TID, 3, 300, "cudaDeviceSynchronize");
	rules_end(&rules);
	assert_stack(&rules, 1, STACK_AT(100));
	assert_stack(&rules, 2, STACK_AT(200));
	assert_int_equal(rules.counts.hits, 5);
	assert_int_equal(rules.counts.hits_matched, 2);
	assert_int_equal(rules.hits_left, 3);
}

static void hits_out_of_order(void **state)
{
	struct rules rules;

	(void)state;
	rules_begin(&rules);
	hit(&rules, TID, 3, 300, "cudaLaunchKernel");
	hit(&rules, TID, 1, 100, "cudaLaunchKernel");
	launch(&rules, TID, 3, 310, 320, "cudaLaunchKernel_v7000");
	launch(&rules, TID, 1, 110, 120, "cudaLaunchKernel_v7000");
	launch(&rules, TID, 2, 210, 220, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 2, 200, "cudaLaunchKernel");
	rules_end(&rules);
	for (uint32_t id = 1; id <= 3; id++)
		assert_stack(&rules, id, STACK_AT(100 * id));
}

/* A static cudart: the hit comes from a nested call, and so within the call. */
static void a_hit_within_the_call(void **state)
{
	struct rules rules;

	(void)state;
	rules_begin(&rules);
	launch(&rules, TID, 1, 100, 120, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 1, 110, "cuLaunchKernel");
	launch(&rules, TID, 2, 200, 220, "cudaLaunchKernel_v7000");
	/* A hit before it was lost, but it still lies within the call. */
	hit(&rules, TID, 3, 210, "cuLaunchKernel");
	launch(&rules, TID, 3, 300, 320, "cudaLaunchKernel_v7000");
	/* Exactly at its end, and after it. */
	hit(&rules, TID, 4, 320, "cuLaunchKernel");
	launch(&rules, TID, 4, 400, 420, "cudaLaunchKernel_v7000");
	hit(&rules, TID, 5, 421, "cuLaunchKernel");
	rules_end(&rules);
	assert_stack(&rules, 1, STACK_AT(110));
	assert_stack(&rules, 2, STACK_AT(210));
	assert_stack(&rules, 3, STACK_AT(320));
	assert_none(&rules, 4, GPUMON_MATCH_NO_STACK);
}

/* Each has a stack of its own. The kernel's time decides which one a kernel of that id gets. */
static void an_id_that_was_used_again(void **state)
{
	static const uint64_t starts[] = { 1000, 9000000, 5000000 };
	/*
	 * Without a time; after the first and the third; early by the clocks' error, and by more.
	 */
	static const uint64_t kernels[] = { 0, 2000, 6000000, 1000, 900, 10000000 };
	static const uint32_t right[] = { 1, 0, 2, 0, 0, 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		struct rules rules;

		rules_begin(&rules);
		for (uint32_t j = 0; j < 3; j++)
			make_launch(rules.maker, .tid = TID, .correlation = 1, .stack = 50 + j,
				    .start_ns = starts[j], .end_ns = starts[j] + 10);
		make_kernel(rules.maker, .correlation = 1, .start_ns = kernels[i],
			    .end_ns = kernels[i] + 1);
		rules.launches_left_expected = 2;
		rules_end(&rules);
		assert_stack(&rules, 1, 50 + right[i]);
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

	assert_int_equal(gpumon_correlate_record(correlate, 0, &record.head), 0);
}

static void feed_kernel(struct gpumon_correlate *correlate, uint32_t id)
{
	const struct gpumon_record_kernel record = {
		.head = { GPUMON_RECORD_KERNEL, 0, sizeof(record) },
		.start_ns = 30,
		.end_ns = 40,
		.correlation = id,
	};

	assert_int_equal(gpumon_correlate_record(correlate, 0, &record.head), 0);
}

/* Does a launch's second kernel find it after this number of launches and kernels of others? */
static bool kept_for(uint16_t flags, uint32_t records)
{
	const struct gpumon_correlate_output output = { .work = keep_last };
	struct gpumon_correlate *correlate = gpumon_correlate_new(&output);

	gpumon_correlate_expect(correlate, 0, 0);
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
		cmocka_unit_test(hits_without_losses),
		cmocka_unit_test(a_hit_is_missing),
		cmocka_unit_test(the_first_hit_is_missing),
		cmocka_unit_test(two_launches_between_hits),
		cmocka_unit_test(losses_of_others),
		cmocka_unit_test(hits_that_come_twice),
		cmocka_unit_test(hits_out_of_order),
		cmocka_unit_test(a_hit_within_the_call),
		cmocka_unit_test(an_id_that_was_used_again),
		cmocka_unit_test(launches_are_kept_for_more_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
