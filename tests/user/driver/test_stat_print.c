// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The tables of "stat" in a pipe or on a narrow terminal. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "driver/stat_print.h"

static char *print_by(const struct gpumon_model *model, const char *group, enum gpumon_stat_by by,
		      const struct gpumon_term *term)
{
	char *text;
	size_t len;
	FILE *stream = open_memstream(&text, &len);

	assert_int_equal(gpumon_stat_print(model, group, by, term, stream), 0);
	fclose(stream);
	return text;
}

static char *print(const struct gpumon_model *model, const char *group,
		   const struct gpumon_term *term)
{
	return print_by(model, group, GPUMON_STAT_BY_PROCESS, term);
}

static const struct gpumon_term pipe_term;

static void tables(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	text = print(&model, NULL, &pipe_term);
	test_line(text, "gpumon 0.2.0", "gpumon 0.2.0, schema 2, period 3, counting for 10.0s");
	test_line(text, "3 of 64", "3 of 64 rings, 2 of 1024 processes, 3.00MiB of memory");
	test_line(text, "drm_sched ", "drm_sched attached -");
	test_line(text, "other ", "other off switched off");
	test_line(text, "drm_run_job",
		  "drm_run_job gpu_sched tracepoint attached 1000 993 7 0 - - - -");
	test_line(
		text, "drm_sched_job_run",
		"drm_sched_job_run gpu_sched tracepoint missing 0 0 0 0 - - - not in this kernel");
	test_line(text, "0000:03:00.0 sdma0 3",
		  "0000:03:00.0 sdma0 37.0% 2000 1980 1960 1 1 77 0 10 20 3 4");
	/* Unknown is not 0. */
	test_line(text, "0000:0a:00.0 gfx_0.0.0 7",
		  "0000:0a:00.0 gfx_0.0.0 74.0% 3000 2970 2940 2 2 77 0 - - - -");
	test_line(text, "0000:03:00.0 gfx_0.0.0 queue-run",
		  "0000:03:00.0 gfx_0.0.0 queue-run 0 - - - - - -");
	test_line(text, "0000:03:00.0 sdma0 run-done",
		  "0000:03:00.0 sdma0 run-done 100 1.02us 1.10us 1.15us 1.25us 1.28us 2.00us");
	test_line(text, "4242", "4242 5900 yes glxgears");
	test_line(text, "4243", "4243 100 no ?[31m?");
	test_line(text, "and 5 that exited", "and 5 that exited and made room, with 50 jobs");
	test_line(text, "rings recycled",
		  "rings recycled with their counts: 1; latencies below 0, counted as 0: 0");
	test_line(
		text, "event ring:",
		"event ring: off, 64 KiB a CPU; since it was switched on: written 500, delivered 479, overwritten 21, dropped 0");
	assert_non_null(strstr(text, "not covered: ROCm/KFD compute"));
	assert_null(strchr(text, '\033'));
	/* States come first, counts after them. */
	assert_true(strstr(text, "PROBES") < strstr(text, "DRM SCHEDULER RINGS"));
	assert_true(strstr(text, "DRM SCHEDULER RINGS") < strstr(text, "LATENCIES"));
	free(text);
	gpumon_model_free(&model);
}

static void rates_of_a_difference(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	model.interval_ns = 2000000000;
	model.info.since_ns.v = model.info.now_ns.v - model.interval_ns;
	text = print(&model, NULL, &pipe_term);
	test_line(text, "gpumon 0.2.0", "gpumon 0.2.0, schema 2, period 3, change over 2.00s");
	test_line(text, "0000:03:00.0 sdma0 100",
		  "0000:03:00.0 sdma0 100.0% 1.00k 990 980 1 1 77 0 10 20 3 4");
	test_line(text, "4242", "4242 2.95k yes glxgears");
	assert_non_null(strstr(text, "QUEUED/s"));
	free(text);
	gpumon_model_free(&model);
}

static void one_group(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	text = print(&model, "other", &pipe_term);
	assert_null(strstr(text, "drm_run_job"));
	assert_null(strstr(text, "LATENCIES"));
	test_line(text, "other ", "other off switched off");
	free(text);
	gpumon_model_free(&model);
}

