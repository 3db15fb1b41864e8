// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Who used the GPUs: joins, sums, differences; sums also against a simulation of the module. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/usage.h"

#define SECOND 1000000000ULL
#define GPU0   "0000:03:00.0"
#define GPU1   "0000:0a:00.0"

static struct gpumon_ring *add_ring(struct gpumon_model *model, const char *device,
				    const char *name, uint64_t busy_ns)
{
	struct gpumon_ring *ring = gpumon_model_add_ring(model);

	ring->id = gpumon_value_of(model->n_rings);
	ring->device = strdup(device);
	ring->name = strdup(name);
	ring->live = ring->live_max = gpumon_value_of(1);
	ring->busy_ns = gpumon_value_of(busy_ns);
	ring->hw_depth = gpumon_value_of(0);
	return ring;
}

static struct gpumon_process *add_process(struct gpumon_model *model, uint64_t id, uint64_t pid,
					  const char *comm, uint64_t cgroup)
{
	struct gpumon_process *process = gpumon_model_add_process(model);

	process->id = gpumon_value_of(id);
	process->pid = gpumon_value_of(pid);
	process->start_ns = gpumon_value_of(id * 10);
	process->comm = strdup(comm);
	process->alive = gpumon_value_of(1);
	process->cgroup_id = gpumon_value_if(cgroup != 0, cgroup);
	return process;
}

/* Jobs that did not wait. */
static void row(struct gpumon_model *model, uint64_t number, const char *device, const char *ring,
		uint64_t process, uint64_t client, uint64_t cgroup, uint64_t jobs, uint64_t gpu_ns)
{
	test_usage_row(model, number,
		       (struct test_usage){ device, ring, process, client, cgroup, jobs, gpu_ns, 0,
					    0 });
}

static const struct gpumon_usage_group *group_of(const struct gpumon_usage *usage, const char *name)
{
	char text[GPUMON_USAGE_NAME_LEN];

	for (size_t i = 0; i < usage->n_groups; i++) {
		if (!strcmp(gpumon_usage_format_group(text, sizeof(text), &usage->groups[i]), name))
			return &usage->groups[i];
	}
	fail_msg("no group %s", name);
	return NULL;
}

static void part_is(const struct gpumon_usage_total *total, uint64_t length_ns, const char *want)
{
	char text[GPUMON_FORMAT_LEN];

	assert_string_equal(gpumon_usage_format_part(text, total, length_ns), want);
}

static void device_is(const struct gpumon_usage_total *total, const char *want)
{
	char text[GPUMON_USAGE_NAME_LEN];

	assert_string_equal(gpumon_usage_format_device(text, sizeof(text), total), want);
}

/* "blender used 62 % of a GPU and waited 12 ms a job." */
static void what_a_process_used(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_usage usage;

	(void)state;
	add_ring(&model, GPU0, "gfx", 6200000000);
	add_process(&model, 7, 4711, "blender", 0);
	test_usage_row(&model, 1,
		       (struct test_usage){ GPU0, "gfx", 7, 0, 0, 100, 6200000000, 1200000000, 3 });
	gpumon_usage_init(&usage, &model);
	assert_true(usage.known);
	assert_false(usage.share);
	part_is(&usage.processes[0], 10 * SECOND, "62.0%");
	device_is(&usage.processes[0], GPU0);
	assert_int_equal(gpumon_usage_wait(&usage.processes[0].sum).v, 12000000);
	assert_int_equal(usage.processes[0].sum.errors.v, 3);
	assert_ptr_equal(usage.rows[0].process, &model.processes[0]);
	assert_ptr_equal(usage.rows[0].ring, &model.rings[0]);
	/* The kernel does not tell clients. */
	assert_int_equal(usage.n_clients, 0);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&model);
}

