// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Counts of the BPF programs as a model, and the messages without a source. */
#include "common.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "driver/bpf_source.h"
#include "driver/bpf_fill.h"
#include "cmd/doctor.h"
#include "driver/source.h"

/* Of a histogram of values up to 4096. */
#define BUCKETS SOURCE_BUCKETS(12)

static void buckets_cover_every_value(void **state)
{
	static const size_t sizes[] = { SOURCE_LATENCY_BUCKETS, BUCKETS };

	(void)state;
	for (size_t s = 0; s < 2; s++) {
		uint64_t end = 0;

		for (size_t i = 0; i < sizes[s]; i++) {
			uint64_t low = gpumon_source_bucket_lower(i);
			uint64_t high = gpumon_source_bucket_upper(i, sizes[s]);

			assert_int_equal(low, end);
			assert_true(high > low);
			/* At most a quarter of its values wide, except the last. */
			if (i >= 8 && i + 1 < sizes[s])
				assert_true((high - low) * 4 <= low);
			end = high;
		}
		assert_true(end == UINT64_MAX);
	}
	assert_int_equal(gpumon_source_bucket_lower(SOURCE_LATENCY_BUCKETS - 1), 7ULL << 39);
}

static void histogram_in_numbers(void **state)
{
	uint64_t buckets[BUCKETS] = { [3] = 2, [9] = 5, [BUCKETS - 1] = 1 };
	struct gpumon_model model = { 0 };
	struct gpumon_histogram *histogram = gpumon_model_add_histogram(&model);

	(void)state;
	assert_int_equal(gpumon_source_histogram(histogram, buckets, BUCKETS, 9999, 9000, ~3ULL),
			 0);
	assert_int_equal(histogram->n_buckets, 3);
	assert_int_equal(histogram->count.v, 8);
	assert_int_equal(histogram->sum.v, 9999);
	assert_int_equal(histogram->min.v, 3);
	assert_int_equal(histogram->max.v, 9000);
	assert_int_equal(histogram->buckets[1].ge, 10);
	assert_int_equal(histogram->buckets[1].lt, 12);
	assert_true(histogram->buckets[2].lt == UINT64_MAX);

	/* Extremes that were read before their values are clamped to the buckets. */
	histogram = gpumon_model_add_histogram(&model);
	gpumon_source_histogram(histogram, buckets, BUCKETS, 0, 1, ~100ULL);
	assert_int_equal(histogram->min.v, 3);
	assert_int_equal(histogram->max.v, gpumon_source_bucket_lower(BUCKETS - 1));

	memset(buckets, 0, sizeof(buckets));
	histogram = gpumon_model_add_histogram(&model);
	gpumon_source_histogram(histogram, buckets, BUCKETS, 77, 1, 0);
	assert_true(histogram->count.known && !histogram->count.v && !histogram->sum.v);
	assert_false(histogram->min.known || histogram->max.known);
	gpumon_model_free(&model);
}

