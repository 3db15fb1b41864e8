// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Names of GPUs, from a test's own /proc, /sys and list of PCI ids. */
#include "common.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/device.h"

#define PCI    "sys/bus/pci/devices/"
#define NVIDIA "proc/driver/nvidia/gpus/"

static char root[PATH_MAX];

static void put(const char *name, const char *text)
{
	test_file(root, name, text);
}

static void function(const char *address, const char *class, const char *vendor, const char *device)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), PCI "%s/class", address);
	put(name, class);
	snprintf(name, sizeof(name), PCI "%s/vendor", address);
	put(name, vendor);
	snprintf(name, sizeof(name), PCI "%s/device", address);
	put(name, device);
}

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/gpumon-device-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static void removed(const char *name)
{
	char command[PATH_MAX + 64];

	snprintf(command, sizeof(command), "rm -rf '%s/%s'", root, name);
	assert_int_equal(system(command), 0);
}

static void text_is(const char *text, const char *want)
{
	if (want)
		assert_string_equal(text, want);
	else
		assert_null(text);
}

static const struct gpumon_device *device_at(const struct gpumon_model *model, const char *address)
{
	for (size_t i = 0; i < model->n_devices; i++) {
		if (!strcmp(model->devices[i].address, address))
			return &model->devices[i];
	}
	return NULL;
}

static void device_is(const struct gpumon_model *model, const char *address, const char *name,
		      const char *uuid)
{
	const struct gpumon_device *device = device_at(model, address);

	assert_non_null(device);
	text_is(device->model, name);
	text_is(device->uuid, uuid);
}

static void names_of_each_vendor(void **state)
{
	struct gpumon_devices *devices;
	struct gpumon_model model = { 0 };

	(void)state;
	function("0000:01:00.0", "0x030200\n", "0x10de\n", "0x2335\n");
	put(NVIDIA "0000:01:00.0/information",
	    "Model: \t\t NVIDIA H200\nIRQ:   \t\t 44\nGPU UUID: \t GPU-8c0f1b2a-0000\nBus Type: \t PCIe\n");
	function("0000:03:00.0", "0x030000\n", "0x1002\n", "0x744c\n");
	put(PCI "0000:03:00.0/unique_id", "1a2b3c4d5e6f7081\n");
	put(PCI "0000:03:00.0/product_name", "Radeon PRO W7900\n");
	/* A driver that has no name, in the list of ids. */
	function("0000:00:02.0", "0x030000\n", "0x8086\n", "0x4680\n");
	/* None that is in the list, an accelerator; and what is no GPU. */
	function("0000:04:00.0", "0x120000\n", "0x1022\n", "0x17f0\n");
	function("0000:05:00.0", "0x010802\n", "0x144d\n", "0xa808\n");
	put("usr/share/misc/pci.ids",
	    "# comment\n1002  Advanced Micro Devices\n\t744c  Navi 31\n\t\t1002 0e3b  Subsystem\n"
	    "8086  Intel Corporation\n\t0046  Core\n\t\t8086 4680  not this one\n"
	    "\t4680  AlderLake-S GT1\n9999  Others\n\t17f0  wrong vendor\nC 03  Display\n");

	devices = gpumon_devices_new(root);
	gpumon_devices_resolve(devices, &model);
	assert_int_equal(model.n_devices, 4);
	/* By address. */
	assert_string_equal(model.devices[0].address, "0000:00:02.0");
	device_is(&model, "0000:01:00.0", "NVIDIA H200", "GPU-8c0f1b2a-0000");
	device_is(&model, "0000:03:00.0", "Radeon PRO W7900", "1a2b3c4d5e6f7081");
	device_is(&model, "0000:00:02.0", "AlderLake-S GT1", NULL);
	device_is(&model, "0000:04:00.0", NULL, NULL);
	assert_int_equal(device_at(&model, "0000:04:00.0")->vendor_id.v, 0x1022);
	assert_int_equal(device_at(&model, "0000:04:00.0")->device_id.v, 0x17f0);
	assert_null(device_at(&model, "0000:05:00.0"));
	gpumon_model_free(&model);
	gpumon_devices_free(devices);
}

