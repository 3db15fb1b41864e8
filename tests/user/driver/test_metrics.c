// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Metrics from readings: what they are called, and that sums only grow, whatever the source does. */
#include "common.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/metrics_container.h"
#include "driver/metrics_meaning.h"
#include "driver/metrics_model.h"
#include "lib/memory.h"
#include "lib/version.h"
#include "lib/wait.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "11111111-2222-3333-4444-555555555555"
#define POD                                                                                                                            \
	"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice/cri-containerd-" ID \
	".scope"
#define GPU "device=\"0000:03:00.0\",pci_bus_id=\"00000000:03:00.0\""

static char root[] = "/tmp/gpumon-metrics-XXXXXX";
static const struct gpumon_sums_limits plenty = { 20000, GPUMON_SUMS_FORGET_NS };
static const struct gpumon_model none;

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static void put(const char *name, const char *text)
{
	test_file(root, name, text);
}

static void read_at(struct gpumon_readings *readings, struct gpumon_model *model,
		    const struct gpumon_model *logged)
{
	gpumon_readings_begin(readings);
	gpumon_readings_add(readings, model, logged);
	gpumon_readings_end(readings);
}

static char *text_of(struct gpumon_readings *readings)
{
	struct gpumon_exposition exposition = { .openmetrics = true };
	char *text;
	size_t size;

	exposition.stream = gpumon_memstream_open(&text, &size);
	gpumon_sums_write(gpumon_readings_sums(readings), &exposition);
	gpumon_exposition_end(&exposition);
	gpumon_memstream_close(exposition.stream);
	return text;
}

/* The line that begins so, up to its value; NULL: there is none. */
static char *value_of(struct gpumon_readings *readings, const char *sample)
{
	char *text = text_of(readings), *line = text, *value = NULL;
	size_t length = strlen(sample);

	while (line && !value) {
		if (!strncmp(line, sample, length) && line[length] == ' ')
			value = strndup(line + length + 1, strcspn(line + length + 1, "\n"));
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!value && getenv("SHOW"))
		print_message("%s", text);
	free(text);
	return value;
}

static void is(struct gpumon_readings *readings, const char *sample, const char *want)
{
	char *value = value_of(readings, sample);

	if (!value && want)
		fail_msg("there is no %s", sample);
	if (value && !want)
		fail_msg("%s is %s, should be absent", sample, value);
	if (want && strcmp(value, want) != 0)
		fail_msg("%s is %s, should be %s", sample, value, want);
	free(value);
}

/* --- a reading */

