/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * An exporter: it reads a source when it is asked to, keeps the sums, and writes them as text. It goes
 * on while the module is away, and takes it again when it is back.
 */
#ifndef GPUMON_DRIVER_METRICS_EXPORTER_H
#define GPUMON_DRIVER_METRICS_EXPORTER_H

#include "job_watch.h"
#include "metrics_sums.h"
#include "source.h"

struct gpumon_exporter;

/**
 * struct gpumon_exporter_settings - what an exporter does
 * @root: prefix of /sys, /proc, /dev and /var: "", or a test's own tree; must outlive it
 * @choice: source
 * @limits: of the sums
 * @jobs: jobs that run or wait for longer are alerts; 0 is never
 */
struct gpumon_exporter_settings {
	const char *root;
	enum gpumon_source_choice choice;
	struct gpumon_sums_limits limits;
	struct gpumon_job_limits jobs;
};

/**
 * gpumon_exporter_open() - open the source
 * @exporter: out, NULL on failure
 * @settings: what it does
 * @err: out
 *
 * Return: 0, or -1 with @err if there is no source.
 */
int gpumon_exporter_open(struct gpumon_exporter **exporter,
			 const struct gpumon_exporter_settings *settings, struct gpumon_error *err);
/* Limits of jobs that the module was given are as before. */
void gpumon_exporter_close(struct gpumon_exporter *exporter);

/* It counts by BPF, so that there is nothing before it began. */
bool gpumon_exporter_is_bpf(const struct gpumon_exporter *exporter);

/* Read the source. 0, or -1 with @err, with which gpumon_source_up is 0. */
int gpumon_exporter_read(struct gpumon_exporter *exporter, struct gpumon_error *err);

/* To be called once a second: drivers that have come, and jobs that hang, by BPF. */
void gpumon_exporter_look(struct gpumon_exporter *exporter);

/* Write what the last reading has come to. 0, or -1 if it could not be written. */
int gpumon_exporter_write(struct gpumon_exporter *exporter, bool openmetrics, FILE *stream);

#endif /* GPUMON_DRIVER_METRICS_EXPORTER_H */
