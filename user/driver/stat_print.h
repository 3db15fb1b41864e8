/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_DRIVER_STAT_PRINT_H
#define GPUMON_DRIVER_STAT_PRINT_H

#include <stdio.h>

#include "lib/format.h"
#include "model.h"

enum gpumon_stat_by {
	GPUMON_STAT_BY_PROCESS,
	GPUMON_STAT_BY_CGROUP, /* containers and cgroups in place of processes */
};

/**
 * gpumon_stat_print() - print the tables of "stat"
 * @model: a reading, or a difference
 * @group: only this group, or NULL
 * @by: how those that use the GPUs are summed up
 * @term: terminal of @stream
 * @stream: output
 *
 * Return: 0, or -1 if it could not be written.
 */
int gpumon_stat_print(const struct gpumon_model *model, const char *group, enum gpumon_stat_by by,
		      const struct gpumon_term *term, FILE *stream);

/* Give a reading of the closed period the bounds of that period, not of the running one. */
void gpumon_stat_close(struct gpumon_model *model, const struct gpumon_period *period);

#endif /* GPUMON_DRIVER_STAT_PRINT_H */