/* Rings of one GPU are added; of several GPUs the one that was used most is shown. */
static void several_gpus_and_rings(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_usage usage;

	(void)state;
	add_ring(&model, GPU0, "gfx", 9 * SECOND);
	add_ring(&model, GPU0, "sdma", 8 * SECOND);
	add_ring(&model, GPU1, "gfx", 5 * SECOND);
	add_process(&model, 1, 10, "one", 0);
	add_process(&model, 2, 20, "both", 0);
	test_usage_row(&model, 1,
		       (struct test_usage){ GPU0, "gfx", 2, 0, 0, 1, 6 * SECOND, 10, 0 });
	test_usage_row(&model, 2,
		       (struct test_usage){ GPU1, "gfx", 2, 0, 0, 1, 5 * SECOND, 20, 1 });
	test_usage_row(&model, 3,
		       (struct test_usage){ GPU0, "sdma", 2, 0, 0, 2, 8 * SECOND, 30, 0 });
	test_usage_row(&model, 4,
		       (struct test_usage){ GPU0, "gfx", 1, 0, 0, 5, 3 * SECOND, 50, 0 });
	gpumon_usage_init(&usage, &model);
	part_is(&usage.processes[1], 10 * SECOND, "140.0%");
	device_is(&usage.processes[1], GPU0 " +1");
	assert_int_equal(usage.processes[1].sum.gpu_ns.v, 19 * SECOND);
	assert_int_equal(usage.processes[1].sum.jobs.v, 4);
	assert_int_equal(usage.processes[1].sum.queue_ns.v, 60);
	assert_int_equal(usage.processes[1].sum.errors.v, 1);
	part_is(&usage.processes[0], 10 * SECOND, "30.0%");
	device_is(&usage.processes[0], GPU0);
	/* A job that is longer than the interval counts at its end: not more than its rings have. */
	part_is(&usage.processes[0], SECOND, "100.0%");
	part_is(&usage.processes[1], SECOND, "200.0%");
	/* The longest time comes first. */
	assert_string_equal(usage.rows[0].name, "sdma");
	assert_int_equal(usage.rows[3].sum.jobs.v, 5);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&model);
}

/* The number of a pid may belong to two processes. */
static void a_reused_pid(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_usage usage;

	(void)state;
	add_ring(&model, GPU0, "gfx", 9 * SECOND);
	add_process(&model, 5, 4711, "before", 0)->alive = gpumon_value_of(0);
	add_process(&model, 6, 4711, "now", 0);
	row(&model, 1, GPU0, "gfx", 5, 0, 0, 10, 5 * SECOND);
	row(&model, 2, GPU0, "gfx", 6, 0, 0, 20, 4 * SECOND);
	gpumon_usage_init(&usage, &model);
	assert_int_equal(usage.processes[0].sum.gpu_ns.v, 5 * SECOND);
	assert_int_equal(usage.processes[1].sum.gpu_ns.v, 4 * SECOND);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&model);
}

/* Living and ended processes, and rows of those that were removed from the table. */
static void containers_and_cgroups(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_usage usage;
	const struct gpumon_usage_group *group;
	struct gpumon_cgroup *cgroup;

	(void)state;
	add_ring(&model, GPU0, "gfx", 100 * SECOND);
	add_process(&model, 1, 1, "a", 71)->container = strdup("web");
	model.processes[0].cgroup = strdup("/docker/web/a");
	add_process(&model, 2, 2, "b", 72)->container = strdup("web");
	model.processes[1].cgroup = strdup("/docker/web/b");
	model.processes[1].alive = gpumon_value_of(0);
	add_process(&model, 3, 3, "c", 73)->cgroup = strdup("/user.slice");
	add_process(&model, 4, 4, "idle", 0);
	cgroup = gpumon_model_add_cgroup(&model);
	cgroup->id = gpumon_value_of(74);
	cgroup->path = strdup("/docker/web/gone");
	cgroup->container = strdup("web");
	row(&model, 1, GPU0, "gfx", 1, 0, 0, 1, 1 * SECOND);
	row(&model, 2, GPU0, "gfx", 2, 0, 0, 1, 2 * SECOND);
	row(&model, 3, GPU0, "gfx", 3, 0, 0, 1, 4 * SECOND);
	/* Of the cgroup of a process, of one with a name, of one without, and of none. */
	row(&model, 4, GPU0, "gfx", 0, 0, 73, 1, 8 * SECOND);
	row(&model, 5, GPU0, "gfx", 0, 0, 74, 1, 16 * SECOND);
	row(&model, 6, GPU0, "gfx", 0, 0, 75, 1, 32 * SECOND);
	row(&model, 7, GPU0, "gfx", 0, 0, 0, 1, 3 * SECOND);
	gpumon_usage_init(&usage, &model);
	assert_int_equal(usage.n_groups, 4);
	group = group_of(&usage, "web");
	assert_int_equal(group->total.sum.gpu_ns.v, 19 * SECOND);
	assert_int_equal(group->processes, 2);
	assert_int_equal(group->alive, 1);
	assert_int_equal(group_of(&usage, "/user.slice")->total.sum.gpu_ns.v, 12 * SECOND);
	group = group_of(&usage, "cgroup 75");
	assert_int_equal(group->total.sum.gpu_ns.v, 32 * SECOND);
	assert_int_equal(group->processes, 0);
	group = group_of(&usage, "(no cgroup)");
	assert_int_equal(group->total.sum.gpu_ns.v, 3 * SECOND);
	assert_int_equal(group->processes, 1);
	assert_string_equal(usage.groups[1].container, "web");
	/* A process without a row had no job. */
	assert_true(usage.processes[3].sum.gpu_ns.known);
	assert_int_equal(usage.processes[3].sum.gpu_ns.v, 0);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&model);
}