static void ring_of_words(void **state)
{
	static struct source_ring_words cpu[2], sum;
	struct source_ring from = {
		.queued = 2, .running = 1, .begun = 1, .device = "0000:03:00.0", .name = "gfx"
	};
	struct gpumon_model model = { 0 };
	const struct gpumon_ring *ring;

	(void)state;
	memset(from.name, 'x', sizeof(from.name)); /* not terminated */
	cpu[0].word[SOURCE_RING_QUEUED] = 5;
	cpu[1].word[SOURCE_RING_QUEUED] = 6;
	cpu[0].word[SOURCE_RING_QUEUE_NS + 8] = 3;
	cpu[1].word[SOURCE_RING_QUEUE_NS + 9] = 4;
	cpu[0].word[SOURCE_RING_QUEUE_NS_MAX] = 9;
	cpu[1].word[SOURCE_RING_QUEUE_NS_MAX] = 11;
	cpu[0].word[SOURCE_RING_QUEUE_NS_MIN] = ~8ULL;
	cpu[1].word[SOURCE_RING_QUEUE_NS_MIN] = ~10ULL;
	cpu[0].word[SOURCE_RING_QUEUE_NS_SUM] = 70;
	cpu[1].word[SOURCE_RING_ERRORS] = 2;
	cpu[0].word[SOURCE_RING_QUEUE_DEPTH_MAX] = 1;
	gpumon_source_add_words(&sum, &cpu[0]);
	gpumon_source_add_words(&sum, &cpu[1]);
	assert_int_equal(gpumon_source_ring(&model, 7, &from, &sum, 1, ~0U), 0);
	ring = gpumon_model_ring(&model, 7);
	assert_non_null(ring);
	assert_int_equal(strlen(ring->name), sizeof(from.name));
	assert_string_equal(ring->device, "0000:03:00.0");
	assert_int_equal(ring->queued.v, 11);
	assert_int_equal(ring->errors.v, 2);
	assert_int_equal(ring->queue_depth.v, 2);
	/* It is that high now, whatever was observed. */
	assert_int_equal(ring->queue_depth_max.v, 2);
	assert_int_equal(gpumon_model_histogram(&model, 7, "queue_ns")->count.v, 7);
	assert_int_equal(gpumon_model_histogram(&model, 7, "queue_ns")->min.v, 8);
	assert_int_equal(gpumon_model_histogram(&model, 7, "queue_ns")->max.v, 11);
	assert_non_null(gpumon_model_histogram(&model, 7, "run_ns"));

	/* Nothing tracked, and no results seen: unknown, not 0. */
	from.begun = 0;
	assert_int_equal(gpumon_source_ring(&model, 8, &from, &sum, 0, 1U << SOURCE_SCHED_QUEUE),
			 0);
	ring = gpumon_model_ring(&model, 8);
	assert_false(ring->live.known || ring->errors.known || ring->killed.known ||
		     ring->dependency_waits.known);
	assert_false(ring->queue_depth.known || ring->queue_depth_max.known ||
		     ring->hw_depth.known || ring->hw_depth_max.known);
	gpumon_model_free(&model);
}

static void busy_times_are_summed(void **state)
{
	const uint64_t e = SOURCE_EPOCH, hour = 3600000000000ULL;

	(void)state;
	assert_int_equal(gpumon_source_busy_ns(0, hour), 0);
	/* From 100 to 150, and from 170 to 200. */
	assert_int_equal(gpumon_source_busy_ns((150 | e) - (100 | e) + (200 | e) - (170 | e), hour),
			 80);
	/* The second one has not ended. It began at once at boot, or just now. */
	assert_int_equal(gpumon_source_busy_ns((150 | e) - (100 | e) - (170 | e), hour),
			 50 + hour - 170);
	assert_int_equal(gpumon_source_busy_ns((hour - 5) - (hour - 9) - (hour | e), hour), 4);
	/* One ended while the words were read, which lack its begin; or has begun a little later. */
	assert_int_equal(gpumon_source_busy_ns(50 + (hour | e), hour), 50);
	assert_int_equal(gpumon_source_busy_ns(-((hour + 3) | e), hour), 0);
}

/* --- rings that leave the table */

#define SECOND 1000000000ULL

static struct source_ring rings[SOURCE_RINGS + 1];
static struct source_class classes[SOURCE_CLASSES];
static struct source_scheduler schedulers[SOURCE_SCHEDULERS];
static unsigned int cleared;

static int clear(void *data, unsigned int slot)
{
	(void)data;
	cleared = slot;
	return 0;
}

static const struct gpumon_source_rings tables = {
	.rings = rings, .classes = classes, .schedulers = schedulers, .clear = clear
};

/* So many rings, the later ones used later. The first two are of the first class. */
static void make_rings(unsigned int n)
{
	memset(rings, 0, sizeof(rings));
	memset(classes, 0, sizeof(classes));
	memset(schedulers, 0, sizeof(schedulers));
	for (unsigned int i = 0; i < n; i++)
		rings[i] = (struct source_ring){ .key = 2 * i + 1, .ready = 1, .used_ns = i + 1 };
	rings[0].class = rings[1].class = 1;
	classes[0] = (struct source_class){ .key = 1, .rings = 2, .ring = 1 };
}

