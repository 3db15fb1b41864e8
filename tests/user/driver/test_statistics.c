// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Messages of self-describing tables, layouts and alerts: complete, in parts, truncated, corrupted.
 */
#include "common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/parse.h"

static void label(struct message *message, const char *name, const char *value, bool number)
{
	size_t nest = message_nest(message, GPUMON_A_STATISTIC_LABEL);

	message_string(message, GPUMON_A_LABEL_NAME, name);
	message_string(message, GPUMON_A_LABEL_VALUE, value);
	if (number)
		message_attr(message, GPUMON_A_LABEL_NUMBER, NULL, 0);
	message_nest_end(message, nest);
}

static size_t column(struct message *message, const char *name, uint32_t kind)
{
	size_t nest = message_nest(message, GPUMON_A_STATISTIC_COLUMN);

	message_string(message, GPUMON_A_COLUMN_NAME, name);
	message_u32(message, GPUMON_A_COLUMN_KIND, kind);
	return nest;
}

static void row_begin(struct message *message, const char *table, uint32_t row)
{
	message_begin(message, GPUMON_CMD_STATISTIC_GET);
	message_string(message, GPUMON_A_STATISTIC_GROUP, "drm_vblank");
	message_string(message, GPUMON_A_STATISTIC_TABLE, table);
	message_u32(message, GPUMON_A_STATISTIC_ROW, row);
}

static void histogram_values(struct message *message, uint64_t count)
{
	message_u64(message, GPUMON_A_COLUMN_COUNT, count);
	message_u64(message, GPUMON_A_COLUMN_SUM, count * 100);
	message_u64(message, GPUMON_A_COLUMN_MIN_VALUE, 90);
	message_u64(message, GPUMON_A_COLUMN_MAX_VALUE, 110);
}

static void bucket(struct message *message, uint64_t ge, uint64_t lt, uint64_t count)
{
	size_t nest = message_nest(message, GPUMON_A_COLUMN_BUCKET);

	message_u64(message, GPUMON_A_BUCKET_GE, ge);
	message_u64(message, GPUMON_A_BUCKET_LT, lt);
	message_u64(message, GPUMON_A_BUCKET_COUNT, count);
	message_nest_end(message, nest);
}

/* A whole row without the buckets. */
static void row_of(struct message *message, uint32_t row)
{
	int64_t level = -3;
	size_t nest;

	row_begin(message, "crtcs", row);
	label(message, "device", "0000:03:00.0", false);
	label(message, "crtc", "1", true);
	nest = column(message, "vblanks", GPUMON_COLUMN_KIND_COUNTER);
	message_u64(message, GPUMON_A_COLUMN_VALUE, 600);
	message_nest_end(message, nest);
	nest = column(message, "pending", GPUMON_COLUMN_KIND_GAUGE);
	message_attr(message, GPUMON_A_COLUMN_LEVEL, &level, sizeof(level));
	message_u64(message, GPUMON_A_COLUMN_HIGHEST, 9);
	message_nest_end(message, nest);
	nest = column(message, "interval_ns", GPUMON_COLUMN_KIND_HISTOGRAM);
	histogram_values(message, 30);
	message_nest_end(message, nest);
	message_nest_end(message, column(message, "late", GPUMON_COLUMN_KIND_COUNTER));
	message_nest_end(message, column(message, "depth", GPUMON_COLUMN_KIND_GAUGE));
	message_nest_end(message, column(message, "wait_ns", GPUMON_COLUMN_KIND_HISTOGRAM));
}

static void row_message(struct message *message)
{
	row_of(message, 7);
}

/* A histogram of it, slightly later: it has one more value. */
static void buckets_message(struct message *message)
{
	size_t nest;

	row_begin(message, "crtcs", 7);
	nest = column(message, "interval_ns", GPUMON_COLUMN_KIND_HISTOGRAM);
	histogram_values(message, 31);
	bucket(message, 88, 96, 20);
	bucket(message, 96, 112, 11);
	message_nest_end(message, nest);
}

