// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * "top" from constructed readings. With the argument "show [COLUMNS ROWS]" it prints a page in
 * colour to look at.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/format.h"
#include "driver/top.h"
#include "top_page.h"

#define SECOND 1000000000ULL

static struct gpumon_model reading_at(uint64_t seconds, uint64_t period)
{
	struct gpumon_model model = { .parts = GPUMON_PART_ALL };

	model.info.now_ns = gpumon_value_of(seconds * SECOND);
	model.info.since_ns = gpumon_value_of(100 * SECOND);
	model.info.period = gpumon_value_of(period);
	return model;
}

static void add_ring(struct gpumon_model *model, uint64_t id, const char *device, const char *name,
		     uint64_t done, uint64_t run_ns_each)
{
	static const char *const histograms[] = { "queue_ns", "run_ns" };
	struct gpumon_ring *ring = gpumon_model_add_ring(model);

	assert_non_null(ring);
	ring->id = gpumon_value_of(id);
	ring->device = strdup(device);
	ring->name = strdup(name);
	ring->queued = ring->run = ring->done = gpumon_value_of(done);
	ring->errors = gpumon_value_of(0);
	ring->killed = gpumon_value_of(0);
	/* One job after the other. */
	ring->busy_ns = gpumon_value_of(done * run_ns_each);
	ring->queue_depth = gpumon_value_of(id + 2);
	ring->queue_depth_max = gpumon_value_of(17);
	ring->hw_depth = gpumon_value_of(1);
	ring->hw_depth_max = gpumon_value_of(4);
	for (size_t i = 0; i < 2; i++) {
		struct gpumon_histogram *histogram = gpumon_model_add_histogram(model);
		uint64_t each = i ? run_ns_each : run_ns_each / 10;

		assert_non_null(histogram);
		histogram->group = strdup("drm_sched");
		histogram->ring_id = gpumon_value_of(id);
		histogram->name = strdup(histograms[i]);
		histogram->count = gpumon_value_of(done);
		histogram->sum = gpumon_value_of(done * each);
		if (done)
			gpumon_histogram_add_bucket(histogram, each, each + 1, done);
	}
}

static void add_process(struct gpumon_model *model, uint64_t pid, const char *comm, uint64_t jobs,
			bool alive)
{
	struct gpumon_process *process = gpumon_model_add_process(model);

	assert_non_null(process);
	process->id = gpumon_value_of(pid);
	process->pid = gpumon_value_of(pid);
	process->start_ns = gpumon_value_of(pid * 1000);
	process->comm = strdup(comm);
	process->jobs = gpumon_value_of(jobs);
	process->alive = gpumon_value_of(alive);
}

static void add_group(struct gpumon_model *model, uint64_t state, const char *reason,
		      uint64_t table_full)
{
	struct gpumon_group *group = gpumon_model_add_group(model);
	struct gpumon_probe *probe;

	assert_non_null(group);
	group->name = strdup("drm_sched");
	group->reason = strdup(reason);
	group->state = gpumon_value_of(state);
	probe = gpumon_group_add_probe(group);
	assert_non_null(probe);
	probe->name = strdup("drm_run_job");
	probe->dropped.table_full = gpumon_value_of(table_full);
	probe->dropped.recursion = gpumon_value_of(0);
}

static void update(struct gpumon_top *top, struct gpumon_model *reading)
{
	gpumon_top_update(top, reading);
}

/* A busy machine, after @n readings a second apart. */
static void busy(struct gpumon_top *top, unsigned int n, unsigned int n_rings)
{
	static const char *const devices[] = { "0000:03:00.0", "0000:83:00.0" };
	static const char *const comms[] = { "blender", "Xwayland", "ffmpeg", "python3", "chrome" };
	uint64_t done[64] = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		struct gpumon_model model = reading_at(112 + i, 1);

		add_group(&model, GPUMON_ATTACH_STATE_ATTACHED, "", 3 + i);
		for (unsigned int k = 0; k < n_rings; k++) {
			char name[32];

			/* Several different curves. */
			done[k] += k % 3 == 0 ? 300 + 100 * (i % 7) : k % 3 == 1 ? 5 * (i % 20) : 0;
			snprintf(name, sizeof(name), "gfx_%u.0.%u", k / 4, k % 4);
			add_ring(&model, k, devices[k % 2], name, done[k], 1100000 + k * 1000);
		}
		for (unsigned int k = 0; k < 5; k++)
			add_process(&model, 1200 + k * 37, comms[k], (i + 10) * (k + 1) * 11,
				    k != 3);
		update(top, &model);
	}
}

