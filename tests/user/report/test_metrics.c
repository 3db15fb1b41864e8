// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Metrics of GPUs: what they mean, how samples are averaged, whose they are, and what the verdict says of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile_fixture.h"
#include "report/metrics.h"
#include "report/output.h"
#include "report/verdict.h"

#define STEP  100000u
#define BEGIN 1000000000u
#define SMS   100

#define SM    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
#define OCC   "sm__warps_active.avg.pct_of_peak_sustained_active"
#define PIPE  "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
#define DRAM  "dram__throughput.avg.pct_of_peak_sustained_elapsed"
#define ISSUE "sm__inst_executed.avg.pct_of_peak_sustained_elapsed"
#define PCIE  "pcie__read_bytes.sum"

#define METRICS 6

static void put_set(struct capture_maker *maker, uint32_t number, const char *const *names,
		    uint32_t count)
{
	struct {
		struct gpumon_record_metric_set head;
		uint32_t metric[METRICS];
	} set = { .head = { .interval_ns = STEP, .set = number, .count = count } };

	for (uint32_t i = 0; i < count; i++)
		set.metric[i] = make_string(maker, names[i]);
	capture_maker_put(maker, GPUMON_RECORD_METRIC_SET, &set.head.head, sizeof(set));
}

static void put_sample(struct capture_maker *maker, uint32_t number, uint64_t start_ns,
		       uint64_t end_ns, const double *values, uint32_t count)
{
	struct {
		struct gpumon_record_metric_sample head;
		double value[METRICS];
	} sample = { .head = { .start_ns = BEGIN + start_ns,
			       .end_ns = BEGIN + end_ns,
			       .set = number,
			       .count = count } };

	memcpy(sample.value, values, count * sizeof(*values));
	capture_maker_put(maker, GPUMON_RECORD_METRIC_SAMPLE, &sample.head.head, sizeof(sample));
}

static void put_kernel(struct capture_maker *maker, const char *name, uint64_t start_ns,
		       uint64_t end_ns, uint32_t blocks, uint32_t stream)
{
	static uint32_t correlation;

	make_kernel(maker, .correlation = ++correlation, .start_ns = BEGIN + start_ns,
		    .end_ns = BEGIN + end_ns, .context = 1, .stream = stream,
		    .name = make_string(maker, name), .grid = { blocks, 1, 1 },
		    .block = { 256, 1, 1 });
}

static void begin(struct profile_fixture *fixture)
{
	make_device(fixture->maker, .id = 0, .uuid = { 1 }, .multiprocessors = SMS,
		    .name = make_string(fixture->maker, "H200"));
}

static void meanings(void **state)
{
	char text[GPUMON_METRIC_TEXT];

	(void)state;
	assert_string_equal(gpumon_metric_about(DRAM)->text, "DRAM throughput");
	assert_string_equal(gpumon_metric_text(text, gpumon_metric_about(DRAM), 88.44), "88.4%");
	assert_string_equal(gpumon_metric_text(text, gpumon_metric_about(PCIE), 1.514e12),
			    "1.51 TB/s");
	assert_string_equal(gpumon_metric_text(text, gpumon_metric_about(PCIE), 999.7),
			    "1.00 kB/s");
	assert_string_equal(gpumon_metric_text(text, gpumon_metric_about(PCIE), 12), "12 B/s");
	assert_string_equal(
		gpumon_metric_text(text, gpumon_metric_about("gpc__cycles_elapsed.avg.per_second"),
				   1.98e9),
		"1.98 GHz");
	/* One that is not known has no unit. */
	assert_null(gpumon_metric_about("lts__new.avg"));
	assert_string_equal(gpumon_metric_text(text, NULL, 12.5), "12.5");
	/* Every name that the library may record has a text. */
	for (size_t i = 0; i < GPUMON_METRIC_NAMES; i++) {
		const struct gpumon_metric_about *about =
			gpumon_metric_about(gpumon_metric_names[i].name);

		assert_non_null(about);
		assert_non_null(about->text);
		/* What was counted becomes a rate. */
		assert_int_equal(strstr(gpumon_metric_names[i].name, ".sum") != NULL,
				 about->average == GPUMON_AVERAGE_RATE);
	}
}

static double mean_of(const struct gpumon_metric_sum *sum)
{
	double mean;

	assert_true(gpumon_metric_mean(sum, &mean));
	return mean;
}