static void clients(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_usage usage;

	(void)state;
	add_ring(&model, GPU0, "gfx", 9 * SECOND);
	add_process(&model, 1, 10, "server", 0);
	add_process(&model, 2, 20, "helper", 0);
	/* Client 8 is a file that two processes have open. */
	row(&model, 1, GPU0, "gfx", 1, 7, 0, 1, 1 * SECOND);
	row(&model, 2, GPU0, "gfx", 1, 8, 0, 2, 2 * SECOND);
	row(&model, 3, GPU0, "gfx", 2, 8, 0, 4, 3 * SECOND);
	gpumon_usage_init(&usage, &model);
	assert_int_equal(usage.n_clients, 2);
	assert_int_equal(usage.clients[0].id, 8);
	assert_int_equal(usage.clients[0].total.sum.jobs.v, 6);
	assert_string_equal(usage.clients[0].process->comm, "helper");
	assert_int_equal(usage.clients[1].id, 7);
	assert_int_equal(usage.processes[0].sum.gpu_ns.v, 3 * SECOND);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&model);
}

/* What found the table full is of no process, and a process without a row is unknown then. */
static void the_table_is_full(void **state)
{
	char text[GPUMON_USAGE_NAME_LEN];
	struct gpumon_model model = { 0 };
	struct gpumon_usage usage;

	(void)state;
	add_ring(&model, GPU0, "gfx", 9 * SECOND);
	add_process(&model, 1, 10, "first", 0);
	add_process(&model, 2, 20, "late", 0);
	row(&model, 1, GPU0, "gfx", 1, 0, 0, 1, 2 * SECOND);
	row(&model, 2, "-", "other", 0, 0, 0, 9, 7 * SECOND);
	gpumon_usage_init(&usage, &model);
	assert_true(usage.rows[0].other);
	assert_string_equal(gpumon_usage_format_owner(text, sizeof(text), &usage.rows[0]),
			    "(no room in the table)");
	assert_false(usage.processes[1].sum.gpu_ns.known);
	part_is(&usage.processes[1], SECOND, "-");
	/* What the ring lacks is in the row "other": nothing says that it runs jobs at once. */
	assert_false(usage.share);
	assert_int_equal(group_of(&usage, "(no cgroup)")->total.sum.gpu_ns.v, 2 * SECOND);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&model);
}

