/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Alerts for jobs that do not go on, by BPF: a look at the programs' tables once a second. */
#ifndef GPUMON_DRIVER_ALERT_JOBS_H
#define GPUMON_DRIVER_ALERT_JOBS_H

#include "job_watch.h"
#include "lib/error.h"

struct gpumon_alert_jobs;

struct gpumon_bpf_source;

/**
 * gpumon_alert_jobs_open() - load the programs
 * @jobs: out, NULL on failure
 * @limits: limits of jobs that are queued from now on
 * @source: programs that are loaded already, which must outlive @jobs; NULL: load some
 * @err: out
 *
 * Return: 0, or -1 with @err. It is no failure if the scheduler's module is not loaded yet.
 */
int gpumon_alert_jobs_open(struct gpumon_alert_jobs **jobs, struct gpumon_job_limits limits,
			   struct gpumon_bpf_source *source, struct gpumon_error *err);
void gpumon_alert_jobs_close(struct gpumon_alert_jobs *jobs);

/* When the next look is due, CLOCK_MONOTONIC. */
uint64_t gpumon_alert_jobs_next_ns(const struct gpumon_alert_jobs *jobs);

/* Look, if it is time, and add alerts to @model. 0, or -1 with @err. */
int gpumon_alert_jobs_read(struct gpumon_alert_jobs *jobs, struct gpumon_model *model,
			   struct gpumon_error *err);

#endif /* GPUMON_DRIVER_ALERT_JOBS_H */