static void averages(void **state)
{
	const struct gpumon_metric_span one = { 1000, 0.1 }, three = { 3000, 0.9 };
	struct gpumon_metric_sum dram = { 0 }, occupancy = { 0 }, bytes = { 0 }, none = { 0 };
	double mean;

	(void)state;
	gpumon_metric_add(&dram, gpumon_metric_about(DRAM), &one, 10, 1);
	gpumon_metric_add(&dram, gpumon_metric_about(DRAM), &three, 50, 1);
	gpumon_metric_add(&dram, gpumon_metric_about(DRAM), &three, NAN, 1);
	gpumon_metric_add(&dram, gpumon_metric_about(DRAM), &three, INFINITY, 1);
	assert_float_equal(mean_of(&dram), 40, 1e-9);
	assert_int_equal(dram.samples, 2);
	assert_float_equal(dram.least, 10, 0);
	assert_float_equal(dram.most, 50, 0);
	/* (10 * 1 us * 0.1 + 50 * 3 us * 0.9) / (1 us * 0.1 + 3 us * 0.9) */
	gpumon_metric_add(&occupancy, gpumon_metric_about(OCC), &one, 10, 1);
	gpumon_metric_add(&occupancy, gpumon_metric_about(OCC), &three, 50, 1);
	assert_float_equal(mean_of(&occupancy), 136 / 2.8, 1e-9);
	/* 5000 bytes in 4 us */
	gpumon_metric_add(&bytes, gpumon_metric_about(PCIE), &one, 2000, 1);
	gpumon_metric_add(&bytes, gpumon_metric_about(PCIE), &three, 3000, 1);
	assert_float_equal(mean_of(&bytes), 1.25e9, 1);
	assert_float_equal(bytes.most, 2e9, 1);
	assert_false(gpumon_metric_mean(&none, &mean));
	/* Without an active SM there is no occupancy. */
	gpumon_metric_add(&none, gpumon_metric_about(OCC), &(struct gpumon_metric_span){ 1000, 0 },
			  0, 1);
	assert_false(gpumon_metric_mean(&none, &mean));
}

/* The samples of a kernel, and the mean of the first metric. */
static void expect_kernel(const struct profile_fixture *fixture, const char *name, uint64_t samples,
			  double mean)
{
	const struct gpumon_kernel_row *row = profile_kernel(fixture, name);

	assert_non_null(row);
	if (!samples) {
		assert_null(row->metrics);
		return;
	}
	assert_non_null(row->metrics);
	assert_int_equal(row->metrics->samples, samples);
	assert_float_equal(mean_of(&row->metrics->sums[0]), mean, 1e-9);
}

/* Ten samples in turn, of which each has its number as its value. */
static void put_samples(struct capture_maker *maker)
{
	static const char *const names[] = { DRAM };

	for (uint32_t i = 0; i < 10; i++)
		put_sample(maker, 1, i * STEP, (i + 1) * STEP, (double[]){ i }, 1);
	/* What they are of comes last. */
	put_set(maker, 1, names, 1);
}

static void kernels_alone(void **state)
{
	const struct gpumon_profile_options options = { 0 };
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;

	begin(fixture);
	/* Wholly in 1 and 2, in parts of 0 and 3. */
	put_kernel(maker, "alone", STEP / 2, 3 * STEP + STEP / 2, 1, 7);
	/* 5 is its own; 6 has two kernels, and 7 something that takes no time. */
	put_kernel(maker, "first", 5 * STEP, 6 * STEP + STEP / 2, 1, 7);
	put_kernel(maker, "second", 6 * STEP + STEP / 4, 8 * STEP, 1, 8);
	put_kernel(maker, "point", 7 * STEP, 7 * STEP, 1, 9);
	put_samples(maker);
	(void)profile_load(fixture, &options);
	expect_kernel(fixture, "alone", 2, 1.5);
	expect_kernel(fixture, "first", 1, 5);
	expect_kernel(fixture, "second", 0, 0);
	expect_kernel(fixture, "point", 0, 0);
}

static void kernels_in_a_row(void **state)
{
	const struct gpumon_profile_options options = { 0 };
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;

	begin(fixture);
	/* In the samples 0 and 1 with gaps of 5 %, in 3 and 4 of more. */
	for (uint32_t i = 0; i < 20; i++)
		put_kernel(maker, "often", i * STEP / 10, i * STEP / 10 + STEP / 10 - STEP / 200, 1,
			   7);
	for (uint32_t i = 0; i < 20; i++)
		put_kernel(maker, "seldom", 3 * STEP + i * STEP / 10,
			   3 * STEP + i * STEP / 10 + STEP / 10 - STEP / 190, 1, 7);
	/* Two of one name at once cover 6 together, and add up to more than 8, of which a half is free. */
	put_kernel(maker, "twin", 6 * STEP, 6 * STEP + 60000, 1, 7);
	put_kernel(maker, "twin", 6 * STEP + 50000, 7 * STEP, 1, 8);
	put_kernel(maker, "same", 8 * STEP, 8 * STEP + 60000, 1, 7);
	put_kernel(maker, "same", 8 * STEP, 8 * STEP + 60000, 1, 8);
	put_samples(maker);
	(void)profile_load(fixture, &options);
	expect_kernel(fixture, "often", 2, 0.5);
	expect_kernel(fixture, "seldom", 0, 0);
	expect_kernel(fixture, "twin", 1, 6);
	expect_kernel(fixture, "same", 0, 0);
}

