// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Who uses the GPUs, in "top": processes by GPU time, containers and cgroups, and names of GPUs. With
 * the argument "show PAGE [COLUMNS ROWS]" it prints a page in colour to look at.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/top.h"
#include "top_page.h"

#define SECOND 1000000000ULL
#define GPU0   "0000:03:00.0"
#define GPU1   "0000:83:00.0"

static void add_ring(struct gpumon_model *model, const char *device, const char *name,
		     uint64_t busy_ns)
{
	struct gpumon_ring *ring = gpumon_model_add_ring(model);

	ring->id = gpumon_value_of(model->n_rings);
	ring->device = strdup(device);
	ring->name = strdup(name);
	ring->done = gpumon_value_of(100);
	ring->busy_ns = gpumon_value_of(busy_ns);
	ring->hw_depth = gpumon_value_of(0);
}

static void add_process(struct gpumon_model *model, uint64_t id, uint64_t pid, const char *comm,
			uint64_t jobs, const char *container)
{
	struct gpumon_process *process = gpumon_model_add_process(model);

	process->id = gpumon_value_of(id);
	process->pid = gpumon_value_of(pid);
	process->start_ns = gpumon_value_of(id);
	process->comm = strdup(comm);
	process->jobs = gpumon_value_of(jobs);
	process->alive = gpumon_value_of(id != 3);
	process->container = container ? strdup(container) : NULL;
	process->cgroup = strdup("/user.slice");
	/* So that there is a page of processes. */
	process->ioctls = gpumon_value_of(0);
}

static void add_device(struct gpumon_model *model, const char *address, const char *name,
		       const char *uuid)
{
	struct gpumon_device *device = gpumon_model_add_device(model);

	device->address = strdup(address);
	device->model = name ? strdup(name) : NULL;
	device->uuid = uuid ? strdup(uuid) : NULL;
}

/*
 * Readings a second apart. In each second blender is on both GPUs for 0.62 and 0.1 s, chrome for
 * 0.25 s, and an ended process had its last job; python3 queued most jobs, without any time.
 */
static void readings(struct gpumon_top *top, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		struct gpumon_model model = { .parts = GPUMON_PART_ALL };

		model.info.now_ns = gpumon_value_of((100 + i) * SECOND);
		model.info.since_ns = gpumon_value_of(90 * SECOND);
		model.info.period = gpumon_value_of(1);
		add_ring(&model, GPU0, "gfx", (10 + i) * 870000000);
		add_ring(&model, GPU1, "compute", (10 + i) * 900000000);
		add_process(&model, 1, 4711, "blender", 50 * i, "web");
		add_process(&model, 2, 4712, "chrome", 900 * i, NULL);
		add_process(&model, 3, 4713, "ended", 5, "web");
		add_process(&model, 4, 4714, "python3", 5000 * i, NULL);
		add_process(&model, 5, 4715, "idle", 7, NULL);
		test_usage_row(&model, 1,
			       (struct test_usage){ GPU0, "gfx", 1, 0, 0, 50 * i, 620000000 * i,
						    600000000 * i, 0 });
		test_usage_row(&model, 2,
			       (struct test_usage){ GPU1, "compute", 1, 0, 0, i, 100000000 * i, 0,
						    0 });
		test_usage_row(&model, 3,
			       (struct test_usage){ GPU0, "gfx", 2, 0, 0, 900 * i, 250000000 * i,
						    9000000 * i, 1 });
		test_usage_row(&model, 4,
			       (struct test_usage){ GPU0, "gfx", 3, 0, 0, 5 * i, 1000000 * i, 0,
						    0 });
		gpumon_top_update(top, &model);
	}
}

