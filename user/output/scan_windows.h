/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The time outside of windows, for the timeline of struct gpumon_scan. */
#ifndef GPUMON_OUTPUT_SCAN_WINDOWS_H
#define GPUMON_OUTPUT_SCAN_WINDOWS_H

#include <stddef.h>

#include "output.h"

struct gpumon_scan_process_windows;

/**
 * struct gpumon_scan_windows - what was read until now
 * @processes: those with windows
 * @count: of @processes
 */
struct gpumon_scan_windows {
	struct gpumon_scan_process_windows *processes;
	size_t count;
};

/* Add a record of a window. -1 without memory. */
int gpumon_scan_windows_record(struct gpumon_scan_windows *windows, uint32_t process,
			       const struct gpumon_record *record);
/* All were added, and the scan has its rows: fill their @unknown_ns. -1 without memory. */
int gpumon_scan_windows_end(const struct gpumon_scan_windows *windows, struct gpumon_scan *scan);
void gpumon_scan_windows_clear(struct gpumon_scan_windows *windows);

#endif /* GPUMON_OUTPUT_SCAN_WINDOWS_H */