static void samples_unknown(void **state)
{
	static const char *const names[] = { DRAM };
	struct gpumon_profile_options options = { 0 };
	const struct gpumon_metrics *metrics;
	struct profile_fixture *fixture = *state;

	begin(fixture);
	put_kernel(fixture->maker, "alone", 0, 10 * STEP, 1, 7);
	put_set(fixture->maker, 1, names, 1);
	put_sample(fixture->maker, 1, STEP, 2 * STEP, (double[]){ 1 }, 1);
	/* Of a set that is lost, and one without a length. */
	put_sample(fixture->maker, 2, 2 * STEP, 3 * STEP, (double[]){ 50 }, 1);
	put_sample(fixture->maker, 1, 3 * STEP, 3 * STEP, (double[]){ 50 }, 1);
	/* It has more values than its set. */
	put_sample(fixture->maker, 1, 4 * STEP, 5 * STEP, (double[]){ 4, 99, 99 }, 3);
	(void)profile_load(fixture, &options);
	metrics = gpumon_profile_metrics(fixture->profile);
	assert_non_null(metrics);
	assert_int_equal(metrics->device_count, 1);
	assert_int_equal(metrics->devices[0].samples, 2);
	assert_int_equal(metrics->devices[0].unreadable, 2);
	assert_float_equal(mean_of(&metrics->devices[0].sums[0]), 2.5, 1e-9);
	expect_kernel(fixture, "alone", 2, 2.5);
	/* A part has the samples that begin in it. */
	options.asked.from_ns = 2 * STEP;
	options.asked.has_from = true;
	(void)profile_load(fixture, &options);
	metrics = gpumon_profile_metrics(fixture->profile);
	assert_int_equal(metrics->devices[0].samples, 1);
	assert_int_equal(metrics->devices[0].sampled_ns, STEP);
}

static void without_metrics(void **state)
{
	const struct gpumon_profile_options options = { 0 };
	struct profile_fixture *fixture = *state;

	begin(fixture);
	put_kernel(fixture->maker, "alone", 0, 10 * STEP, 1, 7);
	(void)profile_load(fixture, &options);
	assert_null(gpumon_profile_metrics(fixture->profile));
	expect_kernel(fixture, "alone", 0, 0);
}

/* --- the verdict */

/* The rule that fires for a kernel with these metrics; "" if none does. */
static const char *rule_for(struct profile_fixture *fixture, const double values[5],
			    uint32_t blocks, uint32_t samples)
{
	static const char *const names[] = { SM, OCC, PIPE, DRAM, ISSUE };
	static const char *const rules[] = { "memory_bound", "compute_bound", "too_few_blocks",
					     "too_few_warps" };
	const struct gpumon_profile_options options = { 0 };
	static struct profile_fixture *again;
	struct gpumon_verdict verdict;
	const char *fired = "";
	struct gpumon_view view;

	(void)fixture;
	assert_int_equal(profile_setup((void **)&again), 0);
	begin(again);
	put_kernel(again->maker, "gemm", 0, (uint64_t)samples * STEP, blocks, 7);
	put_set(again->maker, 1, names, 5);
	for (uint32_t i = 0; i < samples; i++)
		put_sample(again->maker, 1, i * STEP, (i + 1) * STEP, values, 5);
	(void)profile_load(again, &options);
	gpumon_view_of(again->profile, &view);
	gpumon_verdict_of(&view, &verdict);
	for (unsigned int i = 0; i < verdict.count; i++) {
		for (unsigned int k = 0; k < 4; k++) {
			if (strcmp(verdict.at[i].rule, rules[k]) != 0)
				continue;
			/* One rule for a kernel. */
			assert_string_equal(fired, "");
			assert_string_equal(verdict.at[i].place, "gemm");
			fired = rules[k];
		}
	}
	gpumon_verdict_clear(&verdict);
	profile_teardown((void **)&again);
	return fired;
}

static void rules(void **state)
{
#define EXPECT(rule, blocks, samples, ...) \
	assert_string_equal(rule_for(*state, (double[]){ __VA_ARGS__ }, blocks, samples), rule)
	/* SM, occupancy, tensor pipes, DRAM, instructions */
	EXPECT("memory_bound", 1000, 10, 95, 20, 65, 70, 75);
	EXPECT("", 1000, 9, 95, 20, 65, 70, 75);
	EXPECT("compute_bound", 1000, 10, 95, 12, 60, 69, 20);
	EXPECT("compute_bound", 1000, 10, 95, 12, 59, 69, 70);
	EXPECT("too_few_blocks", SMS - 1, 10, 70, 12, 59, 69, 69);
	/* There would be blocks for all SMs: something else keeps these idle. */
	EXPECT("", SMS, 10, 70, 12, 59, 69, 69);
	EXPECT("too_few_warps", SMS, 10, 71, 25, 59, 69, 69);
	EXPECT("", SMS, 10, 71, 26, 59, 69, 69);
	EXPECT("", SMS, 10, NAN, NAN, NAN, NAN, NAN);
#undef EXPECT
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meanings),
		cmocka_unit_test(averages),
		cmocka_unit_test_setup_teardown(kernels_alone, profile_setup, profile_teardown),
		cmocka_unit_test_setup_teardown(kernels_in_a_row, profile_setup, profile_teardown),
		cmocka_unit_test_setup_teardown(samples_unknown, profile_setup, profile_teardown),
		cmocka_unit_test_setup_teardown(without_metrics, profile_setup, profile_teardown),
		cmocka_unit_test_setup_teardown(rules, profile_setup, profile_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
