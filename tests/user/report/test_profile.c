// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Profiles of small captures with known results: tree, tables, ranges, gaps. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/distribution.h"
#include "report/profile_ranges.h"
#include "profile_fixture.h"

static void test_tree(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t python = make_python_frame(maker, "step", "/src/model.py", 12);
	uint32_t one = make_stack(maker, IN(PROGRAM_FORWARD), END(PROGRAM_TRAIN), IN(PROGRAM_MAIN));
	uint32_t two = make_stack(maker, PROGRAM_LAUNCH, PYTHON_FRAME(python), IN(PROGRAM_MAIN));
	const struct gpumon_node *root;
	uint64_t count = 0;

	make_thread(maker, .tid = 5, .name = make_string(maker, "worker"));
	profile_make_pair(maker, 1, 4, one, "_Z5saxpyPfi");
	profile_make_pair(maker, 2, 5, one, "_Z5saxpyPfi");
	profile_make_pair(maker, 3, 4, two, "gemm");
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	profile_expect_node(root, "main>train>forward>cudaLaunchKernel>saxpy(float*, int)",
			    GPUMON_NODE_KERNEL, 2, 2003, 600);
	/* The uprobe's own address is the call, which appears once. */
	profile_expect_node(root, "main>step>cudaLaunchKernel>gemm", GPUMON_NODE_KERNEL, 1, 1003,
			    300);
	assert_int_equal(profile_node(root, "main>step")->kind, GPUMON_NODE_PYTHON);
	assert_string_equal(profile_node(root, "main>step")->line, "/src/model.py:12");
	assert_string_equal(profile_node(root, "main>step")->module, "model.py");
	assert_int_equal(profile_node(root, "main>step>cudaLaunchKernel")->kind, GPUMON_NODE_API);
	assert_null(profile_node(root, "main>step>cudaLaunchKernel>cudaLaunchKernel"));
	assert_int_equal(profile_total(root, &count), 3006);
	assert_int_equal(count, 3);

	root = profile_load(fixture, &(struct gpumon_profile_options){
					     .threads = true, .devices = true, .streams = true });
	profile_expect_node(
		root,
		"worker 5>main>train>forward>cudaLaunchKernel>[GPU0]>stream 7>saxpy(float*, int)",
		GPUMON_NODE_KERNEL, 1, 1002, 300);
	assert_non_null(profile_node(root, "thread 4>main"));

	root = profile_load(fixture, &(struct gpumon_profile_options){ .cpu_only = true });
	profile_expect_node(root, "main>train>forward>cudaLaunchKernel", GPUMON_NODE_API, 2, 0,
			    600);
	/* Operations have no place there, only idle times. */
	assert_int_equal(profile_node(root, "main>train>forward>cudaLaunchKernel")->child->kind,
			 GPUMON_NODE_STATE);

	root = profile_load(fixture, &(struct gpumon_profile_options){ .gpu_only = true,
								       .processes = true });
	profile_expect_node(root, "train 4711>gemm", GPUMON_NODE_KERNEL, 1, 1003, 300);
	assert_int_equal(profile_node(root, "train 4711")->kind, GPUMON_NODE_PROCESS);
}

/* The node of a function at a line, below @parent. */
static const struct gpumon_node *node_at(const struct gpumon_node *parent, const char *name,
					 const char *line)
{
	const struct gpumon_node *node = parent->child;

	while (node && (strcmp(node->name, name) != 0 || strcmp(node->line, line) != 0))
		node = node->next;
	return node;
}