static void processes_by_gpu_time(void **state)
{
	struct gpumon_top_view view = { .term = { .columns = 120 } };
	struct gpumon_top top = { 0 };
	char *text;

	(void)state;
	readings(&top, 2);
	assert_string_equal(top.processes[0].comm, "blender");
	assert_string_equal(top.processes[1].comm, "chrome");
	assert_string_equal(top.processes[2].comm, "ended");
	assert_string_equal(top.processes[3].comm, "python3");
	text = top_page_draw(&top, &view);
	test_line(text, "PID", "PID GPU WAIT/JOB JOBS/S JOBS OF DEVICE PROCESS");
	/* The other device's ring is the one whose time is divided. */
	test_line(text, "4711", "4711 62.0% 11.8ms 50.0 50 0000:03:00.0 +1 blender");
	test_line(text, "4712", "4712 25.0% 10.0us 900 900 0000:03:00.0 chrome");
	/* It queued nothing in this second, but a job of it was done. */
	test_line(text, "4713", "4713 0.1% 0ns 0 5 0000:03:00.0 ended (exited)");
	test_line(text, "4714", "4714 0.0% - 5.00k 5.00k - python3");
	assert_null(strchr(text, '~'));
	free(text);

	/* Where there is no room, the name stays. */
	view.term.columns = 80;
	text = top_page_draw(&top, &view);
	test_line(text, "4711", "4711 62.0% 11.8ms 50.0 50 blender");
	free(text);
	gpumon_top_free(&top);
}

/* BPF programs, and older modules, do not count it. */
static void by_jobs_without_times(void **state)
{
	struct gpumon_top_view view = { .term = { .columns = 120 } };
	struct gpumon_model model = { .parts = GPUMON_PART_ALL };
	struct gpumon_top top = { 0 };
	char *text;

	(void)state;
	model.info.now_ns = gpumon_value_of(100 * SECOND);
	model.info.since_ns = gpumon_value_of(90 * SECOND);
	model.info.period = gpumon_value_of(1);
	add_process(&model, 1, 1, "few", 10, "web");
	add_process(&model, 2, 2, "many", 100, NULL);
	gpumon_top_update(&top, &model);
	view.page[0] = '\0';
	strcpy(view.page, GPUMON_TOP_RINGS);
	text = top_page_draw(&top, &view);
	test_line(text, "PID", "PID JOBS/S JOBS PROCESS");
	assert_true(strstr(text, "many") < strstr(text, "few"));
	free(text);
	view.by_cgroup = true;
	text = top_page_draw(&top, &view);
	test_line(text, "PROCESSES", "PROCESSES JOBS/S CONTAINER OR CGROUP");
	test_line(text, "1 10.0", "1 10.0 /user.slice");
	test_line(text, "1 1.00", "1 1.00 web");
	free(text);
	gpumon_top_free(&top);
}

static void containers_and_back(void **state)
{
	struct gpumon_top_view view = { .live = true, .term = { .columns = 120, .rows = 40 } };
	struct gpumon_top top = { 0 };
	char *text;

	(void)state;
	readings(&top, 2);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "c cgroups"));
	free(text);
	view.by_cgroup = true;
	text = top_page_draw(&top, &view);
	test_line(text, "PROCESSES", "PROCESSES GPU WAIT/JOB JOBS/S OF DEVICE CONTAINER OR CGROUP");
	test_line(text, "2 ", "2 62.1% 10.7ms 56.0 0000:03:00.0 +1 web");
	test_line(text, "3 ", "3 25.0% 10.0us 900 0000:03:00.0 /user.slice");
	assert_null(strstr(text, "blender"));
	assert_non_null(strstr(text, "c processes"));
	free(text);
	/* The page of processes, too. */
	strcpy(view.page, GPUMON_TOP_PROCESSES);
	text = top_page_draw(&top, &view);
	test_line(text, "2 ", "2 62.1% 10.7ms 56.0 0000:03:00.0 +1 web");
	free(text);
	view.by_cgroup = false;
	text = top_page_draw(&top, &view);
	test_line(text, "PID", "PID PROCESS GPU WAIT/JOB JOBS/S IOCTLS/S OPEN-NOW CONTAINER");
	test_line(text, "4711", "4711 blender 62.0% 11.8ms 50.0 0 - web");
	assert_true(strstr(text, "chrome") < strstr(text, "python3"));
	free(text);
	gpumon_top_free(&top);
}