static void the_oldest_ring_leaves(void **state)
{
	(void)state;
	make_rings(SOURCE_RINGS * 3 / 4 - 1);
	for (unsigned int i = 1; i < 4; i++)
		assert_false(gpumon_source_rings_age(&tables, i * SECOND));
	assert_int_equal(rings[0].leaving, SOURCE_RING_STAYS);

	/* A second later than it is chosen: a program may have found it just before. */
	make_rings(SOURCE_RINGS * 3 / 4);
	memcpy(rings[0].name, "queue", 5);
	rings[0].begun = 1;
	assert_false(gpumon_source_rings_age(&tables, SECOND));
	assert_int_equal(rings[0].leaving, SOURCE_RING_LEAVES);
	assert_int_equal(rings[0].ready, 1);
	cleared = SOURCE_RINGS;
	assert_true(gpumon_source_rings_age(&tables, 2 * SECOND));
	assert_int_equal(cleared, 0);
	assert_memory_equal(&rings[0], &(struct source_ring){ 0 }, sizeof(rings[0]));
	/* The other ring of its class is the one that there is. */
	assert_int_equal(classes[0].rings, 1);
	assert_int_equal(classes[0].ring, 2);
	/* There is room now. */
	assert_false(gpumon_source_rings_age(&tables, 3 * SECOND));
	for (unsigned int i = 0; i < SOURCE_RINGS; i++)
		assert_int_equal(rings[i].leaving, SOURCE_RING_STAYS);
}

static void rings_in_use_stay(void **state)
{
	(void)state;
	make_rings(SOURCE_RINGS);
	schedulers[7].ring = 1;
	rings[1].queued = 1;
	rings[2].running = 1;
	/* It is chosen, and a scheduler comes. */
	assert_false(gpumon_source_rings_age(&tables, SECOND));
	assert_int_equal(rings[3].leaving, SOURCE_RING_LEAVES);
	schedulers[9].ring = 4;
	assert_false(gpumon_source_rings_age(&tables, 2 * SECOND));
	assert_int_equal(rings[3].leaving, SOURCE_RING_STAYS);
	/* Or a program takes it back whose scheduler has no place. */
	assert_int_equal(rings[4].leaving, SOURCE_RING_LEAVES);
	rings[4].leaving = SOURCE_RING_STAYS;
	rings[4].used_ns = 2 * SECOND;
	assert_false(gpumon_source_rings_age(&tables, 3 * SECOND));
	assert_int_equal(rings[5].leaving, SOURCE_RING_LEAVES);
	/* Whatever was in use is the youngest when it is not any more. */
	schedulers[7].ring = 0;
	rings[1].queued = rings[2].running = 0;
	for (unsigned int i = 4; i < 8; i++)
		assert_true(gpumon_source_rings_age(&tables, i * SECOND));
	assert_int_equal(rings[0].key, 1);
	assert_int_equal(rings[5].key, 0);
	assert_int_equal(rings[8].key, 0);
	assert_int_equal(rings[9].leaving, SOURCE_RING_LEAVES);
}

static void others_are_learned_again(void **state)
{
	(void)state;
	make_rings(SOURCE_RINGS);
	for (unsigned int i = 0; i < SOURCE_RINGS; i++)
		schedulers[i].ring = i + 1;
	schedulers[300].ring = SOURCE_RING_OTHER + 1;
	assert_false(gpumon_source_rings_age(&tables, SECOND));
	assert_int_equal(schedulers[300].ring, SOURCE_RING_OTHER + 1);
	schedulers[5].ring = 0;
	assert_false(gpumon_source_rings_age(&tables, 2 * SECOND));
	assert_int_equal(schedulers[300].ring, SOURCE_RING_OTHER + 1);
	assert_true(gpumon_source_rings_age(&tables, 3 * SECOND));
	assert_int_equal(schedulers[300].ring, 0);
	assert_int_equal(schedulers[6].ring, 7);
}