static void reading_is_exported(void **state)
{
	struct gpumon_readings *readings = gpumon_readings_new(root, plenty);
	struct gpumon_model model;
	char *text;

	(void)state;
	test_model(&model);
	test_tables(&model);
	read_at(readings, &model, &none);
	is(readings, "gpumon_ring_busy_seconds_total{" GPU ",ring=\"sdma0\"}", "3.7");
	is(readings, "gpumon_ring_done_total{" GPU ",ring=\"sdma0\"}", "1960");
	is(readings, "gpumon_ring_queue_depth{" GPU ",ring=\"sdma0\"}", "10");
	is(readings, "gpumon_ring_run_seconds_count{" GPU ",ring=\"sdma0\"}", "100");
	is(readings, "gpumon_ring_run_seconds_sum{" GPU ",ring=\"sdma0\"}", "0.00011");
	/* 2^11 - 1 ns: all values of a bucket below 2^11 ns are at most that. */
	is(readings, "gpumon_ring_run_seconds_bucket{" GPU ",ring=\"sdma0\",le=\"1.023e-06\"}",
	   "0");
	is(readings, "gpumon_ring_run_seconds_bucket{" GPU ",ring=\"sdma0\",le=\"2.047e-06\"}",
	   "100");
	is(readings, "gpumon_ring_run_seconds_bucket{" GPU ",ring=\"sdma0\",le=\"+Inf\"}", "100");
	is(readings,
	   "gpumon_probe_lost_total{group=\"drm_sched\",probe=\"drm_run_job\",module=\"gpu_sched\",kind=\"tracepoint\",cause=\"table_full\"}",
	   "7");
	is(readings,
	   "gpumon_probe_attached{group=\"drm_sched\",probe=\"drm_run_job\",module=\"gpu_sched\",kind=\"tracepoint\"}",
	   "1");
	is(readings, "gpumon_group_attached{group=\"other\"}", "0");
	is(readings, "gpumon_drm_vblank_crtcs_moved_bytes_total{" GPU ",crtc=\"10\"}", "614400");
	is(readings, "gpumon_drm_vblank_crtcs_pending{" GPU ",crtc=\"10\"}", "-2");
	is(readings, "gpumon_drm_vblank_crtcs_interval_seconds_count{" GPU ",crtc=\"10\"}", "600");
	is(readings,
	   "gpumon_alerts_total{group=\"drm_vblank\",kind=\"xid\",code=\"79\",device=\"0000:65:00.0\",pci_bus_id=\"00000000:65:00.0\"}",
	   "3");
	is(readings, "gpumon_source_info{source=\"kmod\",version=\"0.2.0\",schema=\"2\"}", "1");
	is(readings, "gpumon_event_ring_overwritten_total", "21");
	/* Unknown is absent. */
	is(readings,
	   "gpumon_ring_queue_depth{device=\"0000:0a:00.0\",pci_bus_id=\"00000000:0A:00.0\",ring=\"gfx_0.0.0\"}",
	   NULL);
	is(readings, "gpumon_drm_vblank_crtcs_pending{crtc=\"9\"}", NULL);
	is(readings, "gpumon_drm_vblank_crtcs_vblanks_total{crtc=\"9\"}", "0");
	text = text_of(readings);
	assert_null(strstr(text, "pid"));
	assert_null(strstr(text, "glxgears"));
	assert_null(strstr(text, "crtcs_late"));
	free(text);
	gpumon_readings_free(readings);
}

static void devices_join_with_others(void **state)
{
	static const char sample[] =
		"gpumon_ring_done_total{" GPU
		",UUID=\"GPU-2\",gpu=\"1\",modelName=\"NVIDIA H100\",ring=\"sdma0\"}";
	struct gpumon_readings *readings;
	struct gpumon_model model;

	(void)state;
	put("proc/driver/nvidia/gpus/0000:02:00.0/information",
	    "Model: NVIDIA H100\nGPU UUID: GPU-1\n");
	put("proc/driver/nvidia/gpus/0000:03:00.0/information",
	    "Model: NVIDIA H100\nGPU UUID: GPU-2\n");
	put("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n");
	put("sys/bus/pci/devices/0000:02:00.0/vendor", "0x10de\n");
	put("sys/bus/pci/devices/0000:03:00.0/class", "0x030000\n");
	put("sys/bus/pci/devices/0000:03:00.0/vendor", "0x10de\n");
	readings = gpumon_readings_new(root, plenty);
	test_model(&model);
	read_at(readings, &model, &none);
	is(readings, sample, "1960");
	gpumon_readings_free(readings);
	put("proc/driver/nvidia/gpus/0000:03:00.0/information", "");
	assert_int_equal(system("rm -rf /tmp/gpumon-metrics-*/proc /tmp/gpumon-metrics-*/sys"), 0);
}

static void put_driver(const char *address, const char *driver)
{
	char path[PATH_MAX], target[PATH_MAX], name[128];

	snprintf(name, sizeof(name), "sys/bus/pci/devices/%s/class", address);
	put(name, "0x030000\n");
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/driver", root, address);
	snprintf(target, sizeof(target), "../../drivers/%s", driver);
	assert_int_equal(symlink(target, path), 0);
}

#define AMD "sys/bus/pci/devices/0000:03:00.0/"
#define XE  "sys/bus/pci/devices/0000:04:00.0/"

