// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Collectives of several ranks: which kernels are one, who waited, and for what. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile_fixture.h"
#include "report/ranks.h"
#include "report/view.h"

#define RANKS_MAX 4
#define US	  1000u
#define MS	  1000000u
#define REDUCE	  "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"
#define GATHER	  "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE"
#define BROADCAST "_Z31ncclDevKernel_Broadcast_RING_LL24ncclDevKernelArgsStorageILm4096EE"
#define SEND	  "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE"
#define GENERIC	  "_Z21ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE"

/**
 * struct job - ranks of one program
 * @ends: end of the last collective of each communicator
 * @moved_ns: the clock of the second rank is ahead by this
 * @more_ns: work of the second rank that others do not have
 * @kernel: the collective's kernel
 * @stream: its stream
 * @range: NVTX range of NCCL around its launch, or NULL
 * @ranged: ranks of which the bit is set have that range
 */
struct job {
	unsigned int ranks;
	struct capture_maker *makers[RANKS_MAX];
	uint32_t launches[RANKS_MAX];
	uint64_t free_ns[RANKS_MAX];
	uint64_t moved_ns;
	uint64_t more_ns;
	const char *kernel;
	uint32_t stream;
	const char *range;
	unsigned int ranged;
};

static void begin_job(struct job *job, unsigned int ranks, uint64_t moved_ns)
{
	*job = (struct job){
		.ranks = ranks,
		.moved_ns = moved_ns,
		.kernel = REDUCE,
		.stream = 20,
		.ranged = ~0u,
	};
	for (unsigned int i = 0; i < ranks; i++) {
		struct capture_maker *maker = capture_maker_new();

		make_process(maker, .pid = 100 + i, .rank = ranks - 1 - i,
			     .boot_id = { i && moved_ns ? 2 : 1 },
			     .executable = make_string(maker, "train"));
		make_device(maker, .id = 0, .uuid = { (uint8_t)(i + 1) },
			    .name = make_string(maker, "H200"));
		job->makers[i] = maker;
		job->free_ns[i] = 1000 * MS;
	}
}

/* A kernel that a rank launches as soon as its thread comes out of a function. */
static void make_work(struct job *job, unsigned int rank, const char *function, const char *name,
		      uint32_t stream, uint64_t start_ns, uint64_t end_ns)
{
	struct capture_maker *maker = job->makers[rank];
	uint64_t clock_ns = rank ? job->moved_ns : 0;
	uint64_t frame = PYTHON_FRAME(make_python_frame(maker, function, "train.py", 7));
	uint64_t step = PYTHON_FRAME(make_python_frame(maker, "step", "train.py", 3));
	uint32_t stack = make_stack(maker, frame, step), number = ++job->launches[rank];

	make_launch(maker, .tid = 100 + rank, .correlation = number, .stack = stack,
		    .start_ns = clock_ns + start_ns - 7 * US,
		    .end_ns = clock_ns + start_ns - 2 * US, .context = 1,
		    .function = make_string(maker, "cuLaunchKernel"));
	make_kernel(maker, .correlation = number, .start_ns = clock_ns + start_ns,
		    .end_ns = clock_ns + end_ns, .name = make_string(maker, name), .stream = stream,
		    .context = 1);
}

/* The job's collective on a rank, launched within a range of NCCL and one of the program. */
static void make_collective(struct job *job, unsigned int rank, uint64_t start_ns, uint64_t end_ns)
{
	struct capture_maker *maker = job->makers[rank];
	uint64_t launch_ns = (rank ? job->moved_ns : 0) + start_ns - 7 * US;
	uint32_t domain = make_string(maker, "NCCL");
	bool ranged = job->range && job->ranged & 1u << rank;

	if (ranged) {
		make_range(maker, .time_ns = launch_ns - 2 * US, .tid = 100 + rank,
			   .text = make_string(maker, "ncclBroadcast"), .kind = GPUMON_RANGE_PUSH);
		make_range(maker, .time_ns = launch_ns - US, .tid = 100 + rank, .domain = domain,
			   .text = make_string(maker, job->range), .kind = GPUMON_RANGE_PUSH);
	}
	make_work(job, rank, "backward", job->kernel, job->stream, start_ns, end_ns);
	if (ranged) {
		make_range(maker, .time_ns = launch_ns + 6 * US, .tid = 100 + rank,
			   .domain = domain, .kind = GPUMON_RANGE_POP);
		make_range(maker, .time_ns = launch_ns + 7 * US, .tid = 100 + rank,
			   .kind = GPUMON_RANGE_POP);
	}
}