static void processes_are_joined(void **state)
{
	struct source_process from = {
		.pid = 10, .start_ns = 5, .comm = "one", .cgroup_id = 3, .words = { 1, 2, 4, 8 }
	};
	struct gpumon_model model = { 0 };

	(void)state;
	assert_int_equal(gpumon_source_process(&model, &from, 7, 1U << SOURCE_PROCESS_JOBS), 0);
	assert_int_equal(model.n_processes, 1);
	assert_int_equal(model.processes[0].jobs.v, 1);
	assert_false(model.processes[0].ioctls.known || model.processes[0].opens.known);
	assert_false(model.processes[0].faults.known || model.processes[0].open_handles.known);
	assert_false(model.processes[0].vram_bytes.known ||
		     model.processes[0].live_object_bytes.known);
	/* The table of the other program. */
	gpumon_source_process(&model, &from, 0,
			      1U << SOURCE_PROCESS_IOCTLS | 1U << SOURCE_PROCESS_OPENS);
	assert_int_equal(model.n_processes, 1);
	assert_int_equal(model.processes[0].ioctls.v, 2);
	assert_int_equal(model.processes[0].opens.v, 8);
	assert_int_equal(model.processes[0].jobs.v, 1);
	assert_false(model.processes[0].mapped_bytes.known);
	/* The same pid with another start time is another process. */
	from.start_ns = 6;
	gpumon_source_process(&model, &from, 8, 1U << SOURCE_PROCESS_JOBS);
	assert_int_equal(model.n_processes, 2);
	assert_int_equal(model.processes[1].cgroup_id.v, 3);
	gpumon_model_free(&model);
}

static void tables_have_the_modules_columns(void **state)
{
	static struct source_command command = {
		.family = SOURCE_NVIDIA_UVM, .command = 0xc0104629, .count = 2, .failed = 1
	};
	struct source_crtc crtc = { .crtc = 1, .device = "-", .words = { 7, 6, 0, 0, 7, 0 } };
	struct source_device device = { .minor = 255, .words = { 3, 2 } };
	struct source_xid xid = {
		.code = 79, .count = 4, .time_ns = 9, .device = "0000:01:00.0", .message = "gone"
	};
	struct gpumon_model model = { 0 };
	const struct gpumon_statistics *table;

	(void)state;
	assert_int_equal(gpumon_source_crtc(&model, 0, &crtc), 0);
	strcpy(crtc.device, "card");
	assert_int_equal(gpumon_source_crtc(&model, 1, &crtc), 0);
	table = gpumon_model_statistics(&model, "drm_vblank", "crtcs");
	assert_int_equal(table->n_rows, 2);
	assert_int_equal(table->rows[0].n_columns, 18);
	assert_int_equal(gpumon_row_column(&table->rows[0], "vblanks")->value.v, 7);
	assert_false(gpumon_row_column(&table->rows[0], "missed")->value.known);
	assert_false(gpumon_row_column(&table->rows[0], "interval_ns")->histogram.count.known);
	/* It is unknown which device they belong to. */
	assert_false(gpumon_row_column(&table->rows[1], "vblanks")->value.known);
	assert_true(gpumon_row_column(&table->rows[1], "queued")->value.known);

	assert_int_equal(gpumon_source_device(&model, 3, &device, NULL), 0);
	device.minor = 1;
	assert_int_equal(gpumon_source_device(&model, 4, &device, "0000:01:00.0"), 0);
	assert_int_equal(gpumon_source_device(&model, 5, &device, ""), 0);
	device.family = SOURCE_NVIDIA_UVM;
	assert_int_equal(gpumon_source_device(&model, 6, &device, NULL), 0);
	table = gpumon_model_statistics(&model, "nvidia", "devices");
	assert_string_equal(table->rows[0].labels[0].value, "nvidiactl");
	assert_string_equal(table->rows[1].labels[0].value, "0000:01:00.0");
	assert_string_equal(table->rows[2].labels[0].value, "minor1");
	assert_int_equal(table->rows[2].number.v, 5);
	assert_int_equal(gpumon_row_column(&table->rows[0], "closes")->value.v, 2);
	assert_false(gpumon_row_column(&table->rows[0], "open_handles")->level.known);
	assert_string_equal(
		gpumon_model_statistics(&model, "nvidia_uvm", "devices")->rows[0].labels[0].value,
		"nvidia-uvm-tools");

	command.buckets[20] = 2;
	assert_int_equal(gpumon_source_command(&model, 0, &command), 0);
	table = gpumon_model_statistics(&model, "nvidia_uvm", "ioctls");
	assert_string_equal(table->rows[0].labels[0].value, "0xc0104629");
	assert_string_equal(table->rows[0].labels[1].value, "41");
	assert_string_equal(table->rows[0].labels[2].value, "-");
	assert_int_equal(gpumon_row_column(&table->rows[0], "duration_ns")->histogram.count.v, 2);
	/* nvidia-uvm's arguments are not looked at. */
	assert_null(gpumon_row_column(&table->rows[0], "rm_failed"));
	/* The row of the commands that have none. */
	assert_int_equal(
		gpumon_source_command(&model, SOURCE_COMMANDS + SOURCE_NVIDIA_UVM, &command), 0);
	assert_string_equal(table->rows[1].labels[0].value, "other");
	assert_string_equal(table->rows[1].labels[1].value, "");
	assert_string_equal(table->rows[1].labels[2].value, "");
	command.family = SOURCE_NVIDIA;
	command.rm_failed = 3;
	assert_int_equal(gpumon_source_command(&model, 1, &command), 0);
	assert_string_equal(
		gpumon_model_statistics(&model, "nvidia", "ioctls")->rows[0].labels[2].value,
		"RM_FREE");
	table = gpumon_model_statistics(&model, "nvidia", "ioctls");
	assert_int_equal(gpumon_row_column(&table->rows[0], "rm_failed")->value.v, 3);
	table = gpumon_model_statistics(&model, "nvidia_uvm", "ioctls");
	/* An unknown family is left out. */
	command.family = device.family = SOURCE_NVIDIA_FAMILIES;
	assert_int_equal(gpumon_source_command(&model, 2, &command), 0);
	assert_int_equal(gpumon_source_device(&model, 7, &device, NULL), 0);
	assert_int_equal(table->n_rows, 2);

	assert_int_equal(gpumon_source_xid(&model, 0, &xid), 0);
	table = gpumon_model_statistics(&model, "nvidia", "xids");
	assert_string_equal(table->rows[0].labels[2].value, "GPU fell off the bus");
	assert_int_equal(model.n_alerts, 1);
	assert_string_equal(model.alerts[0].message, "gone");
	gpumon_model_free(&model);
}