static void first_reading_is_the_mean_since_the_beginning(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_model model = reading_at(110, 1);

	(void)state;
	add_ring(&model, 0, "dev", "ring0", 1000, 5000000);
	update(&top, &model);
	assert_int_equal(top.n_rings, 1);
	/* 1000 jobs of 5 ms in 10 s. */
	assert_true(top.rings[0].load > 0.4999 && top.rings[0].load < 0.5001);
	assert_int_equal(top.rings[0].n_history, 0);
	assert_int_equal(top.diff.interval_ns, 10 * SECOND);
	gpumon_top_free(&top);
}

static void second_reading_is_the_difference(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_model model = reading_at(110, 1);

	(void)state;
	add_ring(&model, 0, "dev", "ring0", 1000, 1000000);
	add_process(&model, 77, "app", 1000, true);
	add_group(&model, GPUMON_ATTACH_STATE_ATTACHED, "", 5);
	update(&top, &model);
	model = reading_at(112, 1);
	add_ring(&model, 0, "dev", "ring0", 1600, 1000000);
	add_process(&model, 77, "app", 1500, true);
	add_group(&model, GPUMON_ATTACH_STATE_ATTACHED, "", 7);
	update(&top, &model);

	/* 600 jobs of 1 ms in 2 s. */
	assert_true(top.rings[0].load > 0.2999 && top.rings[0].load < 0.3001);
	assert_true(top.rings[0].busy > 0.2999 && top.rings[0].busy < 0.3001);
	assert_int_equal(top.rings[0].done.v, 600);
	assert_int_equal(top.rings[0].run_p99.v, 1000000);
	assert_int_equal(top.rings[0].queue_p50.v, 100000);
	assert_int_equal(top.rings[0].n_history, 1);
	assert_int_equal(top.processes[0].jobs.v, 500);
	assert_int_equal(top.processes[0].total.v, 1500);
	assert_int_equal(top.lost.table_full.v, 7);
	assert_int_equal(top.lost_now.table_full.v, 2);
	gpumon_top_free(&top);
}

/* Nothing ended in the interval: no percentiles, which is not the same as 0 ns. */
static void idle_interval_has_no_percentiles(void **state)
{
	struct gpumon_top top = { 0 };

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct gpumon_model model = reading_at(110 + i, 1);

		add_ring(&model, 0, "dev", "ring0", 1000, 1000000);
		update(&top, &model);
	}
	assert_true(top.rings[0].load == 0);
	assert_false(top.rings[0].run_p50.known);
	assert_false(top.rings[0].queue_p99.known);
	gpumon_top_free(&top);
}

static void reset_between_counts_from_the_reset(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_top_view view = { .utf8 = true };
	struct gpumon_model model = reading_at(110, 1);
	char *text;

	(void)state;
	add_ring(&model, 0, "dev", "ring0", 100000, 1000000);
	update(&top, &model);
	model = reading_at(111, 2);
	model.info.since_ns = gpumon_value_of(110 * SECOND + SECOND / 2);
	add_ring(&model, 0, "dev", "ring0", 100, 1000000);
	update(&top, &model);
	/* 100 jobs of 1 ms in the half second since the reset. */
	assert_true(top.rings[0].load > 0.1999 && top.rings[0].load < 0.2001);
	assert_int_equal(top.rings[0].done.v, 100);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "reset"));
	free(text);
	gpumon_top_free(&top);
}

static void rings_come_and_go(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_model model = reading_at(110, 1);

	(void)state;
	add_ring(&model, 0, "a", "ring0", 1000, 1000);
	add_ring(&model, 1, "a", "ring1", 1000, 1000);
	update(&top, &model);
	for (unsigned int i = 0; i < 3; i++) {
		model = reading_at(111 + i, 1);
		/*
		 * Number 1 now belongs to another ring, which must not get any data of the old one.
		 */
		add_ring(&model, 1, "b", "ring1", 50 * (i + 1), 1000);
		update(&top, &model);
	}
	assert_int_equal(top.n_rings, 1);
	assert_string_equal(top.rings[0].device, "b");
	assert_int_equal(top.rings[0].done.v, 50);
	assert_int_equal(top.rings[0].n_history, 3);
	model = reading_at(114, 1);
	update(&top, &model);
	assert_int_equal(top.n_rings, 0);
	gpumon_top_free(&top);
}