/*
 * A step: 2 ms of work after a pause of each rank, then a collective of 300 us from when the last one is
 * ready. Ranks of which the bit in @without is set have no record of the collective.
 */
static void make_step(struct job *job, const uint64_t *pauses_ns, unsigned int without)
{
	uint64_t ready_ns[RANKS_MAX], end_ns = 0;

	for (unsigned int i = 0; i < job->ranks; i++) {
		uint64_t start_ns = job->free_ns[i] + pauses_ns[i] + 20 * US;

		if (pauses_ns[i])
			make_wait(job->makers[i],
				  .start_ns = (i ? job->moved_ns : 0) + job->free_ns[i] +
					      pauses_ns[i] / 2,
				  .end_ns = (i ? job->moved_ns : 0) + job->free_ns[i] +
					    pauses_ns[i] / 2,
				  .period_ns = pauses_ns[i], .tid = 100 + i, .looks = 1,
				  .kind = GPUMON_WAIT_SLEEP,
				  .stack = make_stack(
					  job->makers[i],
					  PYTHON_FRAME(make_python_frame(job->makers[i], "load",
									 "train.py", 9)),
					  PYTHON_FRAME(make_python_frame(job->makers[i], "step",
									 "train.py", 3))));
		ready_ns[i] = start_ns + 2 * MS + (i == 1 ? job->more_ns : 0);
		make_work(job, i, "forward", "gemm", 7, start_ns, ready_ns[i]);
		ready_ns[i] += i * US;
		end_ns = ready_ns[i] > end_ns ? ready_ns[i] : end_ns;
	}
	end_ns += 300 * US;
	for (unsigned int i = 0; i < job->ranks; i++) {
		job->free_ns[i] = end_ns + i * US;
		if (!(without & 1u << i))
			make_collective(job, i, ready_ns[i], job->free_ns[i]);
	}
}

/* Every kernel of a collective is matched, or it is known why not. */
static void expect_all_counted(const struct gpumon_view *view)
{
	uint64_t kernels = 0, counted = 0;

	for (unsigned int i = 0; i < view->kernel_count; i++)
		kernels += view->kernels[i].collective ? view->kernels[i].count : 0;
	for (unsigned int i = 0; i < view->rank_count; i++) {
		counted += view->ranks[i].matched + view->ranks[i].unmatched;
		for (unsigned int kind = 0; kind < GPUMON_COLLECTIVE_KINDS; kind++)
			counted += view->ranks[i].not_split[kind];
	}
	assert_int_equal(counted, kernels);
}

/* All ranks in one capture, or one for each; the job ends. */
static void load_job(struct profile_fixture *fixture, struct job *job, bool apart,
		     struct gpumon_view *view)
{
	char paths[RANKS_MAX][600], name[32];
	const char *const of[RANKS_MAX] = { paths[0], paths[1], paths[2], paths[3] };
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;

	snprintf(paths[0], sizeof(paths[0]), "%s/all", fixture->directory);
	if (!apart)
		assert_int_equal(gpumon_capture_create(paths[0], "job", &writer), 0);
	for (unsigned int i = 0; i < job->ranks; i++) {
		snprintf(name, sizeof(name), "process-%u-1", 100 + i);
		if (apart) {
			snprintf(paths[i], sizeof(paths[i]), "%s/%u", fixture->directory, i);
			capture_maker_save(job->makers[i], paths[i], name, 7);
		} else {
			assert_int_equal(gpumon_capture_add_file(writer, name, &file), 0);
			capture_maker_flush(job->makers[i], file, 7, 0);
		}
		capture_maker_free(job->makers[i]);
	}
	if (!apart)
		assert_int_equal(gpumon_capture_close(writer), 0);
	gpumon_profile_free(fixture->profile);
	fixture->profile = NULL;
	assert_int_equal(gpumon_profile_load(of, apart ? job->ranks : 1,
					     &(struct gpumon_profile_options){ 0 },
					     &fixture->profile),
			 0);
	gpumon_view_of(fixture->profile, view);
	expect_all_counted(view);
}

static const uint64_t slow_second[RANKS_MAX] = { 0, 30 * MS, 0, 0 };