static void layout_message(struct message *message)
{
	message_begin(message, GPUMON_CMD_LAYOUT_GET);
	message_string(message, GPUMON_A_LAYOUT_GROUP, "amdgpu");
	message_string(message, GPUMON_A_LAYOUT_MODULE, "amdgpu");
	message_string(message, GPUMON_A_LAYOUT_TYPE, "amdgpu_bo");
	message_string(message, GPUMON_A_LAYOUT_MEMBER, "tbo.base.size");
	message_u32(message, GPUMON_A_LAYOUT_OFFSET, 264);
	message_u32(message, GPUMON_A_LAYOUT_SIZE, 8);
	message_string(message, GPUMON_A_LAYOUT_REASON, "");
}

static void alert_message(struct message *message)
{
	message_begin(message, GPUMON_CMD_ALERT_GET);
	message_u64(message, GPUMON_A_ALERT_TIME_NS, 99);
	message_string(message, GPUMON_A_ALERT_GROUP, "nvidia");
	message_string(message, GPUMON_A_ALERT_KIND, "xid");
	message_string(message, GPUMON_A_ALERT_DEVICE, "0000:65:00.0");
	message_u32(message, GPUMON_A_ALERT_CODE, 79);
	message_string(message, GPUMON_A_ALERT_MESSAGE, "GPU has fallen off the bus.");
	message_u64(message, GPUMON_A_ALERT_COUNT, 2);
	message_u64(message, GPUMON_A_ALERT_LOST, 1);
	message_u64(message, GPUMON_A_ALERT_FORGOTTEN, 3);
}

static int parse_alert(const struct nlmsghdr *message, size_t len, struct gpumon_model *model)
{
	return gpumon_parse_alert(message, len, GPUMON_CMD_ALERT_GET, model);
}

static int take(struct gpumon_model *model, struct message *message)
{
	int ret = gpumon_parse_statistic(message_header(message), message->len, model);

	message_free(message);
	return ret;
}

static void a_row_in_two_messages(void **state)
{
	struct gpumon_model model = { 0 };
	const struct gpumon_statistics *statistics;
	const struct gpumon_column *found;
	const struct gpumon_row *row;
	struct message message;

	(void)state;
	row_message(&message);
	assert_int_equal(take(&model, &message), 0);
	buckets_message(&message);
	assert_int_equal(take(&model, &message), 0);

	assert_int_equal(model.n_statistics, 1);
	statistics = gpumon_model_statistics(&model, "drm_vblank", "crtcs");
	assert_non_null(statistics);
	assert_null(gpumon_model_statistics(&model, "drm_vblank", "others"));
	assert_null(gpumon_model_statistics(&model, "i915", "crtcs"));
	assert_int_equal(statistics->n_rows, 1);
	row = gpumon_statistics_row(statistics, 7);
	assert_non_null(row);
	assert_null(gpumon_statistics_row(statistics, 0));
	assert_int_equal(row->n_labels, 2);
	assert_string_equal(row->labels[0].value, "0000:03:00.0");
	assert_false(row->labels[0].number);
	assert_string_equal(row->labels[1].name, "crtc");
	assert_true(row->labels[1].number);

	/* In the module's order, also after the second message. */
	assert_int_equal(row->n_columns, 6);
	assert_string_equal(row->columns[0].name, "vblanks");
	assert_string_equal(row->columns[2].name, "interval_ns");
	assert_int_equal(row->columns[0].value.v, 600);
	assert_int_equal(row->columns[1].level.v, -3);
	assert_int_equal(row->columns[1].highest.v, 9);
	found = gpumon_row_column(row, "interval_ns");
	assert_ptr_equal(found, &row->columns[2]);
	/* Count and buckets are from the same moment: that of the second message. */
	assert_int_equal(found->histogram.count.v, 31);
	assert_int_equal(found->histogram.sum.v, 3100);
	assert_int_equal(found->histogram.n_buckets, 2);
	assert_int_equal(found->histogram.buckets[1].count, 11);
	assert_false(row->columns[3].value.known);
	assert_false(row->columns[4].level.known);
	assert_false(row->columns[5].histogram.count.known);
	gpumon_model_free(&model);
}

