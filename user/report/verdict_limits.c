// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The limits of the verdict's rules. */
#include "verdict_internal.h"

/* Shares are in per cent of the time without start-up, if the reason does not say another one. */
static const struct {
	uint64_t value;
	const char *why;
} limits[LIMITS] = {
	[LIMIT_BUSY] = { 80, "busy: nothing that removes idle time saves more than a fifth" },
	[LIMIT_START_UP] = { 30, "of the whole time: below it the rest is worth more" },
	[LIMIT_LAUNCH] = { 20, "idle for launches: below it a remedy saves less than a fifth" },
	[LIMIT_LAUNCH_OF_IDLE] = { 50, "of the idle time: otherwise another rule explains it" },
	[LIMIT_LAUNCHES] = { 100, "launches: fewer say nothing about a program" },
	[LIMIT_PAUSE_NS] = { 1000000,
			     "ns between two calls on average: no framework takes as long to launch" },
	[LIMIT_FIRST_LAUNCH_NS] = { 1000000,
				    "ns in one launch call: it loads code, or CUPTI starts" },
	[LIMIT_DATA] = { 15, "idle in pauses: several milliseconds of a step of 30" },
	[LIMIT_LOOKS] = { 10, "looks at threads: fewer may all have met one moment" },
	[LIMIT_RANK] = { 10, "of the whole time of a rank: more than ranks differ by chance" },
	[LIMIT_SYNC_IDLE] = { 20, "idle in or behind the waits: below it a remedy saves less" },
	[LIMIT_SYNCS] = { 20, "waits: fewer say nothing about a program" },
	[LIMIT_SYNC_LAUNCHES] = { 20, "launches for a wait: a step of training has hundreds" },
	[LIMIT_PAGEABLE] = { 10, "in copies with pageable memory: pinned memory halves them" },
	[LIMIT_COPIES] = { 25, "in other copies: they are at full speed already" },
	[LIMIT_SHARED_BUSY] = { 80, "busy: with less there is room for several processes" },
	[LIMIT_SHARED_MOST] = { 75, "of its busy time of one process: the others hardly matter" },
	[LIMIT_METRIC_KERNEL] = { 20, "of the GPU time: a faster kernel saves less than a fifth" },
	[LIMIT_METRIC_SAMPLES] = { 10, "samples in a kernel: fewer may be of one phase of it" },
	[LIMIT_DRAM] = { 70, "of DRAM throughput: a kernel that only copies reaches 90" },
	[LIMIT_TENSOR] = { 60, "of the tensor pipes: good matrix products reach 60 to 80" },
	[LIMIT_ISSUE] = { 70, "of the instructions that can be issued: few kernels issue more" },
	[LIMIT_SM_ACTIVE] = { 70, "of SMs active: below it a third of the GPU has no block" },
	[LIMIT_OCCUPANCY] = { 25, "of the warps of active SMs: fewer hide little latency" },
};

uint64_t gpumon_verdict_limit(enum gpumon_verdict_limit limit)
{
	return limits[limit].value;
}

bool gpumon_verdict_reaches(uint64_t part, enum gpumon_verdict_limit limit, uint64_t whole)
{
	return whole && (double)part * 100 >= (double)limits[limit].value * (double)whole;
}
