// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Jobs that hang or starve, in made-up tables of the BPF programs. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "driver/job_watch.h"

#define SECOND 1000000000ULL
#define HANG   (5 * SECOND)
#define STARVE (10 * SECOND)
#define PID    4711

static struct source_job jobs[SOURCE_JOBS];
static struct source_ring rings[SOURCE_RINGS + 1];
static struct source_process processes[SOURCE_PROCESSES];
static uint64_t done[SOURCE_RINGS + 1], run[SOURCE_RINGS + 1];
static unsigned int readings;
static bool unreadable;

static int completed(void *data, unsigned int ring, uint64_t *was_run, uint64_t *was_done)
{
	assert_ptr_equal(data, jobs);
	readings++;
	*was_run = run[ring];
	*was_done = done[ring];
	return unreadable ? -1 : 0;
}

static const struct gpumon_job_tables tables = {
	.jobs = jobs,
	.rings = rings,
	.processes = processes,
	.completed = completed,
	.data = jobs,
};

/* Two rings without jobs, and a process. */
static int start(void **state)
{
	(void)state;
	memset(jobs, 0, sizeof(jobs));
	memset(rings, 0, sizeof(rings));
	memset(processes, 0, sizeof(processes));
	memset(run, 0, sizeof(run));
	memset(done, 0, sizeof(done));
	unreadable = false;
	readings = 0;
	for (unsigned int i = 0; i < 2; i++) {
		rings[i].ready = 1;
		strcpy(rings[i].device, "0000:03:00.0");
		strcpy(rings[i].name, i ? "sdma0" : "gfx");
	}
	processes[7] = (struct source_process){ .ready = 1, .pid = PID, .comm = "a [b] in c" };
	return 0;
}

static struct source_job *add_job(size_t at, unsigned int ring, enum source_job_state state,
				  uint64_t since)
{
	jobs[at] = (struct source_job){
		.key = 100 + at, .time_ns = since, .pid = PID, .ring = ring, .state = state
	};
	if (state == SOURCE_JOB_RUNNING)
		rings[ring].running++;
	else if (state == SOURCE_JOB_QUEUED)
		rings[ring].queued++;
	return &jobs[at];
}

static struct gpumon_job_watch *watch_of(uint64_t hang_ns, uint64_t starved_ns)
{
	return gpumon_job_watch_new(
		(struct gpumon_job_limits){ .hang_ns = hang_ns, .starved_ns = starved_ns });
}

/* Alerts of one look, as "hang 0 PROCESS: MESSAGE\n". */
static const char *look(struct gpumon_job_watch *watch, uint64_t now_ns)
{
	static char text[1024];
	struct gpumon_model model = { 0 };

	*text = '\0';
	if (gpumon_job_watch_look(watch, &tables, now_ns))
		gpumon_job_watch_tell(watch, &tables, now_ns, &model);
	for (size_t i = 0; i < model.n_alerts; i++) {
		const struct gpumon_alert *alert = &model.alerts[i];

		assert_string_equal(alert->source, "bpf");
		assert_string_equal(alert->group, "drm_sched");
		assert_string_equal(alert->device, "0000:03:00.0");
		assert_int_equal(alert->time_ns.v, now_ns);
		assert_int_equal(alert->pid.v, alert->pid.known ? PID : 0);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %u %s: %s\n",
			 alert->kind, (unsigned int)alert->code.v,
			 alert->process ? alert->process : "-", alert->message);
	}
	gpumon_model_free(&model);
	return text;
}

static void each_once_at_its_time(void **state)
{
	struct gpumon_job_watch *watch = watch_of(HANG, STARVE);

	(void)state;
	add_job(3, 0, SOURCE_JOB_RUNNING, 1 * SECOND);
	add_job(4, 0, SOURCE_JOB_QUEUED, 2 * SECOND);
	for (unsigned int second = 2; second < 6; second++)
		assert_string_equal(look(watch, second * SECOND), "");
	assert_string_equal(
		look(watch, 6 * SECOND),
		"hang 0 a [b] in c: gfx: job on the hardware for 5000 ms, in a [b] in c [4711]\n");
	for (unsigned int second = 7; second < 12; second++)
		assert_string_equal(look(watch, second * SECOND), "");
	assert_string_equal(
		look(watch, 12 * SECOND + 345678901),
		"starved 0 a [b] in c: gfx: job in its queue for 10345 ms, in a [b] in c [4711]\n");
	assert_string_equal(look(watch, 100 * SECOND), "");
	/* The first one ends, and the other one hangs, too: that is something else. */
	jobs[3].key = 0;
	jobs[4].state = SOURCE_JOB_RUNNING;
	jobs[4].time_ns = 100 * SECOND;
	rings[0].queued = 0;
	run[0]++;
	done[0]++;
	assert_string_equal(look(watch, 106 * SECOND), "");
	assert_string_equal(
		look(watch, 107 * SECOND),
		"hang 0 a [b] in c: gfx: job on the hardware for 7000 ms, in a [b] in c [4711]\n");
	/* Its entry is another job's. */
	jobs[4].key = 1000;
	jobs[4].time_ns = 108 * SECOND;
	assert_string_equal(look(watch, 109 * SECOND), "");
	assert_string_not_equal(look(watch, 114 * SECOND), "");
	gpumon_job_watch_free(watch);
}