static void rows_of_several_tables(void **state)
{
	struct gpumon_model model = { 0 };
	struct message message;

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		row_of(&message, i % 20);
		assert_int_equal(take(&model, &message), 0);
		row_begin(&message, "clients", i);
		assert_int_equal(take(&model, &message), 0);
	}
	/* The same row again, as in a restarted dump, replaces the first. */
	assert_int_equal(model.n_statistics, 2);
	assert_int_equal(model.statistics[0].n_rows, 20);
	assert_int_equal(model.statistics[0].rows[19].n_columns, 6);
	assert_int_equal(model.statistics[0].rows[19].n_labels, 2);
	assert_int_equal(model.statistics[1].n_rows, 40);
	gpumon_model_clear(&model, GPUMON_PART_STATISTICS);
	assert_int_equal(model.n_statistics, 0);
	assert_null(gpumon_model_statistics(&model, "drm_vblank", "crtcs"));
	gpumon_model_free(&model);
}

/* Buckets of an unknown row, a duplicate column, a column that changes its kind. */
static void messages_in_odd_orders(void **state)
{
	struct gpumon_model model = { 0 };
	const struct gpumon_row *row;
	struct message message;
	size_t nest;

	(void)state;
	buckets_message(&message);
	assert_int_equal(take(&model, &message), 0);
	row = gpumon_statistics_row(&model.statistics[0], 7);
	assert_int_equal(row->n_labels, 0);
	assert_int_equal(row->n_columns, 1);

	row_begin(&message, "crtcs", 7);
	for (uint64_t i = 0; i < 3; i++) {
		nest = column(&message, "interval_ns", GPUMON_COLUMN_KIND_COUNTER);
		message_u64(&message, GPUMON_A_COLUMN_VALUE, i);
		message_nest_end(&message, nest);
	}
	assert_int_equal(take(&model, &message), 0);
	row = gpumon_statistics_row(&model.statistics[0], 7);
	assert_int_equal(row->n_columns, 1);
	assert_int_equal(row->columns[0].kind.v, GPUMON_COLUMN_KIND_COUNTER);
	assert_int_equal(row->columns[0].value.v, 2);
	assert_false(row->columns[0].histogram.count.known);
	assert_int_equal(row->columns[0].histogram.n_buckets, 0);

	/* A kind of a newer module is kept. */
	row_begin(&message, "crtcs", 8);
	nest = column(&message, "new", 77);
	message_u64(&message, GPUMON_A_COLUMN_VALUE, 1);
	message_nest_end(&message, nest);
	assert_int_equal(take(&model, &message), 0);
	row = gpumon_statistics_row(&model.statistics[0], 8);
	assert_int_equal(row->columns[0].kind.v, 77);
	gpumon_model_free(&model);
}

/* A message without its table, or with wrong sizes, is rejected completely. */
static void broken_rows_are_refused(void **state)
{
	static const uint64_t broken[][2] = {
		{ 10, 20 }, { 30, 30 }, { 30, 25 }, { 25, 40 }, { 0, 1 }, { UINT64_MAX, 0 },
	};
	struct gpumon_model model = { 0 };
	struct message message;
	size_t nest;

	(void)state;
	for (int i = 0; i < 9; i++) {
		message_begin(&message, GPUMON_CMD_STATISTIC_GET);
		if (i != 0)
			message_string(&message, GPUMON_A_STATISTIC_GROUP, "drm_vblank");
		if (i != 1)
			message_string(&message, GPUMON_A_STATISTIC_TABLE, "crtcs");
		if (i != 2)
			message_u32(&message, GPUMON_A_STATISTIC_ROW, 1);
		nest = message_nest(&message, GPUMON_A_STATISTIC_LABEL);
		if (i != 3)
			message_string(&message, GPUMON_A_LABEL_NAME, "crtc");
		if (i != 4)
			message_string(&message, GPUMON_A_LABEL_VALUE, "1");
		message_attr(&message, GPUMON_A_LABEL_NUMBER, "x", i == 5);
		message_nest_end(&message, nest);
		nest = message_nest(&message, GPUMON_A_STATISTIC_COLUMN);
		if (i != 6)
			message_string(&message, GPUMON_A_COLUMN_NAME, "vblanks");
		if (i != 7)
			message_u32(&message, GPUMON_A_COLUMN_KIND, 0);
		message_attr(&message, GPUMON_A_COLUMN_LEVEL, "12345678", i == 8 ? 4 : 8);
		message_nest_end(&message, nest);
		assert_int_equal(take(&model, &message), -EBADMSG);
		assert_int_equal(model.n_statistics, 0);
	}
	/* Buckets that are out of order, overlap or have no width. */
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		buckets_message(&message);
		nest = column(&message, "x", GPUMON_COLUMN_KIND_HISTOGRAM);
		bucket(&message, 20, 30, 1);
		bucket(&message, broken[i][0], broken[i][1], 1);
		message_nest_end(&message, nest);
		assert_int_equal(take(&model, &message), -EBADMSG);
		assert_int_equal(model.n_statistics, 0);
	}
	gpumon_model_free(&model);
}