/* Paths that only differ in the line of a call, of a caller or of the innermost function. */
static void test_lines(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t step9 = make_python_frame(maker, "step", "/src/model.py", 9);
	uint32_t step12 = make_python_frame(maker, "step", "/src/model.py", 12);
	uint32_t train = make_python_frame(maker, "train", "/src/train.py", 3);
	uint32_t train4 = make_python_frame(maker, "train", "/src/train.py", 4);
	uint32_t helper = make_python_frame(maker, "helper", "/src/a.py", 1);
	uint32_t other = make_python_frame(maker, "helper", "/src/b.py", 1);
	uint32_t stacks[] = {
		make_stack(maker, PYTHON_FRAME(step12), PYTHON_FRAME(train)),
		make_stack(maker, PYTHON_FRAME(step9), PYTHON_FRAME(train)),
		make_stack(maker, PYTHON_FRAME(step12), PYTHON_FRAME(train4)),
		make_stack(maker, PYTHON_FRAME(helper), PYTHON_FRAME(train4)),
		make_stack(maker, PYTHON_FRAME(other), PYTHON_FRAME(train4)),
	};
	const struct gpumon_node *root, *node, *step;

	for (uint32_t i = 0; i < 6; i++)
		profile_make_pair(maker, i + 1, 4, stacks[i % 3], "gemm");
	profile_make_pair(maker, 7, 4, stacks[3], "gemm");
	profile_make_pair(maker, 8, 4, stacks[4], "gemm");
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	node = node_at(root, "train", "/src/train.py:3");
	/* By number: 9 comes before 12. */
	step = node_at(node, "step", "/src/model.py:9");
	assert_string_equal(step->next->line, "/src/model.py:12");
	assert_null(step->next->next);
	assert_int_equal(node_at(step->child, "gemm", "")->count, 2);
	assert_int_equal(node_at(step->child, "gemm", "")->gpu_ns, 1002 + 1005);
	assert_int_equal(node_at(step->next->child, "gemm", "")->gpu_ns, 1001 + 1004);
	node = node_at(root, "train", "/src/train.py:4");
	assert_int_equal(
		node_at(node_at(node, "step", "/src/model.py:12")->child, "gemm", "")->gpu_ns,
		1003 + 1006);
	assert_int_equal(node_at(node_at(node, "helper", "/src/b.py:1")->child, "gemm", "")->gpu_ns,
			 1008);

	root = profile_load(fixture, &(struct gpumon_profile_options){ .functions = true });
	profile_expect_node(root, "train>step>cudaLaunchKernel>gemm", GPUMON_NODE_KERNEL, 6, 6021,
			    1800);
	/* The file is what they have in common. */
	assert_string_equal(profile_node(root, "train>step")->line, "/src/model.py");
	assert_null(profile_node(root, "train")->next);
	profile_expect_node(root, "train>helper>cudaLaunchKernel>gemm", GPUMON_NODE_KERNEL, 2, 2015,
			    600);
	assert_string_equal(profile_node(root, "train>helper")->line, "");
}

/*
 * On a real machine the innermost frames belong to the driver that took the stack, and the
 * interpreter's frames are between those of Python. Neither belongs to the program.
 */
static void test_modules(void **state)
{
	static const char *const files[] = { "/usr/bin/python3.12", "/opt/libfast_python.so",
					     "/opt/lib/libcudart.so.13", "/lib/libcuda.so.1" };
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t python = make_python_frame(maker, "step", "/src/model.py", 12);
	uint32_t both, native, inside;
	const struct gpumon_node *root;

	for (unsigned int i = 0; i < 4; i++)
		make_mapping(maker, .start = 0x100000u * (i + 1),
			     .end = 0x100000u * (i + 1) + 0x10000,
			     .path = make_string(maker, files[i]));
	both = make_stack(maker, 0x400101, 0x300101, 0x200101, 0x100201, PYTHON_FRAME(python),
			  0x100101);
	native = make_stack(maker, 0x400101, 0x300101, 0x200101, 0x100101);
	inside = make_stack(maker, 0x200101, 0x400101, 0x100101);
	profile_make_pair(maker, 1, 4, both, "gemm");
	profile_make_pair(maker, 2, 4, native, "gemm");
	profile_make_pair(maker, 3, 4, inside, "gemm");
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	profile_expect_node(root, "step>libfast_python.so+0x100>cudaLaunchKernel>gemm",
			    GPUMON_NODE_KERNEL, 1, 1001, 300);
	/* Without Python functions, the interpreter's functions are shown. */
	profile_expect_node(root, "python3.12+0x100>libfast_python.so+0x100>cudaLaunchKernel>gemm",
			    GPUMON_NODE_KERNEL, 1, 1002, 300);
	/* The driver made a callback, which is not part of the call. */
	profile_expect_node(
		root,
		"python3.12+0x100>libcuda.so.1+0x100>libfast_python.so+0x101>cudaLaunchKernel>gemm",
		GPUMON_NODE_KERNEL, 1, 1003, 300);

	root = profile_load(fixture, &(struct gpumon_profile_options){ .interpreter = true });
	profile_expect_node(
		root,
		"python3.12+0x100>step>python3.12+0x200>libfast_python.so+0x100>cudaLaunchKernel>gemm",
		GPUMON_NODE_KERNEL, 1, 1001, 300);
}

