// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "run.h"

uint32_t gpumon_probe_run_kernel(struct gpumon_probe_run *run, const char *name)
{
	struct gpumon_probe_kernel *kernel;
	const char *kept = gpumon_pool_text(&run->pool, name);

	if (!kept)
		return GPUMON_PROBE_NO_KERNEL;
	for (uint32_t i = 0; i < run->kernels_n; i++)
		if (run->kernels[i].name == kept)
			return i;
	kernel = GPUMON_ARRAY_ADD(run->kernels, run->kernels_n, run->kernels_room);
	if (!kernel)
		return GPUMON_PROBE_NO_KERNEL;
	kernel->name = kept;
	kernel->why = "";
	kernel->way = GPUMON_PROBE_WAYS_N;
	return run->kernels_n - 1;
}

uint32_t gpumon_probe_run_find(const struct gpumon_probe_run *run, const char *name)
{
	for (uint32_t i = 0; i < run->kernels_n; i++)
		if (strcmp(run->kernels[i].name, name) == 0)
			return i;
	return GPUMON_PROBE_NO_KERNEL;
}

void gpumon_probe_run_clear(struct gpumon_probe_run *run)
{
	free(run->kernels);
	free(run->lines);
	gpumon_pool_clear(&run->pool);
	memset(run, 0, sizeof(*run));
}