/* Which rings run several jobs at once, and that their numbers are marked. */
static void shares(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_histogram *run;
	struct gpumon_usage usage;
	char text[GPUMON_FORMAT_LEN];

	(void)state;
	add_ring(&model, GPU0, "in_order", 10 * SECOND);
	add_ring(&model, GPU0, "nested", 10 * SECOND);
	/* 5 s are lacking: as of one job that still runs, whose like there was. */
	add_ring(&model, GPU0, "long", 10 * SECOND)->hw_depth = gpumon_value_of(1);
	add_ring(&model, GPU0, "short", 10 * SECOND)->hw_depth = gpumon_value_of(1);
	add_ring(&model, GPU0, "twice", 10 * SECOND)->live_max = gpumon_value_of(2);
	for (size_t i = 2; i < 4; i++) {
		run = gpumon_model_add_histogram(&model);
		run->ring_id = model.rings[i].id;
		run->name = strdup("run_ns");
		run->max = gpumon_value_of(i == 2 ? 6 * SECOND : SECOND);
	}
	add_process(&model, 1, 10, "exact", 0);
	add_process(&model, 2, 20, "shared", 0);
	row(&model, 1, GPU0, "in_order", 1, 0, 0, 9, 9960000000);
	row(&model, 2, GPU0, "nested", 2, 0, 0, 9, 9800000000);
	row(&model, 3, GPU0, "long", 1, 0, 0, 9, 5 * SECOND);
	row(&model, 4, GPU0, "short", 2, 0, 0, 9, 5 * SECOND);
	row(&model, 5, GPU0, "twice", 2, 0, 0, 9, 10 * SECOND);
	gpumon_usage_init(&usage, &model);
	assert_false(usage.parallel[0]);
	assert_true(usage.parallel[1]);
	assert_false(usage.parallel[2]);
	assert_true(usage.parallel[3]);
	assert_true(usage.parallel[4]);
	assert_true(usage.share);
	part_is(&usage.processes[0], 100 * SECOND, "15.0%");
	part_is(&usage.processes[1], 100 * SECOND, "~24.8%");
	assert_string_equal(gpumon_usage_format_time(text, &usage.processes[1].sum), "~24.8s");
	assert_string_equal(gpumon_usage_format_time(text, &usage.processes[0].sum), "15.0s");
	gpumon_usage_clear(&usage);
	gpumon_model_free(&model);
}

/* BPF programs, and older modules, do not count it: unknown, and not 0. */
static void not_counted(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_usage usage;

	(void)state;
	add_ring(&model, GPU0, "gfx", 9 * SECOND);
	add_process(&model, 1, 10, "a", 0)->jobs = gpumon_value_of(6);
	model.processes[0].id.known = false;
	gpumon_usage_init(&usage, &model);
	assert_false(usage.known);
	assert_false(usage.processes[0].sum.gpu_ns.known);
	part_is(&usage.processes[0], SECOND, "-");
	device_is(&usage.processes[0], "-");
	assert_false(gpumon_usage_wait(&usage.processes[0].sum).known);
	assert_int_equal(usage.n_groups, 1);
	assert_int_equal(usage.groups[0].queued.v, 6);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&model);
}

/* A cgroup has what those of its processes have of which it is known. */
static void memory_of_a_cgroup(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_usage usage;

	(void)state;
	add_process(&model, 1, 10, "a", 70)->vram_bytes = gpumon_value_of(4096);
	add_process(&model, 2, 20, "b", 70)->vram_bytes = gpumon_value_of(8192);
	add_process(&model, 3, 30, "c", 70)->live_object_bytes = gpumon_value_of(0);
	add_process(&model, 4, 40, "d", 71);
	gpumon_usage_init(&usage, &model);
	assert_int_equal(usage.n_groups, 2);
	assert_int_equal(usage.groups[0].vram_bytes.v, 12288);
	assert_true(usage.groups[0].live_object_bytes.known);
	assert_int_equal(usage.groups[0].live_object_bytes.v, 0);
	assert_false(usage.groups[1].vram_bytes.known || usage.groups[1].live_object_bytes.known);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&model);
}

/*
 * A module in small. Its rows are kept as the interface says; what each cgroup used in an interval is
 * counted beside it, from the events alone.
 */
#define RINGS	  4
#define PROCESSES 12
#define CGROUPS	  4
#define KINDS	  4

struct simulated {
	uint64_t id, cgroup;
	uint64_t row[RINGS]; /* number, 0: none */
	uint64_t count[RINGS][KINDS];
};

struct simulation {
	uint64_t seed, last_id, last_row;
	struct simulated process[PROCESSES];
	uint64_t sum_row[RINGS][CGROUPS];
	uint64_t sums[RINGS][CGROUPS][KINDS];
	/* Of the interval, by the cgroup in which the process is, or was. */
	uint64_t truth[CGROUPS][KINDS];
};

static const char *const ring_devices[RINGS] = { GPU0, GPU0, GPU1, GPU1 };
static const char *const ring_names[RINGS] = { "gfx", "sdma", "gfx", "compute" };

static uint64_t below(struct simulation *simulation, uint64_t n)
{
	return test_random(&simulation->seed) % n;
}

