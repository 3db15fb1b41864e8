// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Why kernels waited: reasons, shares, sums, nodes with one call path, occupancy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile_fixture.h"
#include "report/occupancy.h"
#include "report/output.h"
#include "report/stall_reasons.h"
#include "report/stalls.h"
#include "report/view.h"

#define PREFIX "smsp__pcsamp_warps_issue_stalled_"

static void samples(struct capture_maker *maker, uint64_t time_ns, const char *name, uint32_t line,
		    uint32_t offset, const char *reason, uint32_t count)
{
	const struct gpumon_stall stall = { make_string(maker, reason), count };
	const struct gpumon_record_stalls record = {
		.time_ns = time_ns,
		.module = 7,
		.name = make_string(maker, name),
		.offset = offset,
		.file = line ? make_string(maker, "/src/a.cu") : 0,
		.line = line,
	};

	capture_maker_stalls(maker, &record, &stall, 1);
}

/* --- names, shares */

static void check_name(const char *full, const char *want, bool not_issued)
{
	size_t length;
	const char *name = gpumon_stall_name(full, &length);

	assert_int_equal(length, strlen(want));
	assert_memory_equal(name, want, length);
	assert_string_equal(name + length, not_issued ? "_not_issued" : "");
}

static void test_names(void **state)
{
	(void)state;
	check_name(PREFIX "wait", "wait", false);
	check_name(PREFIX "long_scoreboard_not_issued", "long_scoreboard", true);
	check_name("other__counter", "other__counter", false);
	check_name(PREFIX, PREFIX, false);
	check_name("_not_issued", "_not_issued", false);
	check_name("", "", false);
	assert_string_equal(gpumon_stall_text("long_scoreboard"),
			    "waits for a load from global or local memory");
	assert_string_equal(gpumon_stall_text("quantum_flux"), "quantum_flux");
	assert_null(gpumon_stall_reason("quantum_flux"));
	assert_true(gpumon_stall_issued("selected"));
	assert_false(gpumon_stall_issued("not_selected"));
}

/* Parts of any time are all of it, and as large as their samples, but for rounding. */
static void test_parts(void **state)
{
	const uint64_t wholes[] = { 0, 1, 2, 999, 1000003, 1ull << 62, UINT64_MAX };
	const struct gpumon_stall_sum sums[] = {
		{ "a", 1ull << 40, 0 }, { "b", 12345, 0 }, { "c", 1, 0 }, { "d", 0, 0 }
	};
	const struct gpumon_node_stalls stalls = { (1ull << 40) + 12346, sums, 4 };
	const struct gpumon_node_stalls none = { 0, sums + 3, 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
		uint64_t all = 0;

		for (unsigned int k = 0; k < stalls.count; k++) {
			uint64_t part = gpumon_stall_part(&stalls, k, wholes[i]);
			double want = (double)wholes[i] * (double)sums[k].samples /
				      (double)stalls.samples;

			assert_true((double)part <= want * (1 + 1e-9) + 1);
			assert_true((double)part >= want * (1 - 1e-9) - 1);
			all += part;
		}
		assert_true(all == wholes[i]);
	}
	assert_int_equal(gpumon_stall_part(&none, 0, 1000), 0);
}

/* --- from captures */

static const struct gpumon_stalls *load(struct profile_fixture *fixture,
					const struct gpumon_profile_options *options)
{
	profile_load(fixture, options);
	return gpumon_profile_stalls(fixture->profile);
}

static const struct gpumon_node *kernel_at(struct profile_fixture *fixture, const char *path)
{
	const struct gpumon_node *node = profile_node(gpumon_profile_root(fixture->profile), path);

	if (!node)
		fail_msg("no %s", path);
	return node;
}

#define AT_A "main>train>forward>cudaLaunchKernel>"
#define AT_B "main>train>cudaLaunchKernel>"