static void history_keeps_the_newest(void **state)
{
	struct gpumon_top top = { 0 };

	(void)state;
	for (unsigned int i = 0; i < GPUMON_TOP_HISTORY + 10; i++) {
		struct gpumon_model model = reading_at(110 + i, 1);

		/* i jobs of 1 ms more each second. */
		add_ring(&model, 0, "dev", "ring0", i * (i + 1) / 2, 1000000);
		update(&top, &model);
	}
	assert_int_equal(top.rings[0].n_history, GPUMON_TOP_HISTORY);
	for (size_t i = 0; i < GPUMON_TOP_HISTORY; i++) {
		double wanted = (double)(i + 10) / 1000;

		assert_true(top.rings[0].history[i] > wanted * 0.999 &&
			    top.rings[0].history[i] < wanted * 1.001);
	}
	gpumon_top_free(&top);
}

static void sorting(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_model model = reading_at(110, 1);

	(void)state;
	add_ring(&model, 3, "dev", "ring10", 10, 9000000);
	add_ring(&model, 1, "dev", "ring9", 1000, 10);
	add_ring(&model, 2, "dev", "ring2", 0, 0);
	model.rings[2].queue_depth = (struct gpumon_value){ 0 };
	model.rings[2].errors = gpumon_value_of(4);
	update(&top, &model);
	gpumon_top_sort(&top, GPUMON_TOP_LOAD);
	assert_string_equal(top.rings[0].name, "ring10");
	gpumon_top_sort(&top, GPUMON_TOP_JOBS);
	assert_string_equal(top.rings[0].name, "ring9");
	gpumon_top_sort(&top, GPUMON_TOP_NAME);
	assert_string_equal(top.rings[0].name, "ring2");
	assert_string_equal(top.rings[2].name, "ring10");
	gpumon_top_sort(&top, GPUMON_TOP_ERRORS);
	assert_string_equal(top.rings[0].name, "ring2");
	gpumon_top_sort(&top, GPUMON_TOP_QUEUED);
	assert_string_equal(top.rings[0].name, "ring10");
	/* Unknown comes last. */
	assert_string_equal(top.rings[2].name, "ring2");
	gpumon_top_sort(&top, GPUMON_TOP_RUN_TIME);
	assert_string_equal(top.rings[0].name, "ring10");
	assert_string_equal(top.rings[2].name, "ring2");
	gpumon_top_free(&top);
}

static void keys_are_those_of_the_help_line(void **state)
{
	(void)state;
	assert_int_equal(gpumon_top_key('b'), GPUMON_TOP_BUSY);
	assert_int_equal(gpumon_top_key('l'), GPUMON_TOP_LOAD);
	assert_int_equal(gpumon_top_key('n'), GPUMON_TOP_NAME);
	assert_int_equal(gpumon_top_key('q'), GPUMON_TOP_SORTS);
	assert_int_equal(gpumon_top_key(0), GPUMON_TOP_SORTS);
}

static void page_has_what_matters(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_top_view view = { .utf8 = true,
					.live = true,
					.interval_ns = SECOND,
					.clock = "12:34:56",
					.term = { .columns = 132, .rows = 30 } };
	char *text;

	(void)state;
	busy(&top, 30, 3);
	gpumon_top_sort(&top, GPUMON_TOP_BUSY);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "0000:03:00.0/gfx_0.0.0"));
	assert_non_null(strstr(text, "TIME QUEUED"));
	assert_non_null(strstr(text, "TIME RUN"));
	assert_non_null(strstr(text, "1.10ms"));
	assert_non_null(strstr(text, "110us"));
	assert_non_null(strstr(text, "Lost: 32 table full (+1)"));
	assert_non_null(strstr(text, "blender"));
	assert_non_null(strstr(text, "python3 (exited)"));
	assert_non_null(strstr(text, "[b busy]"));
	assert_non_null(strstr(text, "12:34:56"));
	/* No colour was asked for. */
	assert_null(strchr(text, '\033'));
	free(text);
	gpumon_top_free(&top);
}

static void page_never_exceeds_the_terminal(void **state)
{
	struct gpumon_top top = { 0 };

	(void)state;
	busy(&top, 30, 24);
	for (unsigned int columns = 1; columns < 160; columns += 3) {
		for (unsigned int rows = 1; rows < 60; rows += 1 + columns % 5) {
			struct gpumon_top_view view = {
				.utf8 = true,
				.live = columns % 2,
				.interval_ns = SECOND,
				.note = columns % 3 ? NULL : "something failed",
				.term = { .columns = columns, .rows = rows },
			};
			char *text = top_page_draw(&top, &view);

			assert_true(top_page_columns(text) <= columns);
			assert_true(top_page_lines(text) <= rows);
			free(text);
		}
	}
	gpumon_top_free(&top);
}

