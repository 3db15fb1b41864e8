// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "coverage.h"
#include "maps.h"
#include "printed.h"
#include "tool_views.h"
#include "view.h"

static const struct gpumon_gpuprog_view *const views[] = {
	&gpumon_gpuprog_view_kernelretsnoop, &gpumon_gpuprog_view_threadhist,
	&gpumon_gpuprog_view_launchlate,     &gpumon_gpuprog_view_cuda_counter,
	&gpumon_gpuprog_view_memtrace,	     &gpumon_gpuprog_view_directly_run,
	&gpumon_gpuprog_view_warpimbalance,
};

static bool has_map(const struct gpumon_gpuprog_result *result,
		    const struct gpumon_gpuprog_view_map *wanted)
{
	const struct gpumon_gpuprog_map *map = gpumon_gpuprog_result_map(result, wanted->name);

	return map && map->kind == wanted->kind && map->value_size == wanted->value_size;
}

static bool fits(const struct gpumon_gpuprog_result *result, const struct gpumon_gpuprog_view *view)
{
	for (int i = 0; i < GPUMON_GPUPROG_VIEW_MAPS && view->maps[i].name; i++)
		if (!has_map(result, &view->maps[i]))
			return false;
	return true;
}

/* NULL: one for any object. */
static const struct gpumon_gpuprog_view *find_view(const struct gpumon_gpuprog_result *result)
{
	for (size_t i = 0; result->tool && i < sizeof(views) / sizeof(views[0]); i++)
		if (!strcmp(views[i]->tool, result->tool))
			return fits(result, views[i]) ? views[i] : NULL;
	return NULL;
}

struct gpumon_findings *gpumon_gpuprog_findings(const struct gpumon_gpuprog_result *result)
{
	const struct gpumon_gpuprog_view *view = find_view(result);
	struct gpumon_findings *findings = gpumon_findings_new();
	struct gpumon_gpuprog_names names;

	gpumon_findings_set_tool(findings, result->tool);
	gpumon_gpuprog_names_init(&names, result);
	gpumon_gpuprog_show_own_kernels(findings, result);
	if (view)
		view->show(findings, &names);
	else
		gpumon_gpuprog_generic(findings, &names);
	gpumon_gpuprog_show_prints(findings, result);
	gpumon_gpuprog_coverage(findings, &names);
	gpumon_gpuprog_show_modules(findings, &names);
	gpumon_gpuprog_names_clear(&names);
	return findings;
}
