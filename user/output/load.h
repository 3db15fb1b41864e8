/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What all commands that show captures do first: read them, and lay them open. */
#ifndef GPUMON_RECORD_LOAD_H
#define GPUMON_RECORD_LOAD_H

#include <stdbool.h>

#include "correlate/profile/profile.h"
#include "base/error.h"
#include "output.h"

/* Captures of one job given together at most. */
#define GPUMON_CAPTURES_MAX 1024

/**
 * struct gpumon_load - captures that were read
 * @profile: of them
 * @scan: what the profile does not have
 * @view: both, laid open
 */
struct gpumon_load {
	struct gpumon_profile *profile;
	struct gpumon_scan *scan;
	struct gpumon_view view;
};

/**
 * gpumon_load_captures - read captures of one job
 * @load: filled in; free it also on failure
 * @paths: directories
 * @count: how many
 * @options: of the tree
 * @bins: of a timeline, 0 for none
 * @err: why not
 *
 * On a terminal (standard error), says that it reads where that takes long.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_load_captures(struct gpumon_load *load, const char *const *paths, unsigned int count,
			 const struct gpumon_profile_options *options, unsigned int bins,
			 struct gpumon_error *err);
void gpumon_load_free(struct gpumon_load *load);

/* An output function failed: errno is why, and 0 where that was told already. -1 with @err. */
int gpumon_load_output_failed(const char *path, int error, struct gpumon_error *err);

#endif /* GPUMON_RECORD_LOAD_H */
