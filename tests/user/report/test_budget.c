// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Wall time of threads and idle times of GPUs, by call path. tests/capture has random sequences. */
#include <stdio.h>
#include <string.h>

#include "profile_fixture.h"
#include "report/view.h"

#define TID 4

static uint32_t path_of(struct capture_maker *maker, const char *function)
{
	return make_stack(maker, PYTHON_FRAME(make_python_frame(maker, function, "/t.py", 1)),
			  PYTHON_FRAME(make_python_frame(maker, "step", "/t.py", 5)));
}

static void launch(struct capture_maker *maker, uint32_t number, uint64_t start_ns, uint64_t end_ns,
		   uint32_t stack)
{
	make_launch(maker, .head.flags = stack ? 0 : GPUMON_LAUNCH_UNSAMPLED, .tid = TID,
		    .correlation = number, .stack = stack, .start_ns = start_ns, .end_ns = end_ns,
		    .function = make_string(maker, "cudaLaunchKernel_v7000"));
}

/* Wall time of the whole tree, which is that of all threads. */
static uint64_t expect_sums(const struct profile_fixture *fixture)
{
	const struct gpumon_node *root = gpumon_profile_root(fixture->profile);
	const struct gpumon_budget_row *rows;
	uint64_t of_nodes = 0, of_threads = 0;
	unsigned int count;

	rows = gpumon_profile_budget(fixture->profile, &count);
	for (unsigned int i = 0; i < count; i++) {
		uint64_t spent_ns = 0;

		for (unsigned int spent = 0; spent < GPUMON_SPENTS; spent++)
			spent_ns += rows[i].spent_ns[spent];
		assert_int_equal(spent_ns, rows[i].wall_ns);
		of_threads += rows[i].wall_ns;
	}
	for (const struct gpumon_node *node = root; node; node = gpumon_tree_next(node, root))
		of_nodes += gpumon_tree_weight(node, GPUMON_WEIGHT_WALL_NS);
	assert_int_equal(of_nodes, of_threads);
	return of_nodes;
}

static uint64_t wall_of(const struct gpumon_node *root, const char *path)
{
	const struct gpumon_node *node = profile_node(root, path);

	if (!node)
		fail_msg("no %s", path);
	return gpumon_tree_weight(node, GPUMON_WEIGHT_WALL_NS);
}

/* Times next to calls whose stack was left out are given to the others in proportion. */
static void test_unsampled(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t a = path_of(maker, "a"), b = path_of(maker, "b");
	const struct gpumon_budget_row *rows;
	const struct gpumon_node *root;
	unsigned int count;

	/* 100 within a, 300 from a to b, 1000 next to one of which no stack was taken. */
	launch(maker, 1, 1000, 1010, a);
	launch(maker, 2, 1110, 1120, a);
	launch(maker, 3, 1420, 1430, b);
	launch(maker, 4, 2030, 2040, 0);
	launch(maker, 5, 2440, 2450, b);
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	assert_int_equal(expect_sums(fixture), 1450);
	assert_int_equal(wall_of(root, "step>a>[between calls]"), 100 + 250);
	assert_int_equal(wall_of(root, "step>[between calls]"), 300 + 750);
	assert_int_equal(wall_of(root, "[between calls]"), 0);
	assert_true(gpumon_tree_is_estimate(profile_node(root, "step>[between calls]")));
	assert_int_equal(wall_of(root, "[stack not sampled]>cudaLaunchKernel"), 10);
	rows = gpumon_profile_budget(fixture->profile, &count);
	assert_int_equal(count, 1);
	assert_int_equal(rows[0].unsampled_ns, 1000);
	assert_int_equal(rows[0].spent_ns[GPUMON_SPENT_BETWEEN], 1400);
}

