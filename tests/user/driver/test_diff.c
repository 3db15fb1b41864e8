// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Differences of two readings, and closed periods. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "driver/stat_print.h"

struct pair {
	struct gpumon_model before, after, diff;
};

static struct pair *pair_new(void)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	assert_non_null(pair);
	test_model(&pair->before);
	test_model(&pair->after);
	pair->after.info.now_ns.v += 2000000000;
	return pair;
}

static void pair_free(struct pair *pair)
{
	gpumon_model_free(&pair->before);
	gpumon_model_free(&pair->after);
	gpumon_model_free(&pair->diff);
	free(pair);
}

static void counters_are_subtracted(void **state)
{
	struct pair *pair = pair_new();

	(void)state;
	pair->after.rings[1].queued.v += 10;
	pair->after.rings[1].errors.v += 2;
	pair->after.rings[1].queue_depth.v = 3;
	pair->after.groups[0].probes[0].seen.v += 30;
	pair->after.groups[0].probes[0].dropped.table_full.v += 4;
	pair->after.processes[0].jobs.v += 6;
	pair->after.info.processes_exited.v += 1;
	gpumon_info_add_missing_option(&pair->after.info)->option = strdup("CONFIG_SMP");
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);

	assert_int_equal(pair->diff.info.n_missing_options, 1);
	assert_string_equal(pair->diff.info.missing_options[0].option, "CONFIG_SMP");
	assert_int_equal(pair->diff.interval_ns, 2000000000);
	assert_false(pair->diff.reset_between);
	assert_int_equal(pair->diff.info.since_ns.v, pair->before.info.now_ns.v);
	assert_int_equal(pair->diff.rings[1].queued.v, 10);
	assert_int_equal(pair->diff.rings[1].errors.v, 2);
	assert_int_equal(pair->diff.rings[0].queued.v, 0);
	assert_int_equal(pair->diff.groups[0].probes[0].seen.v, 30);
	assert_int_equal(pair->diff.groups[0].probes[0].dropped.table_full.v, 4);
	assert_int_equal(pair->diff.processes[0].jobs.v, 6);
	assert_int_equal(pair->diff.info.processes_exited.v, 1);
	/* Gauges and limits are not counters. */
	assert_int_equal(pair->diff.rings[1].queue_depth.v, 3);
	assert_int_equal(pair->diff.info.max_rings.v, 64);
	assert_false(pair->diff.rings[2].queue_depth.known);
	assert_string_equal(pair->diff.rings[1].name, "sdma0");
	pair_free(pair);
}

static void histograms_are_subtracted(void **state)
{
	struct pair *pair = pair_new();
	struct gpumon_histogram *after =
		(struct gpumon_histogram *)gpumon_model_histogram(&pair->after, 1, "run_ns");
	const struct gpumon_histogram *got;

	(void)state;
	assert_non_null(after);
	after->count.v += 50;
	after->sum.v += 90000;
	after->buckets[1].count += 49;
	gpumon_histogram_add_bucket(after, 2048, 2560, 1);
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);

	got = gpumon_model_histogram(&pair->diff, 1, "run_ns");
	assert_non_null(got);
	assert_int_equal(got->count.v, 50);
	assert_int_equal(got->sum.v, 90000);
	/* The bucket that did not grow is gone, and the new one exists. */
	assert_int_equal(got->n_buckets, 2);
	assert_int_equal(got->buckets[0].ge, 1792);
	assert_int_equal(got->buckets[0].count, 49);
	assert_int_equal(got->buckets[1].ge, 2048);
	assert_int_equal(got->buckets[1].count, 1);
	/* The extremes of the interval are unknown. Those of the period would be wrong. */
	assert_false(got->min.known);
	assert_false(got->max.known);
	assert_in_range(gpumon_histogram_percentile(got, 500).v, 1792, 2047);

	got = gpumon_model_histogram(&pair->diff, 2, "run_ns");
	assert_int_equal(got->count.v, 0);
	assert_int_equal(got->n_buckets, 0);
	assert_false(gpumon_histogram_percentile(got, 500).known);
	pair_free(pair);
}

static void a_reset_in_between(void **state)
{
	struct pair *pair = pair_new();

	(void)state;
	pair->after.info.period.v++;
	pair->after.info.since_ns.v = pair->after.info.now_ns.v - 500000000;
	pair->after.rings[0].queued.v = 5;
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);
	assert_true(pair->diff.reset_between);
	assert_int_equal(pair->diff.interval_ns, 500000000);
	assert_int_equal(pair->diff.rings[0].queued.v, 5);
	assert_int_equal(pair->diff.processes[0].jobs.v, pair->after.processes[0].jobs.v);
	pair_free(pair);
}

static void a_recycled_ring_is_another(void **state)
{
	struct pair *pair = pair_new();

	(void)state;
	/*
	 * The same number with another name: more jobs than the old ring had, but all of them new.
	 */
	free(pair->after.rings[0].name);
	pair->after.rings[0].name = strdup("vcn_dec");
	pair->after.rings[0].queued.v = 5000;
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);
	assert_int_equal(pair->diff.rings[0].queued.v, 5000);

	/* Now with the same name, and fewer jobs. */
	gpumon_model_free(&pair->diff);
	pair->after.rings[1].queued.v = 3;
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);
	assert_int_equal(pair->diff.rings[1].queued.v, 3);
	pair_free(pair);
}