static void start(struct simulation *simulation, struct simulated *process)
{
	memset(process, 0, sizeof(*process));
	process->id = ++simulation->last_id;
	process->cgroup = below(simulation, CGROUPS);
}

static void job(struct simulation *simulation)
{
	struct simulated *process = &simulation->process[below(simulation, PROCESSES)];
	size_t ring = below(simulation, RINGS);
	const uint64_t amounts[KINDS] = { 1, below(simulation, 1000000), below(simulation, 1000000),
					  below(simulation, 2) };

	if (!process->row[ring])
		process->row[ring] = ++simulation->last_row;
	for (size_t i = 0; i < KINDS; i++) {
		process->count[ring][i] += amounts[i];
		simulation->truth[process->cgroup][i] += amounts[i];
	}
}

/* Its counts go to the sums of its cgroup, and its place to another process. */
static void remove_process(struct simulation *simulation)
{
	struct simulated *process = &simulation->process[below(simulation, PROCESSES)];

	for (size_t ring = 0; ring < RINGS; ring++) {
		if (!process->row[ring])
			continue;
		if (!simulation->sum_row[ring][process->cgroup])
			simulation->sum_row[ring][process->cgroup] = ++simulation->last_row;
		for (size_t i = 0; i < KINDS; i++)
			simulation->sums[ring][process->cgroup][i] += process->count[ring][i];
	}
	start(simulation, process);
}

static void add_simulated(struct gpumon_model *model, uint64_t number, size_t ring,
			  uint64_t process, uint64_t cgroup, const uint64_t *count)
{
	if (number)
		test_usage_row(model, number,
			       (struct test_usage){ ring_devices[ring], ring_names[ring], process,
						    0, cgroup, count[0], count[1], count[2],
						    count[3] });
}

static void read_simulation(const struct simulation *simulation, struct gpumon_model *model,
			    uint64_t now)
{
	memset(model, 0, sizeof(*model));
	model->info.now_ns = gpumon_value_of(now * SECOND);
	model->info.since_ns = gpumon_value_of(0);
	model->info.period = gpumon_value_of(1);
	for (size_t i = 0; i < PROCESSES; i++) {
		const struct simulated *process = &simulation->process[i];

		add_process(model, process->id, 100 + i, "p",
			    process->cgroup ? 70 + process->cgroup : 0);
		for (size_t ring = 0; ring < RINGS; ring++)
			add_simulated(model, process->row[ring], ring, process->id, 0,
				      process->count[ring]);
	}
	for (size_t ring = 0; ring < RINGS; ring++) {
		for (size_t cgroup = 0; cgroup < CGROUPS; cgroup++)
			add_simulated(model, simulation->sum_row[ring][cgroup], ring, 0,
				      cgroup ? 70 + cgroup : 0, simulation->sums[ring][cgroup]);
	}
}

static void check_interval(const struct simulation *simulation, const struct gpumon_model *before,
			   const struct gpumon_model *after)
{
	struct gpumon_model diff = { 0 };
	struct gpumon_usage usage;
	uint64_t all[KINDS] = { 0 };

	gpumon_model_diff(&diff, before, after);
	gpumon_usage_init(&usage, &diff);
	for (size_t i = 0; i < usage.n_rows; i++) {
		all[0] += usage.rows[i].sum.jobs.v;
		all[1] += usage.rows[i].sum.gpu_ns.v;
		all[2] += usage.rows[i].sum.queue_ns.v;
		all[3] += usage.rows[i].sum.errors.v;
	}
	for (size_t cgroup = 0; cgroup < CGROUPS; cgroup++) {
		const uint64_t *truth = simulation->truth[cgroup];
		const struct gpumon_usage_group *group = NULL;

		for (size_t i = 0; i < usage.n_groups; i++) {
			if (usage.groups[i].cgroup_id.v == (cgroup ? 70 + cgroup : 0))
				group = &usage.groups[i];
		}
		assert_true(group || !truth[0]);
		for (size_t i = 0; i < KINDS; i++)
			all[i] -= truth[i];
		if (!group)
			continue;
		assert_int_equal(group->total.sum.jobs.v, truth[0]);
		assert_int_equal(group->total.sum.gpu_ns.v, truth[1]);
		assert_int_equal(group->total.sum.queue_ns.v, truth[2]);
		assert_int_equal(group->total.sum.errors.v, truth[3]);
	}
	for (size_t i = 0; i < KINDS; i++)
		assert_int_equal(all[i], 0);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&diff);
}