/* What drivers have in plain numbers; nothing of other drivers, and nothing of a GPU that sleeps. */
static void sensors_are_read(void **state)
{
	static const char xe[] = "device=\"0000:04:00.0\",pci_bus_id=\"00000000:04:00.0\"";
	struct gpumon_readings *readings = gpumon_readings_new(root, plenty);
	struct gpumon_model model;
	char sample[256];

	(void)state;
	put_driver("0000:03:00.0", "amdgpu");
	put(AMD "power/runtime_status", "active\n");
	put(AMD "hwmon/hwmon3/power1_average", "71000000\n");
	put(AMD "hwmon/hwmon3/power1_input", "99\n");
	put(AMD "hwmon/hwmon3/power1_label", "PPT\n");
	put(AMD "hwmon/hwmon3/temp1_input", "45500\n");
	put(AMD "hwmon/hwmon3/temp1_label", "edge\n");
	put(AMD "hwmon/hwmon3/temp2_input", "-1000\n");
	put(AMD "hwmon/hwmon3/freq1_input", "2100000000\n");
	put(AMD "hwmon/hwmon3/freq1_label", "sclk\n");
	put(AMD "gpu_busy_percent", "63\n");
	put(AMD "mem_info_vram_used", "4096\n");
	put_driver("0000:04:00.0", "xe");
	put(XE "hwmon/hwmon4/energy1_input", "2500000\n");
	put(XE "tile0/gt1/freq0/act_freq", "1300\n");
	put_driver("0000:05:00.0", "nvidia");
	put("sys/bus/pci/devices/0000:05:00.0/hwmon/hwmon5/power1_input", "1\n");
	test_model(&model);
	read_at(readings, &model, &none);
	is(readings, "gpumon_device_power_watts{" GPU ",sensor=\"PPT\"}", "71");
	is(readings, "gpumon_device_temperature_celsius{" GPU ",sensor=\"edge\"}", "45.5");
	is(readings, "gpumon_device_temperature_celsius{" GPU "}", NULL);
	is(readings, "gpumon_device_clock_hertz{" GPU ",sensor=\"sclk\"}", "2100000000");
	is(readings, "gpumon_device_busy_ratio{" GPU "}", "0.63");
	is(readings, "gpumon_device_vram_used_bytes{" GPU "}", "4096");
	is(readings, "gpumon_device_vram_total_bytes{" GPU "}", NULL);
	snprintf(sample, sizeof(sample), "gpumon_device_energy_joules_total{%s}", xe);
	is(readings, sample, "2.5");
	snprintf(sample, sizeof(sample), "gpumon_device_clock_hertz{%s,sensor=\"tile0/gt1\"}", xe);
	is(readings, sample, "1300000000");
	is(readings,
	   "gpumon_device_power_watts{device=\"0000:05:00.0\",pci_bus_id=\"00000000:05:00.0\"}",
	   NULL);
	put(AMD "power/runtime_status", "suspended\n");
	test_model(&model);
	read_at(readings, &model, &none);
	is(readings, "gpumon_device_power_watts{" GPU ",sensor=\"PPT\"}", NULL);
	is(readings, sample, "1300000000");
	gpumon_readings_free(readings);
	assert_int_equal(system("rm -rf /tmp/gpumon-metrics-*/sys"), 0);
}

/* --- sums */

/* A model in which the first ring has done so many jobs. */
static void make(struct gpumon_model *model, uint64_t period, uint64_t since_s, uint64_t done)
{
	test_model(model);
	model->info.period = gpumon_value_of(period);
	model->info.since_ns = gpumon_value_of(since_s * 1000000000);
	model->info.now_ns = gpumon_value_of(since_s * 1000000000 + done);
	model->rings[0].done = gpumon_value_of(done);
}

#define DONE "gpumon_ring_done_total{" GPU ",ring=\"gfx_0.0.0\"}"

