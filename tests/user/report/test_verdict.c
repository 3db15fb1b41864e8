// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The verdict of planted captures: each rule fires for what it is for, and for nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile_fixture.h"
#include "report/output.h"
#include "report/verdict.h"

#define US 1000u
#define MS 1000000u

/**
 * struct program - one thread that launches
 * @time_ns: what it has got to
 * @free_ns: when the GPU has done its work
 */
struct program {
	struct capture_maker *maker;
	uint64_t time_ns;
	uint64_t free_ns;
	uint32_t launches;
};

static struct program begin(struct profile_fixture *fixture)
{
	struct program program = { .maker = fixture->maker, .time_ns = 1000 * MS };

	make_thread(program.maker, .tid = 7, .name = make_string(program.maker, "python3"));
	make_device(program.maker, .id = 0, .uuid = { 1 },
		    .name = make_string(program.maker, "H200"));
	return program;
}

static uint32_t stack_of(struct program *program, const char *function)
{
	uint64_t frame =
		PYTHON_FRAME(make_python_frame(program->maker, function, "/src/train.py", 12));
	uint64_t step = PYTHON_FRAME(make_python_frame(program->maker, "step", "/src/train.py", 3));

	return make_stack(program->maker, frame, step);
}

static void launch_for(struct program *program, const char *function, uint32_t call_ns,
		       uint64_t gpu_ns)
{
	uint64_t start_ns = program->time_ns + call_ns + 2 * US;

	if (start_ns < program->free_ns)
		start_ns = program->free_ns;
	make_launch(program->maker, .tid = 7, .correlation = ++program->launches, .context = 1,
		    .start_ns = program->time_ns, .end_ns = program->time_ns + call_ns,
		    .stack = stack_of(program, function),
		    .function = make_string(program->maker, "cuLaunchKernel"));
	make_kernel(program->maker, .correlation = program->launches, .start_ns = start_ns,
		    .end_ns = start_ns + gpu_ns, .context = 1, .stream = 7,
		    .name = make_string(program->maker, "gemm"));
	program->free_ns = start_ns + gpu_ns;
	program->time_ns += call_ns;
}

static void launch(struct program *program, const char *function, uint64_t gpu_ns)
{
	launch_for(program, function, 5 * US, gpu_ns);
}

static void synchronise(struct program *program, const char *function)
{
	uint64_t end_ns = program->free_ns + 3 * US;

	if (end_ns < program->time_ns)
		end_ns = program->time_ns + US;
	make_call(program->maker, .head.flags = GPUMON_CALL_BLOCKING, .tid = 7,
		  .correlation = ++program->launches, .start_ns = program->time_ns,
		  .end_ns = end_ns, .context = 1, .stack = stack_of(program, function),
		  .function = make_string(program->maker, "cudaStreamSynchronize"));
	program->time_ns = end_ns;
}

static void pause_in(struct program *program, const char *function, enum gpumon_wait_kind kind,
		     uint64_t ns)
{
	make_wait(program->maker, .tid = 7, .start_ns = program->time_ns + ns / 2,
		  .end_ns = program->time_ns + ns / 2, .period_ns = ns, .looks = 1, .kind = kind,
		  .stack = stack_of(program, function));
	program->time_ns += ns;
}

static void copy(struct program *program, uint16_t from, uint64_t bytes, uint64_t ns)
{
	make_launch(program->maker, .head.flags = GPUMON_LAUNCH_COPY | GPUMON_LAUNCH_WAITS,
		    .tid = 7, .correlation = ++program->launches, .context = 1,
		    .start_ns = program->time_ns, .end_ns = program->time_ns + ns + 8 * US,
		    .stack = stack_of(program, "to_device"),
		    .function = make_string(program->maker, "cudaMemcpyAsync"));
	make_copy(program->maker, .correlation = program->launches,
		  .start_ns = program->time_ns + 4 * US, .end_ns = program->time_ns + 4 * US + ns,
		  .bytes = bytes, .context = 1, .stream = 7, .from = from,
		  .to = GPUMON_PLACE_DEVICE);
	program->time_ns += ns + 8 * US;
	program->free_ns = program->time_ns;
}