static void test_call_paths(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t a = make_stack(maker, PROGRAM_LAUNCH, IN(PROGRAM_FORWARD), IN(PROGRAM_TRAIN),
				IN(PROGRAM_MAIN));
	uint32_t b = make_stack(maker, PROGRAM_LAUNCH, IN(PROGRAM_TRAIN), IN(PROGRAM_MAIN));
	const struct gpumon_stalls *stalls;
	const struct gpumon_node *node;

	profile_make_pair(maker, 1, 4, a, "one");
	profile_make_pair(maker, 2, 4, a, "two");
	profile_make_pair(maker, 3, 4, b, "two");
	profile_make_pair(maker, 4, 4, b, "none");
	samples(maker, 2000000, "one", 5, 0, PREFIX "barrier", 300);
	samples(maker, 2000000, "one", 5, 16, PREFIX "barrier", 100);
	samples(maker, 2000000, "one", 5, 16, PREFIX "barrier_not_issued", 90);
	samples(maker, 2000000, "one", 0, 32, PREFIX "selected", 200);
	samples(maker, 2000000, "two", 0, 48, PREFIX "wait", 99);
	stalls = load(fixture, &(struct gpumon_profile_options){ 0 });
	assert_int_equal(stalls->row_count, 2);
	assert_int_equal(stalls->samples, 699);
	assert_int_equal(stalls->without_line, 299);
	assert_false(stalls->totals_known);
	assert_int_equal(gpumon_stalls_unreported(stalls), 0);
	assert_string_equal(stalls->rows[0].name, "one");
	assert_int_equal(stalls->rows[0].samples, 600);
	assert_int_equal(stalls->rows[0].reason_count, 2);
	assert_int_equal(stalls->rows[0].reasons[0].samples, 400);
	assert_int_equal(stalls->rows[0].reasons[0].not_issued, 90);
	assert_int_equal(stalls->rows[0].place_count, 2);
	assert_string_equal(stalls->rows[0].places[0].file, "/src/a.cu");
	assert_int_equal(stalls->rows[0].places[0].line, 5);
	assert_int_equal(stalls->rows[0].places[0].samples, 400);
	assert_null(stalls->rows[0].places[1].file);
	assert_int_equal(stalls->rows[0].places[1].offset, 32);
	assert_int_equal(stalls->rows[0].places[1].module, 7);
	assert_string_equal(gpumon_stall_first(&stalls->rows[0])->reason, "barrier");
	/* One less than what says anything. */
	assert_null(gpumon_stall_first(&stalls->rows[1]));

	node = kernel_at(fixture, AT_A "one");
	assert_int_equal(node->stalls->samples, 600);
	assert_int_equal(gpumon_stall_part(node->stalls, 0, node->gpu_ns), node->gpu_ns * 2 / 3);
	assert_null(kernel_at(fixture, AT_A "two")->stalls);
	assert_null(kernel_at(fixture, AT_B "two")->stalls);
	assert_null(kernel_at(fixture, AT_B "none")->stalls);
	/* Without call paths a kernel has one node. */
	load(fixture, &(struct gpumon_profile_options){ .gpu_only = true });
	assert_int_equal(kernel_at(fixture, "two")->stalls->samples, 99);
}

/* More than CUPTI's count are in records, or less; a context that began again. */
static void test_totals(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	uint32_t a = make_stack(maker, PROGRAM_LAUNCH, IN(PROGRAM_MAIN));
	const struct gpumon_stalls *stalls;

	for (uint32_t i = 1; i <= 10; i++)
		profile_make_pair(maker, i, 4, a, "one");
	samples(maker, 1050000, "one", 1, 0, PREFIX "wait", 100);
	make_stall_totals(maker, .time_ns = 1050000, .context = 1, .samples = 130, .dropped = 10,
			  .other = 5, .period_log2 = 12);
	samples(maker, 1090000, "one", 1, 0, PREFIX "wait", 50);
	make_stall_totals(maker, .time_ns = 1090000, .context = 1, .samples = 190, .dropped = 20,
			  .other = 5, .period_log2 = 12);
	make_stall_totals(maker, .time_ns = 1090000, .context = 2, .samples = 0, .period_log2 = 20);
	stalls = load(fixture, &(struct gpumon_profile_options){ 0 });
	assert_true(stalls->totals_known);
	assert_int_equal(stalls->counted, 190);
	assert_int_equal(stalls->dropped, 20);
	assert_int_equal(stalls->other, 5);
	assert_int_equal(gpumon_stalls_unreported(stalls), 15);
	assert_int_equal(stalls->period_least, 12);
	assert_int_equal(stalls->period_most, 20);
	/* From 60 us on: the second read alone. */
	stalls = load(fixture, &(struct gpumon_profile_options){
				       .asked = { .has_from = true, .from_ns = 50000 } });
	assert_int_equal(stalls->samples, 50);
	assert_int_equal(stalls->counted, 60);
	assert_int_equal(stalls->dropped, 10);
	assert_int_equal(stalls->other, 0);
	/* Before the first read nothing is known. */
	stalls = load(fixture, &(struct gpumon_profile_options){
				       .asked = { .has_to = true, .to_ns = 20000 } });
	assert_int_equal(stalls->samples, 0);
	assert_false(stalls->totals_known);
}

static void test_without(void **state)
{
	struct profile_fixture *fixture = *state;
	uint32_t a = make_stack(fixture->maker, PROGRAM_LAUNCH, IN(PROGRAM_MAIN));

	profile_make_pair(fixture->maker, 1, 4, a, "one");
	assert_null(load(fixture, &(struct gpumon_profile_options){ 0 }));
	assert_null(kernel_at(fixture, "main>cudaLaunchKernel>one")->stalls);
}

