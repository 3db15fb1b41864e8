// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Small random inputs against the rules, implemented a second time without an engine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "capture/correlate.h"

#define LAUNCHES 12
#define WORKS	 24
#define NODES	 6
#define ROUNDS	 4000

/* The engine's answer for an operation, whose number is in grid[0]. */
struct answer {
	unsigned int times;
	enum gpumon_match match;
	uint32_t stack;
	uint64_t launch_ns;
};

struct answers {
	struct answer works[WORKS];
	unsigned int launch_times[LAUNCHES]; /* by context, which is their number */
	enum gpumon_launch_end launch_ends[LAUNCHES];
};

static void on_work(void *data, const struct gpumon_work *work)
{
	struct answers *answers = data;
	struct answer *answer = &answers->works[work->kernel->grid[0]];

	answer->times++;
	answer->match = work->match;
	answer->stack = work->stack;
	answer->launch_ns = work->launch_ns;
}

static void on_launch(void *data, const struct gpumon_unmatched_launch *unmatched)
{
	struct answers *answers = data;

	answers->launch_times[unmatched->launch->context]++;
	answers->launch_ends[unmatched->launch->context] = unmatched->end;
}

static struct gpumon_correlate *engine(struct answers *answers)
{
	const struct gpumon_correlate_output output = {
		.work = on_work,
		.launch = on_launch,
		.data = answers,
	};
	struct gpumon_correlate *correlate = gpumon_correlate_new(&output);

	memset(answers, 0, sizeof(*answers));
	assert_non_null(correlate);
	return correlate;
}

static uint32_t below(uint64_t *random, uint32_t limit)
{
	return (uint32_t)(test_random(random) % limit);
}

static void shuffle(uint64_t *random, const struct gpumon_record **records, unsigned int count)
{
	for (unsigned int i = count; i > 1; i--) {
		unsigned int other = below(random, i);
		const struct gpumon_record *record = records[i - 1];

		records[i - 1] = records[other];
		records[other] = record;
	}
}

/* --- correlation ids, nodes, times, in any order */

struct small {
	struct gpumon_record_launch launches[LAUNCHES];
	struct gpumon_record_kernel works[WORKS];
	struct gpumon_record_graph_node nodes[NODES];
	const struct gpumon_record *order[LAUNCHES + WORKS + NODES];
	unsigned int count;
};

static void make_small(uint64_t *random, struct small *small)
{
	static const uint16_t flags[] = {
		0, 0, 0, GPUMON_LAUNCH_GRAPH, GPUMON_LAUNCH_FAILED, GPUMON_LAUNCH_CAPTURED
	};

	memset(small, 0, sizeof(*small));
	for (unsigned int i = 0; i < LAUNCHES; i++) {
		struct gpumon_record_launch *launch = &small->launches[i];

		launch->head = (struct gpumon_record){ GPUMON_RECORD_LAUNCH,
						       flags[below(random, 6)], sizeof(*launch) };
		launch->correlation = i;
		launch->context = i;
		launch->start_ns = 10000000 + below(random, 5000000);
		launch->end_ns = launch->start_ns + 100;
		launch->stack = below(random, 3) ? 100 + i : 0;
		if (below(random, 5))
			small->order[small->count++] = &launch->head;
	}
	for (unsigned int i = 0; i < WORKS; i++) {
		struct gpumon_record_kernel *work = &small->works[i];

		work->head = (struct gpumon_record){ GPUMON_RECORD_KERNEL,
						     below(random, 10) ? 0 : GPUMON_WORK_INTERNAL,
						     sizeof(*work) };
		work->correlation = below(random, LAUNCHES + 2);
		work->start_ns = below(random, 10) ? 9000000 + below(random, 9000000) : 0;
		work->end_ns = work->start_ns + 10;
		work->node = below(random, 3) ? 0 : 1 + below(random, NODES + 1);
		work->grid[0] = i;
		small->order[small->count++] = &work->head;
	}
	for (unsigned int i = 0; i < NODES; i++) {
		struct gpumon_record_graph_node *node = &small->nodes[i];

		node->head = (struct gpumon_record){ GPUMON_RECORD_GRAPH_NODE, 0, sizeof(*node) };
		node->node = i + 1;
		/* Cycles, and nodes that do not exist. */
		node->original = below(random, 2) ? 1 + below(random, NODES + 1) : 0;
		node->stack = node->original ? 0 : 200 * below(random, 4) + i;
		if (below(random, 5))
			small->order[small->count++] = &node->head;
	}
	shuffle(random, small->order, small->count);
}

static bool is_there(const struct small *small, const struct gpumon_record *record)
{
	for (unsigned int i = 0; i < small->count; i++) {
		if (small->order[i] == record)
			return true;
	}
	return false;
}

static uint32_t node_stack(const struct small *small, uint64_t id)
{
	for (unsigned int i = 0; i < NODES + 1 && id; i++) {
		const struct gpumon_record_graph_node *node;

		if (id > NODES || !is_there(small, &small->nodes[id - 1].head))
			return 0;
		node = &small->nodes[id - 1];
		if (node->stack)
			return node->stack;
		id = node->original;
	}
	return 0;
}

