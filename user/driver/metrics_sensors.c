// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/files.h"
#include "metrics_sensors.h"

#define PCI "/sys/bus/pci/devices"
#define MHZ 1000000

/**
 * struct reader - a device whose files are read
 * @root: prefix
 * @folder: of the device, or below it
 * @take: as of gpumon_sensors_read()
 * @data: likewise
 */
struct reader {
	const char *root;
	char folder[PATH_MAX];
	void (*take)(void *data, const struct gpumon_sensor *sensor);
	void *data;
};

/* The first line of a file in the folder. False without one. */
static bool read_line(const struct reader *reader, const char *name, char *text, size_t room)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", reader->folder, name) >= (int)sizeof(path) ||
	    !gpumon_read_short(reader->root, path, text, room))
		return false;
	text[strcspn(text, "\n")] = '\0';
	return *text != '\0';
}

static bool read_number(const struct reader *reader, const char *name, uint64_t *number)
{
	char text[64], *end;

	/* What a driver cannot tell now it refuses to be read, or has as a text. */
	if (!read_line(reader, name, text, sizeof(text)) || !isdigit((unsigned char)*text))
		return false;
	*number = strtoull(text, &end, 10);
	return !*end;
}

static void take_file(const struct reader *reader, const char *name, uint64_t scale,
		      struct gpumon_sensor sensor)
{
	uint64_t number;

	if (!read_number(reader, name, &number))
		return;
	sensor.value = number * scale;
	reader->take(reader->data, &sensor);
}

/* --- hwmon: files PREFIXn_ENDING, and PREFIXn_label */

static const struct kind {
	const char *prefix;
	const char *endings[2]; /* the first that is there */
	struct gpumon_sensor sensor;
} kinds[] = {
	{ "power",
	  { "average", "input" },
	  { "power_microwatts", "", "Power that the device takes, as its driver says", false, 0 } },
	{ "energy",
	  { "input" },
	  { "energy_microjoules", "", "Energy that the device has taken, as its driver says", true,
	    0 } },
	{ "temp",
	  { "input" },
	  { "temperature_millidegrees", "", "Temperature, as its driver says", false, 0 } },
	{ "freq", { "input" }, { "clock_hertz", "", "Clock, as its driver says", false, 0 } },
	{ "in", { "input" }, { "voltage_millivolts", "", "Voltage, as its driver says", false, 0 } },
	{ "fan",
	  { "input" },
	  { "fan_rpm", "", "Turns of a fan in a minute, as its driver says", false, 0 } },
};
#define SENSORS_MAX 16

static void read_kind(const struct reader *reader, const struct kind *kind, unsigned int number)
{
	struct gpumon_sensor sensor = kind->sensor;
	char name[64], label[64] = "";
	uint64_t value;

	for (size_t i = 0; i < sizeof(kind->endings) / sizeof(kind->endings[0]); i++) {
		if (!kind->endings[i])
			return;
		snprintf(name, sizeof(name), "%s%u_%s", kind->prefix, number, kind->endings[i]);
		if (!read_number(reader, name, &value))
			continue;
		snprintf(name, sizeof(name), "%s%u_label", kind->prefix, number);
		(void)read_line(reader, name, label, sizeof(label));
		sensor.sensor = label;
		sensor.value = value;
		reader->take(reader->data, &sensor);
		return;
	}
}

static void read_hwmon(const struct reader *reader)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (unsigned int number = 0; number <= SENSORS_MAX; number++)
			read_kind(reader, &kinds[i], number);
}

/* Call a function for each folder NAME… in that of the device, or in the one of it that @below names. */
static void each_folder(const struct reader *device, const char *below, const char *name,
			void (*read)(const struct reader *reader))
{
	struct reader reader = *device;
	char path[2 * PATH_MAX];
	struct dirent *entry;
	DIR *entries;

	snprintf(path, sizeof(path), "%s%s%s", device->root, device->folder, below);
	entries = opendir(path);
	while (entries && (entry = readdir(entries))) {
		if (strncmp(entry->d_name, name, strlen(name)) != 0 ||
		    snprintf(reader.folder, sizeof(reader.folder), "%s%s/%s", device->folder, below,
			     entry->d_name) >= (int)sizeof(reader.folder))
			continue;
		read(&reader);
	}
	if (entries)
		closedir(entries);
}

/* --- files beside it */

static void read_amdgpu(const struct reader *device)
{
	take_file(device, "gpu_busy_percent", 1,
		  (struct gpumon_sensor){ "busy_percent", "",
					  "Use of the GPU that its firmware has sampled", false,
					  0 });
	take_file(device, "mem_info_vram_total", 1,
		  (struct gpumon_sensor){ "vram_total_bytes", "", "VRAM of the device", false, 0 });
	take_file(device, "mem_info_vram_used", 1,
		  (struct gpumon_sensor){ "vram_used_bytes", "", "VRAM in use, by whomever", false,
					  0 });
	take_file(device, "mem_info_gtt_used", 1,
		  (struct gpumon_sensor){ "gtt_used_bytes", "",
					  "Memory of the machine that the device uses", false, 0 });
}

static void read_i915_card(const struct reader *reader)
{
	take_file(reader, "gt_act_freq_mhz", MHZ,
		  (struct gpumon_sensor){ "clock_hertz", "gt", "Clock, as its driver says", false,
					  0 });
}

static void read_xe_gt(const struct reader *reader)
{
	const char *gt = strstr(reader->folder, "/tile");

	/* "tile0/gt0" */
	take_file(reader, "freq0/act_freq", MHZ,
		  (struct gpumon_sensor){ "clock_hertz", gt ? gt + 1 : "",
					  "Clock, as its driver says", false, 0 });
}

static void read_xe_tile(const struct reader *reader)
{
	each_folder(reader, "", "gt", read_xe_gt);
}

static bool sleeps(const struct reader *device)
{
	char text[32];

	return read_line(device, "power/runtime_status", text, sizeof(text)) &&
	       strcmp(text, "active") != 0 && strcmp(text, "unsupported") != 0;
}

static const char *driver_of(const struct reader *device, char *text, size_t room)
{
	char path[2 * PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "%s%s/driver", device->root, device->folder);
	n = readlink(path, text, room - 1);
	if (n <= 0)
		return "";
	text[n] = '\0';
	name = strrchr(text, '/');
	return name ? name + 1 : text;
}

void gpumon_sensors_read(const char *root, const char *address,
			 void (*take)(void *data, const struct gpumon_sensor *sensor), void *data)
{
	struct reader device = { .root = root, .take = take, .data = data };
	char text[PATH_MAX];
	const char *driver;
	bool amdgpu, i915, xe;

	snprintf(device.folder, sizeof(device.folder), PCI "/%.64s", address);
	driver = driver_of(&device, text, sizeof(text));
	amdgpu = !strcmp(driver, "amdgpu");
	i915 = !strcmp(driver, "i915");
	xe = !strcmp(driver, "xe");
	if ((!amdgpu && !i915 && !xe) || sleeps(&device))
		return;
	each_folder(&device, "/hwmon", "hwmon", read_hwmon);
	if (amdgpu)
		read_amdgpu(&device);
	if (i915)
		each_folder(&device, "/drm", "card", read_i915_card);
	if (xe)
		each_folder(&device, "", "tile", read_xe_tile);
}