static void counter(struct message *message, const char *name, uint64_t value)
{
	size_t nest = column(message, name, GPUMON_COLUMN_KIND_COUNTER);

	message_u64(message, GPUMON_A_COLUMN_VALUE, value);
	message_nest_end(message, nest);
}

static void gauge(struct message *message, const char *name, int64_t level, uint64_t highest)
{
	size_t nest = column(message, name, GPUMON_COLUMN_KIND_GAUGE);

	message_attr(message, GPUMON_A_COLUMN_LEVEL, &level, sizeof(level));
	message_u64(message, GPUMON_A_COLUMN_HIGHEST, highest);
	message_nest_end(message, nest);
}

static void ring_message(struct message *message)
{
	message_begin(message, GPUMON_CMD_STATISTIC_GET);
	message_string(message, GPUMON_A_STATISTIC_GROUP, "drm_sched");
	message_string(message, GPUMON_A_STATISTIC_TABLE, "rings");
	message_u32(message, GPUMON_A_STATISTIC_ROW, 7);
}

/* What they were as messages of their own: the model has them where it always had. */
static void rings_of_their_table(void **state)
{
	struct gpumon_model model = { 0 };
	const struct gpumon_histogram *histogram;
	const struct gpumon_ring *ring;
	struct message message;
	size_t nest;

	(void)state;
	row_message(&message);
	assert_int_equal(take(&model, &message), 0);
	ring_message(&message);
	label(&message, "device", "0000:03:00.0", false);
	label(&message, "ring", "gfx_0.0.0", false);
	counter(&message, "queued", 1ULL << 40);
	counter(&message, "run", 2);
	counter(&message, "done", 3);
	counter(&message, "errors", 4);
	counter(&message, "killed", 5);
	counter(&message, "dependency_waits", 6);
	counter(&message, "untracked", 8);
	gauge(&message, "queue_depth", 10, 11);
	message_nest_end(&message, column(&message, "hw_depth", GPUMON_COLUMN_KIND_GAUGE));
	message_nest_end(&message, column(&message, "queue_ns", GPUMON_COLUMN_KIND_HISTOGRAM));
	counter(&message, "clock_backwards", 9);
	counter(&message, "busy_ns", 12);
	counter(&message, "abandoned", 13);
	counter(&message, "of_a_newer_module", 1);
	gauge(&message, "live", -1, 2);
	assert_int_equal(take(&model, &message), 0);
	ring_message(&message);
	nest = column(&message, "run_ns", GPUMON_COLUMN_KIND_HISTOGRAM);
	histogram_values(&message, 30);
	bucket(&message, 1024, 1280, 20);
	bucket(&message, 1280, 1536, 10);
	message_nest_end(&message, nest);
	assert_int_equal(take(&model, &message), 0);
	row_message(&message);
	assert_int_equal(take(&model, &message), 0);

	gpumon_parse_rings(&model);
	assert_int_equal(model.n_statistics, 1);
	assert_non_null(gpumon_model_statistics(&model, "drm_vblank", "crtcs"));
	assert_int_equal(model.n_rings, 1);
	ring = gpumon_model_ring(&model, 7);
	assert_non_null(ring);
	assert_string_equal(ring->device, "0000:03:00.0");
	assert_string_equal(ring->name, "gfx_0.0.0");
	assert_int_equal(ring->queued.v, 1ULL << 40);
	assert_int_equal(ring->run.v, 2);
	assert_int_equal(ring->done.v, 3);
	assert_int_equal(ring->errors.v, 4);
	assert_int_equal(ring->killed.v, 5);
	assert_int_equal(ring->dependency_waits.v, 6);
	assert_int_equal(ring->untracked.v, 8);
	assert_int_equal(ring->clock_backwards.v, 9);
	assert_int_equal(ring->busy_ns.v, 12);
	assert_int_equal(ring->abandoned.v, 13);
	assert_false(ring->jobs_table_full.known);
	assert_int_equal(ring->queue_depth.v, 10);
	assert_int_equal(ring->queue_depth_max.v, 11);
	assert_false(ring->hw_depth.known);
	assert_false(ring->hw_depth_max.known);
	assert_true(ring->live.known);
	assert_int_equal(ring->live.v, 0);
	assert_int_equal(ring->live_max.v, 2);

	assert_int_equal(model.n_histograms, 2);
	assert_false(gpumon_model_histogram(&model, 7, "queue_ns")->count.known);
	assert_null(gpumon_model_histogram(&model, 8, "run_ns"));
	histogram = gpumon_model_histogram(&model, 7, "run_ns");
	assert_non_null(histogram);
	assert_string_equal(histogram->group, "drm_sched");
	assert_int_equal(histogram->count.v, 30);
	assert_int_equal(histogram->sum.v, 3000);
	assert_int_equal(histogram->n_buckets, 2);
	assert_int_equal(histogram->buckets[1].count, 10);
	/* There is no such table any more, and no ring twice. */
	gpumon_parse_rings(&model);
	assert_int_equal(model.n_rings, 1);
	gpumon_model_free(&model);
}