static const struct gpumon_record_launch *launch_of(const struct small *small,
						    const struct gpumon_record_kernel *work)
{
	const struct gpumon_record_launch *launch;

	if (!work->correlation || work->correlation >= LAUNCHES)
		return NULL;
	launch = &small->launches[work->correlation];
	if (!is_there(small, &launch->head))
		return NULL;
	if (launch->head.flags & GPUMON_LAUNCH_CAPTURED)
		return NULL;
	if (work->start_ns && launch->start_ns >= work->start_ns + GPUMON_CORRELATE_CLOCK_NS)
		return NULL;
	return launch;
}

static void check_small(const struct small *small, const struct answers *answers)
{
	bool had_work[LAUNCHES] = { false };

	for (unsigned int i = 0; i < WORKS; i++) {
		const struct gpumon_record_kernel *work = &small->works[i];
		const struct gpumon_record_launch *launch = launch_of(small, work);
		uint32_t stack = node_stack(small, work->node);
		enum gpumon_match match = GPUMON_MATCH_NO_LAUNCH;

		if (work->head.flags & GPUMON_WORK_INTERNAL) {
			match = GPUMON_MATCH_INTERNAL;
			launch = NULL;
			stack = 0;
		} else if (stack) {
			match = GPUMON_MATCH_GRAPH_NODE;
		} else if (launch) {
			stack = launch->stack;
			match = stack ? GPUMON_MATCH_STACK : GPUMON_MATCH_NO_STACK;
		}
		if (launch)
			had_work[launch->context] = true;
		assert_int_equal(answers->works[i].times, 1);
		assert_int_equal(answers->works[i].match, match);
		assert_int_equal(answers->works[i].stack, stack);
		assert_int_equal(answers->works[i].launch_ns, launch ? launch->start_ns : 0);
	}
	for (unsigned int i = 0; i < LAUNCHES; i++) {
		const struct gpumon_record_launch *launch = &small->launches[i];
		bool there = is_there(small, &launch->head);

		assert_int_equal(answers->launch_times[i], there && !had_work[i]);
		if (!there || had_work[i])
			continue;
		assert_int_equal(
			answers->launch_ends[i],
			launch->head.flags & GPUMON_LAUNCH_CAPTURED ? GPUMON_LAUNCH_IN_GRAPH :
			launch->head.flags & GPUMON_LAUNCH_FAILED   ? GPUMON_LAUNCH_REFUSED :
								      GPUMON_LAUNCH_UNMATCHED);
	}
}

static void test_small(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct gpumon_correlate *correlate;
		struct answers answers;
		struct small small;

		make_small(&random, &small);
		correlate = engine(&answers);
		/* Knowing the kinds of records in advance must not change the result. */
		if (round % 2)
			gpumon_correlate_expect_nodes(correlate, 0, true);
		for (unsigned int i = 0; i < small.count; i++)
			gpumon_correlate_record(correlate, 0, small.order[i]);
		gpumon_correlate_finish(correlate, ~0u);
		check_small(&small, &answers);
		assert_int_equal(gpumon_correlate_counts(correlate)->in_flight, 0);
		gpumon_correlate_free(correlate);
	}
}

/* --- nonsense: any fields, any sizes; all that is work comes out once */

static void test_nonsense(void **state)
{
	static const uint16_t types[] = {
		GPUMON_RECORD_LAUNCH, GPUMON_RECORD_KERNEL,	GPUMON_RECORD_COPY,
		GPUMON_RECORD_SET,    GPUMON_RECORD_GRAPH_NODE, GPUMON_RECORD_HIT,
		GPUMON_RECORD_STRING, GPUMON_RECORD_LOSS,	GPUMON_RECORD_STACK,
		GPUMON_RECORD_GRAPH,
	};
	uint64_t random = 3;

	(void)state;
	for (unsigned int round = 0; round < 40; round++) {
		const struct gpumon_correlate_output nobody = { 0 };
		struct gpumon_correlate *correlate = gpumon_correlate_new(&nobody);
		const struct gpumon_correlate_counts *counts;
		uint64_t works = 0, launches = 0, out = 0;

		for (unsigned int i = 0; i < 5000; i++) {
			/* A small range makes equal values more likely. */
			uint32_t limit = 1u << below(&random, 33 - 1);
			size_t words = 1 + below(&random, 20);
			uint64_t *record = malloc(words * sizeof(*record));
			struct gpumon_record *head = (void *)record;

			for (size_t word = 0; word < words; word++)
				record[word] = (uint64_t)below(&random, limit) << 32 |
					       below(&random, limit);
			head->type = types[below(&random, 10)];
			head->flags = (uint16_t)below(&random, 32);
			head->size = (uint32_t)(words * sizeof(*record));
			works += (head->type >= GPUMON_RECORD_KERNEL &&
				  head->type <= GPUMON_RECORD_SET) ||
				 head->type == GPUMON_RECORD_GRAPH;
			launches += head->type == GPUMON_RECORD_LAUNCH;
			gpumon_correlate_record(correlate, i % 3, head);
			free(record);
		}
		gpumon_correlate_finish(correlate, ~0u);
		counts = gpumon_correlate_counts(correlate);
		for (unsigned int i = 0; i < GPUMON_WORK_KINDS * GPUMON_MATCH_KINDS; i++)
			out += counts->works[i / GPUMON_MATCH_KINDS][i % GPUMON_MATCH_KINDS];
		assert_int_equal(out, works);
		out = counts->launches;
		for (unsigned int i = 0; i < GPUMON_LAUNCH_ENDS; i++)
			out += counts->unmatched_launches[i];
		assert_int_equal(out, launches);
		assert_int_equal(counts->in_flight, 0);
		gpumon_correlate_free(correlate);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