/* --- files below a made-up root */

static char root[64];

static void put(const char *path, const char *text)
{
	char full[PATH_MAX], *slash;
	FILE *stream;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	stream = fopen(full, "w");
	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}

static void proc_is_read(void **state)
{
	static struct source_process processes[3] = {
		{ .ready = 1,
		  .pid = 41,
		  .start_ns = 1,
		  .start_boottime_ns = 12340000001ULL,
		  .comm = "old" },
		{ .ready = 1, .pid = 41, .start_ns = 2, .start_boottime_ns = 99, .comm = "reused" },
		{ .ready = 1, .pid = 42, .start_ns = 3, .comm = "gone" },
	};
	struct gpumon_model model = { 0 };
	struct gpumon_source_gpus gpus;
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(gpumon_source_major(root, SOURCE_NVIDIA), 0);
	put("/proc/devices",
	    "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n"
	    "507 nvidia-caps\n511 nvidia-uvm\n\nBlock devices:\n  8 nvidia-frontend\n");
	assert_int_equal(gpumon_source_major(root, SOURCE_NVIDIA), 195);
	assert_int_equal(gpumon_source_major(root, SOURCE_NVIDIA_UVM), 511);
	put("/proc/devices",
	    "Character devices:\n240 nvidia-frontend\nBlock devices:\n 9 nvidia-uvm\n");
	assert_int_equal(gpumon_source_major(root, SOURCE_NVIDIA), 240);
	assert_int_equal(gpumon_source_major(root, SOURCE_NVIDIA_UVM), 0);

	gpumon_source_gpus(root, &gpus);
	assert_string_equal(gpus.name[0], "");
	put("/proc/driver/nvidia/gpus/0000:01:00.0/information",
	    "Model: \t X\nDevice Minor: \t 3\n");
	put("/proc/driver/nvidia/gpus/0000:02:00.0/information", "Device Minor: \t 4000\n");
	put("/proc/driver/nvidia/gpus/0000:03:00.0/information", "nothing\n");
	gpumon_source_gpus(root, &gpus);
	assert_string_equal(gpus.name[3], "0000:01:00.0");
	assert_string_equal(gpus.name[0], "");

	for (size_t i = 0; i < 3; i++)
		gpumon_source_process(&model, &processes[i], i + 1, 1);
	put("/proc/41/stat", "41 (a) b (c) S 1 41 41 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 1234 0 0\n");
	put("/proc/41/comm", "new name\n");
	/* Pids of another namespace mean nothing. */
	gpumon_source_alive(&model, root, processes, 3);
	assert_false(model.processes[0].alive.known);
	put("/proc/self/ns/here", "");
	snprintf(path, sizeof(path), "%s/proc/self/ns/pid", root);
	assert_int_equal(symlink("pid:[4026531836]", path), 0);
	gpumon_source_alive(&model, root, processes, 3);
	assert_true(model.processes[0].alive.v);
	assert_string_equal(model.processes[0].comm, "new name");
	assert_true(model.processes[1].alive.known && !model.processes[1].alive.v);
	assert_string_equal(model.processes[1].comm, "reused");
	assert_true(model.processes[2].alive.known && !model.processes[2].alive.v);
	gpumon_model_free(&model);
}