/* The verdict, of which the rules are @rules, separated by blanks. */
static void expect_rules(struct profile_fixture *fixture, struct gpumon_verdict *verdict,
			 const char *rules)
{
	struct gpumon_view view;
	char found[256] = "";

	profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	gpumon_view_of(fixture->profile, &view);
	gpumon_verdict_of(&view, verdict);
	for (unsigned int i = 0; i < verdict->count; i++) {
		strcat(found, i ? " " : "");
		strcat(found, verdict->at[i].rule);
	}
	assert_string_equal(found, rules);
	view.no_verdict = true;
	gpumon_verdict_of(&view, &(struct gpumon_verdict){ 0 });
}

static uint64_t number_of(const struct gpumon_finding *finding, const char *key)
{
	for (unsigned int i = 0; i < finding->number_count; i++) {
		if (!strcmp(finding->numbers[i].key, key))
			return finding->numbers[i].value;
	}
	fail_msg("%s has no %s", finding->rule, key);
	return 0;
}

static void expect_text(const struct gpumon_finding *finding, const char *part)
{
	if (!strstr(finding->text, part))
		fail_msg("\"%s\" does not say \"%s\"", finding->text, part);
}

/* Short kernels, and Python between their launches. */
static void test_launch_bound(void **state)
{
	struct program program = begin(*state);
	struct gpumon_verdict verdict;

	for (unsigned int i = 0; i < 1000; i++) {
		launch(&program, i % 4 ? "attention" : "norm", 3 * US);
		program.time_ns += 25 * US;
	}
	expect_rules(*state, &verdict, "launch_bound");
	expect_text(&verdict.at[0], "The GPU was busy 10 % of 30.0ms: it waits for launches");
	expect_text(&verdict.at[0], "most in attention (train.py:12)");
	expect_text(&verdict.at[0], "torch.compile");
	assert_string_equal(verdict.at[0].place, "attention (train.py:12)");
	assert_int_equal(number_of(&verdict.at[0], "launches"), 1000);
	assert_int_equal(number_of(&verdict.at[0], "busy_ns"), 1000 * 3 * US);
	gpumon_verdict_clear(&verdict);
}

/* Long kernels: launches are as slow, and nobody waits for them. */
static void test_busy(void **state)
{
	struct program program = begin(*state);
	struct gpumon_verdict verdict;

	for (unsigned int i = 0; i < 1000; i++) {
		launch(&program, "attention", 100 * US);
		program.time_ns += 25 * US;
	}
	expect_rules(*state, &verdict, "busy");
	expect_text(&verdict.at[0], "gemm 100 %");
	gpumon_verdict_clear(&verdict);
}

static void make_loader(struct program *program, bool looks, const char *function)
{
	for (unsigned int i = 0; i < 40; i++) {
		if (looks)
			pause_in(program, function, GPUMON_WAIT_READ, 8 * MS);
		else
			program->time_ns += 8 * MS;
		for (unsigned int k = 0; k < 10; k++)
			launch(program, "forward", 200 * US);
		synchronise(program, "forward");
	}
}

/* The thread waits for a file while the GPU is idle. */
static void test_data(void **state)
{
	struct program program = begin(*state);
	struct gpumon_verdict verdict;

	make_loader(&program, true, "load_batch");
	expect_rules(*state, &verdict, "waiting_for_data");
	expect_text(&verdict.at[0],
		    "it waits for data, while python3 waits to read in load_batch (train.py:12)");
	assert_in_range(number_of(&verdict.at[0], "blocked_ns"), 39 * 7 * MS, 40 * 8 * MS);
	gpumon_verdict_clear(&verdict);
}

/* Without looks nothing says that it waits, and for what. */
static void test_pause(void **state)
{
	struct program program = begin(*state);
	struct gpumon_verdict verdict;

	make_loader(&program, false, NULL);
	expect_rules(*state, &verdict, "waiting_for_cpu");
	expect_text(
		&verdict.at[0],
		"it waits for the CPU, while python3 launches nothing in forward (train.py:12)");
	assert_in_range(number_of(&verdict.at[0], "between_calls_ns"), 39 * 7 * MS, 40 * 8 * MS);
	gpumon_verdict_clear(&verdict);
}

