// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>

#include "scan_windows.h"

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

int gpumon_scan_windows(const struct gpumon_profile *profile, struct gpumon_scan *scan)
{
	int ret = 0;

	for (unsigned int i = 0; i < scan->row_count && !ret; i++) {
		const struct gpumon_windows *windows =
			gpumon_profile_windows(profile, scan->rows[i].of);

		if (windows->sampled)
			ret = fill_row(windows, scan, &scan->rows[i]);
	}
	return ret;
}
