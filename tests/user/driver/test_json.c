// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The structure of "stat --json", printed and parsed again. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "driver/json_model.h"

/* Print like the program, and parse like a user's program. */
static struct json_object *round_trip(struct json_object *object, bool one_line)
{
	struct json_object *back;
	char *text;
	size_t len;
	FILE *stream = open_memstream(&text, &len);

	assert_non_null(object);
	assert_int_equal(gpumon_json_print(object, one_line, stream), 0);
	fclose(stream);
	assert_int_equal(text[len - 1], '\n');
	if (one_line)
		assert_ptr_equal(strchr(text, '\n'), text + len - 1);
	back = json_tokener_parse(text);
	assert_non_null(back);
	free(text);
	return back;
}

/* Follow "a.b.3.c". Fails if there is no such key, returns NULL for null. */
static struct json_object *at(struct json_object *object, const char *path)
{
	char copy[128], *save, *part;

	assert_true(strlen(path) < sizeof(copy));
	strcpy(copy, path);
	for (part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save)) {
		if (json_object_is_type(object, json_type_array)) {
			assert_true((size_t)atoi(part) < json_object_array_length(object));
			object = json_object_array_get_idx(object, (size_t)atoi(part));
			continue;
		}
		if (!json_object_object_get_ex(object, part, &object))
			fail_msg("no key %s in %s", part, path);
	}
	return object;
}

static void has(struct json_object *document, const char *path, enum json_type type)
{
	if (!json_object_is_type(at(document, path), type))
		fail_msg("%s is %s", path,
			 json_type_to_name(json_object_get_type(at(document, path))));
}

static void number(struct json_object *document, const char *path, uint64_t want)
{
	has(document, path, json_type_int);
	assert_int_equal(json_object_get_uint64(at(document, path)), want);
}

static void text(struct json_object *document, const char *path, const char *want)
{
	has(document, path, json_type_string);
	assert_string_equal(json_object_get_string(at(document, path)), want);
}

static void json_has_the_shape(void **state)
{
	static const char *const depths[] = { "queue_depth", "hw_depth" };
	static const char *const counters[] = { "queued", "run", "done", "errors",
						"dependency_waits" };
	static const char *const latencies[] = { "queue_ns", "run_ns" };
	static const char *const numbers[] = { "count", "sum", "min", "max", "p50", "p90", "p99" };
	struct gpumon_model model;
	struct json_object *document;
	char path[128];

	(void)state;
	test_model(&model);
	document = round_trip(gpumon_json_model(&model, NULL), true);

	text(document, "gpumon.version", "0.2.0");
	number(document, "gpumon.schema", 2);
	text(document, "gpumon.source", "kmod");
	text(document, "gpumon.clock", "monotonic");
	number(document, "gpumon.now_ns", 12000000000);
	number(document, "gpumon.since_ns", 2000000000);

	text(document, "groups.0.name", "drm_sched");
	text(document, "groups.0.state", "attached");
	text(document, "groups.0.reason", "");
	text(document, "groups.1.state", "off");
	text(document, "groups.0.probes.0.name", "drm_run_job");
	text(document, "groups.0.probes.0.module", "gpu_sched");
	text(document, "groups.0.probes.0.kind", "tracepoint");
	text(document, "groups.0.probes.0.state", "attached");
	text(document, "groups.0.probes.0.reason", "");
	number(document, "groups.0.probes.0.seen", 1000);
	number(document, "groups.0.probes.0.recorded", 993);
	number(document, "groups.0.probes.0.dropped.table_full", 7);
	number(document, "groups.0.probes.0.dropped.recursion", 0);
	text(document, "groups.0.probes.1.reason", "not in this kernel");
	text(document, "groups.0.probes.2.kind", "kprobe");

	assert_int_equal(json_object_array_length(at(document, "drm_sched.rings")), 3);
	text(document, "drm_sched.rings.0.device", "0000:03:00.0");
	text(document, "drm_sched.rings.0.ring", "gfx_0.0.0");
	text(document, "drm_sched.rings.2.device", "0000:0a:00.0");
	number(document, "drm_sched.rings.1.queued", 2000);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		snprintf(path, sizeof(path), "drm_sched.rings.1.%s", counters[i]);
		has(document, path, json_type_int);
	}
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "drm_sched.rings.1.%s.now", depths[i]);
		has(document, path, json_type_int);
		snprintf(path, sizeof(path), "drm_sched.rings.1.%s.max", depths[i]);
		has(document, path, json_type_int);
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			snprintf(path, sizeof(path), "drm_sched.rings.1.%s.%s", latencies[i],
				 numbers[k]);
			has(document, path, json_type_int);
		}
		snprintf(path, sizeof(path), "drm_sched.rings.1.%s.buckets.0", latencies[i]);
		has(document, path, json_type_object);
	}
	number(document, "drm_sched.rings.1.queue_ns.buckets.0.ge", 1024);
	number(document, "drm_sched.rings.1.queue_ns.buckets.0.lt", 1280);
	number(document, "drm_sched.rings.1.queue_ns.buckets.0.count", 99);

	number(document, "processes.0.pid", 4242);
	text(document, "processes.0.comm", "glxgears");
	number(document, "processes.0.jobs", 5900);

	json_object_put(document);
	gpumon_model_free(&model);
}

