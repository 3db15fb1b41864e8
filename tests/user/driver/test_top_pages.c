// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The pages of "top" besides the rings. With the argument "show PAGE [COLUMNS ROWS]" it prints a
 * page in colour to look at.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/top.h"
#include "top_page.h"

#define SECOND 1000000000ULL

static struct gpumon_column *column_of(struct gpumon_model *model, size_t row, const char *name)
{
	struct gpumon_column *column = gpumon_row_column(&model->statistics[0].rows[row], name);

	assert_non_null(column);
	return column;
}

/* Two readings two seconds apart. The first row counted 120 in between. */
static void two_readings(struct gpumon_top *top)
{
	struct gpumon_model model;

	for (int i = 0; i < 2; i++) {
		struct gpumon_column *column;

		test_model(&model);
		test_tables(&model);
		model.info.now_ns.v += (uint64_t)i * 2 * SECOND;
		column_of(&model, 0, "vblanks")->value.v += (uint64_t)i * 120;
		column_of(&model, 0, "moved_bytes")->value.v += (uint64_t)i * 8192;
		column = column_of(&model, 0, "interval_ns");
		column->histogram.count.v += (uint64_t)i * 10;
		if (i)
			gpumon_histogram_add_bucket(&column->histogram, 40000000, 40000001, 10);
		model.processes[1].ioctls.v += (uint64_t)i * 50;
		model.processes[0].container = strdup("0123456789ab");
		gpumon_top_update(top, &model);
	}
}

/* The line with this beginning, with single blanks. */
static void line_is(const char *text, const char *begin, const char *want)
{
	const char *at = strstr(text, begin);
	char line[256];
	size_t out = 0;

	while (at && at > text && at[-1] != '\n' && at[-1] != ' ')
		at = strstr(at + 1, begin);
	if (!at)
		fail_msg("no \"%s\" in:\n%s", begin, text);
	for (; *at && *at != '\n' && out < sizeof(line) - 1; at++) {
		if (*at != ' ' || (out && line[out - 1] != ' '))
			line[out++] = *at;
	}
	while (out && line[out - 1] == ' ')
		out--;
	line[out] = '\0';
	assert_string_equal(line, want);
}

static void pages_that_there_are(void **state)
{
	const char *names[GPUMON_TOP_PAGES];
	struct gpumon_top_view view = { 0 };
	struct gpumon_top top = { 0 };
	struct gpumon_model model;

	(void)state;
	assert_int_equal(gpumon_top_pages(&top, names), 1);
	assert_string_equal(gpumon_top_shown(&top, "nvidia"), "rings");
	gpumon_top_turn(&top, &view, 1, 0);
	assert_string_equal(view.page, "rings");

	two_readings(&top);
	assert_int_equal(gpumon_top_pages(&top, names), 3);
	assert_string_equal(names[0], "rings");
	assert_string_equal(names[1], "drm_vblank");
	assert_string_equal(names[2], "processes");
	assert_string_equal(gpumon_top_shown(&top, ""), "rings");
	assert_string_equal(gpumon_top_shown(&top, "drm_vblank"), "drm_vblank");

	gpumon_top_turn(&top, &view, 1, 0);
	assert_string_equal(view.page, "drm_vblank");
	gpumon_top_turn(&top, &view, 1, 0);
	gpumon_top_turn(&top, &view, 1, 0);
	assert_string_equal(view.page, "rings");
	gpumon_top_turn(&top, &view, -1, 0);
	assert_string_equal(view.page, "processes");
	gpumon_top_turn(&top, &view, 0, 2);
	assert_string_equal(view.page, "drm_vblank");
	/* There is no fourth. */
	gpumon_top_turn(&top, &view, 0, 4);
	assert_string_equal(view.page, "drm_vblank");
	gpumon_top_free(&top);

	/* Without rings on this machine, the first available page is shown. */
	test_model(&model);
	test_tables(&model);
	gpumon_model_clear(&model, GPUMON_PART_RINGS | GPUMON_PART_HISTOGRAMS);
	gpumon_top_update(&top, &model);
	assert_string_equal(gpumon_top_shown(&top, ""), "drm_vblank");
	assert_string_equal(gpumon_top_shown(&top, "rings"), "rings");
	gpumon_top_free(&top);
}

static void page_of_a_group(void **state)
{
	struct gpumon_top_view view = { .page = "drm_vblank", .live = true };
	struct gpumon_top top = { 0 };
	char *text;

	(void)state;
	two_readings(&top);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "drm_vblank.crtcs\n"));
	line_is(text, "DEVICE", "DEVICE CRTC VBLANKS/S MOVED-BYTES/S PENDING INTERVAL-P99 LATE/S");
	/*
	 * Rates and the percentile over two seconds. The busy row comes first, although the other
	 * name sorts before it.
	 */
	line_is(text, "0000:03:00.0", "0000:03:00.0 10 60.0 4.00KiB -2 40.0ms -");
	assert_non_null(strstr(text, "- "));
	assert_true(strstr(text, "0000:03:00.0") < strstr(text, "\n-"));
	assert_null(strstr(text, "RING"));
	assert_non_null(strstr(text, "[2 drm_vblank]"));
	assert_non_null(strstr(text, "1 rings"));
	assert_non_null(strstr(text, "3 processes"));
	/* Only rings can be sorted. */
	assert_null(strstr(text, "sort"));
	assert_null(strchr(text, '\033'));
	free(text);
	gpumon_top_free(&top);
}