/* Columns of what somebody counts, where there is room. */
static void memory_of_processes_and_containers(void **state)
{
	struct gpumon_top_view view = { .term = { .columns = 132 } };
	struct gpumon_model next = { .parts = GPUMON_PART_ALL };
	struct gpumon_top top = { 0 };
	char *text;

	(void)state;
	next.info.now_ns = gpumon_value_of(100 * SECOND);
	next.info.since_ns = gpumon_value_of(90 * SECOND);
	next.info.period = gpumon_value_of(1);
	add_process(&next, 1, 4711, "blender", 50, "web");
	add_process(&next, 2, 4712, "chrome", 90, NULL);
	next.processes[0].vram_bytes = gpumon_value_of(5 << 20);
	test_usage_row(&next, 1, (struct test_usage){ GPU0, "gfx", 1, 0, 0, 50, SECOND, 0, 0 });
	test_dmem(&next, "web", "/docker/web", "drm/0000:03:00.0/vram0", gpumon_value_of(7 << 20));
	test_dmem(&next, "web", "/docker/web", "drm/0000:83:00.0/vram0", gpumon_value_of(1 << 20));
	gpumon_top_update(&top, &next);
	strcpy(view.page, GPUMON_TOP_RINGS);
	text = top_page_draw(&top, &view);
	test_line(text, "PID", "PID GPU WAIT/JOB JOBS/S JOBS VRAM-NOW OF DEVICE PROCESS");
	test_line(text, "4711", "4711 10.0% 0ns 5.00 50 5.00MiB 0000:03:00.0 blender");
	test_line(text, "4712", "4712 0.0% - 9.00 90 - - chrome");
	free(text);
	view.by_cgroup = true;
	text = top_page_draw(&top, &view);
	test_line(text, "PROCESSES",
		  "PROCESSES GPU WAIT/JOB JOBS/S VRAM-NOW DMEM-NOW OF DEVICE CONTAINER OR CGROUP");
	test_line(text, "1 10.0%", "1 10.0% 0ns 5.00 5.00MiB 8.00MiB 0000:03:00.0 web");
	test_line(text, "1 0.0%", "1 0.0% - 0 - - - /user.slice");
	free(text);
	view.by_cgroup = false;
	view.term.columns = 80;
	text = top_page_draw(&top, &view);
	test_line(text, "4711", "4711 10.0% 0ns 5.00 50 5.00MiB blender");
	free(text);
	view.term.columns = 70;
	text = top_page_draw(&top, &view);
	test_line(text, "4711", "4711 10.0% 0ns 5.00 50 blender");
	free(text);
	view.term.columns = 132;
	strcpy(view.page, GPUMON_TOP_PROCESSES);
	text = top_page_draw(&top, &view);
	test_line(text, "PID",
		  "PID PROCESS GPU WAIT/JOB JOBS/S IOCTLS/S OPEN-NOW VRAM-NOW CONTAINER");
	test_line(text, "4711", "4711 blender 10.0% 0ns 5.00 0 - 5.00MiB web");
	free(text);
	gpumon_top_free(&top);
}

static void page_of_rings_and_processes(void **state)
{
	struct gpumon_top_view view = { .page = "drm_sched", .term = { .columns = 132 } };
	struct gpumon_top top = { 0 };
	char *text;

	(void)state;
	readings(&top, 2);
	text = top_page_draw(&top, &view);
	test_line(text, "DEVICE",
		  "DEVICE RING PID PROCESS GPU WAIT/JOB JOBS/S ERRORS CLIENT CONTAINER");
	test_line(text, GPU0 " gfx 4711", GPU0 " gfx 4711 blender 62.0% 12.0ms 50.0 0 - web");
	/* That ring lacks nearly all of its busy time: it runs several jobs at once. */
	assert_non_null(strstr(text, "~ share: "));
	test_line(text, GPU1 " compute 4711", GPU1 " compute 4711 blender ~10.0% 0ns 1.00 0 - web");
	free(text);
	gpumon_top_free(&top);
}

/* Where there is room beside the clock. */
static void policy_of_the_scheduler(void **state)
{
	struct gpumon_top_view view = { .term = { .columns = 80 }, .clock = "12:34:56" };
	struct gpumon_top top = { 0 };
	char *text;

	(void)state;
	readings(&top, 2);
	text = top_page_draw(&top, &view);
	assert_null(strstr(text, "policy"));
	free(text);
	top.last.sched_policy = gpumon_value_of(2);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "in 1.00s  policy FAIR "));
	free(text);
	top.last.sched_policy = gpumon_value_of(9);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "policy 9 "));
	free(text);
	view.term.columns = 70;
	text = top_page_draw(&top, &view);
	assert_null(strstr(text, "policy"));
	assert_non_null(strstr(text, "12:34:56\n"));
	free(text);
	gpumon_top_free(&top);
}