static void flags_are_shown(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	model.inconsistent = GPUMON_PART_RINGS;
	model.reset_between = true;
	text = print(&model, NULL, &pipe_term);
	assert_non_null(strstr(text, "note: rings, rows or processes came and went"));
	assert_non_null(strstr(text, "note: the counts were reset in between"));
	assert_null(strstr(text, "this kernel lacks"));
	free(text);
	/* Only those that cost something. */
	gpumon_info_add_missing_option(&model.info)->option = strdup("CONFIG_SMP");
	text = print(&model, NULL, &pipe_term);
	assert_null(strstr(text, "this kernel lacks"));
	free(text);
	gpumon_info_add_missing_option(&model.info)->option = strdup("CONFIG_CGROUPS");
	gpumon_info_add_missing_option(&model.info)->option = strdup("CONFIG_KPROBES");
	text = print(&model, NULL, &pipe_term);
	assert_non_null(strstr(text, "note: this kernel lacks CONFIG_CGROUPS, CONFIG_KPROBES: "));
	free(text);
	gpumon_model_free(&model);
}

static void nothing_known(void **state)
{
	struct gpumon_model model = { 0 };
	char *text = print(&model, NULL, &pipe_term);

	(void)state;
	test_line(text, "gpumon -", "gpumon -, schema -, period -, counting for -");
	assert_non_null(strstr(text, "no ring has been seen"));
	assert_non_null(strstr(text, "event ring: unknown"));
	free(text);
}

static void colours_only_where_asked(void **state)
{
	const struct gpumon_term term = { .tty = true, .colour = true, .columns = 200 };
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	text = print(&model, NULL, &term);
	assert_non_null(strstr(text, "\033[32m"));
	/* Only our own sequences, never those in a process name. */
	assert_non_null(strstr(text, "?[31m?"));
	free(text);
	gpumon_model_free(&model);
}

static void tables_that_describe_themselves(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	test_tables(&model);
	text = print(&model, NULL, &pipe_term);
	assert_non_null(strstr(text, "\ndrm_vblank.crtcs\n"));
	test_line(
		text, "DEVICE CRTC",
		"DEVICE CRTC VBLANKS MOVED-BYTES PENDING PENDING-MAX INTERVAL-N INTERVAL-P50 INTERVAL-P99 INTERVAL-MAX LATE");
	test_line(text, "0000:03:00.0 10",
		  "0000:03:00.0 10 600 600KiB -2 9 600 16.5ms 17.0ms 17.0ms -");
	/* A count without events is 0, an unknown one is a dash. */
	test_line(text, "- 9", "- 9 0 0B - - 0 - - - -");
	test_line(text, "GROUP MODULE FIELD", "GROUP MODULE FIELD REASON");
	test_line(text, "drm_vblank drm drm_file.minor",
		  "drm_vblank drm drm_file.minor no BTF of module drm");
	assert_null(strstr(text, "drm_file.pid"));
	test_line(text, "drm_vblank xid",
		  "drm_vblank xid 0000:65:00.0 79 3 1.00s GPU has fallen off the bus.?[2J");
	free(text);

	/* Only of the other group. */
	text = print(&model, "other", &pipe_term);
	assert_null(strstr(text, "crtcs"));
	assert_null(strstr(text, "drm_file"));
	assert_null(strstr(text, "xid"));
	free(text);
	text = print(&model, "drm_vblank", &pipe_term);
	assert_non_null(strstr(text, "drm_vblank.crtcs"));
	assert_null(strstr(text, "DRM SCHEDULER RINGS"));
	free(text);

	/* A group that waits for its module does not report missing fields. */
	model.groups[2].state = gpumon_value_of(GPUMON_ATTACH_STATE_WAITING);
	text = print(&model, NULL, &pipe_term);
	assert_null(strstr(text, "drm_file.minor"));
	free(text);
	gpumon_model_free(&model);
}

static void tables_of_a_difference(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	test_tables(&model);
	model.interval_ns = 2000000000;
	text = print(&model, NULL, &pipe_term);
	test_line(
		text, "DEVICE CRTC",
		"DEVICE CRTC VBLANKS/s MOVED-BYTES/s PENDING PENDING-MAX INTERVAL-N INTERVAL-P50 INTERVAL-P99 INTERVAL-MAX LATE/s");
	test_line(text, "0000:03:00.0 10",
		  "0000:03:00.0 10 300 300KiB -2 9 600 16.5ms 17.0ms 17.0ms -");
	free(text);
	gpumon_model_free(&model);
}