static void counters_survive_resets(void **state)
{
	struct gpumon_readings *readings = gpumon_readings_new(root, plenty);
	struct gpumon_model model;

	(void)state;
	make(&model, 1, 2, 100);
	assert_int_equal(gpumon_readings_closed(readings, &model), 0);
	read_at(readings, &model, &none);
	is(readings, DONE, "100");
	make(&model, 1, 2, 130);
	assert_int_equal(gpumon_readings_closed(readings, &model), 0);
	read_at(readings, &model, &none);
	is(readings, DONE, "130");
	is(readings, "gpumon_ring_run_seconds_count{" GPU ",ring=\"sdma0\"}", "100");
	/* Another program has reset them: 150 at the end of the period, and 140 since. */
	make(&model, 2, 5, 140);
	assert_int_equal(gpumon_readings_closed(readings, &model), 1);
	{
		struct gpumon_model closed;

		make(&closed, 2, 2, 150);
		gpumon_readings_begin(readings);
		gpumon_readings_close(readings, &closed);
		is(readings, DONE, "150");
		gpumon_readings_add(readings, &model, &none);
		gpumon_readings_end(readings);
	}
	is(readings, DONE, "290");
	is(readings, "gpumon_ring_run_seconds_count{" GPU ",ring=\"sdma0\"}", "200");
	/* What no period has is not counted again. */
	is(readings, "gpumon_source_rings_retired_total", "1");
	is(readings, "gpumon_event_ring_overwritten_total", "21");
	/* Two resets: that of the first period is lost, and not guessed. */
	make(&model, 4, 7, 5);
	assert_int_equal(gpumon_readings_closed(readings, &model), 0);
	read_at(readings, &model, &none);
	is(readings, DONE, "295");
	gpumon_readings_free(readings);
}

static void counters_survive_reloads(void **state)
{
	struct gpumon_readings *readings = gpumon_readings_new(root, plenty);
	struct gpumon_model model;

	(void)state;
	make(&model, 1, 2, 100);
	read_at(readings, &model, &none);
	/* Loaded again: more than before, but from 0 on. */
	make(&model, 1, 9, 130);
	read_at(readings, &model, &none);
	is(readings, DONE, "230");
	/* The new module has the same number of it by chance. */
	is(readings, "gpumon_source_rings_retired_total", "2");
	/* BPF in its place. */
	make(&model, 1, 9, 50);
	model.info.source = "bpf";
	read_at(readings, &model, &none);
	is(readings, DONE, "280");
	is(readings, "gpumon_source_info{source=\"kmod\",version=\"0.2.0\",schema=\"2\"}", NULL);
	is(readings,
	   "gpumon_source_info{source=\"bpf\",version=\"" GPUMON_VERSION "\",schema=\"2\"}", "1");
	gpumon_readings_free(readings);
}

/* The module is away: its counters stay, its levels are not known. */
static void levels_end_with_the_source(void **state)
{
	struct gpumon_readings *readings = gpumon_readings_new(root, plenty);
	struct gpumon_model model;

	(void)state;
	make(&model, 1, 2, 100);
	read_at(readings, &model, &none);
	gpumon_readings_begin(readings);
	gpumon_readings_end(readings);
	is(readings, DONE, "100");
	is(readings, "gpumon_ring_queue_depth{" GPU ",ring=\"sdma0\"}", NULL);
	is(readings, "gpumon_source_memory_bytes", NULL);
	gpumon_readings_free(readings);
}

/* --- containers */

static void labels_are(const char *container, const char *path, const char *want)
{
	struct gpumon_pods *pods = gpumon_pods_new(root);
	struct gpumon_labels labels = { 0 };

	gpumon_container_labels(&labels, pods, container, path);
	assert_string_equal(gpumon_labels_text(&labels), want);
	gpumon_labels_clear(&labels);
	gpumon_pods_free(pods);
}

