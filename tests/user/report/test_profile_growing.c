// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The profile of a capture that is still being written, and grows between the passes. */
#include "profile_fixture.h"

/* Called once, before a capture that is being written is read for the second time. */
static void (*before_rewind)(void);
static struct gpumon_capture_writer *growing;
static struct gpumon_capture_file *growing_file;
static struct capture_maker *growing_maker;

void __real_gpumon_capture_rewind(struct gpumon_capture *capture);
void __wrap_gpumon_capture_rewind(struct gpumon_capture *capture);

void __wrap_gpumon_capture_rewind(struct gpumon_capture *capture)
{
	void (*call)(void) = before_rewind;

	before_rewind = NULL;
	if (call)
		call();
	__real_gpumon_capture_rewind(capture);
}

/* The program goes on, and another begins whose file comes first by name. */
static void grow_capture(void)
{
	struct capture_maker *maker = capture_maker_new();
	struct gpumon_capture_file *file;

	make_range(growing_maker, .tid = 4, .kind = GPUMON_RANGE_PUSH, .time_ns = 1600000,
		   .text = make_string(growing_maker, "later"));
	profile_make_pair(growing_maker, 9, 4, 0, "later");
	capture_maker_flush(growing_maker, growing_file, 4, 1);
	assert_int_equal(gpumon_capture_add_file(growing, "process-12-2", &file), 0);
	make_process(maker, .pid = 12, .rank = ~0u);
	make_range(maker, .tid = 4, .kind = GPUMON_RANGE_PUSH, .time_ns = 1,
		   .text = make_string(maker, "other"));
	make_call(maker, .tid = 4, .start_ns = 1, .end_ns = 2000000,
		  .function = make_string(maker, "cudaFree_v3020"));
	make_sync(maker, .kind = GPUMON_SYNC_CONTEXT, .start_ns = 1, .end_ns = 2000000);
	profile_make_pair(maker, 1, 4, 0, "other");
	capture_maker_flush(maker, file, 4, 1);
	capture_maker_free(maker);
}

/* It is read up to its state at the start, in all passes. */
static void test_growing(void **state)
{
	struct profile_fixture *fixture = *state;
	const char *const paths[] = { fixture->path };
	const struct gpumon_range_row *ranges;
	const struct gpumon_gap *gaps;
	unsigned int count;

	growing_maker = fixture->maker;
	make_range(growing_maker, .tid = 4, .kind = GPUMON_RANGE_PUSH, .time_ns = 1000000,
		   .text = make_string(growing_maker, "step"));
	profile_make_pair(growing_maker, 1, 4, 0, "k");
	profile_make_pair(growing_maker, 3, 4, 0, "k");
	make_range(growing_maker, .tid = 4, .kind = GPUMON_RANGE_POP, .time_ns = 1500000);
	assert_int_equal(gpumon_capture_create(fixture->path, "train", &growing), 0);
	assert_int_equal(gpumon_capture_add_file(growing, "process-4711-1", &growing_file), 0);
	/* With a record in each chunk, processes take turns after each. */
	capture_maker_flush(growing_maker, growing_file, 4, 1);
	before_rewind = grow_capture;
	assert_int_equal(gpumon_profile_load(paths, 1, &(struct gpumon_profile_options){ 0 },
					     &fixture->profile),
			 0);
	assert_null(before_rewind);
	assert_int_equal(gpumon_capture_close(growing), 0);

	gpumon_profile_kernels(fixture->profile, &count);
	assert_int_equal(count, 1);
	assert_int_equal(profile_kernel(fixture, "k")->count, 2);
	gpumon_profile_devices(fixture->profile, &count);
	assert_int_equal(count, 2);
	ranges = gpumon_profile_ranges(fixture->profile, &count);
	assert_int_equal(count, 1);
	assert_string_equal(ranges[0].text, "step");
	assert_int_equal(ranges[0].works, 2);
	gaps = gpumon_profile_gaps(fixture->profile, &count);
	assert_true(count);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(gaps[i].process, 0);
	assert_string_equal(gaps[0].doing, "step");
	assert_int_equal(gpumon_profile_damage(fixture->profile)->truncated_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_growing, profile_setup, profile_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