static void a_ring_that_goes_on_is_not_looked_at(void **state)
{
	struct gpumon_job_watch *watch = watch_of(HANG, STARVE);

	(void)state;
	add_job(3, 0, SOURCE_JOB_RUNNING, SECOND);
	add_job(4, 0, SOURCE_JOB_QUEUED, SECOND);
	for (unsigned int second = 20; second < 30; second++) {
		done[0]++;
		run[0]++;
		assert_string_equal(look(watch, second * SECOND), "");
	}
	/* Nothing is done any more, but others are run meanwhile. */
	run[0]++;
	assert_non_null(strstr(look(watch, 30 * SECOND), "hang 0"));
	run[0]++;
	assert_string_equal(look(watch, 31 * SECOND), "");
	assert_non_null(strstr(look(watch, 32 * SECOND), "starved 0"));
	/* An idle ring costs not even the reading of its counts. */
	assert_int_equal(readings, 13);
	gpumon_job_watch_free(watch);
}

static void what_is_no_job_in_flight(void **state)
{
	struct gpumon_job_watch *watch = watch_of(HANG, STARVE);

	(void)state;
	add_job(1, 0, SOURCE_JOB_DONE, SECOND);
	add_job(2, 0, SOURCE_JOB_UNTRACKED, SECOND);
	add_job(3, SOURCE_RINGS + 5, SOURCE_JOB_DONE, SECOND)->state = SOURCE_JOB_QUEUED;
	add_job(4, 0, SOURCE_JOB_RUNNING, SECOND)->key = 0;
	/* Of a ring that has gone, a clock that has not come so far, and a level below 0. */
	add_job(5, 9, SOURCE_JOB_RUNNING, SECOND);
	add_job(6, 0, SOURCE_JOB_RUNNING, 1000 * SECOND);
	rings[1].running = (__u32)-1;
	for (unsigned int second = 50; second < 55; second++)
		assert_string_equal(look(watch, second * SECOND), "");
	/* Without its counts, a ring is not known to be stalled. */
	add_job(7, 0, SOURCE_JOB_RUNNING, SECOND);
	unreadable = true;
	for (unsigned int second = 55; second < 60; second++)
		assert_string_equal(look(watch, second * SECOND), "");
	unreadable = false;
	assert_string_equal(look(watch, 60 * SECOND), "");
	assert_string_not_equal(look(watch, 61 * SECOND), "");
	gpumon_job_watch_free(watch);
}

static void one_limit_alone(void **state)
{
	struct gpumon_job_watch *hang = watch_of(HANG, 0), *starved = watch_of(0, STARVE);

	(void)state;
	add_job(3, 0, SOURCE_JOB_RUNNING, SECOND);
	add_job(4, 0, SOURCE_JOB_QUEUED, SECOND);
	look(hang, 20 * SECOND);
	assert_non_null(strstr(look(hang, 21 * SECOND), "hang 0"));
	assert_string_equal(look(hang, 22 * SECOND), "");
	look(starved, 20 * SECOND);
	assert_non_null(strstr(look(starved, 21 * SECOND), "starved 0"));
	assert_string_equal(look(starved, 22 * SECOND), "");
	gpumon_job_watch_free(hang);
	gpumon_job_watch_free(starved);
}

/* A program may have taken the entry, and not have filled it in, when the job was found. */
static void an_entry_that_is_given_away_in_between(void **state)
{
	struct gpumon_job_watch *watch = watch_of(HANG, STARVE);
	struct gpumon_model model = { 0 };

	(void)state;
	add_job(3, 0, SOURCE_JOB_RUNNING, SECOND);
	add_job(4, 0, SOURCE_JOB_RUNNING, SECOND);
	add_job(5, 0, SOURCE_JOB_RUNNING, SECOND);
	gpumon_job_watch_look(watch, &tables, 20 * SECOND);
	assert_true(gpumon_job_watch_look(watch, &tables, 21 * SECOND));
	jobs[3].time_ns = 21 * SECOND;
	jobs[4].key++;
	gpumon_job_watch_tell(watch, &tables, 21 * SECOND, &model);
	assert_int_equal(model.n_alerts, 1);
	assert_int_equal(model.alerts[0].count.v, 1);
	gpumon_model_free(&model);
	gpumon_job_watch_free(watch);
}

static void processes_that_are_not_known(void **state)
{
	struct gpumon_job_watch *watch = watch_of(HANG, 0);

	(void)state;
	add_job(3, 0, SOURCE_JOB_RUNNING, SECOND)->pid = 0;
	add_job(4, 1, SOURCE_JOB_RUNNING, SECOND);
	processes[7].ready = 0;
	look(watch, 20 * SECOND);
	assert_string_equal(look(watch, 21 * SECOND),
			    "hang 0 -: gfx: job on the hardware for 20000 ms\n"
			    "hang 1 -: sdma0: job on the hardware for 20000 ms, in - [4711]\n");
	/* The process that has the pid now. */
	processes[7].ready = 1;
	processes[8] = processes[7];
	processes[8].start_ns = 1;
	strcpy(processes[8].comm, "later");
	add_job(5, 1, SOURCE_JOB_RUNNING, SECOND);
	assert_non_null(strstr(look(watch, 22 * SECOND), ", in later [4711]"));
	gpumon_job_watch_free(watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_once_at_its_time, start),
		cmocka_unit_test_setup(a_ring_that_goes_on_is_not_looked_at, start),
		cmocka_unit_test_setup(what_is_no_job_in_flight, start),
		cmocka_unit_test_setup(one_limit_alone, start),
		cmocka_unit_test_setup(an_entry_that_is_given_away_in_between, start),
		cmocka_unit_test_setup(processes_that_are_not_known, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