static void tables_under_their_groups(void **state)
{
	struct gpumon_model model;
	struct json_object *document, *ignored;

	(void)state;
	test_model(&model);
	test_tables(&model);
	model.processes[0].container = strdup("0123456789ab");
	model.processes[0].cgroup = strdup("/docker/x");
	model.processes[0].container_pid = gpumon_value_of(7);
	model.groups[0].probes[0].dropped.unreadable = gpumon_value_of(4);
	model.groups[0].probes[0].dropped.missed = gpumon_value_of(5);
	document = round_trip(gpumon_json_model(&model, NULL), true);

	assert_int_equal(json_object_array_length(at(document, "drm_vblank.crtcs")), 2);
	text(document, "drm_vblank.crtcs.0.device", "0000:03:00.0");
	number(document, "drm_vblank.crtcs.0.crtc", 10);
	number(document, "drm_vblank.crtcs.0.row", 5);
	number(document, "drm_vblank.crtcs.0.vblanks", 600);
	has(document, "drm_vblank.crtcs.0.pending.now", json_type_int);
	assert_int_equal(json_object_get_int64(at(document, "drm_vblank.crtcs.0.pending.now")), -2);
	number(document, "drm_vblank.crtcs.0.pending.max", 9);
	number(document, "drm_vblank.crtcs.0.interval_ns.count", 600);
	number(document, "drm_vblank.crtcs.0.interval_ns.min", 16000000);
	number(document, "drm_vblank.crtcs.0.interval_ns.buckets.0.count", 600);
	has(document, "drm_vblank.crtcs.0.interval_ns.p99", json_type_int);
	/* Unknown is null, a count without events is 0. */
	assert_null(at(document, "drm_vblank.crtcs.0.late"));
	assert_null(at(document, "drm_vblank.crtcs.1.pending.now"));
	assert_null(at(document, "drm_vblank.crtcs.1.pending.max"));
	number(document, "drm_vblank.crtcs.1.vblanks", 0);
	number(document, "drm_vblank.crtcs.1.interval_ns.count", 0);
	assert_null(at(document, "drm_vblank.crtcs.1.interval_ns.p50"));
	/* Every group has its key, and drm_sched contains its rings. */
	has(document, "other", json_type_object);
	assert_int_equal(json_object_array_length(at(document, "drm_sched.rings")), 3);

	number(document, "layouts.0.offset", 16);
	text(document, "layouts.0.type", "drm_file");
	assert_null(at(document, "layouts.1.offset"));
	text(document, "layouts.1.reason", "no BTF of module drm");
	text(document, "alerts.0.kind", "xid");
	number(document, "alerts.0.code", 79);
	number(document, "alerts.0.count", 3);
	number(document, "alerts.0.lost", 0);

	number(document, "processes.0.ioctls", 2);
	number(document, "processes.0.allocated_bytes", 3 << 20);
	number(document, "processes.1.open_handles", 1);
	number(document, "processes.0.vram_bytes", 5 << 20);
	assert_null(at(document, "processes.1.vram_bytes"));
	assert_null(at(document, "processes.0.live_object_bytes"));
	number(document, "processes.0.cgroup_id", 77);
	text(document, "processes.0.container", "0123456789ab");
	text(document, "processes.0.cgroup", "/docker/x");
	number(document, "processes.0.container_pid", 7);
	assert_null(at(document, "processes.1.container"));
	assert_null(at(document, "processes.1.container_pid"));
	assert_null(at(document, "processes.0.submissions"));
	assert_null(at(document, "processes.0.opens"));
	number(document, "groups.0.probes.0.dropped.unreadable", 4);
	number(document, "groups.0.probes.0.dropped.missed", 5);
	assert_null(at(document, "gpumon.exited.ioctls"));
	json_object_put(document);

	document = round_trip(gpumon_json_model(&model, "other"), true);
	assert_false(json_object_object_get_ex(document, "drm_vblank", &ignored));
	assert_int_equal(json_object_array_length(at(document, "layouts")), 0);
	assert_int_equal(json_object_array_length(at(document, "alerts")), 0);
	json_object_put(document);
	gpumon_model_free(&model);
}