static unsigned int widest(const char *text)
{
	unsigned int most = 0, n = 0;

	for (; *text; text++) {
		n = *text == '\n' ? 0 : n + 1;
		most = n > most ? n : most;
	}
	return most;
}

/* Columns that do not fit continue below, with the labels repeated. */
static void narrow_terminals(void **state)
{
	struct gpumon_term term = { .tty = true };
	struct gpumon_model model;
	char *text, *at;

	(void)state;
	test_model(&model);
	test_tables(&model);
	for (term.columns = 60; term.columns < 200; term.columns += 7) {
		unsigned int times = 0;
		char *end;

		text = print(&model, "drm_vblank", &term);
		at = strstr(text, "drm_vblank.crtcs");
		assert_non_null(at);
		end = strstr(at, "\n\n");
		assert_non_null(end);
		*end = '\0';
		assert_true(widest(at) <= term.columns);
		assert_non_null(strstr(at, "INTERVAL-P99"));
		assert_non_null(strstr(at, "LATE"));
		for (char *found = at; (found = strstr(found, "DEVICE")); found++)
			times++;
		assert_true(term.columns > 130 ? times == 1 : times >= 1);
		assert_true(term.columns > 100 || times > 1);
		free(text);
	}
	gpumon_model_free(&model);
}

static void processes_of_every_group(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	test_tables(&model);
	model.processes[0].container = strdup("0123456789ab");
	model.processes[0].cgroup = strdup("/docker/0123456789ab…");
	model.processes[0].container_pid = gpumon_value_of(7);
	model.processes[1].cgroup = strdup("/user.slice");
	model.processes[1].container_pid = model.processes[1].pid;
	model.info.exited.ioctls = gpumon_value_of(12);
	model.info.exited.mapped_bytes = gpumon_value_of(2048);
	text = print(&model, NULL, &pipe_term);
	/* Submissions, mapped bytes, faults and opens are not counted: no such columns. */
	test_line(text, "PID",
		  "PID IN-CONTAINER JOBS ALLOCATED IOCTLS OPEN-NOW VRAM-NOW ALIVE CONTAINER COMM");
	test_line(text, "4242", "4242 7 5900 3.00MiB 2 0 5.00MiB yes 0123456789ab glxgears");
	test_line(text, "4243", "4243 - 100 3.00MiB 42 1 - no /user.slice ?[31m?");
	test_line(text, "and 5",
		  "and 5 that exited and made room, with 50 jobs, 2.00KiB mapped, 12 ioctls");
	free(text);
	gpumon_model_free(&model);
}

/* The second process used more than the first, on both GPUs; rows of no process, and of the full table. */
static void usage_model(struct gpumon_model *model)
{
	test_model(model);
	/* The first ring of the second GPU runs several jobs at once: 7.4 s busy, 5 s of jobs. */
	model->rings[2].hw_depth = gpumon_value_of(0);
	model->rings[0].busy_ns = gpumon_value_of(1000000000);
	for (size_t i = 0; i < 2; i++) {
		model->processes[i].id = gpumon_value_of(i + 1);
		model->processes[i].container = strdup(i ? "web" : "0123456789ab");
		model->processes[i].cgroup_id = gpumon_value_of(70 + i);
	}
	test_usage_row(model, 1,
		       (struct test_usage){ "0000:03:00.0", "gfx_0.0.0", 1, 0, 0, 100, 1000000000,
					    1200000000, 0 });
	test_usage_row(model, 2,
		       (struct test_usage){ "0000:03:00.0", "sdma0", 2, 9, 0, 10, 3700000000, 50000,
					    2 });
	test_usage_row(model, 3,
		       (struct test_usage){ "0000:0a:00.0", "gfx_0.0.0", 2, 10, 0, 10, 5000000000,
					    50000, 0 });
	test_usage_row(model, 4,
		       (struct test_usage){ "0000:03:00.0", "gfx_0.0.0", 0, 0, 71, 5, 250000, 0,
					    0 });
	test_usage_row(model, 5, (struct test_usage){ "-", "other", 0, 0, 0, 3, 1000, 0, 0 });
	test_usage_row(model, 6,
		       (struct test_usage){ "0000:03:00.0", "sdma0", 1, 0, 0, 0, 0, 0, 0 });
}