/* Characters of East Asia take two columns: a line beyond the edge would scroll the page. */
static void wide_names_fit(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_model model = reading_at(110, 1);

	(void)state;
	add_ring(&model, 0, "dev", "gfx", 10, 1000);
	add_process(&model, 5, "\xe5\x8e\x9f\xe7\xa5\x9e\xe5\x8e\x9f\xe7\xa5\x9e.exe", 10, true);
	update(&top, &model);
	for (unsigned int columns = 1; columns < 60; columns++) {
		for (unsigned int utf8 = 0; utf8 < 2; utf8++) {
			struct gpumon_top_view view = { .utf8 = utf8,
							.term = { .columns = columns } };
			char *text = top_page_draw(&top, &view);

			assert_true(top_page_columns(text) <= columns);
			free(text);
		}
	}
	gpumon_top_free(&top);
}

/*
 * Behind the last column the cursor of some terminals is still on it, so that clearing the rest of
 * the line would clear that character.
 */
static void full_lines_are_not_cleared(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_top_view view = { .live = true,
					.clear = true,
					.clock = "12:34:56",
					.term = { .columns = 100, .rows = 20 } };
	char *text;

	(void)state;
	busy(&top, 30, 24);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "12:34:56\n"));
	assert_non_null(strstr(text, "(exited)\033[K\n"));
	assert_string_equal(text + strlen(text) - 3, "\033[K");
	free(text);
	gpumon_top_free(&top);
}

static void what_does_not_fit_is_said(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_top_view view = { .live = true, .term = { .columns = 100, .rows = 20 } };
	char *text;

	(void)state;
	busy(&top, 3, 24);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "more rings"));
	assert_non_null(strstr(text, "more processes"));
	free(text);
	/* Without a limit everything is there. */
	view.term.rows = 0;
	text = top_page_draw(&top, &view);
	assert_null(strstr(text, " more "));
	free(text);
	gpumon_top_free(&top);
}

static void why_there_is_nothing(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_top_view view = { .utf8 = true };
	struct gpumon_model model = reading_at(110, 1);
	char *text;

	(void)state;
	add_group(&model, GPUMON_ATTACH_STATE_WAITING, "module gpu_sched is not loaded", 0);
	update(&top, &model);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "drm_sched is waiting: module gpu_sched is not loaded"));
	assert_non_null(strstr(text, "No ring has had a job yet."));
	assert_non_null(strstr(text, "Nothing lost"));
	free(text);
	gpumon_top_free(&top);
}

/* They stay in the module's table for a while, and would displace live processes. */
static void exited_processes_are_counted(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_top_view view = { .term = { .columns = 100 } };
	char *text;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct gpumon_model model = reading_at(110 + i, 1);

		add_process(&model, 1, "gone", 500, false);
		add_process(&model, 2, "gone too", 600, false);
		add_process(&model, 3, "just gone", 10 + i, false);
		add_process(&model, 4, "idle", 5, true);
		update(&top, &model);
	}
	assert_string_equal(top.processes[0].comm, "just gone");
	assert_string_equal(top.processes[1].comm, "idle");
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "just gone (exited)"));
	assert_non_null(strstr(text, "idle"));
	assert_null(strstr(text, "gone too"));
	assert_non_null(strstr(text, "and 2 that exited"));
	free(text);
	gpumon_top_free(&top);
}

/* The module may have room for 65536: each is found without a search through all others. */
static void many_processes(void **state)
{
	struct gpumon_top top = { 0 };
	struct timespec used;

	(void)state;
	for (unsigned int reading = 0; reading < 2; reading++) {
		struct gpumon_model model = reading_at(110 + reading, 1);

		/* Some went, and some came. */
		for (unsigned int pid = 1 + reading * 10; pid < 20000 + reading * 10; pid++)
			add_process(&model, pid, "python3", 10 + reading * (pid % 7), true);
		update(&top, &model);
	}
	assert_int_equal(top.n_processes, 19999);
	for (size_t i = 0; i < top.n_processes; i++) {
		uint64_t pid = top.processes[i].pid.v;

		assert_int_equal(top.processes[i].total.v, 10 + pid % 7);
		assert_int_equal(top.processes[i].jobs.v, pid < 20000 ? pid % 7 : 10 + pid % 7);
	}
	gpumon_top_free(&top);
	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
	assert_true(used.tv_sec < 2);
}

