/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * From readings of a source to the sums of an exporter: each reading adds what came since the one
 * before, by the same differences that "stat --interval" shows. So a reset of the statistics, a module
 * that was loaded again and a process that was removed change no sum.
 */
#ifndef GPUMON_DRIVER_METRICS_MODEL_H
#define GPUMON_DRIVER_METRICS_MODEL_H

#include "alert_log.h"
#include "metrics_sums.h"
#include "model.h"

struct gpumon_readings;

/* @root: prefix of /sys, /proc and /var: "", or a test's own tree; must outlive it. */
struct gpumon_readings *gpumon_readings_new(const char *root, struct gpumon_sums_limits limits);
void gpumon_readings_free(struct gpumon_readings *readings);

/* The sums, for metrics that come from elsewhere. */
struct gpumon_sums *gpumon_readings_sums(struct gpumon_readings *readings);

/* The period of the last reading if this one is of the next period, which a reset began; else 0. */
uint32_t gpumon_readings_closed(const struct gpumon_readings *readings,
				const struct gpumon_model *model);

/**
 * gpumon_readings_close() - add what the last period had at its end
 * @readings: sums
 * @model: reading of that period, whose contents are taken
 */
void gpumon_readings_close(struct gpumon_readings *readings, struct gpumon_model *model);

/**
 * gpumon_readings_add() - add a reading
 * @readings: sums
 * @model: reading, whose contents are taken
 * @logged: alerts that the kernel's log and others told since the last one, whose counts began with the exporter
 */
void gpumon_readings_add(struct gpumon_readings *readings, struct gpumon_model *model,
			 const struct gpumon_model *logged);

/* Between gpumon_readings_begin() and gpumon_readings_end() all of a reading is added. */
void gpumon_readings_begin(struct gpumon_readings *readings);
void gpumon_readings_end(struct gpumon_readings *readings);

/* Records of the kernel's log that were not seen. */
void gpumon_readings_log_losses(struct gpumon_readings *readings,
				const struct gpumon_log_losses *losses);

#endif /* GPUMON_DRIVER_METRICS_MODEL_H */
