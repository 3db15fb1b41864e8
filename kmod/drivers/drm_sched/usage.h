/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What processes use of rings: GPU time, waiting, jobs and errors. A row is a process, a ring, and a
 * DRM client where jobs have one.
 *
 * GPU time of a job is that from the later of its run and the previous end on the ring, to its own end.
 * Where a ring runs one job after the other, this is what the hardware spent on it, and the sum is the
 * ring's busy time. Where it runs several at once, it is a share, and the sum is less.
 */
#ifndef GPUMON_USAGE_H
#define GPUMON_USAGE_H

#include "core/statistics.h"

struct gpumon_process_user;

enum {
	GPUMON_USAGE_JOBS,
	GPUMON_USAGE_GPU_NS,
	GPUMON_USAGE_QUEUE_NS,
	GPUMON_USAGE_ERRORS,
	GPUMON_USAGE_COLUMNS
};

extern struct gpumon_statistics gpumon_usage_statistics;
extern const struct gpumon_process_user gpumon_usage_of_processes;

int gpumon_usage_init(void);
void gpumon_usage_exit(void);
void gpumon_usage_start(void);
u32 gpumon_usage_find(u32 process, u32 ring, u64 client);
u32 gpumon_usage_process(u32 row);
void gpumon_usage_ring_renamed(u64 old, u64 key, u32 ring);
bool gpumon_usage_age(void);
size_t gpumon_usage_bytes(void);

/* A CPU's words of a row. Of @row the two highest bits do not count. */
static __always_inline local64_t *gpumon_usage_words(const struct gpumon_cpu *cpu, u32 row)
{
	static_assert(GPUMON_USAGE_COLUMNS == 4);
	return cpu->usage + row * GPUMON_USAGE_COLUMNS;
}

#endif /* GPUMON_USAGE_H */