static void containers_have_names(void **state)
{
	(void)state;
	labels_are("0123456789ab", POD, "container=\"0123456789ab\",pod_uid=\"" UID "\"");
	labels_are("0123456789ab", "/kubepods/burstable/pod" UID "/" ID,
		   "container=\"0123456789ab\",pod_uid=\"" UID "\"");
	labels_are("0123456789ab", "/system.slice/docker-" ID ".scope",
		   "container=\"0123456789ab\"");
	labels_are("web", "/lxc.payload.web", "container=\"web\"");
	put("var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/web\"}");
	labels_are("0123456789ab", "/system.slice/docker-" ID ".scope",
		   "container=\"web\",container_id=\"0123456789ab\"");
	put("run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
	    "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"train-1\",\"io.kubernetes.cri.container-name\":\"c\",\"io.kubernetes.cri.sandbox-namespace\":\"b\"}}");
	labels_are(
		"0123456789ab", POD,
		"namespace=\"b\",pod=\"train-1\",container=\"c\",container_id=\"0123456789ab\",pod_uid=\"" UID
		"\"");
	put("run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
	    "{\"annotations\":[");
	put("var/lib/docker/containers/" ID "/config.v2.json", "[1]");
	labels_are("0123456789ab", "/docker/" ID, "container=\"0123456789ab\"");
	put("var/log/containers/train-0_team-a_pytorch-" ID ".log", "");
	put("var/log/containers/no-id_team-a_pytorch.log", "");
	put("var/log/containers/one-" ID ".log", "");
	labels_are(
		"0123456789ab", POD,
		"namespace=\"team-a\",pod=\"train-0\",container=\"pytorch\",container_id=\"0123456789ab\",pod_uid=\"" UID
		"\"");
	/* Another id that begins alike is another container. */
	labels_are("0123456789ab",
		   "/docker/0123456789abffff0123456789abcdef0123456789abcdef0123456789abcdef",
		   "container=\"0123456789ab\"");
	labels_are(NULL, "/system.slice/gdm.service", "cgroup=\"/system.slice/gdm.service\"");
	labels_are(NULL, "/user.slice/user-1000.slice/session-3.scope",
		   "cgroup=\"/user.slice/user-1000.slice\"");
	labels_are(NULL, "/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope",
		   "cgroup=\"/user.slice/user-1000.slice\"");
	labels_are(NULL, "/init.scope", "cgroup=\"/\"");
	labels_are(NULL, "/a.slice/run-7.scope", "cgroup=\"/a.slice\"");
	labels_are(NULL, "/", "cgroup=\"/\"");
	labels_are(NULL, NULL, "");
}

/* @processes: the two of test_model() in cgroup 77 and 78 */
static void make_usage(struct gpumon_model *model, uint64_t first_ns, uint64_t second_ns,
		       uint64_t removed_ns)
{
	test_model(model);
	model->info.period = gpumon_value_of(1);
	for (size_t i = 0; i < model->n_processes; i++) {
		model->processes[i].id = gpumon_value_of(i + 1);
		model->processes[i].cgroup_id = gpumon_value_of(77 + i);
		model->processes[i].cgroup =
			strdup(i ? "/user.slice/user-5.slice/session-1.scope" : POD);
		model->processes[i].vram_bytes = gpumon_value_of(1000);
		model->processes[i].alive = gpumon_value_of(1);
	}
	if (first_ns)
		test_usage_row(model, 1,
			       (struct test_usage){ "0000:03:00.0", "gfx_0.0.0", 1, 0, 0, 1,
						    first_ns, 50, 0 });
	test_usage_row(model, 2,
		       (struct test_usage){ "0000:03:00.0", "sdma0", 2, 0, 0, 1, second_ns, 0, 0 });
	if (removed_ns)
		test_usage_row(model, 3,
			       (struct test_usage){ "0000:03:00.0", "gfx_0.0.0", 0, 0, 77, 1,
						    removed_ns, 50, 0 });
}

#define IN_POD                                                                                                     \
	",namespace=\"team-a\",pod=\"train-0\",container=\"pytorch\",container_id=\"0123456789ab\",pod_uid=\"" UID \
	"\"}"