static void sums_are_those_of_the_events(void **state)
{
	struct simulation simulation = { .seed = 53 };
	struct gpumon_model before, after;

	(void)state;
	for (size_t i = 0; i < PROCESSES; i++)
		start(&simulation, &simulation.process[i]);
	read_simulation(&simulation, &before, 1);
	for (uint64_t now = 2; now < 200; now++) {
		uint64_t events = below(&simulation, 60);

		memset(simulation.truth, 0, sizeof(simulation.truth));
		while (events--) {
			if (below(&simulation, 8))
				job(&simulation);
			else
				remove_process(&simulation);
		}
		read_simulation(&simulation, &after, now);
		check_interval(&simulation, &before, &after);
		gpumon_model_free(&before);
		before = after;
	}
	gpumon_model_free(&before);
}

static const struct gpumon_usage_row *row_of(const struct gpumon_usage *usage, uint64_t process,
					     uint64_t cgroup)
{
	for (size_t i = 0; i < usage->n_rows; i++) {
		if (usage->rows[i].process_id == process && usage->rows[i].cgroup_id == cgroup)
			return &usage->rows[i];
	}
	fail_msg("no row of process %d, cgroup %d", (int)process, (int)cgroup);
	return NULL;
}

/* The minutes that a removed process had used before are not of this second. */
static void removed_in_the_interval(void **state)
{
	struct gpumon_model before = { 0 }, after = { 0 }, diff = { 0 };
	struct gpumon_usage usage;

	(void)state;
	before.info.now_ns = gpumon_value_of(SECOND);
	after.info.now_ns = gpumon_value_of(2 * SECOND);
	before.info.period = after.info.period = gpumon_value_of(1);
	add_process(&before, 1, 10, "moved", 71);
	add_process(&before, 2, 20, "stays", 71);
	row(&before, 1, GPU0, "gfx", 1, 0, 0, 60, 60 * SECOND);
	row(&before, 2, GPU0, "gfx", 2, 0, 0, 5, 5 * SECOND);
	row(&before, 3, GPU0, "gfx", 0, 0, 0, 3, 3000);
	/* It ended in another cgroup, after one more job. A new process came. */
	add_process(&after, 2, 20, "stays", 71);
	add_process(&after, 3, 10, "new", 71);
	row(&after, 2, GPU0, "gfx", 2, 0, 0, 6, 5500000000);
	row(&after, 3, GPU0, "gfx", 0, 0, 0, 4, 4000);
	row(&after, 4, GPU0, "gfx", 0, 0, 72, 61, 60200000000);
	row(&after, 1, GPU0, "gfx", 3, 0, 0, 7, 300000000);
	gpumon_model_diff(&diff, &before, &after);
	gpumon_usage_init(&usage, &diff);
	assert_int_equal(row_of(&usage, 0, 72)->sum.gpu_ns.v, 200000000);
	assert_int_equal(row_of(&usage, 0, 72)->sum.jobs.v, 1);
	assert_int_equal(row_of(&usage, 2, 0)->sum.gpu_ns.v, 500000000);
	/* The number of its row is that of another row now. */
	assert_int_equal(row_of(&usage, 3, 0)->sum.gpu_ns.v, 300000000);
	assert_int_equal(row_of(&usage, 3, 0)->sum.jobs.v, 7);
	/* Jobs of no process are not those of the removed one. */
	assert_int_equal(row_of(&usage, 0, 0)->sum.gpu_ns.v, 1000);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&diff);
	gpumon_model_free(&before);
	gpumon_model_free(&after);
}