/* The rank that comes last, and the one that waits: rank 0 is the second process. */
static void expect_straggler(const struct gpumon_view *view, uint64_t steps)
{
	const struct gpumon_rank_row *late = &view->ranks[0], *other = &view->ranks[1];
	struct gpumon_rank_paths paths;

	assert_int_equal(late->rank, 0);
	assert_true(late->known);
	assert_int_equal(late->process, 1);
	assert_int_equal(late->matched, steps);
	assert_int_equal(other->matched, steps);
	assert_int_equal(late->last, steps);
	assert_int_equal(other->last, 0);
	assert_in_range(late->late_median_ns, 29990 * US, 30010 * US);
	assert_in_range(other->waiting_ns, steps * 29990 * US, steps * 30010 * US);
	assert_int_equal(late->waiting_ns, 0);
	assert_int_equal(late->communication_ns, other->communication_ns);
	assert_in_range(late->communication_ns, steps * 299 * US, steps * 302 * US);
	assert_ptr_equal(gpumon_ranks_last(view), late);
	gpumon_ranks_meanwhile(view, late, &paths);
	assert_true(paths.count >= 1);
	assert_string_equal(paths.at[0]->name, "[sleep]");
	assert_string_equal(paths.at[0]->parent->name, "load");
	/* The work that both have is no reason. */
	assert_in_range(paths.at[0]->late_ns * 100 / paths.all_ns, 98, 100);
}

static void test_straggler(void **state)
{
	struct gpumon_view view;
	struct job job;

	begin_job(&job, 2, 0);
	for (unsigned int i = 0; i < 40; i++)
		make_step(&job, slow_second, 0);
	load_job(*state, &job, false, &view);
	assert_int_equal(view.rank_count, 2);
	expect_straggler(&view, 40);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(view.ranks[i].unmatched, 0);
}

/* A rank that has more work: its GPU is never idle for longer. */
static void test_more_work(void **state)
{
	static const uint64_t none[RANKS_MAX];
	struct gpumon_view view;
	char *text;
	struct job job;

	begin_job(&job, 2, 0);
	job.more_ns = 1 * MS;
	for (unsigned int i = 0; i < 20; i++)
		make_step(&job, none, 0);
	load_job(*state, &job, false, &view);
	assert_int_equal(view.ranks[0].last, 20);
	/* What was before the first collective is not known. */
	assert_int_equal(view.ranks[0].late_busy_ns, 19 * MS);
	text = gpumon_ranks_meanwhile_text(&view, &view.ranks[0]);
	assert_string_equal(text, "work of its GPU 100 %");
	free(text);
}

/* Whatever shows the kernel: @output is text, JSON, HTML. */
static void expect_split(const struct gpumon_view *view, unsigned int output)
{
	static const char *const wanted[] = { "of which waiting for other ranks 300ms",
					      "\"waiting_ns\":",
					      "<em>of which waiting for other ranks 300ms</em>" };
	const struct gpumon_term term = { .columns = 120 };
	unsigned int count = 0;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (output == 2)
		gpumon_output_report(out, view);
	else if (output)
		gpumon_output_json(out, view);
	else
		gpumon_output_summary(out, &term, view, NULL);
	fclose(out);
	for (const char *at = text; (at = strstr(at, wanted[output])); at++)
		count++;
	/* In the table by kernel, and at the call path of the rank that waits; in JSON at the ranks, too. */
	if (count < 2)
		fail_msg("%u in output %u", count, output);
	free(text);
}