/* A plug-in is closed and another one is opened where it was: one address, two names. */
static void test_one_place_in_turn(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	static const char *const files[] = { "/opt/plugin-a.so", "/opt/plugin-b.so" };
	const struct gpumon_node *root;
	uint32_t stack;

	stack = make_stack(maker, 0x700101, IN(PROGRAM_MAIN));
	for (uint32_t i = 0; i < 6; i++) {
		uint64_t start_ns = 10000 * (i + 1);

		make_mapping(maker, .time_ns = start_ns, .start = 0x700000, .end = 0x701000,
			     .offset = 0x1000 * (i % 2), .path = make_string(maker, files[i % 2]));
		make_unmapping(maker, .time_ns = start_ns + 5000, .start = 0x700000,
			       .end = 0x701000);
		make_launch(maker, .tid = 4, .correlation = i + 1, .stack = stack,
			    .start_ns = start_ns + 1000, .end_ns = start_ns + 1100,
			    .function = make_string(maker, "cudaLaunchKernel_v7000"));
		make_kernel(maker, .correlation = i + 1, .start_ns = start_ns + 1200,
			    .end_ns = start_ns + 1300, .name = make_string(maker, "gemm"));
	}
	/* When neither of them was there: at the very end of the last one, and later. */
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t start_ns = 65000 + 9000 * i;

		make_launch(maker, .tid = 4, .correlation = 7 + i, .stack = stack,
			    .start_ns = start_ns, .end_ns = start_ns + 1,
			    .function = make_string(maker, "cudaLaunchKernel_v7000"));
		make_kernel(maker, .correlation = 7 + i, .start_ns = start_ns + 2,
			    .end_ns = start_ns + 3, .name = make_string(maker, "gemm"));
	}
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	profile_expect_node(root, "main>plugin-a.so+0x101>cudaLaunchKernel>gemm",
			    GPUMON_NODE_KERNEL, 3, 300, 300);
	profile_expect_node(root, "main>plugin-b.so+0x1101>cudaLaunchKernel>gemm",
			    GPUMON_NODE_KERNEL, 3, 300, 300);
	profile_expect_node(root, "main>[unknown]+0x700101>cudaLaunchKernel>gemm",
			    GPUMON_NODE_KERNEL, 2, 2, 2);
}

/* An address of this program, defined by the linker. */
extern const char __executable_start[];

/* Captures of another machine: its files are elsewhere, or missing. */
static void test_symbol_root(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint64_t offset = (uintptr_t)test_symbol_root - (uintptr_t)__executable_start;
	const struct gpumon_node *root;
	char program[512] = "";
	char expected[600];

	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	make_mapping(maker, .start = 0x100000, .end = 0x40000000,
		     .path = make_string(maker, program));
	profile_make_pair(maker, 1, 4, make_stack(maker, 0x100000 + offset), "gemm");
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	profile_expect_node(root, "test_symbol_root>cudaLaunchKernel>gemm", GPUMON_NODE_KERNEL, 1,
			    1001, 300);
	root = profile_load(fixture,
			    &(struct gpumon_profile_options){ .symbol_root = fixture->directory });
	snprintf(expected, sizeof(expected), "%s+0x%" PRIx64 ">cudaLaunchKernel>gemm",
		 strrchr(program, '/') + 1, offset);
	profile_expect_node(root, expected, GPUMON_NODE_KERNEL, 1, 1001, 300);
}

