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
			gpumon_correlate_expect(correlate, 0, GPUMON_EXPECT_NODES);
		for (unsigned int i = 0; i < small.count; i++)
			assert_int_equal(gpumon_correlate_record(correlate, 0, small.order[i]), 0);
		gpumon_correlate_finish(correlate, ~0u);
		check_small(&small, &answers);
		assert_int_equal(gpumon_correlate_counts(correlate)->in_flight, 0);
		gpumon_correlate_free(correlate);
	}
}

/* --- hits of one thread */

#define FUNCTIONS 3
#define HITS	  (2 * LAUNCHES)

struct thread {
	struct gpumon_record_launch launches[LAUNCHES];
	struct gpumon_record_hit hits[HITS];
	unsigned int launch_count; /* number of recorded ones */
	unsigned int hit_count;
	bool lost_hit;
	bool all_hooked; /* of each function, all calls have a hit or none */
};

static uint32_t hit_name(uint32_t function)
{
	return 20 + function;
}

/* A nested driver call is hit too, as function 9. */
static void make_thread(uint64_t *random, struct thread *thread)
{
	uint64_t now = 1000;
	uint32_t number = 0;

	memset(thread, 0, sizeof(*thread));
	thread->all_hooked = below(random, 2);
	for (unsigned int i = 0; i < LAUNCHES; i++) {
		struct gpumon_record_launch launch = {
			.head = { GPUMON_RECORD_LAUNCH, 0, sizeof(launch) },
			.tid = 7,
			.correlation = i + 1,
			.context = i,
		};
		uint32_t function = below(random, FUNCTIONS);
		/* Include the driver's function, which other calls contain. */
		bool driver = !thread->all_hooked && !below(random, 5);
		bool hooked = thread->all_hooked ? function != 2 : below(random, 4) != 0;
		struct gpumon_record_hit hit = {
			.head = { GPUMON_RECORD_HIT, 0, sizeof(hit) },
			.tid = 7,
			.stack = i + 1,
		};

		function = driver ? 9 : function;
		hit.function = hit_name(function);
		hit.time_ns = now += 10;
		launch.function = 10 + function;
		launch.start_ns = now += 10;
		launch.end_ns = launch.start_ns + 20;
		if (hooked) {
			hit.number = ++number;
			if (below(random, 4))
				thread->hits[thread->hit_count++] = hit;
			else
				thread->lost_hit = true;
		}
		if (hooked && !below(random, 3)) {
			hit.time_ns = launch.start_ns + 1 + below(random, 20);
			hit.number = ++number;
			hit.function = hit_name(9);
			if (below(random, 4))
				thread->hits[thread->hit_count++] = hit;
			else
				thread->lost_hit = true;
		}
		now = launch.end_ns;
		if (below(random, 4))
			thread->launches[thread->launch_count++] = launch;
	}
}

static bool within(const struct gpumon_record_launch *launch, const struct gpumon_record_hit *hit)
{
	return hit->time_ns > launch->start_ns && hit->time_ns <= launch->end_ns;
}

static bool same(const struct gpumon_record_launch *launch, const struct gpumon_record_hit *hit)
{
	return launch->function + 10 == hit->function;
}

/* The rule of hits.c for one launch. */
static enum gpumon_match judge(const struct thread *thread,
			       const struct gpumon_record_launch *launch, uint32_t *stack)
{
	const struct gpumon_record_launch *first = NULL;
	const struct gpumon_record_hit *hit = NULL, *next = NULL;
	unsigned int alike = 0;
	bool gap, nested = false;

	*stack = 0;
	for (unsigned int i = 0; i < thread->hit_count; i++) {
		if (thread->hits[i].time_ns <= launch->start_ns)
			hit = &thread->hits[i];
		else if (!next)
			next = &thread->hits[i];
	}
	gap = hit && (next ? next->number != hit->number + 1 : thread->lost_hit);
	for (unsigned int i = 0; hit && i < thread->launch_count; i++) {
		const struct gpumon_record_launch *other = &thread->launches[i];

		nested |= within(other, hit);
		if (other->start_ns < hit->time_ns || (next && other->start_ns >= next->time_ns))
			continue;
		first = first ? first : other;
		alike += same(other, hit);
	}
	if (hit && !gap && !nested && first == launch && same(launch, hit) && alike == 1)
		*stack = hit->stack;
	else if (next && within(launch, next))
		*stack = next->stack;
	if (*stack)
		return GPUMON_MATCH_STACK;
	return hit && (gap || same(launch, hit)) ? GPUMON_MATCH_AMBIGUOUS : GPUMON_MATCH_NO_STACK;
}