/* Who used the GPUs: rows as the kernel has them, and sums of processes and containers. */
static void usage_and_its_sums(void **state)
{
	struct json_object *document, *ignored;
	struct gpumon_missing_option *option;
	struct gpumon_device *device;
	struct gpumon_model model;

	(void)state;
	test_model(&model);
	model.rings[0].live_max = gpumon_value_of(3);
	model.processes[0].id = gpumon_value_of(17);
	model.processes[0].container = strdup("web");
	model.processes[0].cgroup = strdup("/docker/web");
	model.processes[0].cgroup_id = gpumon_value_of(71);
	test_usage_row(&model, 4,
		       (struct test_usage){ "0000:03:00.0", "gfx_0.0.0", 17, 8, 0, 100, 7000, 300,
					    2 });
	test_usage_row(&model, 5,
		       (struct test_usage){ "0000:03:00.0", "sdma0", 17, 8, 0, 1, 50, 20, 0 });
	test_usage_row(&model, 6,
		       (struct test_usage){ "0000:03:00.0", "gfx_0.0.0", 0, 0, 71, 10, 900, 5, 1 });
	device = gpumon_model_add_device(&model);
	device->address = strdup("0000:03:00.0");
	device->model = strdup("Radeon RX 7900 XT");
	device->vendor_id = gpumon_value_of(0x1002);
	test_dmem(&model, "web", "/docker/web", "drm/0000:03:00.0/vram0", gpumon_value_of(4096));
	model.sched_policy = gpumon_value_of(1);
	option = gpumon_info_add_missing_option(&model.info);
	option->option = strdup("CONFIG_CGROUPS");
	option->lost = strdup("processes have no container");
	document = round_trip(gpumon_json_model(&model, NULL), true);

	text(document, "gpumon.missing_options.0.option", "CONFIG_CGROUPS");
	text(document, "gpumon.missing_options.0.lost", "processes have no container");
	number(document, "gpumon.sched_policy", 1);
	text(document, "gpumon.sched_policy_name", "FIFO");
	text(document, "drm_sched.usage.0.device", "0000:03:00.0");
	text(document, "drm_sched.usage.0.ring", "gfx_0.0.0");
	number(document, "drm_sched.usage.0.process", 17);
	number(document, "drm_sched.usage.0.client", 8);
	number(document, "drm_sched.usage.0.cgroup", 0);
	number(document, "drm_sched.usage.0.jobs", 100);
	number(document, "drm_sched.usage.0.gpu_ns", 7000);
	number(document, "drm_sched.usage.0.queue_ns", 300);
	number(document, "drm_sched.usage.0.errors", 2);
	number(document, "drm_sched.usage.2.cgroup", 71);
	assert_int_equal(json_object_array_length(at(document, "drm_sched.usage")), 3);
	number(document, "drm_sched.rings.0.live_max", 3);
	assert_true(json_object_get_boolean(at(document, "drm_sched.rings.0.parallel")));
	assert_false(json_object_get_boolean(at(document, "drm_sched.rings.2.parallel")));

	number(document, "processes.0.id", 17);
	number(document, "processes.0.gpu_ns", 7050);
	number(document, "processes.0.queue_ns", 320);
	number(document, "processes.0.errors", 2);
	/* A process whose number is not known. */
	assert_null(at(document, "processes.1.id"));
	assert_null(at(document, "processes.1.gpu_ns"));

	text(document, "cgroups.0.container", "web");
	text(document, "cgroups.0.cgroup", "/docker/web");
	number(document, "cgroups.0.cgroup_id", 71);
	number(document, "cgroups.0.processes", 1);
	number(document, "cgroups.0.jobs", 111);
	number(document, "cgroups.0.gpu_ns", 7950);
	number(document, "cgroups.0.queue_ns", 325);
	number(document, "cgroups.0.errors", 3);
	number(document, "cgroups.0.dmem_bytes", 4096);
	assert_null(at(document, "cgroups.1.cgroup"));
	assert_null(at(document, "cgroups.1.dmem_bytes"));

	text(document, "dmem.0.container", "web");
	text(document, "dmem.0.cgroup", "/docker/web");
	text(document, "dmem.0.region", "drm/0000:03:00.0/vram0");
	text(document, "dmem.0.device", "0000:03:00.0");
	number(document, "dmem.0.bytes", 4096);
	number(document, "dmem.0.capacity_bytes", 16ULL << 30);

	text(document, "devices.0.address", "0000:03:00.0");
	text(document, "devices.0.model", "Radeon RX 7900 XT");
	number(document, "devices.0.vendor_id", 0x1002);
	assert_null(at(document, "devices.0.uuid"));
	json_object_put(document);

	/* Of another group there is no such table; processes belong to all. */
	document = round_trip(gpumon_json_model(&model, "other"), true);
	assert_false(json_object_object_get_ex(document, "drm_sched", &ignored));
	number(document, "processes.0.gpu_ns", 7050);
	json_object_put(document);
	gpumon_model_free(&model);
}