static void who_used_the_gpus(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	usage_model(&model);
	text = print(&model, NULL, &pipe_term);
	test_line(text, "PID",
		  "PID GPU OF-DEVICE GPU-TIME WAIT/JOB ERRORS JOBS ALIVE CONTAINER COMM");
	test_line(text,
		  "busiest ring:", "busiest ring: 0000:0a:00.0 gfx_0.0.0, busy 74.0% of the time");
	test_line(
		text, "most GPU time:",
		"most GPU time: ?[31m? (4243), ~50.0% of 0000:0a:00.0, its jobs waited 5.00us each");
	/* The longest GPU time comes first. */
	test_line(text, "4243", "4243 ~50.0% 0000:0a:00.0 +1 ~8.70s 5.00us 2 100 no web ?[31m?");
	test_line(text, "4242",
		  "4242 10.0% 0000:03:00.0 1.00s 12.0ms 0 5900 yes 0123456789ab glxgears");
	assert_true(strstr(text, "\n4243") < strstr(text, "\n4242"));
	test_line(text, "DEVICE RING PID",
		  "DEVICE RING PID CLIENT JOBS GPU GPU-TIME WAIT/JOB ERRORS CONTAINER COMM");
	test_line(text, "0000:0a:00.0 gfx_0.0.0 4243",
		  "0000:0a:00.0 gfx_0.0.0 4243 10 10 ~50.0% ~5.00s 5.00us 0 web ?[31m?");
	test_line(text, "0000:03:00.0 gfx_0.0.0 -",
		  "0000:03:00.0 gfx_0.0.0 - - 5 0.0% 250us 0ns 0 web (removed processes)");
	test_line(text, "- other", "- other - - 3 0.0% 1.00us 0ns 0 - (no room in the table)");
	test_line(text, "CLIENT JOBS",
		  "CLIENT JOBS GPU OF-DEVICE GPU-TIME WAIT/JOB ERRORS PID COMM");
	test_line(text, "10 10", "10 10 ~50.0% 0000:0a:00.0 ~5.00s 5.00us 0 4243 ?[31m?");
	test_line(text, "9 10", "9 10 37.0% 0000:03:00.0 3.70s 5.00us 2 4243 ?[31m?");
	test_line(text, "what found",
		  "what found no room: load gpumon with a larger max_processes");
	assert_non_null(strstr(text, "~ is a share: "));
	/* Who did nothing there, and the table as the kernel has it, are left out. */
	assert_null(strstr(text, "sdma0 4242"));
	assert_null(strstr(text, "drm_sched.usage"));
	free(text);

	text = print(&model, "other", &pipe_term);
	assert_null(strstr(text, "GPU TIME BY"));
	assert_null(strstr(text, "busiest ring"));
	free(text);
	gpumon_model_free(&model);
}

/* A client of its own for each process: a table of them would repeat that of the processes. */
static void clients_that_say_no_more(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	model.rings[1].busy_ns = gpumon_value_of(2000);
	for (size_t i = 0; i < 2; i++) {
		model.processes[i].id = gpumon_value_of(i + 1);
		test_usage_row(&model, i,
			       (struct test_usage){ "0000:03:00.0", "sdma0", i + 1, 20 + i, 0, 10,
						    1000, 1000, 0 });
	}
	text = print(&model, NULL, &pipe_term);
	assert_null(strstr(text, "DRM CLIENTS"));
	test_line(text, "0000:03:00.0 sdma0 4243",
		  "0000:03:00.0 sdma0 4243 21 10 0.0% 1.00us 100ns 0 ?[31m?");
	/* Another process has the file open, too. */
	test_usage_row(&model, 7,
		       (struct test_usage){ "0000:03:00.0", "sdma0", 2, 20, 0, 1, 1, 1, 0 });
	free(text);
	text = print(&model, NULL, &pipe_term);
	test_line(text, "20 11", "20 11 0.0% 0000:03:00.0 1.00us 91ns 0 4242 glxgears");
	free(text);
	gpumon_model_free(&model);
}

