/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Building distributions. profile.h has the queries. */
#ifndef GPUMON_REPORT_DISTRIBUTION_H
#define GPUMON_REPORT_DISTRIBUTION_H

#include "profile.h"

/**
 * struct gpumon_distribution - values in log-linear buckets; a zeroed one is empty
 * @buckets: counts from bucket @first on, as far as there are values
 * @first: number of the first bucket
 * @room: number of @buckets
 */
struct gpumon_distribution {
	uint64_t *buckets;
	uint32_t first;
	uint32_t room;
	uint64_t count;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
};

void gpumon_distribution_add(struct gpumon_distribution *distribution, uint64_t value);
/* Free the contents, but not the struct. */
void gpumon_distribution_clear(struct gpumon_distribution *distribution);

#endif /* GPUMON_REPORT_DISTRIBUTION_H */