static void unknown_is_a_dash(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_top_view view = { .term = { .columns = 100 } };
	struct gpumon_model model = reading_at(110, 1);
	struct gpumon_ring *ring = gpumon_model_add_ring(&model);
	char *text;
	char *line;

	(void)state;
	ring->id = gpumon_value_of(0);
	ring->name = strdup("lonely");
	update(&top, &model);
	text = top_page_draw(&top, &view);
	line = strstr(text, "-/lonely");
	assert_non_null(line);
	line[strcspn(line, "\n")] = '\0';
	assert_null(strpbrk(line, "0123456789"));
	free(text);
	gpumon_top_free(&top);
}

/* A process can have any name, and a terminal executes any sequence. */
static void names_cannot_drive_the_terminal(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_top_view view = { .utf8 = false, .term = { .columns = 100 } };
	struct gpumon_model model = reading_at(110, 1);
	char *text;

	(void)state;
	add_ring(&model, 0, "dev", "ri\033[2Jng", 10, 1000);
	add_process(&model, 5, "evil\033]0;x\007\nname\xff", 10, true);
	add_process(&model, 6, "\xc3\xa4pfel", 10, true);
	update(&top, &model);
	text = top_page_draw(&top, &view);
	for (const char *at = text; *at; at++)
		assert_true(*at == '\n' || (*at >= ' ' && *at < 0x7f));
	assert_non_null(strstr(text, "evil?"));
	assert_non_null(strstr(text, "?pfel"));
	free(text);
	gpumon_top_free(&top);
}

static void long_ring_names_keep_their_end(void **state)
{
	struct gpumon_top top = { 0 };
	struct gpumon_top_view view = { .utf8 = false, .term = { .columns = 80 } };
	struct gpumon_model model = reading_at(110, 1);
	char *text;

	(void)state;
	add_ring(&model, 0, "a-device-with-a-very-long-name-that-goes-on", "the_end", 10, 1000);
	update(&top, &model);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "goes-on/the_end"));
	assert_null(strstr(text, "a-device-with"));
	free(text);
	gpumon_top_free(&top);
}

static void sparklines(void **state)
{
	static const double values[] = { 0, 0.001, 0.5, 0.999, 1, 7, -1 };
	char buf[64];
	double nan_value = strtod("nan", NULL);

	(void)state;
	assert_string_equal(gpumon_sparkline(buf, sizeof(buf), values, 7, 9, 1, true), "  ·▁▅███ ");
	assert_string_equal(gpumon_sparkline(buf, sizeof(buf), values, 7, 3, 1, false), "@@ ");
	assert_string_equal(gpumon_sparkline(buf, sizeof(buf), NULL, 0, 2, 1, true), "  ");
	assert_string_equal(gpumon_sparkline(buf, sizeof(buf), &nan_value, 1, 1, 1, true), " ");
	/* Without a scale, any value is full, and nothing divides by zero. */
	assert_string_equal(gpumon_sparkline(buf, sizeof(buf), values, 2, 2, 0, false), ".@");
	/* Never an incomplete character. */
	assert_string_equal(gpumon_sparkline(buf, 6, values + 3, 3, 3, 1, true), "█");
}

static int show(int argc, char **argv)
{
	struct gpumon_top top = { 0 };

	busy(&top, 40, argc > 4 ? (unsigned int)atoi(argv[4]) : 5);
	gpumon_top_sort(&top, GPUMON_TOP_BUSY);
	top_page_show(&top, "", argc - 2, argv + 2);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_reading_is_the_mean_since_the_beginning),
		cmocka_unit_test(second_reading_is_the_difference),
		cmocka_unit_test(idle_interval_has_no_percentiles),
		cmocka_unit_test(reset_between_counts_from_the_reset),
		cmocka_unit_test(rings_come_and_go),
		cmocka_unit_test(history_keeps_the_newest),
		cmocka_unit_test(sorting),
		cmocka_unit_test(keys_are_those_of_the_help_line),
		cmocka_unit_test(page_has_what_matters),
		cmocka_unit_test(page_never_exceeds_the_terminal),
		cmocka_unit_test(wide_names_fit),
		cmocka_unit_test(full_lines_are_not_cleared),
		cmocka_unit_test(what_does_not_fit_is_said),
		cmocka_unit_test(why_there_is_nothing),
		cmocka_unit_test(exited_processes_are_counted),
		cmocka_unit_test(many_processes),
		cmocka_unit_test(unknown_is_a_dash),
		cmocka_unit_test(names_cannot_drive_the_terminal),
		cmocka_unit_test(long_ring_names_keep_their_end),
		cmocka_unit_test(sparklines),
	};

	if (argc > 1 && !strcmp(argv[1], "show"))
		return show(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
