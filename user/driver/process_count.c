// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "process_count.h"

#define COUNT(name, title, noun)                                          \
	{                                                                 \
#name, title, noun, offsetof(struct gpumon_process, name) \
	}

const struct gpumon_process_count gpumon_process_counts[GPUMON_PROCESS_COUNTS] = {
	COUNT(jobs, "JOBS", "jobs"),
	COUNT(submissions, "SUBMISSIONS", "submissions"),
	COUNT(allocated_bytes, "ALLOCATED", "allocated"),
	COUNT(mapped_bytes, "MAPPED", "mapped"),
	COUNT(ioctls, "IOCTLS", "ioctls"),
	COUNT(faults, "FAULTS", "faults"),
	COUNT(opens, "OPENS", "opens"),
};