/* One that went and came again under another number, or of another device, by the name of before. */
static void a_ring_that_came_again(void **state)
{
	struct pair *pair = pair_new();

	(void)state;
	pair->after.rings[0].id.v += 100;
	pair->after.rings[0].queued.v = 5000;
	free(pair->after.rings[1].device);
	pair->after.rings[1].device = strdup("0000:ff:00.0");
	pair->after.rings[1].queued.v = 6000;
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);
	assert_int_equal(pair->diff.rings[0].queued.v, 5000);
	assert_int_equal(pair->diff.rings[1].queued.v, 6000);
	pair_free(pair);
}

/* Each counter by a number of its own, so that none is another's. */
static void every_counter_is_subtracted(void **state)
{
	struct pair *pair = pair_new();
	struct gpumon_ring *old = &pair->before.rings[0], *new = &pair->after.rings[0];
	struct gpumon_value *before[] = {
		&old->queued,
		&old->run,
		&old->done,
		&old->errors,
		&old->killed,
		&old->dependency_waits,
		&old->untracked,
		&old->jobs_table_full,
		&old->clock_backwards,
		&pair->before.info.processes_exited,
		&pair->before.info.jobs_unattributed,
		&pair->before.info.jobs_exited,
		&pair->before.info.rings_retired,
		&pair->before.groups[0].probes[0].recorded,
		&pair->before.groups[0].probes[0].dropped.recursion,
		&pair->before.groups[0].probes[0].dropped.unreadable,
	};
	struct gpumon_value *after[] = {
		&new->queued,
		&new->run,
		&new->done,
		&new->errors,
		&new->killed,
		&new->dependency_waits,
		&new->untracked,
		&new->jobs_table_full,
		&new->clock_backwards,
		&pair->after.info.processes_exited,
		&pair->after.info.jobs_unattributed,
		&pair->after.info.jobs_exited,
		&pair->after.info.rings_retired,
		&pair->after.groups[0].probes[0].recorded,
		&pair->after.groups[0].probes[0].dropped.recursion,
		&pair->after.groups[0].probes[0].dropped.unreadable,
	};
	const size_t count = sizeof(before) / sizeof(before[0]);
	const struct gpumon_ring *ring;
	const struct gpumon_probe *probe;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		*before[i] = gpumon_value_of(1000 + i);
		*after[i] = gpumon_value_of(1000 + i + 3 * (i + 1));
	}
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);
	ring = &pair->diff.rings[0];
	probe = &pair->diff.groups[0].probes[0];
	{
		const struct gpumon_value got[] = {
			ring->queued,
			ring->run,
			ring->done,
			ring->errors,
			ring->killed,
			ring->dependency_waits,
			ring->untracked,
			ring->jobs_table_full,
			ring->clock_backwards,
			pair->diff.info.processes_exited,
			pair->diff.info.jobs_unattributed,
			pair->diff.info.jobs_exited,
			pair->diff.info.rings_retired,
			probe->recorded,
			probe->dropped.recursion,
			probe->dropped.unreadable,
		};

		for (size_t i = 0; i < count; i++)
			assert_int_equal(got[i].v, 3 * (i + 1));
	}
	pair_free(pair);
}

static void a_reused_pid_is_another_process(void **state)
{
	struct pair *pair = pair_new();

	(void)state;
	pair->after.processes[0].start_ns.v++;
	pair->after.processes[0].jobs.v = 6000;
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);
	assert_int_equal(pair->diff.processes[0].jobs.v, 6000);
	pair_free(pair);
}

static void unknown_stays_unknown(void **state)
{
	struct pair *pair = pair_new();

	(void)state;
	pair->before.rings[0].done.known = false;
	pair->after.rings[0].killed.known = false;
	pair->before.inconsistent = GPUMON_PART_RINGS;
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);
	assert_false(pair->diff.rings[0].done.known);
	assert_false(pair->diff.rings[0].killed.known);
	assert_int_equal(pair->diff.inconsistent, GPUMON_PART_RINGS);
	pair_free(pair);
}

static struct gpumon_column *column_of(struct gpumon_model *model, size_t row, const char *name)
{
	struct gpumon_column *column = gpumon_row_column(&model->statistics[0].rows[row], name);

	assert_non_null(column);
	return column;
}

