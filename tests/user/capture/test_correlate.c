// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Known answers: no GPU time on a wrong stack, and matched + unmatched = all. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "correlate_program.h"

struct seen {
	unsigned int times;
	enum gpumon_match match;
	uint32_t stack;
};

/* The output of the engine. */
struct result {
	const struct program *program;
	struct seen *works;
	unsigned int *launches; /* by call: how often it was delivered as unmatched */
	enum gpumon_launch_end *ends;
	unsigned int *first_works; /* by call */
	uint64_t wrong_ns;
	uint64_t right_ns;
	uint64_t all_ns;
	struct gpumon_correlate_counts counts;
	size_t memory_max;
};

/* The call of a launch: ids are unique unless they wrapped, times always are. */
static unsigned int call_number(const struct program *program, uint64_t start_ns, uint32_t tid)
{
	unsigned int low = 0, high = program->call_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (program->calls[middle].start_ns < start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	while (low < program->call_count && program->calls[low].start_ns == start_ns &&
	       program->calls[low].thread != tid - 100)
		low++;
	assert_true(low < program->call_count);
	assert_int_equal(program->calls[low].start_ns, start_ns);
	return low;
}

static uint32_t right_stack(const struct program *program, unsigned int number)
{
	const struct program_work *work = &program->works[number];

	if (work->node && program->node_recorded[work->node])
		return program->node_stack[work->node];
	return program->calls[work->call].stack;
}

static void on_work(void *data, const struct gpumon_work *work)
{
	struct result *result = data;
	const struct program *program = result->program;
	unsigned int number = program_work_number(work);
	const struct program_work *of;
	struct seen *seen;

	assert_true(number < program->work_count);
	of = &program->works[number];
	seen = &result->works[number];
	assert_true(of->recorded);
	seen->times++;
	seen->match = work->match;
	seen->stack = work->stack;
	result->all_ns += of->duration_ns;
	if (work->stack) {
		if (work->stack == right_stack(program, number))
			result->right_ns += of->duration_ns;
		else
			result->wrong_ns += of->duration_ns;
	}
	assert_int_equal(!work->stack, work->match != GPUMON_MATCH_STACK &&
					       work->match != GPUMON_MATCH_GRAPH_NODE);
	if (work->launch_ns) {
		const struct program_call *call = &program->calls[of->call];

		/* All data must come from its own launch, not only the stack. */
		assert_int_equal(work->launch_ns, call->start_ns);
		assert_int_equal(work->launch_end_ns, call->end_ns);
		assert_int_equal(work->tid, 100 + call->thread);
		assert_int_equal(work->launch_work, result->first_works[of->call]++);
	} else {
		assert_int_equal(work->launch_work, 0);
	}
}

static void on_launch(void *data, const struct gpumon_unmatched_launch *unmatched)
{
	struct result *result = data;
	unsigned int call =
		call_number(result->program, unmatched->launch->start_ns, unmatched->launch->tid);

	result->launches[call]++;
	result->ends[call] = unmatched->end;
	assert_true(!unmatched->launch->stack ||
		    unmatched->launch->stack == result->program->calls[call].stack);
}

static void run_program(struct program *program, struct result *result)
{
	const struct gpumon_correlate_output output = {
		.work = on_work,
		.launch = on_launch,
		.data = result,
	};
	struct gpumon_correlate *correlate = gpumon_correlate_new(&output);

	memset(result, 0, sizeof(*result));
	result->program = program;
	result->works = calloc(program->work_count + 1, sizeof(*result->works));
	result->launches = calloc(program->call_count, sizeof(*result->launches));
	result->ends = calloc(program->call_count, sizeof(*result->ends));
	result->first_works = calloc(program->call_count, sizeof(*result->first_works));
	assert_non_null(correlate);
	for (unsigned int i = 0; i < program->record_count; i++) {
		const struct gpumon_record *record = &program->records[i].head;

		if (program->options.threads == 1) {
			/* A copy of exact size, so that ASan detects access after the call. */
			struct gpumon_record *copy = malloc(record->size);

			memcpy(copy, record, record->size);
			gpumon_correlate_record(correlate, 3, copy);
			free(copy);
		} else {
			gpumon_correlate_record(correlate, 3, record);
		}
		if (i % 4096 == 0) {
			size_t memory = gpumon_correlate_memory(correlate);

			if (memory > result->memory_max)
				result->memory_max = memory;
		}
	}
	gpumon_correlate_finish(correlate, 3);
	result->counts = *gpumon_correlate_counts(correlate);
	gpumon_correlate_free(correlate);
}

static void result_free(struct result *result)
{
	free(result->works);
	free(result->launches);
	free(result->ends);
	free(result->first_works);
}

/* Rules that hold whatever was lost, in any order. */
static void check_always(const struct program *program, const struct result *result)
{
	const struct gpumon_correlate_counts *counts = &result->counts;
	uint64_t works = 0, unmatched = 0;

	for (unsigned int i = 0; i < program->work_count; i++)
		assert_int_equal(result->works[i].times, program->works[i].recorded);
	for (unsigned int i = 0; i < program->call_count; i++) {
		const struct program_call *call = &program->calls[i];

		/* Delivered with or without operations, but never both. */
		if (!call->has_record)
			assert_int_equal(result->launches[i], 0);
		else
			assert_int_equal(result->launches[i] + (result->first_works[i] > 0), 1);
		if (result->launches[i])
			assert_int_equal(result->ends[i],
					 call->kind == PROGRAM_CAPTURED ? GPUMON_LAUNCH_IN_GRAPH :
					 call->kind == PROGRAM_FAILED	? GPUMON_LAUNCH_REFUSED :
									  GPUMON_LAUNCH_UNMATCHED);
	}
	for (unsigned int i = 0; i < GPUMON_WORK_KINDS * GPUMON_MATCH_KINDS; i++)
		works += counts->works[i / GPUMON_MATCH_KINDS][i % GPUMON_MATCH_KINDS];
	for (unsigned int i = 0; i < GPUMON_LAUNCH_ENDS; i++)
		unmatched += counts->unmatched_launches[i];
	assert_int_equal(works, program->works_recorded);
	assert_int_equal(counts->launches + unmatched, program->launches_recorded);
	assert_int_equal(counts->in_flight, 0);
	assert_int_equal(result->wrong_ns, 0);
}

/* Each operation has exactly the match that the recorded data allows. */
static void check_exact(const struct program *program, const struct result *result)
{
	for (unsigned int i = 0; i < program->work_count; i++) {
		const struct program_work *work = &program->works[i];
		const struct program_call *call = &program->calls[work->call];
		enum gpumon_match expected = GPUMON_MATCH_STACK;

		if (!work->recorded)
			continue;
		if (work->node && program->node_recorded[work->node])
			expected = GPUMON_MATCH_GRAPH_NODE;
		else if (!call->has_record)
			expected = GPUMON_MATCH_NO_LAUNCH;
		assert_int_equal(result->works[i].match, expected);
	}
}

static void check_program(const struct program_options *options)
{
	struct program *program = program_new(options);
	struct result result;

	run_program(program, &result);
	check_always(program, &result);
	check_exact(program, &result);
	assert_true(result.memory_max < 40u << 20);
	result_free(&result);
	program_free(program);
}

static const unsigned int thread_counts[] = { 1, 4, 16 };
static const unsigned int rates[] = { 0, 1, 10, 100 };

/* Losses on either side, or both. */
static void check_losses(struct program_options options)
{
	for (unsigned int t = 0; t < 3; t++) {
		for (unsigned int r = 0; r < 4; r++) {
			/* Without losses, one side is like the other. */
			for (unsigned int side = r ? 1 : 0; side < (r ? 4 : 1); side++) {
				options.seed = 1 + t + 4 * r + 64 * side + options.order * 1024;
				options.threads = thread_counts[t];
				options.calls = 2400 / options.threads;
				options.loss = (struct program_loss){
					.launches = side & 1 ? rates[r] : 0,
					.works = side & 2 ? rates[r] : 0,
					.nodes = side & 1 ? rates[r] : 0,
				};
				check_program(&options);
			}
		}
	}
}

static void test_stack_in_launch(void **state)
{
	(void)state;
	check_losses((struct program_options){ .streams = 4, .stride = 3, .first_id = 1 });
}

static void test_stack_in_launch_shuffled(void **state)
{
	(void)state;
	check_losses((struct program_options){
		.streams = 4, .stride = 3, .first_id = 1, .order = PROGRAM_SHUFFLED });
}

static void test_any_order(void **state)
{
	(void)state;
	check_losses((struct program_options){
		.streams = 2, .stride = 1, .first_id = 1, .graphs = true, .order = PROGRAM_RANDOM });
}

static void test_graphs(void **state)
{
	(void)state;
	check_losses((struct program_options){
		.streams = 3, .stride = 2, .first_id = 1, .graphs = true });
	check_losses((struct program_options){ .streams = 3,
					       .stride = 2,
					       .first_id = 1,
					       .graphs = true,
					       .order = PROGRAM_SHUFFLED });
}

/* Wrap around 32 bits in the middle, and then several times, with 1024 calls a turn. */
static void test_ids_go_round(void **state)
{
	(void)state;
	check_losses((struct program_options){
		.streams = 2, .stride = 1, .first_id = 0xfffff800, .graphs = true });
	check_losses((struct program_options){ .streams = 2,
					       .stride = 5,
					       .first_id = 0xfffff000,
					       .graphs = true,
					       .order = PROGRAM_SHUFFLED });
	check_losses((struct program_options){ .streams = 1, .stride = 1 << 22, .first_id = 7 });
}

/* A long recording with losses: the waiting and the kept data stay small. */
static void test_memory(void **state)
{
	const struct program_options options = { .seed = 5,
						 .threads = 4,
						 .calls = 60000,
						 .streams = 2,
						 .stride = 7,
						 .first_id = 1,
						 .loss = { .launches = 10, .works = 10 } };
	struct program *program = program_new(&options);
	struct result result;

	(void)state;
	run_program(program, &result);
	check_always(program, &result);
	check_exact(program, &result);
	assert_true(result.memory_max < 16u << 20);
	assert_true(result.counts.in_flight_max < 40000);
	result_free(&result);
	program_free(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack_in_launch),
		cmocka_unit_test(test_stack_in_launch_shuffled),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_ids_go_round),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