static void test_reasons(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t stack = make_stack(maker, IN(PROGRAM_MAIN));
	uint32_t cut = capture_maker_stack(maker, (const uint64_t[]){ IN(PROGRAM_FORWARD) }, 1,
					   GPUMON_STACK_TRUNCATED);
	uint32_t function = make_string(maker, "cuLaunchKernel");
	const struct gpumon_correlate_counts *counts;
	const struct gpumon_node *root;

	profile_make_pair(maker, 1, 4, 0, "k");
	profile_make_pair(maker, 2, 4, cut, "k");
	profile_make_pair(maker, 3, 4, 12345, "k");
	make_kernel(maker, .correlation = 10, .start_ns = 100, .end_ns = 111,
		    .name = make_string(maker, "k"));
	make_kernel(maker, .head.flags = GPUMON_WORK_INTERNAL, .correlation = 11, .start_ns = 200,
		    .end_ns = 222, .name = make_string(maker, "k"));
	make_launch(maker, .tid = 4, .correlation = 12, .stack = stack, .start_ns = 300,
		    .end_ns = 333, .function = function);
	make_launch(maker, .head.flags = GPUMON_LAUNCH_CAPTURED, .tid = 4, .correlation = 13,
		    .stack = stack, .start_ns = 400, .end_ns = 444, .function = function);
	make_launch(maker, .head.flags = GPUMON_LAUNCH_FAILED, .tid = 4, .correlation = 14,
		    .stack = stack, .start_ns = 500, .end_ns = 555, .function = function,
		    .result = 1);
	/* Neither an end nor a time. */
	make_kernel(maker, .head.flags = GPUMON_WORK_UNFINISHED, .correlation = 15, .start_ns = 600,
		    .name = make_string(maker, "endless"));
	make_kernel(maker, .correlation = 16, .name = make_string(maker, "timeless"));
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	profile_expect_node(root, "[kernel without stack]>cudaLaunchKernel>k", GPUMON_NODE_KERNEL,
			    1, 1001, 300);
	profile_expect_node(root, "[stack cut off]>forward>cudaLaunchKernel>k", GPUMON_NODE_KERNEL,
			    1, 1002, 300);
	assert_int_equal(gpumon_profile_cut_stacks(fixture->profile), 1);
	profile_expect_node(root, "[stack not recorded]>cudaLaunchKernel>k", GPUMON_NODE_KERNEL, 1,
			    1003, 300);
	profile_expect_node(root, "[kernel without launch]>k", GPUMON_NODE_KERNEL, 1, 11, 0);
	profile_expect_node(root, "[launched by CUDA]>k", GPUMON_NODE_KERNEL, 1, 22, 0);
	profile_expect_node(root, "main>cuLaunchKernel>[unmatched launch]", GPUMON_NODE_REASON, 1,
			    0, 33);
	profile_expect_node(root, "main>cuLaunchKernel>[captured into graph]", GPUMON_NODE_REASON,
			    1, 0, 44);
	profile_expect_node(root, "main>cuLaunchKernel>[failed call]", GPUMON_NODE_REASON, 1, 0,
			    55);
	profile_expect_node(root, "[kernel without launch]>endless", GPUMON_NODE_KERNEL, 1, 0, 0);
	profile_expect_node(root, "[kernel without launch]>timeless", GPUMON_NODE_KERNEL, 1, 0, 0);
	assert_int_equal(gpumon_distribution_count(profile_kernel(fixture, "endless")->duration),
			 0);
	counts = gpumon_profile_counts(fixture->profile);
	assert_int_equal(counts->launches, 3);
	assert_int_equal(counts->unmatched_launches[GPUMON_LAUNCH_UNMATCHED], 1);
	assert_int_equal(counts->unmatched_launches[GPUMON_LAUNCH_IN_GRAPH], 1);
	assert_int_equal(counts->unmatched_launches[GPUMON_LAUNCH_REFUSED], 1);
	assert_int_equal(counts->works[GPUMON_WORK_KERNEL][GPUMON_MATCH_NO_LAUNCH], 3);
}

static void test_graph(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t launched = make_stack(maker, IN(PROGRAM_TRAIN), IN(PROGRAM_MAIN));
	uint32_t created = make_stack(maker, IN(PROGRAM_CAPTURE), IN(PROGRAM_MAIN));
	uint32_t name = make_string(maker, "k");
	const struct gpumon_node *root;

	make_graph_node(maker, .node = 100, .stack = created, .graph = 1);
	make_launch(maker, .head.flags = GPUMON_LAUNCH_GRAPH, .tid = 4, .correlation = 1,
		    .stack = launched, .start_ns = 1000, .end_ns = 1100,
		    .function = make_string(maker, "cudaGraphLaunch_v10000"));
	for (unsigned int i = 0; i < 10; i++)
		make_kernel(maker, .correlation = 1, .node = 200, .graph = 2,
			    .start_ns = 2000 + 100 * i, .end_ns = 2050 + 100 * i, .name = name);
	/* An unknown node: use the stack of the graph's launch. */
	make_kernel(maker, .correlation = 1, .node = 300, .graph = 2, .start_ns = 5000,
		    .end_ns = 5007, .name = name);
	/* Definitions may come last. */
	make_graph_node(maker, .node = 200, .original = 100, .graph = 2);
	root = profile_load(fixture, &(struct gpumon_profile_options){ .graphs = true });
	profile_expect_node(root, "main>capture_graph>cudaGraphLaunch>graph 2>k",
			    GPUMON_NODE_KERNEL, 10, 500, 100);
	/* The first one has the duration of the call. */
	profile_expect_node(root, "main>train>cudaGraphLaunch>graph 2>k", GPUMON_NODE_KERNEL, 1, 7,
			    0);
	assert_int_equal(gpumon_distribution_count(gpumon_profile_latency(fixture->profile)), 1);
	assert_int_equal(gpumon_profile_counts(fixture->profile)->launches, 1);
}