static void containers_have_sums(void **state)
{
	struct gpumon_readings *readings = gpumon_readings_new(root, plenty);
	struct gpumon_model model;

	(void)state;
	make_usage(&model, 1000000000, 2000000000, 0);
	read_at(readings, &model, &none);
	is(readings, "gpumon_container_gpu_seconds_total{" GPU IN_POD, "1");
	is(readings, "gpumon_container_jobs_total{" GPU IN_POD, "1");
	is(readings, "gpumon_container_queue_seconds_total{" GPU IN_POD, "0.00000005");
	is(readings,
	   "gpumon_container_gpu_seconds_total{" GPU ",cgroup=\"/user.slice/user-5.slice\"}", "2");
	is(readings, "gpumon_container_vram_bytes{cgroup=\"/user.slice/user-5.slice\"}", "1000");
	/* The process has ended and was removed, with a half more: its cgroup's row has all of it. */
	make_usage(&model, 0, 2000000000, 1500000000);
	free(model.processes[0].comm);
	free(model.processes[0].cgroup);
	model.processes[0] = model.processes[1];
	model.n_processes = 1;
	read_at(readings, &model, &none);
	is(readings, "gpumon_container_gpu_seconds_total{" GPU IN_POD, "1.5");
	is(readings,
	   "gpumon_container_gpu_seconds_total{" GPU ",cgroup=\"/user.slice/user-5.slice\"}", "2");
	gpumon_readings_free(readings);
}

/* The kernel's own numbers, of the cgroups of both processes. */
static void charged_memory(void **state)
{
	struct gpumon_readings *readings = gpumon_readings_new(root, plenty);
	struct gpumon_model model;

	(void)state;
	put("sys/fs/cgroup/cgroup.procs", "");
	put("sys/fs/cgroup/dmem.current", "drm/0000:03:00.0/vram0 99999\n");
	put("sys/fs/cgroup" POD "/dmem.current", "drm/0000:03:00.0/vram0 4096\n");
	put("sys/fs/cgroup/user.slice/user-5.slice/session-1.scope/dmem.current",
	    "drm/0000:03:00.0/vram0 0\ndrm/0000:03:00.0/vram1 5\n");
	make_usage(&model, 1000000000, 2000000000, 0);
	for (size_t i = 0; i < model.n_processes; i++) {
		char path[PATH_MAX];
		struct stat status;

		snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s", root, model.processes[i].cgroup);
		assert_int_equal(stat(path, &status), 0);
		model.processes[i].cgroup_id = gpumon_value_of(status.st_ino);
	}
	read_at(readings, &model, &none);
	is(readings, "gpumon_container_dmem_bytes{" GPU ",region=\"drm/0000:03:00.0/vram0\"" IN_POD,
	   "4096");
	is(readings,
	   "gpumon_container_dmem_bytes{" GPU
	   ",region=\"drm/0000:03:00.0/vram1\",cgroup=\"/user.slice/user-5.slice\"}",
	   "5");
	gpumon_readings_free(readings);
}

/* --- alerts */

static void add_alert(struct gpumon_model *model, const char *source, const char *group,
		      const char *kind, uint64_t code, uint64_t count)
{
	struct gpumon_alert *alert = gpumon_model_add_alert(model);

	alert->source = source;
	alert->group = strdup(group);
	alert->kind = strdup(kind);
	alert->device = strdup("0000:03:00.0");
	alert->code = gpumon_value_of(code);
	alert->count = gpumon_value_of(count);
	alert->time_ns = gpumon_value_of(5000000000);
}

#define XID79_LABELS "{group=\"nvidia\",kind=\"xid\",code=\"79\"," GPU "}"
#define XID79	     "gpumon_alerts_total" XID79_LABELS

/* The wall clock is 1000 s before the monotonic one. */
uint64_t __wrap_gpumon_clock_ns(clockid_t clock);
uint64_t __wrap_gpumon_clock_ns(clockid_t clock)
{
	(void)clock;
	return gpumon_monotonic_ns() + 1000000000000 - 5000000000;
}