static void names_of_gpus(void **state)
{
	struct gpumon_top_view view = { .term = { .columns = 80, .rows = 40 } };
	struct gpumon_top top = { 0 };
	char *text;

	(void)state;
	readings(&top, 1);
	add_device(&top.last, GPU0, "Radeon RX 7900 XT", "1a2b3c4d");
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "\n" GPU0 " Radeon RX 7900 XT 1a2b3c4d\n"));
	free(text);
	/* Of several, the names are enough; one without a name is left out. */
	add_device(&top.last, "0000:00:02.0", NULL, NULL);
	add_device(&top.last, GPU1, "NVIDIA H200", "GPU-8c0f");
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "\n" GPU0 " Radeon RX 7900 XT   " GPU1 " NVIDIA H200\n"));
	assert_null(strstr(text, "0000:00:02.0"));
	free(text);
	for (int i = 0; i < 20; i++)
		add_device(&top.last, GPU1, "NVIDIA H200", NULL);
	text = top_page_draw(&top, &view);
	assert_non_null(strstr(text, "more GPUs\n"));
	free(text);
	/* A small terminal has no lines to spare. */
	view.term.rows = 12;
	text = top_page_draw(&top, &view);
	assert_null(strstr(text, "Radeon"));
	free(text);
	gpumon_top_free(&top);
}

static void pages_never_exceed_the_terminal(void **state)
{
	static const char *const pages[] = { "rings", "drm_sched", "processes" };
	struct gpumon_top_view view = { .live = true };
	struct gpumon_top top = { 0 };

	(void)state;
	readings(&top, 3);
	for (int i = 0; i < 8; i++)
		add_device(&top.last, GPU1, "NVIDIA H200", "GPU-8c0f");
	for (size_t i = 0; i < 6; i++) {
		strcpy(view.page, pages[i / 2]);
		view.by_cgroup = i % 2;
		for (view.term.columns = 1; view.term.columns < 150; view.term.columns += 3) {
			for (view.term.rows = 1; view.term.rows < 30; view.term.rows++) {
				char *text = top_page_draw(&top, &view);

				assert_true(top_page_columns(text) <= view.term.columns);
				assert_true(top_page_lines(text) <= view.term.rows);
				free(text);
			}
		}
	}
	gpumon_top_free(&top);
}

/* A process can have any name, and so can a cgroup. */
static void names_cannot_drive_the_terminal(void **state)
{
	struct gpumon_model model = { .parts = GPUMON_PART_ALL };
	struct gpumon_top_view view = { .term = { .columns = 120 } };
	struct gpumon_top top = { 0 };

	(void)state;
	add_ring(&model, "\033[2J", "\033[3J", 1);
	add_process(&model, 1, 1, "\033[4J", 1, "\033[5J");
	add_device(&model, GPU0, "\033[6J", "\033[7J");
	test_usage_row(&model, 1, (struct test_usage){ "\033[2J", "\033[3J", 1, 0, 0, 1, 1, 1, 1 });
	gpumon_top_update(&top, &model);
	for (int i = 0; i < 3; i++) {
		char *text;

		view.by_cgroup = i == 1;
		strcpy(view.page, i == 2 ? "drm_sched" : "rings");
		text = top_page_draw(&top, &view);
		assert_null(strchr(text, '\033'));
		free(text);
	}
	gpumon_top_free(&top);
}

static int show(int argc, char **argv)
{
	struct gpumon_top top = { 0 };

	readings(&top, 20);
	add_device(&top.last, GPU0, "Radeon RX 7900 XT", "1a2b3c4d");
	add_device(&top.last, GPU1, "NVIDIA H200", "GPU-8c0f");
	top_page_show(&top, argv[2], argc - 3, argv + 3);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_by_gpu_time),
		cmocka_unit_test(by_jobs_without_times),
		cmocka_unit_test(containers_and_back),
		cmocka_unit_test(memory_of_processes_and_containers),
		cmocka_unit_test(page_of_rings_and_processes),
		cmocka_unit_test(policy_of_the_scheduler),
		cmocka_unit_test(names_of_gpus),
		cmocka_unit_test(pages_never_exceed_the_terminal),
		cmocka_unit_test(names_cannot_drive_the_terminal),
	};

	if (argc > 2 && !strcmp(argv[1], "show"))
		return show(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