static void test_copies(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;

	make_copy(maker, .correlation = 1, .start_ns = 10, .end_ns = 20, .bytes = 4,
		  .from = GPUMON_PLACE_PAGEABLE, .to = GPUMON_PLACE_DEVICE);
	make_copy(maker, .correlation = 2, .start_ns = 30, .end_ns = 45, .bytes = 4,
		  .from = GPUMON_PLACE_PINNED, .to = GPUMON_PLACE_DEVICE);
	make_copy(maker, .correlation = 3, .start_ns = 50, .end_ns = 60,
		  .from = GPUMON_PLACE_DEVICE, .to = GPUMON_PLACE_MANAGED);
	make_set(maker, .correlation = 4, .start_ns = 70, .end_ns = 77);
	profile_load(fixture, &(struct gpumon_profile_options){ .gpu_only = true });
	assert_int_equal(profile_kernel(fixture, "memcpy HtoD")->count, 2);
	assert_int_equal(profile_kernel(fixture, "memcpy HtoD")->gpu_ns, 25);
	assert_int_equal(profile_kernel(fixture, "memcpy HtoD")->kind, GPUMON_WORK_COPY);
	assert_int_equal(profile_kernel(fixture, "memcpy DtoM")->gpu_ns, 10);
	assert_int_equal(profile_kernel(fixture, "memset")->kind, GPUMON_WORK_SET);
}

static void test_latency(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	const struct gpumon_distribution *latency;

	for (uint32_t i = 1; i <= 100; i++)
		profile_make_pair(maker, i, 4, 0, "k");
	/* It began before its launch: counted, and without latency. */
	make_launch(maker, .tid = 4, .correlation = 500, .start_ns = 3000000, .end_ns = 3000100);
	make_kernel(maker, .correlation = 500, .start_ns = 2999900, .end_ns = 3000200,
		    .name = make_string(maker, "k"));
	profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	latency = gpumon_profile_latency(fixture->profile);
	assert_int_equal(gpumon_distribution_count(latency), 100);
	assert_int_equal(gpumon_distribution_sum(latency), 50000);
	assert_int_equal(gpumon_distribution_quantile(latency, 0.99), 500);
	assert_int_equal(gpumon_profile_counts(fixture->profile)->work_before_launch, 1);
	assert_int_equal(gpumon_distribution_count(profile_kernel(fixture, "k")->latency), 100);
	assert_int_equal(gpumon_distribution_min(profile_kernel(fixture, "k")->duration), 300);
	assert_int_equal(gpumon_distribution_max(profile_kernel(fixture, "k")->duration), 1100);
}

static void test_ranges(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t step = make_string(maker, "step"), inner = make_string(maker, "inner");
	uint32_t io = make_string(maker, "io");
	const struct gpumon_range_row *rows;
	unsigned int count;

	/* Launches at 1010000, 1020000, ... on thread 4, 1030000 on thread 5. */
	make_range(maker, .time_ns = 1005000, .tid = 4, .text = step, .kind = GPUMON_RANGE_PUSH);
	make_range(maker, .time_ns = 1015000, .tid = 4, .text = inner, .kind = GPUMON_RANGE_PUSH);
	make_range(maker, .time_ns = 1016000, .tid = 4, .text = step, .kind = GPUMON_RANGE_PUSH);
	make_range(maker, .time_ns = 1025000, .tid = 4, .kind = GPUMON_RANGE_POP);
	make_range(maker, .time_ns = 1026000, .tid = 4, .kind = GPUMON_RANGE_POP);
	make_range(maker, .time_ns = 1045000, .tid = 4, .kind = GPUMON_RANGE_POP);
	make_range(maker, .time_ns = 1045001, .tid = 4, .kind = GPUMON_RANGE_POP);
	make_range(maker, .time_ns = 1046000, .tid = 4, .text = io, .id = 9,
		   .kind = GPUMON_RANGE_START);
	make_range(maker, .time_ns = 1056000, .tid = 5, .text = 0, .id = 9,
		   .kind = GPUMON_RANGE_END);
	make_range(maker, .time_ns = 1057000, .tid = 5, .text = io, .kind = GPUMON_RANGE_MARK);
	profile_make_pair(maker, 1, 4, 0, "k");
	profile_make_pair(maker, 2, 4, 0, "k");
	profile_make_pair(maker, 3, 5, 0, "k");
	profile_make_pair(maker, 4, 4, 0, "k");
	profile_make_pair(maker, 5, 4, 0, "k");
	profile_make_pair(maker, 6, 4, 0, "k");
	profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	rows = gpumon_profile_ranges(fixture->profile, &count);
	assert_int_equal(count, 3);
	/* An occurrence twice on the path counts once. */
	assert_string_equal(rows[0].text, "step");
	assert_int_equal(rows[0].count, 2);
	assert_int_equal(rows[0].works, 3);
	assert_int_equal(rows[0].gpu_ns, 1001 + 1002 + 1004);
	assert_int_equal(rows[0].cpu_ns, 40000 + 9000);
	assert_string_equal(rows[1].text, "io");
	assert_int_equal(rows[1].works, 1);
	assert_int_equal(rows[1].gpu_ns, 1005);
	assert_int_equal(rows[1].cpu_ns, 10000);
	assert_string_equal(rows[2].text, "inner");
	assert_int_equal(rows[2].gpu_ns, 1002);
	assert_string_equal(rows[2].domain, "");
}

