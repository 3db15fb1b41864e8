// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "load.h"
#include "lib/memory.h"
#include "capture/findings.h"

static int load_failed(const char *path, struct gpumon_error *err)
{
	const struct gpumon_error *why = gpumon_capture_error();

	if (why && why->code) {
		*err = *why;
		return -1;
	}
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOMEM, GPUMON_ERROR_MEMORY,
				"%s: no memory to read it", path);
}

/* Of the captures that have one. */
static void load_findings(struct gpumon_load *load, const char *const *paths, unsigned int count)
{
	load->findings = gpumon_calloc((size_t)count + 1, sizeof(*load->findings));
	for (unsigned int i = 0; i < count; i++) {
		struct gpumon_findings **findings = &load->findings[load->findings_count];

		load->damage.unreadable_files += gpumon_findings_read(paths[i], findings) != 0;
		load->findings_count += *findings != NULL;
	}
	load->view.damage = &load->damage;
	load->view.findings = load->findings;
	load->view.findings_count = load->findings_count;
}

int gpumon_load_captures(struct gpumon_load *load, const char *const *paths, unsigned int count,
			 const struct gpumon_profile_options *options, unsigned int bins,
			 struct gpumon_error *err)
{
	struct gpumon_profile_options with_bins = *options;

	memset(load, 0, sizeof(*load));
	with_bins.bins = bins < GPUMON_BINS_MAX ? bins : GPUMON_BINS_MAX;
	if (gpumon_profile_load(paths, count, &with_bins, &load->profile))
		return load_failed(paths[0], err);
	gpumon_view_of(load->profile, &load->view);
	load->damage = *load->view.damage;
	load_findings(load, paths, count);
	return 0;
}

void gpumon_load_free(struct gpumon_load *load)
{
	if (load->profile)
		gpumon_profile_free(load->profile);
	for (unsigned int i = 0; i < load->findings_count; i++)
		gpumon_findings_free(load->findings[i]);
	free(load->findings);
	memset(load, 0, sizeof(*load));
}

int gpumon_load_output_failed(const char *path, int error, struct gpumon_error *err)
{
	if (!error)
		return load_failed(path, err);
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO, "%s: %s",
				strcmp(path, "-") ? path : "standard output", strerror(error));
}