static void repeated_alerts_count(void **state)
{
	/* The exporter forgets every other series at once. It keeps one of an alert, which the log tells only once. */
	const struct gpumon_sums_limits short_memory = { 20000, 0 };
	struct gpumon_readings *readings = gpumon_readings_new(root, short_memory);
	struct gpumon_model model, logged = { 0 };

	(void)state;
	make(&model, 1, 2, 1);
	add_alert(&model, NULL, "drm_sched", "hang", 1, 2);
	read_at(readings, &model, &none);
	/* The code is the number of a ring. */
	is(readings,
	   "gpumon_alerts_total{group=\"drm_sched\",kind=\"hang\",ring=\"sdma0\"," GPU "}", "2");
	/* From the log: of a burst the first ones, and the last one. */
	make(&model, 1, 2, 1);
	add_alert(&logged, GPUMON_ALERT_SOURCE_LOG, "nvidia", "xid", 79, 1);
	add_alert(&logged, GPUMON_ALERT_SOURCE_LOG, "nvidia", "xid", 79, 2);
	add_alert(&logged, GPUMON_ALERT_SOURCE_LOG, "nvidia", "xid", 79, 40);
	read_at(readings, &model, &logged);
	is(readings, XID79, "40");
	is(readings, "gpumon_alert_last_timestamp_seconds" XID79_LABELS, "1000");
	/* The module does not tell the hang any more; it stays counted. */
	is(readings,
	   "gpumon_alerts_total{group=\"drm_sched\",kind=\"hang\",ring=\"sdma0\"," GPU "}", "2");
	gpumon_model_free(&logged);
	make(&model, 1, 2, 1);
	read_at(readings, &model, &none);
	is(readings, XID79, "40");
	is(readings, "gpumon_alert_last_timestamp_seconds" XID79_LABELS, "1000");
	gpumon_readings_free(readings);
}

/* What a probe has seen is in the log, too. */
static void alerts_count_once(void **state)
{
	struct gpumon_readings *readings = gpumon_readings_new(root, plenty);
	struct gpumon_model model, logged = { 0 };

	(void)state;
	make(&model, 1, 2, 1);
	free(model.groups[0].probes[0].name);
	model.groups[0].probes[0].name = strdup("nv_report_error");
	add_alert(&model, NULL, "nvidia", "xid", 79, 5);
	add_alert(&logged, GPUMON_ALERT_SOURCE_LOG, "nvidia", "xid", 79, 5);
	add_alert(&logged, GPUMON_ALERT_SOURCE_LOG, "amdgpu", "reset", 0, 3);
	read_at(readings, &model, &logged);
	is(readings, XID79, "5");
	is(readings, "gpumon_alerts_total{group=\"amdgpu\",kind=\"reset\",code=\"0\"," GPU "}",
	   "3");
	gpumon_model_free(&logged);
	/* Loaded again: one more. */
	make(&model, 1, 8, 1);
	add_alert(&model, NULL, "nvidia", "xid", 79, 1);
	read_at(readings, &model, &none);
	is(readings, XID79, "6");
	gpumon_readings_free(readings);
}

static void losses_of_the_log_count(void **state)
{
	struct gpumon_readings *readings = gpumon_readings_new(root, plenty);
	const struct gpumon_log_losses losses[] = { { 3, 0 }, { 5, 1 } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		gpumon_readings_begin(readings);
		gpumon_readings_log_losses(readings, &losses[i]);
		gpumon_readings_end(readings);
	}
	is(readings, "gpumon_log_records_lost_total{cause=\"overwritten\"}", "5");
	is(readings, "gpumon_log_records_lost_total{cause=\"unreadable\"}", "1");
	gpumon_readings_free(readings);
}

/* --- bounds */

