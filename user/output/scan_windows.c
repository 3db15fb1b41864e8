// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>

#include "base/array.h"
#include "capture/capture.h"
#include "correlate/windows.h"
#include "scan_windows.h"

struct gpumon_scan_process_windows {
	uint32_t process;
	struct gpumon_windows windows;
};

int gpumon_scan_windows_record(struct gpumon_scan_windows *windows, uint32_t process,
			       const struct gpumon_record *record)
{
	struct gpumon_scan_process_windows *of = NULL;
	struct gpumon_record_window window;

	gpumon_record_copy(&window, sizeof(window), record);
	/* The records of a process follow each other. */
	for (size_t i = windows->count; i-- && !of;) {
		if (windows->processes[i].process == process)
			of = &windows->processes[i];
	}
	if (!of) {
		of = GPUMON_GROW(windows->processes, windows->count);
		if (!of)
			return -1;
		*of = (struct gpumon_scan_process_windows){ .process = process };
	}
	return gpumon_windows_add(&of->windows, &window);
}

static void add_unknown(const struct gpumon_scan *scan, uint64_t *unknown_ns, uint64_t start,
			uint64_t end)
{
	uint64_t last = scan->first_ns + scan->bin_ns * scan->bins;

	start = start > scan->first_ns ? start : scan->first_ns;
	end = end < last ? end : last;
	while (start < end) {
		uint64_t bin = (start - scan->first_ns) / scan->bin_ns;
		uint64_t behind = scan->first_ns + (bin + 1) * scan->bin_ns;

		behind = behind < end ? behind : end;
		unknown_ns[bin] += behind - start;
		start = behind;
	}
}

static int fill_row(const struct gpumon_windows *windows, const struct gpumon_scan *scan,
		    struct gpumon_scan_row *row)
{
	uint64_t since = 0;

	if (!row->unknown_ns)
		row->unknown_ns = calloc(scan->bins, sizeof(*row->unknown_ns));
	if (!row->unknown_ns)
		return -1;
	for (uint32_t i = 0; i < windows->used; i++) {
		add_unknown(scan, row->unknown_ns, since, windows->at[i].start_ns);
		since = windows->at[i].end_ns;
	}
	add_unknown(scan, row->unknown_ns, since, UINT64_MAX);
	return 0;
}

int gpumon_scan_windows_end(const struct gpumon_scan_windows *windows, struct gpumon_scan *scan)
{
	int ret = 0;

	for (size_t i = 0; i < windows->count; i++) {
		struct gpumon_scan_process_windows *of = &windows->processes[i];

		gpumon_windows_end(&of->windows);
		for (unsigned int k = 0; of->windows.sampled && k < scan->row_count && !ret; k++) {
			if (scan->rows[k].process == of->process)
				ret = fill_row(&of->windows, scan, &scan->rows[k]);
		}
	}
	return ret;
}

void gpumon_scan_windows_clear(struct gpumon_scan_windows *windows)
{
	for (size_t i = 0; i < windows->count; i++)
		gpumon_windows_clear(&windows->processes[i].windows);
	free(windows->processes);
	*windows = (struct gpumon_scan_windows){ 0 };
}