static void put_name(struct gpumon_correlate *correlate, uint32_t id, const char *format,
		     unsigned int number)
{
	struct {
		struct gpumon_record_string string;
		char text[40];
	} record = { .string.head = { GPUMON_RECORD_STRING, 0, sizeof(record) }, .string.id = id };

	snprintf(record.text, sizeof(record.text), format, number);
	record.string.length = (uint32_t)strlen(record.text);
	assert_int_equal(gpumon_correlate_record(correlate, 0, &record.string.head), 0);
}

/* Names may come last; then functions are only known at the end. */
static void put_names(struct gpumon_correlate *correlate)
{
	for (unsigned int i = 0; i < 10; i++) {
		put_name(correlate, 10 + i, "cudaFunction%c_ptsz_v7000", 'A' + i);
		put_name(correlate, hit_name(i), "__cudaFunction%c", 'A' + i);
	}
}

/* Hits and launches of the thread stay in order, kernels come at any time. */
static void put_thread(uint64_t *random, struct gpumon_correlate *correlate,
		       const struct thread *thread)
{
	unsigned int hits = 0, launches = 0, kernels = 0;

	while (hits < thread->hit_count || launches < thread->launch_count ||
	       kernels < thread->launch_count) {
		const struct gpumon_record *record = NULL;
		struct gpumon_record_kernel kernel = {
			.head = { GPUMON_RECORD_KERNEL, 0, sizeof(kernel) },
		};
		uint32_t which = below(random, 3);

		if (which == 0 && hits < thread->hit_count) {
			record = &thread->hits[hits++].head;
		} else if (which == 1 && launches < thread->launch_count) {
			record = &thread->launches[launches++].head;
		} else if (which == 2 && kernels < thread->launch_count) {
			kernel.correlation = thread->launches[kernels].correlation;
			kernel.start_ns = thread->launches[kernels].start_ns + 30;
			kernel.grid[0] = kernels++;
			record = &kernel.head;
		}
		if (record)
			assert_int_equal(gpumon_correlate_record(correlate, 0, record), 0);
	}
}

static void test_hits(void **state)
{
	uint64_t random = 2;
	unsigned int found[GPUMON_MATCH_KINDS] = { 0 };

	(void)state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		const struct gpumon_record_loss loss = {
			.head = { GPUMON_RECORD_LOSS, 0, sizeof(loss) },
			.cause = GPUMON_LOSS_UPROBE_RING,
			.count = 1,
		};
		struct gpumon_correlate *correlate;
		struct answers answers;
		struct thread thread;

		make_thread(&random, &thread);
		correlate = engine(&answers);
		if (round % 2)
			put_names(correlate);
		put_thread(&random, correlate, &thread);
		if (round % 2 == 0)
			put_names(correlate);
		if (thread.lost_hit)
			gpumon_correlate_record(correlate, 0, &loss.head);
		gpumon_correlate_finish(correlate, ~0u);
		for (unsigned int i = 0; i < thread.launch_count; i++) {
			const struct gpumon_record_launch *launch = &thread.launches[i];
			uint32_t stack;
			enum gpumon_match match = judge(&thread, launch, &stack);

			assert_int_equal(answers.works[i].times, 1);
			assert_int_equal(answers.works[i].match, match);
			assert_int_equal(answers.works[i].stack, stack);
			/* The match must not only follow the rule but be correct. */
			if (stack && thread.all_hooked)
				assert_int_equal(stack, launch->correlation);
			found[match]++;
		}
		gpumon_correlate_free(correlate);
	}
	/* Make sure that there were matches to find. */
	assert_true(found[GPUMON_MATCH_STACK] > ROUNDS);
	assert_true(found[GPUMON_MATCH_AMBIGUOUS] > ROUNDS);
	assert_true(found[GPUMON_MATCH_NO_STACK] > ROUNDS);
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
			assert_int_equal(gpumon_correlate_record(correlate, i % 3, head), 0);
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
		cmocka_unit_test(test_hits),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