/* A label marked as a number may not fit one. */
static void labels_that_are_no_numbers(void **state)
{
	static const struct {
		const char *value;
		bool is_text;
	} cases[] = {
		{ "18446744073709551615", false },
		{ "18446744073709551616", true },
		{ "0x10", true },
		{ "", true },
		{ "-1", true },
		{ " 5", true },
		{ "7z", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gpumon_model model;
		struct json_object *document;

		test_model(&model);
		test_tables(&model);
		free(model.statistics[0].rows[0].labels[1].value);
		model.statistics[0].rows[0].labels[1].value = strdup(cases[i].value);
		document = round_trip(gpumon_json_model(&model, "drm_vblank"), true);
		if (cases[i].is_text)
			text(document, "drm_vblank.crtcs.0.crtc", cases[i].value);
		else
			number(document, "drm_vblank.crtcs.0.crtc", UINT64_MAX);
		json_object_put(document);
		gpumon_model_free(&model);
	}
}

static void unknown_is_null(void **state)
{
	struct gpumon_model model;
	struct json_object *document;

	(void)state;
	test_model(&model);
	document = round_trip(gpumon_json_model(&model, NULL), false);
	assert_null(at(document, "drm_sched.rings.2.queue_depth.now"));
	assert_null(at(document, "drm_sched.rings.2.queue_depth.max"));
	assert_null(at(document, "drm_sched.rings.2.hw_depth.now"));
	/* An empty histogram has count 0, and no extremes or percentiles. */
	number(document, "drm_sched.rings.0.queue_ns.count", 0);
	assert_null(at(document, "drm_sched.rings.0.queue_ns.min"));
	assert_null(at(document, "drm_sched.rings.0.queue_ns.p99"));
	assert_int_equal(json_object_array_length(at(document, "drm_sched.rings.0.run_ns.buckets")),
			 0);
	json_object_put(document);
	gpumon_model_free(&model);

	/* Nothing is known, but every key exists. */
	memset(&model, 0, sizeof(model));
	assert_non_null(gpumon_model_add_group(&model));
	assert_non_null(gpumon_group_add_probe(&model.groups[0]));
	assert_non_null(gpumon_model_add_ring(&model));
	assert_non_null(gpumon_model_add_process(&model));
	document = round_trip(gpumon_json_model(&model, NULL), true);
	assert_null(at(document, "gpumon.version"));
	assert_null(at(document, "gpumon.now_ns"));
	text(document, "groups.0.state", "unknown");
	text(document, "groups.0.probes.0.kind", "unknown");
	assert_null(at(document, "groups.0.probes.0.seen"));
	assert_null(at(document, "groups.0.probes.0.dropped.table_full"));
	assert_null(at(document, "drm_sched.rings.0.queued"));
	assert_null(at(document, "drm_sched.rings.0.run_ns.count"));
	assert_null(at(document, "processes.0.pid"));
	json_object_put(document);
	gpumon_model_free(&model);
}

static void large_numbers_stay_whole(void **state)
{
	struct gpumon_model model;
	struct json_object *document;

	(void)state;
	test_model(&model);
	model.rings[0].queued = gpumon_value_of(UINT64_MAX);
	model.info.now_ns = gpumon_value_of((1ULL << 63) + 1);
	document = round_trip(gpumon_json_model(&model, NULL), true);
	number(document, "drm_sched.rings.0.queued", UINT64_MAX);
	number(document, "gpumon.now_ns", (1ULL << 63) + 1);
	json_object_put(document);
	gpumon_model_free(&model);
}

static void one_group(void **state)
{
	struct gpumon_model model;
	struct json_object *document, *ignored;

	(void)state;
	test_model(&model);
	document = round_trip(gpumon_json_model(&model, "other"), true);
	assert_int_equal(json_object_array_length(at(document, "groups")), 1);
	text(document, "groups.0.name", "other");
	assert_false(json_object_object_get_ex(document, "drm_sched", &ignored));
	json_object_put(document);
	document = round_trip(gpumon_json_model(&model, "drm_sched"), true);
	assert_int_equal(json_object_array_length(at(document, "groups")), 1);
	assert_int_equal(json_object_array_length(at(document, "drm_sched.rings")), 3);
	json_object_put(document);
	gpumon_model_free(&model);
}

static void strings_are_valid_utf8(void **state)
{
	static const struct {
		const char *raw, *clean;
	} cases[] = {
		{ "plain", "plain" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "cut\xc3", "cut\xef\xbf\xbd" },
		{ "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "quote\"back\\\033\n", "quote\"back\\\033\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct json_object *object = json_object_new_object();

		gpumon_json_add_string(object, "key", cases[i].raw);
		object = round_trip(object, true);
		text(object, "key", cases[i].clean);
		json_object_put(object);
	}
}

static void difference_says_so(void **state)
{
	struct gpumon_model model;
	struct json_object *document, *ignored;

	(void)state;
	test_model(&model);
	document = round_trip(gpumon_json_model(&model, NULL), true);
	assert_false(json_object_object_get_ex(at(document, "gpumon"), "interval_ns", &ignored));
	assert_int_equal(json_object_array_length(at(document, "gpumon.inconsistent")), 0);
	json_object_put(document);

	model.interval_ns = 1000000000;
	model.inconsistent = GPUMON_PART_RINGS | GPUMON_PART_PROCESSES;
	document = round_trip(gpumon_json_model(&model, NULL), true);
	number(document, "gpumon.interval_ns", 1000000000);
	has(document, "gpumon.reset_between", json_type_boolean);
	text(document, "gpumon.inconsistent.0", "rings");
	text(document, "gpumon.inconsistent.1", "processes");
	json_object_put(document);
	gpumon_model_free(&model);
}

static void error_shape(void **state)
{
	struct gpumon_error err;
	struct json_object *document;

	(void)state;
	gpumon_error_set(&err, GPUMON_EXIT_FAILED, -22, GPUMON_ERROR_REFUSED, "group \"%s\": %s",
			 "x", "a\nb");
	document = round_trip(gpumon_json_error(&err), true);
	text(document, "error.code", "refused");
	text(document, "error.message", "group \"x\": a b");
	json_object_put(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_the_shape), cmocka_unit_test(tables_under_their_groups),
		cmocka_unit_test(usage_and_its_sums), cmocka_unit_test(labels_that_are_no_numbers),
		cmocka_unit_test(unknown_is_null),    cmocka_unit_test(large_numbers_stay_whole),
		cmocka_unit_test(one_group),	      cmocka_unit_test(strings_are_valid_utf8),
		cmocka_unit_test(difference_says_so), cmocka_unit_test(error_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