/* What of a kernel's time is waiting stands at its row and at its nodes. */
static void test_waiting_of_kernels(void **state)
{
	const struct gpumon_kernel_row *row;
	struct gpumon_view view;
	uint64_t nodes_ns = 0;
	char text[128];
	struct job job;

	begin_job(&job, 2, 0);
	for (unsigned int i = 0; i < 10; i++)
		make_step(&job, slow_second, 0);
	load_job(*state, &job, false, &view);
	row = profile_kernel(
		*state,
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
	assert_true(row->collective);
	assert_int_equal(row->matched, 20);
	assert_int_equal(row->wait_ns, view.ranks[1].waiting_ns);
	assert_string_equal(gpumon_ranks_of_kernel(text, sizeof(text), row),
			    "of which waiting for other ranks 300ms");
	assert_false(profile_kernel(*state, "gemm")->collective);
	assert_string_equal(
		gpumon_ranks_of_kernel(text, sizeof(text), profile_kernel(*state, "gemm")), "");
	for (const struct gpumon_node *node = view.root; node;
	     node = gpumon_tree_next(node, view.root))
		nodes_ns += node->wait_ns;
	assert_int_equal(nodes_ns, row->wait_ns);
	for (unsigned int i = 0; i < 3; i++)
		expect_split(&view, i);
}

/* A capture that began late, and one without some in the middle: the others are matched all the same. */
static void test_missing_ones(void **state)
{
	struct gpumon_view view;
	struct job job;

	begin_job(&job, 2, 0);
	for (unsigned int i = 0; i < 60; i++)
		make_step(&job, slow_second, i < 13 || i == 30 || i == 31 ? 2 : 0);
	load_job(*state, &job, false, &view);
	assert_int_equal(view.ranks[0].matched, 45);
	assert_int_equal(view.ranks[0].unmatched, 0);
	assert_int_equal(view.ranks[1].matched, 45);
	assert_int_equal(view.ranks[1].unmatched, 15);
	assert_int_equal(view.ranks[1].alone, 0);
	assert_in_range(view.ranks[1].waiting_ns, 45 * 29990ull * US, 45 * 30010ull * US);
}

/* One rank alone: nothing is guessed. */
static void test_one_rank(void **state)
{
	struct gpumon_view view;
	char text[128];
	struct job job;

	begin_job(&job, 1, 0);
	for (unsigned int i = 0; i < 5; i++)
		make_step(&job, slow_second, 0);
	load_job(*state, &job, false, &view);
	assert_int_equal(view.rank_count, 1);
	assert_int_equal(view.ranks[0].matched, 0);
	assert_int_equal(view.ranks[0].unmatched, 5);
	assert_int_equal(view.ranks[0].alone, 5);
	assert_int_equal(view.ranks[0].waiting_ns, 0);
	assert_null(gpumon_ranks_last(&view));
	assert_non_null(
		strstr(gpumon_ranks_of_kernel(text, sizeof(text), &view.kernels[1]), "not known"));
}

/* Ranks that have nothing to do with each other, at the same times. */
static void test_strangers(void **state)
{
	static const uint64_t none[RANKS_MAX], other[RANKS_MAX] = { 0, 700 * US };
	struct gpumon_view view;
	struct job one, two, both;

	begin_job(&one, 1, 0);
	begin_job(&two, 2, 0);
	for (unsigned int i = 0; i < 30; i++) {
		make_step(&one, none, 0);
		make_step(&two, other, 1);
	}
	both = (struct job){ .ranks = 2, .makers = { one.makers[0], two.makers[1] } };
	capture_maker_free(two.makers[0]);
	load_job(*state, &both, true, &view);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(view.ranks[i].matched, 0);
		assert_int_equal(view.ranks[i].unmatched, 30);
	}
}

/* Hosts with different clocks: the ends of the collectives tell by how much. */
static void test_clocks(void **state)
{
	struct gpumon_view view;
	unsigned int seed = 7;
	struct job job;

	begin_job(&job, 2, 1234567891);
	for (unsigned int i = 0; i < 50; i++) {
		uint64_t pauses[RANKS_MAX] = { 0, 29700 * US + (uint64_t)rand_r(&seed) % 500 * US };

		make_step(&job, pauses, i < 5 ? 1 : 0);
	}
	load_job(*state, &job, true, &view);
	assert_int_equal(view.ranks[0].matched, 45);
	assert_true(view.ranks[0].clock_moved);
	assert_false(view.ranks[1].clock_moved);
	assert_in_range(-view.ranks[0].clock_ns, 1234567891 - 10 * US, 1234567891 + 10 * US);
	assert_true(view.ranks[0].clock_error_ns < 10 * US);
	assert_int_equal(view.ranks[0].last, 45);
	assert_in_range(view.ranks[0].late_median_ns, 29690 * US, 30210 * US);
}

/* Who is later by no more than clocks differ is not late. Rank numbers that repeat are not used. */
static void test_together(void **state)
{
	static const uint64_t none[RANKS_MAX];
	struct gpumon_view view;
	struct job job;

	begin_job(&job, 4, 0);
	make_process(job.makers[1], .pid = 101, .rank = 3, .boot_id = { 1 });
	for (unsigned int i = 0; i < 20; i++)
		make_step(&job, none, 0);
	load_job(*state, &job, false, &view);
	assert_int_equal(view.rank_count, 4);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(view.ranks[i].rank, i);
		assert_false(view.ranks[i].known);
		assert_int_equal(view.ranks[i].matched, 20);
		assert_int_equal(view.ranks[i].last, 0);
	}
	assert_null(gpumon_ranks_last(&view));
}

