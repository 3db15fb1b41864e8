/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What gpumon does not measure, from the files of drivers that have it in plain numbers: hwmon of
 * amdgpu, i915 and xe, and some files beside it. What a driver does not tell is not there.
 */
#ifndef GPUMON_DRIVER_METRICS_SENSORS_H
#define GPUMON_DRIVER_METRICS_SENSORS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct gpumon_sensor - a number of a device
 * @column: its name with the file's unit: "power_microwatts"
 * @sensor: which one of several, as the driver calls it; "" if it does not
 * @help: what it is
 * @counts: it only grows, but for an overflow
 * @value: the number
 */
struct gpumon_sensor {
	const char *column;
	const char *sensor;
	const char *help;
	bool counts;
	uint64_t value;
};

/**
 * gpumon_sensors_read() - read the files of a device
 * @root: prefix of /sys: "", or a test's own tree
 * @address: PCI address
 * @take: called with each number
 * @data: for it
 *
 * A device that sleeps is left alone: to read its sensors would wake it.
 */
void gpumon_sensors_read(const char *root, const char *address,
			 void (*take)(void *data, const struct gpumon_sensor *sensor), void *data);

#endif /* GPUMON_DRIVER_METRICS_SENSORS_H */
