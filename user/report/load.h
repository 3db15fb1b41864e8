/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The first step of all commands that show captures: read them into a view. */
#ifndef GPUMON_REPORT_LOAD_H
#define GPUMON_REPORT_LOAD_H

#include <stdbool.h>

#include "profile.h"
#include "lib/error.h"
#include "output.h"

/* Maximum number of captures of one job. */
#define GPUMON_CAPTURES_MAX 1024

/**
 * struct gpumon_load - captures that were read
 * @profile: their profile
 * @findings: what programs in kernels have gathered
 * @findings_count: number of @findings
 * @damage: of the captures, with findings that cannot be read
 * @view: a view of them
 */
struct gpumon_load {
	struct gpumon_profile *profile;
	struct gpumon_findings **findings;
	unsigned int findings_count;
	struct gpumon_capture_damage damage;
	struct gpumon_view view;
};

/**
 * gpumon_load_captures - read captures of one job
 * @load: out; free it also on failure
 * @paths: directories
 * @count: number of @paths
 * @options: options of the tree
 * @bins: bins of a timeline, 0 for none
 * @err: out
 *
 * If standard error is a terminal, shows progress when reading takes long.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_load_captures(struct gpumon_load *load, const char *const *paths, unsigned int count,
			 const struct gpumon_profile_options *options, unsigned int bins,
			 struct gpumon_error *err);
void gpumon_load_free(struct gpumon_load *load);

/* Report a failed output function with its errno, or 0 if it was already reported. -1 with @err. */
int gpumon_load_output_failed(const char *path, int error, struct gpumon_error *err);

#endif /* GPUMON_REPORT_LOAD_H */