/* Overheads of a thread, one within another, and those of other threads. */
static void test_overheads(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	const struct gpumon_node *root;

	launch(maker, 1, 1000, 2000, path_of(maker, "a"));
#define OVERHEAD(from, until, of, thread)                                            \
	make_overhead(maker, .start_ns = (from), .end_ns = (until), .tid = (thread), \
		      .kind = GPUMON_OVERHEAD_##of)
	OVERHEAD(1100, 1500, MODULE_LOADING, TID);
	OVERHEAD(1200, 1300, COMPILER, TID);
	OVERHEAD(1150, 1900, FUNCTION_LOADING, TID + 1);
	OVERHEAD(1450, 1600, QUEUE_FULL, 0);
#undef OVERHEAD
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	assert_int_equal(expect_sums(fixture), 1000);
	root = profile_node(root, "step>a>cudaLaunchKernel");
	assert_int_equal(wall_of(root, "[module loading]"), 300);
	assert_int_equal(wall_of(root, "[compilation by the driver]"), 100);
	assert_int_equal(wall_of(root, "[command buffer full]"), 100);
	assert_null(profile_node(root, "[function loading]"));
	assert_int_equal(root->wall_ns, 500);
}

/* Two APIs count their calls by themselves; and what never ended was launched, too. */
static void test_origins(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t opencl = GPUMON_API_OPENCL << GPUMON_API_SHIFT | 1;
	const struct gpumon_idle_row *idle;
	const struct gpumon_node *root;
	unsigned int count;

	launch(maker, 1, 1000, 1010, path_of(maker, "a"));
	make_launch(maker, .tid = TID, .correlation = 1, .stack = path_of(maker, "b"),
		    .start_ns = 1500, .end_ns = 1510, .context = opencl,
		    .function = make_string(maker, "clEnqueueNDRangeKernel"));
	launch(maker, 2, 1700, 1800, path_of(maker, "c"));
	make_kernel(maker, .correlation = 1, .start_ns = 1020, .end_ns = 1100, .context = 1);
	make_kernel(maker, .correlation = 1, .start_ns = 1600, .end_ns = 1650, .context = opencl);
	make_kernel(maker, .head.flags = GPUMON_WORK_UNFINISHED, .correlation = 2, .start_ns = 1900,
		    .context = 1);
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	assert_int_equal(profile_node(root, "step>b>clEnqueueNDRangeKernel>[queued]")->idle_ns, 90);
	assert_int_equal(profile_node(root, "step>[between calls]")->idle_ns, 400 + 50);
	assert_int_equal(profile_node(root, "step>c>cudaLaunchKernel")->idle_ns, 100);
	assert_int_equal(profile_node(root, "step>c>cudaLaunchKernel>[queued]")->idle_ns, 100);
	idle = gpumon_profile_idle(fixture->profile, &count);
	assert_int_equal(count, 1);
	assert_int_equal(idle[0].before_ns, 20);
	assert_int_equal(idle[0].between_ns, 500 + 250);
	assert_int_equal(idle[0].queued_ns, 190);
	assert_int_equal(idle[0].unknown_ns, 0);
}

/* Nothing is known of pauses of the recording. Calls go on while only operations are not recorded. */
static void test_pauses(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	const struct gpumon_budget_row *rows;
	unsigned int count;

#define WINDOW(at, changes) make_window(maker, .head.flags = (changes), .time_ns = (at))
	WINDOW(900, 0);
	WINDOW(1050, GPUMON_WINDOW_END | GPUMON_WINDOW_OPERATIONS);
	WINDOW(1300, GPUMON_WINDOW_END);
	WINDOW(1700, 0);
#undef WINDOW
	launch(maker, 1, 1000, 1010, path_of(maker, "a"));
	launch(maker, 2, 1200, 1210, path_of(maker, "a"));
	launch(maker, 3, 2000, 2010, path_of(maker, "a"));
	profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	assert_int_equal(expect_sums(fixture), 1010);
	rows = gpumon_profile_budget(fixture->profile, &count);
	assert_int_equal(rows[0].spent_ns[GPUMON_SPENT_UNRECORDED], 400);
	assert_int_equal(rows[0].spent_ns[GPUMON_SPENT_BETWEEN], 190 + 90 + 300);
	assert_int_equal(rows[0].gap_longest_ns, 390);
}

/* Of a part of the time, only what is in it counts. */
static void test_part(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	const struct gpumon_budget_row *rows;
	const struct gpumon_idle_row *idle;
	unsigned int count;

	launch(maker, 1, 1000, 1010, path_of(maker, "a"));
	launch(maker, 2, 1200, 1210, path_of(maker, "a"));
	make_kernel(maker, .correlation = 2, .start_ns = 1300, .end_ns = 1310, .context = 1);
	launch(maker, 3, 2000, 2010, path_of(maker, "a"));
	profile_load(fixture,
		     &(struct gpumon_profile_options){ .from_ns = 1100, .until_ns = 1400 });
	assert_int_equal(expect_sums(fixture), 300);
	rows = gpumon_profile_budget(fixture->profile, &count);
	assert_int_equal(rows[0].launches, 1);
	assert_int_equal(rows[0].gaps, 2);
	assert_int_equal(rows[0].gap_longest_ns, 190);
	idle = gpumon_profile_idle(fixture->profile, &count);
	assert_int_equal(idle[0].before_ns, 200);
	assert_int_equal(idle[0].after_ns, 90);
	assert_int_equal(idle[0].between_ns, 0);
}

/* A look at the thread, which stands for 100 ns. */
static void look_running(struct capture_maker *maker, uint64_t time_ns, uint32_t stack)
{
	make_wait(maker, .tid = TID, .kind = GPUMON_WAIT_RUNNING, .looks = 1, .period_ns = 100,
		  .start_ns = time_ns, .end_ns = time_ns, .stack = stack);
}

/* The stack of a running thread that is cut goes on in what the calls around it have in common. */
static void test_running(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint64_t a = PYTHON_FRAME(make_python_frame(maker, "a", "/t.py", 1));
	uint64_t sum = PYTHON_FRAME(make_python_frame(maker, "sum", "/t.c", 8));
	uint64_t add = PYTHON_FRAME(make_python_frame(maker, "add", "/t.c", 9));
	const uint64_t inner[] = { add, sum }, joined[] = { add, sum, a };
	const struct gpumon_node *root;

	launch(maker, 1, 1000, 1010, path_of(maker, "a"));
	look_running(maker, 1100, capture_maker_stack(maker, inner, 2, GPUMON_STACK_TRUNCATED));
	look_running(maker, 1200, capture_maker_stack(maker, joined, 3, GPUMON_STACK_TRUNCATED));
	look_running(maker, 1300, path_of(maker, "other"));
	look_running(maker, 1400, 0);
	launch(maker, 2, 2000, 2010, path_of(maker, "a"));
	/* There, nothing is known. */
	launch(maker, 3, 2100, 2110, 0);
	look_running(maker, 2300, capture_maker_stack(maker, inner, 2, GPUMON_STACK_TRUNCATED));
	launch(maker, 4, 3000, 3010, path_of(maker, "a"));
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	assert_int_equal(expect_sums(fixture), 2010);
	assert_int_equal(wall_of(root, "step>a>sum>add>[running]"), 200);
	assert_int_equal(wall_of(root, "step>other>[running]"), 100);
	assert_int_equal(wall_of(root, "step>a>[running]"), 100);
	assert_int_equal(wall_of(root, "[stack cut off]>sum>add>[running]"), 100);
}

/* Of a GPU that two processes use, one with more calls than are kept. */
#define LAUNCHES (GPUMON_BUDGET_CALLS_MAX + 5000)
#define STEP_NS	 100

static void make_long(struct profile_fixture *fixture)
{
	struct gpumon_capture_writer *writer;

	assert_int_equal(gpumon_capture_create(fixture->path, "long", &writer), 0);
	for (uint32_t pid = 100; pid < 102; pid++) {
		struct capture_maker *maker = capture_maker_new();
		uint32_t count = pid == 100 ? LAUNCHES : 1, stack;
		struct gpumon_capture_file *file;
		char name[32];

		make_process(maker, .pid = pid, .rank = ~0u, .boot_id = { 1 });
		make_device(maker, .id = 0, .uuid = { 7 }, .name = make_string(maker, "H100"));
		snprintf(name, sizeof(name), "process-%u-1", pid);
		assert_int_equal(gpumon_capture_add_file(writer, name, &file), 0);
		stack = path_of(maker, "a");
		for (uint32_t i = 1; i <= count; i++) {
			launch(maker, i, i * STEP_NS, i * STEP_NS + 10, stack);
			make_kernel(maker, .correlation = i, .start_ns = i * STEP_NS + 20,
				    .end_ns = i * STEP_NS + 50, .context = 1, .stream = 7,
				    .name = make_string(maker, "k"));
		}
		capture_maker_flush(maker, file, TID, 4096);
		capture_maker_free(maker);
	}
	assert_int_equal(gpumon_capture_close(writer), 0);
}

static void test_forgotten(void **state)
{
	struct profile_fixture *fixture = *state;
	const struct gpumon_idle_row *idle;
	const struct gpumon_node *root;
	struct gpumon_missing missing;
	struct gpumon_view view;
	unsigned int count;
	char line[512];

	make_long(fixture);
	root = profile_load(fixture, &(struct gpumon_profile_options){ 0 });
	idle = gpumon_profile_idle(fixture->profile, &count);
	assert_int_equal(count, 1);
	assert_int_equal(idle[0].gaps, LAUNCHES - 1);
	/* The first one has nothing in front of it; of the first that is kept only the call is known. */
	assert_int_equal(idle[0].forgotten, LAUNCHES - GPUMON_BUDGET_CALLS_MAX);
	assert_int_equal(idle[0].unknown_ns,
			 (idle[0].forgotten - 1) * (STEP_NS - 30) + STEP_NS - 50);
	assert_int_equal(gpumon_tree_sum(root, GPUMON_WEIGHT_IDLE_NS),
			 idle[0].before_ns + idle[0].between_ns + idle[0].after_ns);
	gpumon_view_of(fixture->profile, &view);
	gpumon_missing_of(&view, &missing);
	assert_string_equal(gpumon_missing_line(line, sizeof(line), &missing),
			    "the launches behind 5,000 idle times");
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, profile_setup, profile_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_unsampled), TEST(test_overheads), TEST(test_origins),	  TEST(test_pauses),
		TEST(test_part),      TEST(test_running),   TEST(test_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
