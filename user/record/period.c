// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdio.h>

#include "lib/output_file.h"
#include "lib/wait.h"
#include "report/load.h"
#include "period.h"
#include "directories.h"
#include "capture/symbol.h"

/* CLOCK_REALTIME of a moment of CLOCK_MONOTONIC, by the clocks of now. */
static uint64_t real_ns(uint64_t monotonic_ns)
{
	return gpumon_clock_ns(CLOCK_REALTIME) + monotonic_ns - gpumon_monotonic_ns();
}

static int write_view(const struct gpumon_period_profile *profile, const struct gpumon_view *view,
		      struct gpumon_error *err)
{
	uint64_t kept_ns = gpumon_capture_ring_since(profile->writer);
	struct gpumon_profile_period period = {
		.time_ns = real_ns(profile->from_ns),
		.duration_ns = profile->until_ns - profile->from_ns,
	};
	struct gpumon_output_file file;
	char comment[128];
	int ret;

	if (kept_ns > profile->until_ns)
		kept_ns = profile->until_ns;
	if (kept_ns > profile->from_ns) {
		snprintf(comment, sizeof(comment),
			 "the first %llu ms of it were dropped (record --keep)",
			 (unsigned long long)((kept_ns - profile->from_ns) / 1000000));
		period.comment = comment;
	}
	if (gpumon_output_file_open(&file, profile->path, false, GPUMON_OUTPUT_GZIP, NULL, err))
		return -1;
	ret = gpumon_output_pprof_period(file.stream, view, &period);
	if (ret)
		gpumon_load_output_failed(profile->path, errno, err);
	return gpumon_output_file_close(&file, !ret, err) || ret ? -1 : 0;
}

int gpumon_period_write(const struct gpumon_period_profile *profile, struct gpumon_error *err)
{
	const struct gpumon_profile_options options = {
		.processes = true,
		.by_end = true,
		/* Clocks of devices are not exact: nothing is left at either end. */
		.from_ns = profile->first ? 0 : profile->from_ns,
		.until_ns = profile->last ? 0 : profile->until_ns,
	};
	struct gpumon_load load;
	uint64_t since_ns = profile->from_ns > GPUMON_PERIOD_BEFORE_NS ?
				    profile->from_ns - GPUMON_PERIOD_BEFORE_NS :
				    1;
	int ret;

	gpumon_remove_capture(profile->temporary);
	ret = gpumon_capture_write_ring(profile->writer, profile->temporary, profile->command, NULL,
					since_ns);
	if (ret) {
		*err = *gpumon_capture_error();
	} else {
		gpumon_symbols_use_debuginfod(false);
		ret = gpumon_load_captures(&load, &profile->temporary, 1, &options, 0, err);
		if (!ret)
			ret = write_view(profile, &load.view, err);
		gpumon_load_free(&load);
	}
	gpumon_remove_capture(profile->temporary);
	return ret;
}