/* The module may sum up an ended process that still is in its table: its time is that of its cgroup. */
static void summed_up_before_it_was_removed(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_usage usage;

	(void)state;
	add_ring(&model, GPU0, "gfx", 9 * SECOND);
	add_process(&model, 1, 10, "ended", 71)->jobs = gpumon_value_of(60);
	model.processes[0].alive = gpumon_value_of(0);
	add_process(&model, 2, 20, "idle", 71)->jobs = gpumon_value_of(0);
	model.processes[1].alive = gpumon_value_of(0);
	add_process(&model, 3, 30, "waits", 71)->jobs = gpumon_value_of(1);
	row(&model, 1, GPU0, "gfx", 0, 0, 71, 60, 6 * SECOND);
	gpumon_usage_init(&usage, &model);
	assert_false(usage.processes[0].sum.gpu_ns.known);
	assert_true(usage.processes[1].sum.gpu_ns.known);
	/* Its row would be there if one of its jobs were done. */
	assert_true(usage.processes[2].sum.gpu_ns.known);
	assert_int_equal(usage.n_groups, 1);
	assert_int_equal(usage.groups[0].total.sum.gpu_ns.v, 6 * SECOND);
	gpumon_usage_clear(&usage);
	gpumon_model_free(&model);
}

static void two_readings(struct gpumon_model *before, struct gpumon_model *after)
{
	memset(before, 0, sizeof(*before));
	memset(after, 0, sizeof(*after));
	before->info.now_ns = gpumon_value_of(SECOND);
	after->info.now_ns = gpumon_value_of(2 * SECOND);
	before->info.period = after->info.period = gpumon_value_of(1);
}

/* Without a row for the cgroup, the counts of a removed process went to the row of all others. */
static void removed_without_room(void **state)
{
	struct gpumon_model before, after, diff = { 0 };
	struct gpumon_usage usage;

	(void)state;
	two_readings(&before, &after);
	add_process(&before, 1, 10, "gone", 71);
	row(&before, 1, GPU0, "gfx", 1, 0, 0, 60, 60 * SECOND);
	row(&before, 2, "-", "other", 0, 0, 0, 5, 5 * SECOND);
	/* Of the same process number 0, and of another client: no row of removed ones. */
	row(&before, 3, GPU0, "gfx", 0, 9, 0, 1, 1 * SECOND);
	row(&after, 2, "-", "other", 0, 0, 0, 66, 65500000000);
	row(&after, 3, GPU0, "gfx", 0, 9, 0, 2, 1500000000);
	gpumon_model_diff(&diff, &before, &after);
	gpumon_usage_init(&usage, &diff);
	assert_int_equal(usage.n_rows, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(usage.rows[i].sum.jobs.v, 1);
		assert_int_equal(usage.rows[i].sum.gpu_ns.v, SECOND / 2);
	}
	gpumon_usage_clear(&usage);
	gpumon_model_free(&diff);
	gpumon_model_free(&before);
	gpumon_model_free(&after);
}

/* Numbered queues become one ring, whose name is theirs without the number: rows stay. */
static void a_ring_gets_the_name_of_its_class(void **state)
{
	struct gpumon_model before, after, diff = { 0 };
	struct gpumon_usage usage;

	(void)state;
	two_readings(&before, &after);
	add_process(&before, 1, 10, "app", 71);
	add_process(&after, 1, 10, "app", 71);
	row(&before, 1, GPU0, "rcs17", 1, 0, 0, 60, 60 * SECOND);
	row(&after, 1, GPU0, "rcs", 1, 0, 0, 61, 60500000000);
	gpumon_model_diff(&diff, &before, &after);
	gpumon_usage_init(&usage, &diff);
	assert_int_equal(usage.rows[0].sum.jobs.v, 1);
	assert_int_equal(usage.processes[0].sum.gpu_ns.v, SECOND / 2);
	assert_string_equal(usage.rows[0].name, "rcs");
	gpumon_usage_clear(&usage);
	gpumon_model_free(&diff);
	gpumon_model_free(&before);
	gpumon_model_free(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_process_used),
		cmocka_unit_test(several_gpus_and_rings),
		cmocka_unit_test(a_reused_pid),
		cmocka_unit_test(containers_and_cgroups),
		cmocka_unit_test(clients),
		cmocka_unit_test(the_table_is_full),
		cmocka_unit_test(shares),
		cmocka_unit_test(not_counted),
		cmocka_unit_test(memory_of_a_cgroup),
		cmocka_unit_test(sums_are_those_of_the_events),
		cmocka_unit_test(removed_in_the_interval),
		cmocka_unit_test(summed_up_before_it_was_removed),
		cmocka_unit_test(removed_without_room),
		cmocka_unit_test(a_ring_gets_the_name_of_its_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