static void drivers_are_loaded_or_built_in(void **state)
{
	struct btf *kernel = btf__new_empty();
	int function;

	(void)state;
	assert_false(gpumon_source_loaded(root, "gpu_sched"));
	put("/sys/module/gpu_sched/initstate", "live\n");
	assert_true(gpumon_source_loaded(root, "gpu_sched"));
	assert_false(gpumon_source_loaded(root, "drm"));

	/* A tracepoint is a typedef of exactly that name. */
	assert_non_null(kernel);
	function = btf__add_func_proto(kernel, 0);
	assert_true(function > 0);
	assert_true(btf__add_typedef(kernel, "btf_trace_drm_run_job", function) > 0);
	assert_true(btf__add_struct(kernel, "btf_trace_drm_sched_job", 8) > 0);
	assert_true(btf__add_typedef(kernel, "drm_vblank_event", function) > 0);
	assert_true(gpumon_source_has_tracepoint(kernel, "drm_run_job"));
	assert_false(gpumon_source_has_tracepoint(kernel, "drm_run_jo"));
	assert_false(gpumon_source_has_tracepoint(kernel, "drm_sched_job"));
	assert_false(gpumon_source_has_tracepoint(kernel, "drm_vblank_event"));
	btf__free(kernel);
}

static void choices_are_words(void **state)
{
	struct gpumon_context context = { .out = stdout, .err = stderr };
	enum gpumon_source_choice choice = GPUMON_SOURCE_AUTO;

	(void)state;
	assert_int_equal(gpumon_source_take(&context, "bpf", &choice), 0);
	assert_int_equal(choice, GPUMON_SOURCE_BPF);
	assert_int_equal(gpumon_source_take(&context, "module", &choice), 0);
	assert_int_equal(choice, GPUMON_SOURCE_MODULE);
	assert_int_equal(gpumon_source_take(&context, "auto", &choice), 0);
	assert_int_equal(choice, GPUMON_SOURCE_AUTO);
	assert_int_equal(gpumon_source_take(&context, "kmod", &choice), -1);
	assert_int_equal(gpumon_source_take(&context, "", &choice), -1);
}

static void a_group_that_is_not_there(void **state)
{
	struct gpumon_error err = { 0 };
	struct gpumon_model model;

	(void)state;
	test_model(&model);
	assert_int_equal(gpumon_source_check_group(&model, "drm_sched", &err), 0);
	assert_int_equal(gpumon_source_check_group(&model, "drm_sche", &err), -1);
	assert_non_null(strstr(err.message, "there is no group \"drm_sche\":"));
	gpumon_model_free(&model);
}