/*
 * Three operations with a range of torch around the first one, and @deep of NCCL around the first two, of
 * which @popped many end 20 us after they began. Before that, a pop of @other.
 */
static void expect_domains(struct profile_fixture *fixture, unsigned int deep, const char *other,
			   unsigned int popped)
{
	struct capture_maker *maker = fixture->maker;
	uint32_t nccl = make_string(maker, "NCCL"), torch = make_string(maker, "torch");
	uint32_t text = make_string(maker, "all reduce");
	const struct gpumon_range_row *rows;
	unsigned int count;

	make_range(maker, .time_ns = 1001000, .tid = 4, .domain = torch, .text = text,
		   .kind = GPUMON_RANGE_PUSH);
	for (unsigned int i = 0; i < deep; i++)
		make_range(maker, .time_ns = 1005000, .tid = 4, .domain = nccl, .text = text,
			   .kind = GPUMON_RANGE_PUSH);
	make_range(maker, .time_ns = 1015000, .tid = 4, .domain = torch, .kind = GPUMON_RANGE_POP);
	make_range(maker, .time_ns = 1016000, .tid = 4, .domain = make_string(maker, other),
		   .kind = GPUMON_RANGE_POP);
	for (unsigned int i = 0; i < popped; i++)
		make_range(maker, .time_ns = 1025000, .tid = 4, .domain = nccl,
			   .kind = GPUMON_RANGE_POP);
	for (uint32_t id = 1; id <= 3; id++)
		profile_make_pair(maker, id, 4, 0, "k");
	profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	rows = gpumon_profile_ranges(fixture->profile, &count);
	assert_int_equal(count, 2);
	assert_string_equal(rows[0].domain, "NCCL");
	assert_int_equal(rows[0].count, deep);
	assert_int_equal(rows[0].gpu_ns, 1001 + 1002);
	assert_int_equal(rows[0].cpu_ns, 20000 * popped);
	assert_string_equal(rows[1].domain, "torch");
	assert_int_equal(rows[1].gpu_ns, 1001);
	assert_int_equal(rows[1].cpu_ns, 14000);
}

/* Each domain has its own stack of ranges. */
static void test_range_domains(void **state)
{
	expect_domains(*state, 1, NULL, 1);
}

/* A push beyond the limit is popped by its own domain. */
static void test_too_deep(void **state)
{
	expect_domains(*state, GPUMON_RANGES_OPEN, "NCCL", GPUMON_RANGES_OPEN - 1);
}