/* A count that does not fit its record, and a record that is too short. */
static void test_broken(void **state)
{
	struct profile_fixture *fixture = *state;
	struct gpumon_record_stalls record = { .time_ns = 1, .count = 1 };
	uint32_t a = make_stack(fixture->maker, PROGRAM_LAUNCH, IN(PROGRAM_MAIN));
	const struct gpumon_stalls *stalls;

	profile_make_pair(fixture->maker, 1, 4, a, "one");
	capture_maker_put(fixture->maker, GPUMON_RECORD_STALLS, &record.head, sizeof(record));
	record.count = ~0u;
	capture_maker_put(fixture->maker, GPUMON_RECORD_STALLS, &record.head, sizeof(record));
	capture_maker_put(fixture->maker, GPUMON_RECORD_STALLS, &record.head, 16);
	/* Shorter than its struct: what is missing is 0. */
	make_stall_totals(fixture->maker, .samples = 5);
	samples(fixture->maker, 5, "one", 1, 0, PREFIX "wait", ~0u);
	samples(fixture->maker, 5, "one", 1, 0, PREFIX "wait", ~0u);
	stalls = load(fixture, &(struct gpumon_profile_options){ 0 });
	assert_int_equal(gpumon_profile_damage(fixture->profile)->broken_records, 3);
	assert_true(stalls->samples == 2ull * UINT32_MAX);
	assert_int_equal(gpumon_stalls_unreported(stalls), 0);
}

/* --- how it was launched */

static struct gpumon_stall_launch launch_of(uint16_t major, uint16_t minor, uint32_t threads,
					    uint32_t registers, uint32_t shared)
{
	return (struct gpumon_stall_launch){ .block = { threads, 1, 1 },
					     .registers = registers,
					     .dynamic_shared_bytes = shared,
					     .compute_major = major,
					     .compute_minor = minor };
}

/* Numbers of NVIDIA's occupancy calculator. */
static void test_occupancy(void **state)
{
	static const struct {
		uint16_t major, minor;
		uint32_t threads, registers, shared;
		unsigned int blocks, warps;
		enum gpumon_occupancy_limit limit;
	} all[] = {
		{ 9, 0, 256, 32, 0, 8, 64, GPUMON_OCCUPANCY_WARPS },
		{ 9, 0, 256, 64, 0, 4, 32, GPUMON_OCCUPANCY_REGISTERS },
		{ 9, 0, 128, 168, 0, 3, 12, GPUMON_OCCUPANCY_REGISTERS },
		{ 9, 0, 32, 16, 0, 32, 32, GPUMON_OCCUPANCY_BLOCKS },
		{ 9, 0, 128, 32, 100 << 10, 2, 8, GPUMON_OCCUPANCY_SHARED },
		{ 9, 0, 384, 168, 227 << 10, 1, 12, GPUMON_OCCUPANCY_REGISTERS },
		{ 7, 5, 1024, 32, 0, 1, 32, GPUMON_OCCUPANCY_WARPS },
		{ 8, 6, 256, 32, 0, 6, 48, GPUMON_OCCUPANCY_WARPS },
	};
	struct gpumon_occupancy occupancy;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct gpumon_stall_launch launch = launch_of(all[i].major, all[i].minor,
							      all[i].threads, all[i].registers,
							      all[i].shared);

		assert_true(gpumon_occupancy(&launch, &occupancy));
		assert_int_equal(occupancy.blocks, all[i].blocks);
		assert_int_equal(occupancy.warps, all[i].warps);
		assert_int_equal(occupancy.limit, all[i].limit);
	}
}

/* Unknown GPUs, and launches that no GPU takes. */
static void test_no_occupancy(void **state)
{
	const struct gpumon_stall_launch all[] = {
		launch_of(0, 0, 256, 32, 0),
		launch_of(99, 0, 256, 32, 0),
		launch_of(9, 0, 0, 32, 0),
		launch_of(9, 0, 2048, 32, 0),
		launch_of(9, 0, 256, 32, 300 << 10),
		launch_of(9, 0, 1024, 255, 0),
		launch_of(9, 0, 256, 32, UINT32_MAX),
		launch_of(9, 0, UINT32_MAX, 32, 0),
	};
	struct gpumon_stall_launch launch = launch_of(9, 0, 1024, 32, 0);
	struct gpumon_occupancy occupancy;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_false(gpumon_occupancy(&all[i], &occupancy));
	launch.block[1] = launch.block[2] = UINT32_MAX;
	assert_false(gpumon_occupancy(&launch, &occupancy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_parts),
		cmocka_unit_test_setup_teardown(test_call_paths, profile_setup, profile_teardown),
		cmocka_unit_test_setup_teardown(test_totals, profile_setup, profile_teardown),
		cmocka_unit_test_setup_teardown(test_without, profile_setup, profile_teardown),
		cmocka_unit_test_setup_teardown(test_broken, profile_setup, profile_teardown),
		cmocka_unit_test(test_occupancy),
		cmocka_unit_test(test_no_occupancy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
