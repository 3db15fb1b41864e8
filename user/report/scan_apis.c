// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>

#include "lib/array.h"
#include "capture/capture.h"
#include "scan_apis.h"

struct gpumon_scan_wanted_api {
	uint32_t process;
	uint32_t name;
	uint32_t version;
	uint32_t platform;
};

static int add_api(struct gpumon_scan_apis *apis, uint32_t process,
		   const struct gpumon_record *record)
{
	struct gpumon_scan_wanted_api *wanted = GPUMON_GROW(apis->wanted, apis->count);
	struct gpumon_record_api api;

	if (!wanted)
		return -1;
	gpumon_record_copy(&api, sizeof(api), record);
	*wanted = (struct gpumon_scan_wanted_api){ process, api.name, api.version, api.platform };
	return 0;
}

/* Measured again and again: the last one is the best. */
static int add_clock(struct gpumon_scan_apis *apis, struct gpumon_scan *scan, uint32_t process,
		     const struct gpumon_record *record)
{
	struct gpumon_scan_clock *to = NULL;
	struct gpumon_record_clock clock;

	gpumon_record_copy(&clock, sizeof(clock), record);
	for (size_t i = apis->clocks; i-- && !to;) {
		if (scan->clocks[i].process == process && scan->clocks[i].device == clock.device)
			to = &scan->clocks[i];
	}
	if (!to)
		to = GPUMON_GROW(scan->clocks, apis->clocks);
	if (!to)
		return -1;
	scan->clock_count = (unsigned int)apis->clocks;
	*to = (struct gpumon_scan_clock){ process, clock.device, clock.source, clock.offset_ns,
					  clock.error_ns };
	return 0;
}

int gpumon_scan_apis_record(struct gpumon_scan_apis *apis, struct gpumon_scan *scan,
			    uint32_t process, const struct gpumon_record *record)
{
	if (record->type == GPUMON_RECORD_API)
		return add_api(apis, process, record);
	return add_clock(apis, scan, process, record);
}

int gpumon_scan_apis_end(const struct gpumon_scan_apis *apis, struct gpumon_scan *scan,
			 const struct gpumon_record_names *names)
{
	scan->apis = calloc(apis->count + 1, sizeof(*scan->apis));
	if (!scan->apis)
		return -1;
	for (size_t i = 0; i < apis->count; i++) {
		const struct gpumon_scan_wanted_api *wanted = &apis->wanted[i];
		struct gpumon_scan_api *api = &scan->apis[scan->api_count++];

		api->process = wanted->process;
		api->name = gpumon_names_copy(names, wanted->process, wanted->name);
		api->version = gpumon_names_copy(names, wanted->process, wanted->version);
		api->platform = gpumon_names_copy(names, wanted->process, wanted->platform);
		if (!api->name || !api->version || !api->platform)
			return -1;
	}
	return 0;
}

void gpumon_scan_apis_free(struct gpumon_scan *scan)
{
	for (unsigned int i = 0; i < scan->api_count; i++) {
		free(scan->apis[i].name);
		free(scan->apis[i].version);
		free(scan->apis[i].platform);
	}
	free(scan->apis);
	free(scan->clocks);
}