static void test_devices_and_gaps(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t name = make_string(maker, "k");
	const struct gpumon_device_row *rows;
	const struct gpumon_gap *gaps;
	uint64_t idle_ns = 0;
	unsigned int count;

	make_device(maker, .id = 0, .name = make_string(maker, "H100"),
		    .uuid = { 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0 });
	make_context(maker, .id = 1, .device = 0);
	make_launch(maker, .tid = 4, .correlation = 1, .start_ns = 900, .end_ns = 950);
	/* 1000-2000 on two streams, overlapping; 5000-6000; 20000-20500. */
	make_kernel(maker, .correlation = 1, .start_ns = 1000, .end_ns = 1700, .stream = 7,
		    .context = 1, .name = name);
	make_kernel(maker, .start_ns = 20000, .end_ns = 20500, .stream = 7, .context = 1,
		    .name = name);
	make_kernel(maker, .start_ns = 1500, .end_ns = 2000, .stream = 8, .context = 1,
		    .name = name);
	make_kernel(maker, .start_ns = 5000, .end_ns = 6000, .stream = 8, .context = 1,
		    .name = name);
	/* Thread 9 launches nothing on the device. */
	make_call(maker, .tid = 9, .start_ns = 5000, .end_ns = 30000,
		  .function = make_string(maker, "cudaEventSynchronize_v3020"));
	make_call(maker, .tid = 4, .start_ns = 6500, .end_ns = 19000,
		  .function = make_string(maker, "cudaStreamSynchronize_v3020"));
	make_range(maker, .time_ns = 1800, .tid = 4, .text = make_string(maker, "epoch"),
		   .kind = GPUMON_RANGE_PUSH);
	make_range(maker, .time_ns = 1900, .tid = 4, .text = make_string(maker, "load data"),
		   .kind = GPUMON_RANGE_PUSH);
	make_range(maker, .time_ns = 5000, .tid = 4, .kind = GPUMON_RANGE_POP);
	make_range(maker, .time_ns = 25000, .tid = 4, .kind = GPUMON_RANGE_POP);
	profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	rows = gpumon_profile_devices(fixture->profile, &count);
	assert_int_equal(count, 3);
	assert_int_equal(rows[0].stream, ~0u);
	assert_int_equal(rows[0].busy_ns, 1000 + 1000 + 500);
	assert_int_equal(rows[0].gpu_ns, 700 + 500 + 1000 + 500);
	assert_int_equal(rows[0].idle_longest_ns, 14000);
	assert_int_equal(rows[0].first_ns, 1000);
	assert_int_equal(rows[0].last_ns, 20500);
	assert_string_equal(rows[0].name, "H100");
	assert_string_equal(rows[0].host, "here");
	assert_string_equal(rows[0].uuid, "12345678-9abc-def0-0000-000000000000");
	assert_int_equal(rows[1].stream, 7);
	assert_int_equal(rows[1].busy_ns, 1200);
	assert_int_equal(rows[2].stream, 8);
	/* The time after its last kernel, until the end of the capture, is idle, too. */
	assert_int_equal(rows[2].idle_longest_ns, 30000 - 6000);
	gaps = gpumon_profile_gaps(fixture->profile, &count);
	/*
	 * The time before the first and after the last kernel is idle, too: busy and idle add up.
	 */
	assert_int_equal(count, 4);
	for (unsigned int i = 0; i < count; i++)
		idle_ns += gaps[i].end_ns - gaps[i].start_ns;
	assert_int_equal(idle_ns + rows[0].busy_ns, 30000 - 900);
	assert_int_equal(gaps[0].start_ns, 6000);
	assert_int_equal(gaps[0].end_ns, 20000);
	assert_string_equal(gaps[0].doing, "cudaStreamSynchronize");
	assert_int_equal(gaps[1].start_ns, 20500);
	assert_int_equal(gaps[1].end_ns, 30000);
	assert_int_equal(gaps[2].end_ns - gaps[2].start_ns, 3000);
	assert_string_equal(gaps[2].doing, "load data");
	assert_int_equal(gaps[3].start_ns, 900);
	assert_int_equal(gaps[3].end_ns, 1000);
}

/* Since it began the device may have run it: that time is neither busy nor idle. */
static void test_what_has_not_ended(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t name = make_string(maker, "k");
	const struct gpumon_device_row *rows;
	const struct gpumon_gap *gaps;
	unsigned int count;

	make_kernel(maker, .start_ns = 1000, .end_ns = 2000, .stream = 7, .context = 1,
		    .name = name);
	make_kernel(maker, .head.flags = GPUMON_WORK_UNFINISHED, .start_ns = 3000, .stream = 7,
		    .context = 1, .name = name);
	make_kernel(maker, .start_ns = 5000, .end_ns = 6000, .stream = 8, .context = 1,
		    .name = name);
	make_call(maker, .tid = 4, .start_ns = 6500, .end_ns = 30000,
		  .function = make_string(maker, "cudaStreamSynchronize_v3020"));
	profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	rows = gpumon_profile_devices(fixture->profile, &count);
	assert_int_equal(count, 3);
	assert_int_equal(rows[0].count, 3);
	assert_int_equal(rows[0].busy_ns, 2000);
	assert_int_equal(rows[0].idle_longest_ns, 1000);
	assert_int_equal(rows[1].stream, 7);
	assert_int_equal(rows[1].idle_longest_ns, 1000);
	/* Nothing of this stream ran on. */
	assert_int_equal(rows[2].idle_longest_ns, 30000 - 6000);
	gaps = gpumon_profile_gaps(fixture->profile, &count);
	assert_int_equal(count, 1);
	assert_int_equal(gaps[0].start_ns, 2000);
	assert_int_equal(gaps[0].end_ns, 3000);
}