static void make_steps(struct job *job, unsigned int count, const uint64_t *pauses_ns,
		       const char *kernel, const char *range)
{
	job->kernel = kernel;
	job->range = range;
	for (unsigned int i = 0; i < count; i++)
		make_step(job, pauses_ns, 0);
}

/* Whether one of the sentences below the table has these words. */
struct wanted {
	const char *words;
	bool found;
};

static void look_for(void *data, const char *sentence)
{
	struct wanted *wanted = data;

	wanted->found |= strstr(sentence, wanted->words) != NULL;
}

static void expect_sentence(const struct gpumon_view *view, const char *words)
{
	struct wanted wanted = { .words = words };

	gpumon_ranks_sentences(view, look_for, &wanted);
	if (!wanted.found)
		fail_msg("no sentence has \"%s\"", words);
}

/* In a broadcast not each rank waits for each other one, even if all end together: it is only counted. */
static void test_broadcasts(void **state)
{
	const struct gpumon_kernel_row *row;
	struct gpumon_view view;
	char text[128];
	struct job job;

	begin_job(&job, 2, 0);
	make_steps(&job, 10, slow_second, REDUCE, NULL);
	make_steps(&job, 7, slow_second, BROADCAST, NULL);
	make_steps(&job, 10, slow_second, REDUCE, NULL);
	make_steps(&job, 3, slow_second, SEND, NULL);
	load_job(*state, &job, false, &view);
	expect_straggler(&view, 20);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(view.ranks[i].unmatched, 0);
		assert_int_equal(view.ranks[i].not_split[GPUMON_COLLECTIVE_BROADCAST], 7);
		assert_int_equal(view.ranks[i].not_split[GPUMON_COLLECTIVE_SEND], 3);
		assert_string_equal(gpumon_ranks_matched_text(text, sizeof(text), &view.ranks[i]),
				    "20 of 30");
	}
	expect_sentence(&view, "Not split: 14 broadcasts, 6 sends and receives. ");
	row = profile_kernel(*state,
			     "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
	assert_int_equal(row->not_split, 14);
	assert_int_equal(row->wait_ns, 0);
	assert_non_null(strstr(gpumon_ranks_of_kernel(text, sizeof(text), row),
			       "not each rank waits for each other one in it"));
}

/* An all-to-all is made of sends; NCCL's range says that it is one. */
static void test_all_to_all(void **state)
{
	struct gpumon_view view;
	struct job job;

	begin_job(&job, 2, 0);
	make_steps(&job, 20, slow_second, SEND, "ncclAlltoAll");
	make_steps(&job, 4, slow_second, SEND, "ncclGroupEnd");
	load_job(*state, &job, false, &view);
	expect_straggler(&view, 20);
	assert_int_equal(view.ranks[0].unnamed, 0);
	assert_int_equal(view.ranks[0].not_split[GPUMON_COLLECTIVE_SEND], 4);
}