/* Looks find the thread in a library, below the same function of Python. */
static void expect_library(struct profile_fixture *fixture, const char *file, const char *text)
{
	struct program program = begin(fixture);
	struct gpumon_verdict verdict;

	make_mapping(program.maker, .start = 0x100000, .end = 0x200000,
		     .path = make_string(program.maker, file));
	for (unsigned int i = 0; i < 40; i++) {
		uint64_t python = PYTHON_FRAME(
			make_python_frame(program.maker, "tokenise", "/src/train.py", 12));

		make_wait(program.maker, .tid = 7, .start_ns = program.time_ns + 4 * MS,
			  .end_ns = program.time_ns + 4 * MS, .period_ns = 8 * MS, .looks = 1,
			  .kind = GPUMON_WAIT_RUNNING,
			  .stack = make_stack(program.maker, 0x100100 + i * 0x100, python));
		program.time_ns += 8 * MS;
		launch(&program, "tokenise", 200 * US);
	}
	expect_rules(fixture, &verdict, "waiting_for_cpu");
	expect_text(&verdict.at[0], text);
	gpumon_verdict_clear(&verdict);
}

static void test_library(void **state)
{
	expect_library(*state, "/usr/lib/libm.so.6",
		       "while python3 runs libm.so.6 in tokenise (train.py:12).");
}

static void test_compiler(void **state)
{
	expect_library(
		*state, "/opt/cuda/libnvrtc.so.13",
		"while python3 compiles GPU code (libnvrtc.so.13) in tokenise (train.py:12). Sizes");
}

static void test_synchronising(void **state)
{
	struct program program = begin(*state);
	struct gpumon_verdict verdict;

	for (unsigned int i = 0; i < 500; i++) {
		program.time_ns += 10 * US;
		launch(&program, "forward", 30 * US);
		synchronise(&program, "log_loss");
	}
	expect_rules(*state, &verdict, "synchronising");
	expect_text(&verdict.at[0], "waits for it 500 times, once for 1.0 launches");
	expect_text(&verdict.at[0], "cudaStreamSynchronize of log_loss (train.py:12)");
	assert_int_equal(number_of(&verdict.at[0], "waits"), 500);
	gpumon_verdict_clear(&verdict);
}

static void make_copies(struct program *program, uint16_t from)
{
	for (unsigned int i = 0; i < 50; i++) {
		copy(program, from, 10 << 20, 2 * MS);
		launch(program, "forward", 500 * US);
		program->time_ns += 100 * US;
	}
}

static void test_pageable(void **state)
{
	struct program program = begin(*state);
	struct gpumon_verdict verdict;

	make_copies(&program, GPUMON_PLACE_PAGEABLE);
	expect_rules(*state, &verdict, "copies");
	expect_text(&verdict.at[0],
		    "500MiB with memory that is not pinned, most in to_device (train.py:12)");
	expect_text(&verdict.at[0], "pin_memory=True");
	assert_int_equal(number_of(&verdict.at[0], "pageable_ns"), 50 * 2 * MS);
	gpumon_verdict_clear(&verdict);
}

static void test_pinned(void **state)
{
	struct program program = begin(*state);
	struct gpumon_verdict verdict;

	make_copies(&program, GPUMON_PLACE_PINNED);
	expect_rules(*state, &verdict, "copies");
	expect_text(&verdict.at[0], "Copy less");
	assert_null(strstr(verdict.at[0].text, "not pinned"));
	assert_int_equal(number_of(&verdict.at[0], "pageable_ns"), 0);
	gpumon_verdict_clear(&verdict);
}

/* Loading of code before and after the first kernel. The rest is judged without it. */
static void test_start_up(void **state)
{
	struct program program = begin(*state);
	struct gpumon_verdict verdict;

	synchronise(&program, "import_all");
	program.time_ns += 400 * MS;
	launch(&program, "forward", 100 * US);
	launch_for(&program, "forward", 100 * MS, 100 * US);
	for (unsigned int i = 0; i < 1000; i++)
		launch(&program, "forward", 100 * US);
	expect_rules(*state, &verdict, "start_up busy");
	expect_text(&verdict.at[0], "400ms until the first operation and 99.9ms in later calls");
	assert_in_range(number_of(&verdict.at[0], "start_up_ns"), 499 * MS, 501 * MS);
	gpumon_verdict_clear(&verdict);
}