/* What did not end with a window may have ended before the next one. */
static void test_what_has_not_ended_in_a_window(void **state)
{
	static const uint64_t kernels[][2] = { { 1000, 2000 }, { 11000, 12000 }, { 15000, 16000 } };
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t name = make_string(maker, "k");
	const struct gpumon_device_row *rows;
	const struct gpumon_gap *gaps;
	unsigned int count;

	for (unsigned int i = 0; i < 3; i++)
		make_kernel(maker, .start_ns = kernels[i][0], .end_ns = kernels[i][1], .stream = 7,
			    .context = 1, .name = name);
	make_kernel(maker, .head.flags = GPUMON_WORK_UNFINISHED, .start_ns = 3000, .stream = 7,
		    .context = 1, .name = name);
	make_window(maker, .time_ns = 900);
	make_window(maker, .time_ns = 5000, .head.flags = GPUMON_WINDOW_END);
	make_window(maker, .time_ns = 10000);
	make_window(maker, .time_ns = 16000, .head.flags = GPUMON_WINDOW_END);
	profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	rows = gpumon_profile_devices(fixture->profile, &count);
	assert_int_equal(rows[0].idle_longest_ns, 3000);
	gaps = gpumon_profile_gaps(fixture->profile, &count);
	assert_int_equal(count, 2);
	assert_int_equal(gaps[0].start_ns, 12000);
	assert_int_equal(gaps[0].end_ns, 15000);
	assert_int_equal(gaps[1].start_ns, 2000);
	assert_int_equal(gaps[1].end_ns, 3000);
}

/* Without an injection library there are only hits. */
static void test_hits_alone(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t stack = make_stack(maker, PROGRAM_LAUNCH, IN(PROGRAM_TRAIN), IN(PROGRAM_MAIN));
	const struct gpumon_node *root;

	for (uint32_t i = 1; i <= 5; i++)
		make_hit(maker, .time_ns = 1000 * i, .number = i, .tid = 4, .stack = stack,
			 .function = make_string(maker, "cudaLaunchKernel"));
	make_hit(maker, .time_ns = 9000, .number = 6, .tid = 4,
		 .stack = make_stack(maker, IN(PROGRAM_MAIN)), .duration_ns = 77,
		 .function = make_string(maker, "cudaDeviceSynchronize"));
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	profile_expect_node(root, "main>train>cudaLaunchKernel", GPUMON_NODE_API, 5, 0, 0);
	profile_expect_node(root, "main>cudaDeviceSynchronize", GPUMON_NODE_API, 1, 0, 77);
	assert_int_equal(gpumon_profile_hits(fixture->profile), 6);
}

/* No recorder writes both of one process. Then the launches count, which have work. */
static void test_hits_beside_launches(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t stack = make_stack(maker, PROGRAM_LAUNCH, IN(PROGRAM_TRAIN), IN(PROGRAM_MAIN));
	uint32_t function = make_string(maker, "cudaLaunchKernel");
	const struct gpumon_node *root;

	make_hit(maker, .time_ns = 900, .number = 1, .tid = 4, .stack = stack,
		 .function = function);
	make_launch(maker, .start_ns = 1000, .end_ns = 1010, .tid = 4, .stack = stack,
		    .function = function);
	root = profile_load(fixture, &(struct gpumon_profile_options){ .cpu_only = true });
	profile_expect_node(root, "main>train>cudaLaunchKernel", GPUMON_NODE_API, 1, 0, 10);
}

static void test_no_capture(void **state)
{
	struct profile_fixture *fixture = *state;
	const char *const paths[] = { fixture->directory };
	struct gpumon_profile *profile = NULL;

	assert_int_equal(
		gpumon_profile_load(paths, 1, &(struct gpumon_profile_options){ 0 }, &profile), -1);
	assert_null(profile);
	assert_non_null(strstr(gpumon_capture_error()->message, "not a capture"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, profile_setup, profile_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_tree),
		TEST(test_lines),
		TEST(test_modules),
		TEST(test_one_place_in_turn),
		TEST(test_symbol_root),
		TEST(test_reasons),
		TEST(test_graph),
		TEST(test_copies),
		TEST(test_latency),
		TEST(test_ranges),
		TEST(test_range_domains),
		TEST(test_devices_and_gaps),
		TEST(test_what_has_not_ended),
		TEST(test_what_has_not_ended_in_a_window),
		TEST(test_hits_alone),
		TEST(test_hits_beside_launches),
		TEST(test_no_capture),
		TEST(test_too_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