static void page_of_processes(void **state)
{
	struct gpumon_top_view view = { .page = "processes" };
	struct gpumon_top top = { 0 };
	char *text;

	(void)state;
	two_readings(&top);
	text = top_page_draw(&top, &view);
	line_is(text, "PID", "PID PROCESS JOBS/S ALLOCATED/S IOCTLS/S OPEN-NOW VRAM-NOW CONTAINER");
	line_is(text, "4243", "4243 ?[31m? 0 0B 25.0 1 - -");
	line_is(text, "4242", "4242 glxgears 0 0B 0 0 5.00MiB 0123456789ab");
	assert_true(strstr(text, "4243") < strstr(text, "4242"));
	free(text);
	gpumon_top_free(&top);
}

/* More tables, and one with many rows. */
static void crowd(struct gpumon_top *top)
{
	struct gpumon_model model;

	test_model(&model);
	for (int i = 0; i < 3; i++)
		test_tables(&model);
	for (size_t i = 1; i < model.n_statistics; i++) {
		free(model.statistics[i].table);
		model.statistics[i].table = strdup(i == 1 ? "clients" : "others");
	}
	for (uint64_t i = 0; i < 50; i++) {
		struct gpumon_row *row =
			gpumon_statistics_add_row(&model.statistics[0], gpumon_value_of(100 + i));
		struct gpumon_label *label = gpumon_row_add_label(row);

		label->name = strdup("device");
		label->value = strdup("of a row that lacks all the others have");
	}
	gpumon_top_update(top, &model);
}

static void pages_never_exceed_the_terminal(void **state)
{
	static const char *const pages[] = { "rings", "drm_vblank", "processes" };
	struct gpumon_top_view view = { .live = true };
	struct gpumon_top top = { 0 };

	(void)state;
	crowd(&top);
	for (size_t i = 0; i < 3; i++) {
		strcpy(view.page, pages[i]);
		for (view.term.columns = 1; view.term.columns < 150; view.term.columns += 3) {
			for (view.term.rows = 1; view.term.rows < 40; view.term.rows++) {
				char *text = top_page_draw(&top, &view);

				assert_true(top_page_columns(text) <= view.term.columns);
				assert_true(top_page_lines(text) <= view.term.rows);
				free(text);
			}
		}
	}
	gpumon_top_free(&top);
}

static void what_does_not_fit_is_said(void **state)
{
	struct gpumon_top_view view = { .page = "drm_vblank", .live = true };
	struct gpumon_top top = { 0 };
	char *text;

	(void)state;
	crowd(&top);
	view.term.columns = 50;
	view.term.rows = 30;
	text = top_page_draw(&top, &view);
	/* Columns without data are dropped first. */
	assert_null(strstr(text, "LATE"));
	assert_non_null(strstr(text, "more, not wide enough"));
	assert_non_null(strstr(text, "more rows"));
	/* However many rows the first table has, the others get some lines. */
	assert_non_null(strstr(text, "drm_vblank.clients"));
	assert_non_null(strstr(text, "drm_vblank.others"));
	free(text);

	view.term.rows = 14;
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "and 2 more tables"));
	free(text);

	/* No room for the names of all pages: only the current one, and their number. */
	view.term.columns = 36;
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "tab page [drm_vblank] 2 of 3"));
	free(text);
	gpumon_top_free(&top);
}

static void groups_that_idle_share_a_line(void **state)
{
	struct gpumon_top_view view = { .page = "rings" };
	struct gpumon_top top = { 0 };
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	test_tables(&model);
	model.groups[2].state = gpumon_value_of(GPUMON_ATTACH_STATE_WAITING);
	gpumon_top_update(&top, &model);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "\nother off, drm_vblank waiting\n"));
	free(text);
	/* On its own page, a group shows the reason. */
	strcpy(view.page, "drm_vblank");
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "drm_vblank is waiting"));
	assert_null(strstr(text, "other off"));
	free(text);
	gpumon_top_free(&top);
}

static int show(int argc, char **argv)
{
	struct gpumon_top top = { 0 };

	two_readings(&top);
	top_page_show(&top, argv[2], argc - 3, argv + 3);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_that_there_are),
		cmocka_unit_test(page_of_a_group),
		cmocka_unit_test(page_of_processes),
		cmocka_unit_test(pages_never_exceed_the_terminal),
		cmocka_unit_test(what_does_not_fit_is_said),
		cmocka_unit_test(groups_that_idle_share_a_line),
	};

	if (argc > 2 && !strcmp(argv[1], "show"))
		return show(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
