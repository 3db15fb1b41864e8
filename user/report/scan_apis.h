/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The APIs of processes and the clocks of their devices, for struct gpumon_scan. */
#ifndef GPUMON_REPORT_SCAN_APIS_H
#define GPUMON_REPORT_SCAN_APIS_H

#include "output.h"
#include "record_names.h"

struct gpumon_scan_wanted_api;

/**
 * struct gpumon_scan_apis - what was read until now
 * @wanted: APIs whose strings are looked up once all are known
 * @count: of @wanted
 * @clocks: how many the scan has
 */
struct gpumon_scan_apis {
	struct gpumon_scan_wanted_api *wanted;
	size_t count;
	size_t clocks;
};

/* An api or clock record. -1 without memory. */
int gpumon_scan_apis_record(struct gpumon_scan_apis *apis, struct gpumon_scan *scan,
			    uint32_t process, const struct gpumon_record *record);
/* All strings are known. -1 without memory. */
int gpumon_scan_apis_end(const struct gpumon_scan_apis *apis, struct gpumon_scan *scan,
			 const struct gpumon_record_names *names);
void gpumon_scan_apis_free(struct gpumon_scan *scan);

#endif /* GPUMON_REPORT_SCAN_APIS_H */