/* Before the driver has initialised a GPU, its file has question marks. */
static void nothing_is_guessed(void **state)
{
	struct gpumon_devices *devices;
	struct gpumon_model model = { 0 };

	(void)state;
	/* Sysfs is hidden from this container. */
	put(NVIDIA "0000:02:00.0/information",
	    "Model: \t\t Unknown\nGPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?\n");
	/* Files with nothing in them, or with nonsense. */
	function("0000:06:00.0", "0x030000\n", "", "0xzz\n");
	put(PCI "0000:06:00.0/product_name", "\n");
	devices = gpumon_devices_new(root);
	gpumon_devices_resolve(devices, &model);
	device_is(&model, "0000:02:00.0", NULL, NULL);
	device_is(&model, "0000:06:00.0", NULL, NULL);
	assert_false(device_at(&model, "0000:06:00.0")->vendor_id.known);
	assert_false(device_at(&model, "0000:06:00.0")->device_id.known);
	gpumon_model_free(&model);
	gpumon_devices_free(devices);

	gpumon_devices_resolve(NULL, &model);
	assert_int_equal(model.n_devices, 0);
	gpumon_devices_free(NULL);
}

/* A GPU that went and came is another one. */
static void gpus_come_and_go(void **state)
{
	struct gpumon_devices *devices = gpumon_devices_new(root);
	struct gpumon_model model = { 0 };

	(void)state;
	function("0000:07:00.0", "0x030000\n", "0x1002\n", "0x0001\n");
	put(PCI "0000:07:00.0/product_name", "first\n");
	gpumon_devices_resolve(devices, &model);
	device_is(&model, "0000:07:00.0", "first", NULL);
	gpumon_model_free(&model);

	removed(PCI "0000:07:00.0");
	gpumon_devices_resolve(devices, &model);
	assert_null(device_at(&model, "0000:07:00.0"));
	gpumon_model_free(&model);

	function("0000:07:00.0", "0x030000\n", "0x1002\n", "0x0002\n");
	put(PCI "0000:07:00.0/product_name", "second\n");
	gpumon_devices_resolve(devices, &model);
	device_is(&model, "0000:07:00.0", "second", NULL);
	gpumon_model_free(&model);
	gpumon_devices_free(devices);
}

static void a_machine_without_pci(void **state)
{
	struct gpumon_devices *devices = gpumon_devices_new("/nonexistent");
	struct gpumon_model model = { 0 };

	(void)state;
	gpumon_devices_resolve(devices, &model);
	assert_int_equal(model.n_devices, 0);
	gpumon_model_free(&model);
	gpumon_devices_free(devices);
}

/* The scheduler's module says how it picks jobs; what is no policy is unknown. */
static void policy_of_the_scheduler(void **state)
{
	static const struct {
		const char *text;
		struct gpumon_value policy;
		const char *name;
	} cases[] = {
		{ "0\n", { 0, true }, "RR" },
		{ "1\n", { 1, true }, "FIFO" },
		{ "2\n", { 2, true }, "FAIR" },
		{ "7\n", { 7, true }, NULL },
		{ "-1\n", { 0 }, NULL },
		{ "", { 0 }, NULL },
		{ "fifo\n", { 0 }, NULL },
		{ "1 2\n", { 0 }, NULL },
		{ "99999999999999999999\n", { 0 }, NULL },
	};
	struct gpumon_devices *devices = gpumon_devices_new(root);
	struct gpumon_model model = { 0 }, diff = { 0 };

	(void)state;
	/* Not loaded, or a kernel without the parameter: Linux 6.1. */
	gpumon_devices_resolve(devices, &model);
	assert_false(model.sched_policy.known);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put("sys/module/gpu_sched/parameters/sched_policy", cases[i].text);
		gpumon_devices_resolve(devices, &model);
		assert_int_equal(model.sched_policy.known, cases[i].policy.known);
		assert_int_equal(model.sched_policy.v, cases[i].policy.v);
		text_is(gpumon_sched_policy_name(model.sched_policy), cases[i].name);
	}
	put("sys/module/gpu_sched/parameters/sched_policy", "2\n");
	gpumon_devices_resolve(devices, &model);
	gpumon_model_diff(&diff, &(const struct gpumon_model){ 0 }, &model);
	assert_int_equal(diff.sched_policy.v, 2);
	gpumon_model_free(&diff);
	gpumon_devices_free(devices);
	gpumon_model_free(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_each_vendor),	 cmocka_unit_test(nothing_is_guessed),
		cmocka_unit_test(gpus_come_and_go),	 cmocka_unit_test(policy_of_the_scheduler),
		cmocka_unit_test(a_machine_without_pci),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