static void layouts_and_alerts(void **state)
{
	struct gpumon_model model = { 0 };
	struct message message;

	(void)state;
	layout_message(&message);
	assert_int_equal(gpumon_parse_layout(message_header(&message), message.len, &model), 0);
	message_free(&message);
	message_begin(&message, GPUMON_CMD_LAYOUT_GET);
	message_string(&message, GPUMON_A_LAYOUT_REASON, "no BTF");
	assert_int_equal(gpumon_parse_layout(message_header(&message), message.len, &model), 0);
	message_free(&message);
	assert_int_equal(model.n_layouts, 2);
	assert_string_equal(model.layouts[0].member, "tbo.base.size");
	assert_int_equal(model.layouts[0].offset.v, 264);
	assert_false(model.layouts[1].offset.known);
	assert_string_equal(model.layouts[1].reason, "no BTF");

	alert_message(&message);
	assert_int_equal(parse_alert(message_header(&message), message.len, &model), 0);
	/* The same attributes in a notification, which is another command. */
	assert_int_equal(gpumon_parse_alert(message_header(&message), message.len,
					    GPUMON_CMD_ALERT_NTF, &model),
			 -EBADMSG);
	message_free(&message);
	assert_int_equal(model.n_alerts, 1);
	assert_string_equal(model.alerts[0].message, "GPU has fallen off the bus.");
	assert_int_equal(model.alerts[0].code.v, 79);
	assert_int_equal(model.alerts[0].count.v, 2);
	assert_int_equal(model.alerts[0].lost.v, 1);
	assert_int_equal(model.alerts[0].forgotten.v, 3);
	gpumon_model_free(&model);
}