static void containers_in_place_of_processes(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	usage_model(&model);
	text = print_by(&model, NULL, GPUMON_STAT_BY_CGROUP, &pipe_term);
	test_line(text, "PROCESSES ALIVE",
		  "PROCESSES ALIVE JOBS GPU OF-DEVICE GPU-TIME WAIT/JOB ERRORS CONTAINER");
	test_line(text, "1 0", "1 0 25 ~50.0% 0000:0a:00.0 +1 ~8.70s 4.00us 2 web");
	test_line(text, "1 1", "1 1 100 10.0% 0000:03:00.0 1.00s 12.0ms 0 0123456789ab");
	assert_null(strstr(text, "IN-CONTAINER"));
	assert_null(strstr(text, "\n4242"));
	free(text);
	gpumon_model_free(&model);

	/* What BPF counts: jobs of the processes. */
	test_model(&model);
	text = print_by(&model, NULL, GPUMON_STAT_BY_CGROUP, &pipe_term);
	assert_null(strstr(text, "VRAM-NOW"));
	free(text);
	model.processes[0].vram_bytes = gpumon_value_of(5 << 20);
	text = print_by(&model, NULL, GPUMON_STAT_BY_CGROUP, &pipe_term);
	test_line(text, "PROCESSES ALIVE", "PROCESSES ALIVE JOBS VRAM-NOW CONTAINER");
	test_line(text, "2 1", "2 1 6000 5.00MiB (no cgroup)");
	free(text);
	model.processes[0].vram_bytes = (struct gpumon_value){ 0 };
	text = print_by(&model, NULL, GPUMON_STAT_BY_CGROUP, &pipe_term);
	test_line(text, "PROCESSES ALIVE", "PROCESSES ALIVE JOBS CONTAINER");
	test_line(text, "2 1", "2 1 6000 (no cgroup)");
	free(text);
	gpumon_model_free(&model);
}

/* BPF has counted since the command began, and says that first; a difference says its length. */
static void since_when_bpf_counts(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	model.info.since_ns = gpumon_value_of(5000000000);
	model.info.now_ns = gpumon_value_of(6020000000);
	text = print(&model, NULL, &pipe_term);
	assert_null(strstr(text, "BPF"));
	free(text);
	model.info.source = "bpf";
	text = print(&model, NULL, &pipe_term);
	assert_true(!strncmp(
		text,
		"Counted for 1.02s by BPF, since this command began: what was before is not known.\n",
		strlen("Counted for 1.02s by BPF")));
	free(text);
	model.interval_ns = 1000000000;
	text = print(&model, NULL, &pipe_term);
	assert_null(strstr(text, "BPF"));
	free(text);
	gpumon_model_free(&model);
}

/* What a wait means, where the kernel says it. */
static void policy_of_the_scheduler(void **state)
{
	static const struct {
		uint64_t policy;
		const char *want;
	} cases[] = {
		{ 0,
		  "policy is RR, queues take turns: a wait is mostly behind jobs of the same queue." },
		{ 1, "policy is FIFO, the job that was queued first is next: a wait is behind" },
		{ 2, "policy is FAIR, the queue that has used least GPU time is next: who" },
		{ 3, "policy is number 3, which is newer than this gpumon-user." },
	};
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	text = print(&model, NULL, &pipe_term);
	assert_null(strstr(text, "policy"));
	free(text);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		model.sched_policy = gpumon_value_of(cases[i].policy);
		text = print(&model, NULL, &pipe_term);
		assert_non_null(strstr(text, cases[i].want));
		free(text);
	}
	/* It is about rings. */
	text = print(&model, "drm_vblank", &pipe_term);
	assert_null(strstr(text, "policy"));
	free(text);
	gpumon_model_free(&model);
}

