/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The counters of a process, in the order of output. */
#ifndef GPUMON_DRIVER_PROCESS_COUNT_H
#define GPUMON_DRIVER_PROCESS_COUNT_H

#include "model.h"

/**
 * struct gpumon_process_count - a counter of a process
 * @name: name in JSON, ends with the unit
 * @title: heading of a column
 * @noun: noun in "5 that exited, with 7 jobs, 3.00MiB allocated"
 */
struct gpumon_process_count {
	const char *name;
	const char *title;
	const char *noun;
	size_t offset;
};

#define GPUMON_PROCESS_COUNTS 7
extern const struct gpumon_process_count gpumon_process_counts[GPUMON_PROCESS_COUNTS];

static inline struct gpumon_value *gpumon_process_count(struct gpumon_process *process, size_t i)
{
	return (void *)((char *)process + gpumon_process_counts[i].offset);
}

static inline struct gpumon_value gpumon_process_count_of(const struct gpumon_process *process,
							  size_t i)
{
	return *gpumon_process_count((struct gpumon_process *)process, i);
}

#endif /* GPUMON_DRIVER_PROCESS_COUNT_H */
