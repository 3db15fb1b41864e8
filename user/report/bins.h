/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Times by parts of the whole one, for timelines. */
#ifndef GPUMON_REPORT_BINS_H
#define GPUMON_REPORT_BINS_H

#include <stdint.h>

/**
 * struct gpumon_bins - a time by parts of the whole one
 * @busy_ns: of part @first and those behind it, others are 0; with several columns each part has one of each
 * @first: number of the first part
 * @room: number of parts in @busy_ns
 */
struct gpumon_bins {
	uint64_t *busy_ns;
	uint32_t first;
	uint32_t room;
};

/**
 * struct gpumon_bins_scale - the parts
 * @from_ns: beginning of the first one
 * @bin_ns: length of each, 0: there are none
 * @count: number of them
 * @columns: times that each has
 */
struct gpumon_bins_scale {
	uint64_t from_ns;
	uint64_t bin_ns;
	uint32_t count;
	uint32_t columns;
};

/*
 * Add a time to a column. Times come in order but for few: the part in which the first one begins counts for
 * those before it, too, so that what lasts for a short time only takes little room.
 */
void gpumon_bins_add(struct gpumon_bins *bins, const struct gpumon_bins_scale *scale,
		     uint32_t column, uint64_t start_ns, uint64_t end_ns);

#endif /* GPUMON_REPORT_BINS_H */