static void rows_are_subtracted(void **state)
{
	struct pair *pair = pair_new();
	struct gpumon_column *column;

	(void)state;
	test_tables(&pair->before);
	test_tables(&pair->after);
	column_of(&pair->after, 0, "vblanks")->value.v += 120;
	column_of(&pair->after, 0, "pending")->level = gpumon_level_of(4);
	column_of(&pair->after, 0, "pending")->highest = gpumon_value_of(11);
	column = column_of(&pair->after, 0, "interval_ns");
	column->histogram.count.v += 120;
	column->histogram.sum.v += 500;
	column->histogram.buckets[0].count += 120;
	/* It becomes known now, so its earlier value is unknown. */
	column_of(&pair->after, 0, "late")->value = gpumon_value_of(5);
	pair->after.processes[0].ioctls.v += 8;
	pair->after.processes[0].container = strdup("abc");
	pair->after.processes[1].open_handles.v = 0;
	pair->before.info.exited.faults = gpumon_value_of(1);
	pair->after.info.exited.faults = gpumon_value_of(4);
	pair->before.groups[0].probes[0].dropped.missed = gpumon_value_of(1);
	pair->after.groups[0].probes[0].dropped.missed = gpumon_value_of(3);
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);

	assert_int_equal(pair->diff.n_statistics, 1);
	assert_int_equal(pair->diff.statistics[0].n_rows, 2);
	assert_string_equal(pair->diff.statistics[0].rows[0].labels[1].value, "10");
	assert_int_equal(column_of(&pair->diff, 0, "vblanks")->value.v, 120);
	assert_int_equal(column_of(&pair->diff, 1, "vblanks")->value.v, 0);
	assert_int_equal(column_of(&pair->diff, 0, "pending")->level.v, 4);
	assert_int_equal(column_of(&pair->diff, 0, "pending")->highest.v, 11);
	column = column_of(&pair->diff, 0, "interval_ns");
	assert_int_equal(column->histogram.count.v, 120);
	assert_int_equal(column->histogram.sum.v, 500);
	assert_int_equal(column->histogram.buckets[0].count, 120);
	assert_false(column->histogram.max.known);
	assert_false(column_of(&pair->diff, 0, "late")->value.known);
	assert_int_equal(pair->diff.processes[0].ioctls.v, 8);
	assert_string_equal(pair->diff.processes[0].container, "abc");
	assert_false(pair->diff.processes[0].faults.known);
	/* A level. */
	assert_int_equal(pair->diff.processes[1].open_handles.v, 0);
	assert_int_equal(pair->diff.info.exited.faults.v, 3);
	assert_int_equal(pair->diff.groups[0].probes[0].dropped.missed.v, 2);
	/* Values that are not counts are copied. */
	assert_int_equal(pair->diff.n_layouts, 2);
	assert_string_equal(pair->diff.layouts[1].reason, "no BTF of module drm");
	assert_int_equal(pair->diff.n_alerts, 1);
	assert_int_equal(pair->diff.alerts[0].count.v, 3);
	pair_free(pair);
}

static void rows_that_are_others(void **state)
{
	struct pair *pair = pair_new();

	(void)state;
	test_tables(&pair->before);
	test_tables(&pair->after);
	/* The module was reloaded, and the number belongs to another row. */
	free(pair->after.statistics[0].rows[0].labels[1].value);
	pair->after.statistics[0].rows[0].labels[1].value = strdup("3");
	column_of(&pair->after, 0, "vblanks")->value.v = 700;
	/* A row that was not there before. */
	pair->after.statistics[0].rows[1].number.v = 8;
	column_of(&pair->after, 1, "vblanks")->value.v = 20;
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);
	assert_int_equal(column_of(&pair->diff, 0, "vblanks")->value.v, 700);
	assert_int_equal(column_of(&pair->diff, 0, "interval_ns")->histogram.count.v, 600);
	assert_int_equal(column_of(&pair->diff, 1, "vblanks")->value.v, 20);

	/* After a reset in between, everything counts. */
	gpumon_model_free(&pair->diff);
	pair->after.info.period.v++;
	gpumon_model_diff(&pair->diff, &pair->before, &pair->after);
	assert_int_equal(column_of(&pair->diff, 0, "vblanks")->value.v, 700);
	assert_int_equal(pair->diff.processes[0].ioctls.v, 2);
	pair_free(pair);
}

/* --reset shows the bounds of the closed period. */
static void a_closed_period(void **state)
{
	const struct gpumon_period period = {
		.closed = gpumon_value_of(3),
		.closed_since_ns = gpumon_value_of(100),
		.closed_at_ns = gpumon_value_of(900),
	};
	struct gpumon_model model;

	(void)state;
	test_model(&model);
	model.info.period = gpumon_value_of(4);
	gpumon_stat_close(&model, &period);
	assert_int_equal(model.info.period.v, 3);
	assert_int_equal(model.info.since_ns.v, 100);
	assert_int_equal(model.info.now_ns.v, 900);
	gpumon_model_free(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_subtracted),
		cmocka_unit_test(histograms_are_subtracted),
		cmocka_unit_test(a_reset_in_between),
		cmocka_unit_test(a_recycled_ring_is_another),
		cmocka_unit_test(a_ring_that_came_again),
		cmocka_unit_test(every_counter_is_subtracted),
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(unknown_stays_unknown),
		cmocka_unit_test(rows_are_subtracted),
		cmocka_unit_test(rows_that_are_others),
		cmocka_unit_test(a_closed_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