/* What the kernel charges to cgroups, by region; nothing where it does not. */
static void device_memory_of_containers(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	usage_model(&model);
	text = print_by(&model, NULL, GPUMON_STAT_BY_CGROUP, &pipe_term);
	assert_null(strstr(text, "DMEM-NOW"));
	assert_null(strstr(text, "GPU MEMORY BY CGROUP"));
	free(text);
	test_dmem(&model, "web", "/docker/web", "drm/0000:03:00.0/vram0", gpumon_value_of(3 << 20));
	test_dmem(&model, "web", "/docker/web", "drm/0000:83:00.0/vram0", gpumon_value_of(0));
	test_dmem(&model, "web", "/docker/web", "drm/0000:83:00.0/stolen",
		  (struct gpumon_value){ 0 });
	text = print_by(&model, NULL, GPUMON_STAT_BY_CGROUP, &pipe_term);
	test_line(text, "PROCESSES ALIVE",
		  "PROCESSES ALIVE JOBS GPU OF-DEVICE GPU-TIME WAIT/JOB ERRORS DMEM-NOW CONTAINER");
	test_line(text, "1 0", "1 0 25 ~50.0% 0000:0a:00.0 +1 ~8.70s 4.00us 2 3.00MiB web");
	test_line(text, "1 1", "1 1 100 10.0% 0000:03:00.0 1.00s 12.0ms 0 - 0123456789ab");
	test_line(text, "REGION", "REGION NOW CAPACITY CONTAINER");
	test_line(text, "drm/0000:03:00.0/vram0", "drm/0000:03:00.0/vram0 3.00MiB 16.0GiB web");
	/* Nothing is charged to it there; what is not known is no 0. */
	assert_null(strstr(text, "drm/0000:83:00.0/vram0"));
	test_line(text, "drm/0000:83:00.0/stolen", "drm/0000:83:00.0/stolen - 16.0GiB web");
	free(text);
	/* Beside processes, too. */
	text = print_by(&model, NULL, GPUMON_STAT_BY_PROCESS, &pipe_term);
	test_line(text, "drm/0000:03:00.0/vram0", "drm/0000:03:00.0/vram0 3.00MiB 16.0GiB web");
	free(text);
	gpumon_model_free(&model);
}

static void usage_of_an_interval(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	usage_model(&model);
	model.interval_ns = 5000000000;
	text = print(&model, NULL, &pipe_term);
	/* Jobs a second, and the part of the interval. */
	test_line(text, "0000:03:00.0 gfx_0.0.0 4242",
		  "0000:03:00.0 gfx_0.0.0 4242 - 20.0 20.0% 1.00s 12.0ms 0 0123456789ab glxgears");
	test_line(text, "4242",
		  "4242 20.0% 0000:03:00.0 1.00s 12.0ms 0 1.18k yes 0123456789ab glxgears");
	free(text);
	gpumon_model_free(&model);
}

static void names_of_gpus(void **state)
{
	struct gpumon_device *device;
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	text = print(&model, NULL, &pipe_term);
	assert_null(strstr(text, "\nGPUS\n"));
	free(text);
	device = gpumon_model_add_device(&model);
	device->address = strdup("0000:03:00.0");
	device->model = strdup("Radeon RX 7900 XT");
	device = gpumon_model_add_device(&model);
	device->address = strdup("0000:0a:00.0");
	device->model = strdup("\033[31mH200");
	device->uuid = strdup("GPU-8c0f");
	text = print(&model, NULL, &pipe_term);
	test_line(text, "0000:03:00.0 Radeon", "0000:03:00.0 Radeon RX 7900 XT -");
	test_line(text, "0000:0a:00.0 ?[31mH200", "0000:0a:00.0 ?[31mH200 GPU-8c0f");
	free(text);
	gpumon_model_free(&model);
}

/* Dozens of probes for absent drivers would only hide the others. */
static void probes_of_idle_groups_are_left_out(void **state)
{
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	model.groups[0].state = gpumon_value_of(GPUMON_ATTACH_STATE_WAITING);
	text = print(&model, NULL, &pipe_term);
	assert_null(strstr(text, "drm_run_job"));
	assert_null(strstr(text, "PROBES"));
	free(text);
	text = print(&model, "drm_sched", &pipe_term);
	assert_non_null(strstr(text, "drm_run_job"));
	free(text);
	gpumon_model_free(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(rates_of_a_difference),
		cmocka_unit_test(one_group),
		cmocka_unit_test(flags_are_shown),
		cmocka_unit_test(nothing_known),
		cmocka_unit_test(colours_only_where_asked),
		cmocka_unit_test(tables_that_describe_themselves),
		cmocka_unit_test(tables_of_a_difference),
		cmocka_unit_test(narrow_terminals),
		cmocka_unit_test(processes_of_every_group),
		cmocka_unit_test(who_used_the_gpus),
		cmocka_unit_test(clients_that_say_no_more),
		cmocka_unit_test(containers_in_place_of_processes),
		cmocka_unit_test(since_when_bpf_counts),
		cmocka_unit_test(policy_of_the_scheduler),
		cmocka_unit_test(device_memory_of_containers),
		cmocka_unit_test(usage_of_an_interval),
		cmocka_unit_test(names_of_gpus),
		cmocka_unit_test(probes_of_idle_groups_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