/* This test is built without the BPF programs. */
static void without_bpf_it_is_said(void **state)
{
	struct captured c = capture("", "stat", "--source=bpf", NULL);

	(void)state;
	assert_int_equal(c.status, GPUMON_EXIT_IMPOSSIBLE);
	assert_non_null(strstr(c.err, "built without clang or bpftool"));
	captured_free(&c);
	c = capture("", "trace", "--source=bpf", "--json", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_IMPOSSIBLE);
	assert_non_null(strstr(c.out, "\"not-built\""));
	captured_free(&c);
}

static const struct gpumon_doctor_check *find(const struct gpumon_doctor *doctor, const char *name)
{
	for (size_t i = 0; i < doctor->n_checks; i++) {
		if (!strcmp(doctor->checks[i].name, name))
			return &doctor->checks[i];
	}
	fail_msg("no check %s", name);
	return NULL;
}

static void doctor_says_which(void **state)
{
	struct gpumon_error module = { .code = GPUMON_ERROR_NOT_LOADED, .message = "no module" };
	struct gpumon_error bpf = { .code = GPUMON_ERROR_NO_BTF, .message = "no types" };
	struct gpumon_doctor doctor = { .root = root };

	(void)state;
	put("/sys/module/module/parameters/sig_enforce", "Y\n");
	gpumon_doctor_add(&doctor, GPUMON_DOCTOR_FAIL, "module", NULL, "not loaded");
	gpumon_doctor_add(&doctor, GPUMON_DOCTOR_FAIL, "kernel", NULL, "old");
	gpumon_doctor_source(&doctor, &module, &bpf);
	assert_int_equal(find(&doctor, "source")->level, GPUMON_DOCTOR_FAIL);
	assert_non_null(strstr(find(&doctor, "source")->message, "no types"));
	assert_non_null(strstr(find(&doctor, "source")->message, "have to be signed"));
	assert_int_equal(find(&doctor, "module")->level, GPUMON_DOCTOR_FAIL);
	gpumon_doctor_free(&doctor);

	doctor.root = root;
	gpumon_doctor_add(&doctor, GPUMON_DOCTOR_FAIL, "module", NULL, "not loaded");
	gpumon_doctor_add(&doctor, GPUMON_DOCTOR_FAIL, "kernel", NULL, "old");
	gpumon_doctor_source(&doctor, &module, NULL);
	assert_int_equal(find(&doctor, "source")->level, GPUMON_DOCTOR_OK);
	assert_int_equal(find(&doctor, "module")->level, GPUMON_DOCTOR_WARN);
	assert_int_equal(find(&doctor, "kernel")->level, GPUMON_DOCTOR_FAIL);
	gpumon_doctor_uprobes(&doctor, &bpf);
	assert_int_equal(find(&doctor, "uprobes")->level, GPUMON_DOCTOR_WARN);
	gpumon_doctor_free(&doctor);

	doctor.root = root;
	gpumon_doctor_source(&doctor, NULL, &bpf);
	assert_int_equal(find(&doctor, "source")->level, GPUMON_DOCTOR_OK);
	assert_non_null(strstr(find(&doctor, "source")->message, "module"));
	gpumon_doctor_free(&doctor);
}

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/gpumon-source-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[sizeof(root) + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_cover_every_value),
		cmocka_unit_test(histogram_in_numbers),
		cmocka_unit_test(ring_of_words),
		cmocka_unit_test(busy_times_are_summed),
		cmocka_unit_test(the_oldest_ring_leaves),
		cmocka_unit_test(rings_in_use_stay),
		cmocka_unit_test(others_are_learned_again),
		cmocka_unit_test(processes_are_joined),
		cmocka_unit_test(tables_have_the_modules_columns),
		cmocka_unit_test(proc_is_read),
		cmocka_unit_test(drivers_are_loaded_or_built_in),
		cmocka_unit_test(choices_are_words),
		cmocka_unit_test(a_group_that_is_not_there),
		cmocka_unit_test(without_bpf_it_is_said),
		cmocka_unit_test(doctor_says_which),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
