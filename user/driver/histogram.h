/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the files of the model only. The rest of the program uses model.h. */
#ifndef GPUMON_DRIVER_HISTOGRAM_H
#define GPUMON_DRIVER_HISTOGRAM_H

#include "model.h"

/*
 * Unknown if either value is. A counter that went back restarted in between (its ring was
 * recycled), so its whole value counts.
 */
static inline struct gpumon_value gpumon_value_subtract(struct gpumon_value after,
							struct gpumon_value before)
{
	if (!after.known || !before.known)
		return (struct gpumon_value){ 0 };
	return gpumon_value_of(after.v >= before.v ? after.v - before.v : after.v);
}

/*
 * Subtract the counts and buckets of @before from @after into the empty @diff. -1 without memory.
 */
int gpumon_histogram_subtract(struct gpumon_histogram *diff, const struct gpumon_histogram *before,
			      const struct gpumon_histogram *after);

/* Free the contents and zero it. */
void gpumon_info_clear(struct gpumon_info *info);
void gpumon_group_clear(struct gpumon_group *group);
void gpumon_histogram_clear(struct gpumon_histogram *histogram);
void gpumon_process_clear(struct gpumon_process *process);
void gpumon_row_clear(struct gpumon_row *row);
void gpumon_layout_clear(struct gpumon_layout *layout);
void gpumon_alert_clear(struct gpumon_alert *alert);
/* Clear those of statistics, layouts and alerts that are in @parts. */
void gpumon_statistics_clear(struct gpumon_model *model, unsigned int parts);

/* Subtract the rows of @before from those of @after. -1 without memory. */
int gpumon_statistics_diff(struct gpumon_model *diff, const struct gpumon_model *before,
			   const struct gpumon_model *after);

#endif /* GPUMON_DRIVER_HISTOGRAM_H */