/* Whatever is folded, the sum of a counter is that of all that was added. */
static void series_are_bounded(void **state)
{
	const struct gpumon_sums_limits limits = { 40, 10 };
	struct gpumon_sums *sums = gpumon_sums_new(limits);
	struct gpumon_exposition exposition = { .openmetrics = true };
	uint64_t sum = 0, added = 0;
	char *text, *line;
	size_t size;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		uint32_t family;

		gpumon_sums_begin(sums, i * 3);
		family = gpumon_sums_family(sums, "a", "jobs", GPUMON_METRIC_COUNTER, "Jobs");
		for (uint64_t k = 0; k < 30; k++) {
			char labels[32];

			snprintf(labels, sizeof(labels), "c=\"%" PRIu64 "\"", i * 7 + k);
			gpumon_sums_count(sums, family, labels, gpumon_value_of(k));
			added += k;
		}
		gpumon_sums_end(sums);
		assert_true(gpumon_sums_series(sums) <= 41);
	}
	assert_true(gpumon_sums_folded(sums) > 0);
	exposition.stream = gpumon_memstream_open(&text, &size);
	gpumon_sums_write(sums, &exposition);
	gpumon_memstream_close(exposition.stream);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (*line != '#')
			sum += strtoull(strrchr(line, ' '), NULL, 10);
	assert_int_equal(sum, added);
	free(text);
	gpumon_sums_free(sums);
}

/* A level that finds no room is absent, and one that is over, too. */
static void levels_make_room(void **state)
{
	const struct gpumon_sums_limits limits = { 2, 10 };
	struct gpumon_sums *sums = gpumon_sums_new(limits);
	uint32_t family;

	(void)state;
	gpumon_sums_begin(sums, 1);
	family = gpumon_sums_family(sums, "a", "level", GPUMON_METRIC_GAUGE, "Level");
	gpumon_sums_set(sums, family, "a=\"1\"", gpumon_level_of(1));
	gpumon_sums_set(sums, family, "a=\"2\"", gpumon_level_of(1));
	gpumon_sums_set(sums, family, "a=\"3\"", gpumon_level_of(1));
	gpumon_sums_end(sums);
	assert_int_equal(gpumon_sums_series(sums), 2);
	assert_int_equal(gpumon_sums_folded(sums), 1);
	gpumon_sums_begin(sums, 2);
	gpumon_sums_set(sums, family, "a=\"3\"", (struct gpumon_level){ 0 });
	gpumon_sums_end(sums);
	assert_int_equal(gpumon_sums_series(sums), 0);
	gpumon_sums_free(sums);
}

/* --- what they mean */

static void meaning_is(const char *place, const char *name, const char *want)
{
	char *meaning = gpumon_meaning(place, name);

	if (!want)
		assert_null(meaning);
	else
		assert_string_equal(meaning ? meaning : "nothing", want);
	free(meaning);
}

static void pages_have_the_meanings(void **state)
{
	(void)state;
	meaning_is("<!-- table drm_sched.rings -->", "queued", "Jobs pushed");
	meaning_is("<!-- table drm_sched.rings -->", "done",
		   "Jobs whose hardware fence signalled, with or without an error");
	meaning_is("<!-- table drm_sched.rings -->", "nothing", NULL);
	meaning_is("<!-- table drm_sched.nothing -->", "queued", NULL);
	/* Of the next table. */
	meaning_is("<!-- table drm_sched.rings -->", "gpu_ns", NULL);
	meaning_is("## Module", "rings", "in the table now");
	meaning_is("## Probes", "recorded", "Those that went into the statistics");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_join_with_others),
		cmocka_unit_test(reading_is_exported),
		cmocka_unit_test(sensors_are_read),
		cmocka_unit_test(counters_survive_resets),
		cmocka_unit_test(counters_survive_reloads),
		cmocka_unit_test(levels_end_with_the_source),
		cmocka_unit_test(containers_have_names),
		cmocka_unit_test(containers_have_sums),
		cmocka_unit_test(charged_memory),
		cmocka_unit_test(repeated_alerts_count),
		cmocka_unit_test(alerts_count_once),
		cmocka_unit_test(losses_of_the_log_count),
		cmocka_unit_test(series_are_bounded),
		cmocka_unit_test(levels_make_room),
		cmocka_unit_test(pages_have_the_meanings),
	};

	return cmocka_run_group_tests_name("metrics", tests, make_root, remove_root);
}
