/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The inside of the verdict, only for verdict*.c. */
#ifndef GPUMON_REPORT_VERDICT_INTERNAL_H
#define GPUMON_REPORT_VERDICT_INTERNAL_H

#include "verdict.h"
#include "view.h"

/* verdict_limits.c has their values and reasons. */
enum gpumon_verdict_limit {
	LIMIT_BUSY,
	LIMIT_START_UP,
	LIMIT_LAUNCH,
	LIMIT_LAUNCH_OF_IDLE,
	LIMIT_LAUNCHES,
	LIMIT_PAUSE_NS,
	LIMIT_FIRST_LAUNCH_NS,
	LIMIT_DATA,
	LIMIT_LOOKS,
	LIMIT_RANK,
	LIMIT_SYNC_IDLE,
	LIMIT_SYNCS,
	LIMIT_SYNC_LAUNCHES,
	LIMIT_PAGEABLE,
	LIMIT_COPIES,
	LIMIT_SHARED_BUSY,
	LIMIT_SHARED_MOST,
	LIMIT_METRIC_KERNEL,
	LIMIT_METRIC_SAMPLES,
	LIMIT_DRAM,
	LIMIT_TENSOR,
	LIMIT_ISSUE,
	LIMIT_SM_ACTIVE,
	LIMIT_OCCUPANCY,
	LIMITS
};

uint64_t gpumon_verdict_limit(enum gpumon_verdict_limit limit);
/* Whether a part is at least so many per cent. */
bool gpumon_verdict_reaches(uint64_t part, enum gpumon_verdict_limit limit, uint64_t whole);

/* A new finding in its place; NULL: there are enough that explain more. */
struct gpumon_finding *gpumon_verdict_add(struct gpumon_verdict *verdict, const char *rule,
					  uint64_t weight_ns);
void gpumon_verdict_number(struct gpumon_finding *finding, const char *key, uint64_t value);

/* What a kernel did, without waiting for other ranks. */
uint64_t gpumon_verdict_used(const struct gpumon_kernel_row *row);
/* "gemm 43 %", to be freed. */
char *gpumon_verdict_kernel(const struct gpumon_kernel_row *row, uint64_t all_ns);

/* verdict_kernels.c: what limits a kernel, by metrics of the GPU. */
void gpumon_verdict_kernels(const struct gpumon_view *view, struct gpumon_verdict *verdict);

#endif /* GPUMON_REPORT_VERDICT_INTERNAL_H */