/* Two processes that take turns. */
static void test_shared(void **state)
{
	struct profile_fixture *fixture = *state;
	struct gpumon_capture_writer *writer;
	struct gpumon_verdict verdict;

	assert_int_equal(gpumon_capture_create(fixture->path, "both", &writer), 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct profile_fixture other = { .maker = capture_maker_new() };
		struct gpumon_capture_file *file;
		struct program program;
		char name[32];

		make_process(other.maker, .pid = 10 + i, .rank = ~0u, .boot_id = { 1 });
		program = begin(&other);
		for (unsigned int k = 0; k < 200; k++) {
			program.free_ns = 1000 * MS + (2 * k + i) * MS;
			program.time_ns = program.free_ns - 100 * US;
			launch(&program, "forward", MS);
		}
		snprintf(name, sizeof(name), "process-%u-1", 10 + i);
		assert_int_equal(gpumon_capture_add_file(writer, name, &file), 0);
		capture_maker_flush(other.maker, file, 7, 0);
		capture_maker_free(other.maker);
	}
	assert_int_equal(gpumon_capture_close(writer), 0);
	expect_rules(fixture, &verdict, "busy shared_gpu");
	expect_text(&verdict.at[1],
		    "is used by 2 processes and busy 100 % of the time, at most 50 %");
	gpumon_verdict_clear(&verdict);
}

/* A GPU that is busy for two thirds, with a little of everything. */
static void test_none(void **state)
{
	struct program program = begin(*state);
	struct gpumon_verdict verdict;

	for (unsigned int i = 0; i < 30; i++) {
		for (unsigned int k = 0; k < 30; k++)
			launch(&program, "forward", 100 * US);
		synchronise(&program, "forward");
		program.time_ns += 600 * US;
		copy(&program, GPUMON_PLACE_PINNED, 1 << 20, 200 * US);
		pause_in(&program, "write_log", GPUMON_WAIT_WRITE, 400 * US);
	}
	expect_rules(*state, &verdict, "none");
	expect_text(&verdict.at[0], "No rule says why");
	gpumon_verdict_clear(&verdict);
}

/* Nothing ran on a GPU: there is nothing to judge. */
static void test_nothing(void **state)
{
	struct program program = begin(*state);
	struct gpumon_verdict verdict;

	synchronise(&program, "forward");
	expect_rules(*state, &verdict, "");
}

/* It stands above the tables, if it is wanted. */
static void test_output(void **state)
{
	struct program program = begin(*state);
	const struct gpumon_term term = { .columns = 100 };
	struct gpumon_view view;
	char *text = NULL;
	size_t size = 0;

	for (unsigned int i = 0; i < 200; i++)
		launch(&program, "attention", 100 * US);
	profile_load(*state, &(struct gpumon_profile_options){ 0 });
	gpumon_view_of(((struct profile_fixture *)*state)->profile, &view);
	for (unsigned int i = 0; i < 6; i++) {
		static const char *const wanted[] = { "\nVerdict\n  The GPU was busy 100 %",
						      "\"rule\":\"busy\"",
						      "<p data-rule=\"busy\">The GPU was busy" };
		FILE *out = open_memstream(&text, &size);
		const char *verdict;

		view.no_verdict = i >= 3;
		if (i % 3 == 2)
			gpumon_output_report(out, &view);
		else if (i % 3)
			gpumon_output_json(out, &view);
		else
			gpumon_output_summary(out, &term, &view, NULL);
		fclose(out);
		verdict = strstr(text, wanted[i % 3]);
		assert_true(!verdict == (i >= 3));
		if (i == 0)
			assert_true(verdict < strstr(text, "\nWork"));
		free(text);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, profile_setup, profile_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_launch_bound),  TEST(test_busy),     TEST(test_data),
		TEST(test_pause),	  TEST(test_library),  TEST(test_compiler),
		TEST(test_synchronising), TEST(test_pageable), TEST(test_pinned),
		TEST(test_start_up),	  TEST(test_shared),   TEST(test_none),
		TEST(test_nothing),	  TEST(test_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