static void more_of_a_process(void **state)
{
	struct gpumon_model model = { 0 };
	struct message message;
	size_t nest;

	(void)state;
	message_begin(&message, GPUMON_CMD_PROCESS_GET);
	message_u32(&message, GPUMON_A_PROCESS_PID, 4242);
	message_u64(&message, GPUMON_A_PROCESS_JOBS, 1);
	message_u64(&message, GPUMON_A_PROCESS_SUBMISSIONS, 2);
	message_u64(&message, GPUMON_A_PROCESS_ALLOCATED_BYTES, 3);
	message_u64(&message, GPUMON_A_PROCESS_MAPPED_BYTES, 4);
	message_u64(&message, GPUMON_A_PROCESS_IOCTLS, 5);
	message_u64(&message, GPUMON_A_PROCESS_FAULTS, 6);
	message_u64(&message, GPUMON_A_PROCESS_OPEN_HANDLES, 8);
	message_u64(&message, GPUMON_A_PROCESS_CGROUP_ID, 9);
	message_u64(&message, GPUMON_A_PROCESS_VRAM_BYTES, 0);
	assert_int_equal(gpumon_parse_process(message_header(&message), message.len, &model), 0);
	message_free(&message);
	assert_int_equal(model.processes[0].submissions.v, 2);
	assert_int_equal(model.processes[0].allocated_bytes.v, 3);
	assert_int_equal(model.processes[0].mapped_bytes.v, 4);
	assert_int_equal(model.processes[0].ioctls.v, 5);
	assert_int_equal(model.processes[0].faults.v, 6);
	assert_false(model.processes[0].opens.known);
	assert_int_equal(model.processes[0].open_handles.v, 8);
	assert_int_equal(model.processes[0].cgroup_id.v, 9);
	assert_true(model.processes[0].vram_bytes.known && !model.processes[0].vram_bytes.v);
	assert_false(model.processes[0].live_object_bytes.known);

	message_begin(&message, GPUMON_CMD_INFO_GET);
	nest = message_nest(&message, GPUMON_A_INFO_EXITED);
	message_u64(&message, GPUMON_A_PROCESS_JOBS, 50);
	message_u64(&message, GPUMON_A_PROCESS_IOCTLS, 60);
	message_nest_end(&message, nest);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			gpumon_parse_info(message_header(&message), message.len, &model.info), 0);
	assert_int_equal(model.info.exited.jobs.v, 50);
	assert_int_equal(model.info.exited.ioctls.v, 60);
	assert_false(model.info.exited.faults.known);
	message_free(&message);
	gpumon_model_free(&model);
}

static const struct message_kind kinds[] = {
	{ row_message, gpumon_parse_statistic },
	{ buckets_message, gpumon_parse_statistic },
	{ layout_message, gpumon_parse_layout },
	{ alert_message, parse_alert },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static size_t elements(const struct gpumon_model *model)
{
	return model->n_statistics + model->n_layouts + model->n_alerts;
}

static void cut_messages(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_KINDS; k++)
		message_parse_cut(&kinds[k], elements);
}

/* The model already has the row: no crash, no leak, and still only one row with that number. */
static void twisted_messages(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (size_t k = 0; k < N_KINDS; k++) {
		struct message message;

		kinds[k].make(&message);
		for (size_t i = 0; i < message_twists(&message); i++) {
			struct gpumon_model model = { 0 };
			struct message twisted, first;
			int ret;

			row_message(&first);
			assert_int_equal(take(&model, &first), 0);
			twisted = message_twist(&message, i, &seed);
			ret = kinds[k].parse(message_header(&twisted), twisted.len, &model);
			assert_true(ret == 0 || ret == -EBADMSG);
			assert_true(elements(&model) <= (ret ? 1 : 2));
			assert_true(model.statistics[0].n_rows <= 2);
			message_free(&twisted);
			gpumon_model_free(&model);
		}
		message_free(&message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_in_two_messages),  cmocka_unit_test(rows_of_several_tables),
		cmocka_unit_test(messages_in_odd_orders), cmocka_unit_test(broken_rows_are_refused),
		cmocka_unit_test(rings_of_their_table),	  cmocka_unit_test(layouts_and_alerts),
		cmocka_unit_test(more_of_a_process),	  cmocka_unit_test(cut_messages),
		cmocka_unit_test(twisted_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