/* The kernel says nothing: NCCL's range does, also where only one rank has it. The program's own does not. */
static void test_generic(void **state)
{
	struct gpumon_view view;
	struct job job;

	begin_job(&job, 2, 0);
	make_steps(&job, 20, slow_second, GENERIC, "ncclAllReduce");
	make_steps(&job, 5, slow_second, GENERIC, "ncclReduce");
	job.ranged = 1;
	make_steps(&job, 10, slow_second, GENERIC, "ncclAllGather");
	load_job(*state, &job, false, &view);
	expect_straggler(&view, 30);
	/* Rank 0 is the second process. */
	assert_int_equal(view.ranks[0].unnamed, 10);
	assert_int_equal(view.ranks[1].unnamed, 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(view.ranks[i].not_split[GPUMON_COLLECTIVE_REDUCE], 5);
	expect_sentence(&view, "10 matched kernels do not say which collective they are");
	expect_sentence(&view, "Not split: 10 reductions to one rank. ");
}

/* Two communicators of the same processes, each on a stream of its own, with one late rank. */
static void test_two_communicators(void **state)
{
	static const uint64_t none[RANKS_MAX];
	struct gpumon_view view;
	struct job job;

	begin_job(&job, 2, 0);
	for (unsigned int i = 0; i < 20; i++) {
		job.stream = 20;
		make_steps(&job, 1, slow_second, REDUCE, NULL);
		job.stream = 21;
		make_steps(&job, 2, none, i % 2 ? REDUCE : GATHER, NULL);
		make_steps(&job, 1, none, BROADCAST, NULL);
	}
	load_job(*state, &job, false, &view);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(view.ranks[i].matched, 60);
		assert_int_equal(view.ranks[i].unmatched, 0);
		assert_int_equal(view.ranks[i].not_split[GPUMON_COLLECTIVE_BROADCAST], 20);
	}
	assert_int_equal(view.ranks[0].last, 20);
	assert_in_range(view.ranks[0].late_median_ns, 29990 * US, 30010 * US);
	assert_in_range(view.ranks[1].waiting_ns, 20 * 29990ull * US, 20 * 30010ull * US);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *kernel;
		enum gpumon_collective_kind kind;
	} kernels[] = {
		{ "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", GPUMON_COLLECTIVE_ALL },
		{ "ncclDevKernel_AllGather_RING_LL(x)", GPUMON_COLLECTIVE_ALL },
		{ "ncclKernel_AllToAllPivot_RING_SIMPLE_Sum_int8_t(x)", GPUMON_COLLECTIVE_ALL },
		{ "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)", GPUMON_COLLECTIVE_ALL },
		{ "ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f16(x)", GPUMON_COLLECTIVE_ALL },
		{ "_Z99ncclSymDevKernel_AllGather_LL", GPUMON_COLLECTIVE_ALL },
		{ "ncclDevKernel_Reduce_Sum_f32_RING_LL(x)", GPUMON_COLLECTIVE_REDUCE },
		{ "ncclKernel_Broadcast_RING_LL_Sum_int8_t(x)", GPUMON_COLLECTIVE_BROADCAST },
		{ "ncclDevKernel_SendRecv(x)", GPUMON_COLLECTIVE_SEND },
		{ "ncclDevKernel_Generic(x)", GPUMON_COLLECTIVE_UNKNOWN },
		{ "ncclDevKernel_Generic_4(x)", GPUMON_COLLECTIVE_UNKNOWN },
		{ "mscclKernel_Sum_half_Simple_false(x)", GPUMON_COLLECTIVE_UNKNOWN },
		{ "gemm_AllReduce", GPUMON_COLLECTIVE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (gpumon_collective_of_kernel(kernels[i].kernel) != kernels[i].kind)
			fail_msg("%s", kernels[i].kernel);
	}
	assert_int_equal(gpumon_collective_of_range("ncclAlltoAll"), GPUMON_COLLECTIVE_ALL);
	assert_int_equal(gpumon_collective_of_range("ncclBcast"), GPUMON_COLLECTIVE_BROADCAST);
	assert_int_equal(gpumon_collective_of_range("ncclRecv"), GPUMON_COLLECTIVE_SEND);
	assert_int_equal(gpumon_collective_of_range("ncclScatter"), GPUMON_COLLECTIVE_SCATTER);
	assert_int_equal(gpumon_collective_of_range("ncclGroupEnd"), GPUMON_COLLECTIVE_UNKNOWN);
	assert_int_equal(gpumon_collective_of_range("AllReduce"), GPUMON_COLLECTIVE_UNKNOWN);
	assert_int_equal(gpumon_collective_of_range(""), GPUMON_COLLECTIVE_UNKNOWN);
}

static void test_names(void **state)
{
	(void)state;
	assert_true(gpumon_collective_is("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"));
	assert_true(gpumon_collective_is("ncclKernel_AllGather_RING_LL_Sum_int8_t(x)"));
	assert_true(gpumon_collective_is("_Z99ncclDevKernel_broken"));
	assert_true(gpumon_collective_is("mscclKernel_Sum_half_Simple_false(x)"));
	assert_false(gpumon_collective_is("gemm"));
	assert_false(gpumon_collective_is("_Z4gemmv"));
	assert_false(gpumon_collective_is(""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, profile_setup, profile_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_straggler),
		TEST(test_more_work),
		TEST(test_waiting_of_kernels),
		TEST(test_missing_ones),
		TEST(test_one_rank),
		TEST(test_strangers),
		TEST(test_clocks),
		TEST(test_together),
		cmocka_unit_test(test_names),
		TEST(test_broadcasts),
		TEST(test_all_to_all),
		TEST(test_generic),
		TEST(test_two_communicators),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
