/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Alerts for jobs that do not go on, from the tables of the BPF programs: the counterpart of
 * kmod/drivers/drm_sched/hang.c, with the same messages. Nothing here uses BPF, so that a test can
 * construct tables.
 */
#ifndef GPUMON_DRIVER_JOB_WATCH_H
#define GPUMON_DRIVER_JOB_WATCH_H

#include <stdbool.h>

#include "../bpf/source.h"
#include "model.h"

/* After how long there is an alert, 0 for never. */
struct gpumon_job_limits {
	uint64_t hang_ns;
	uint64_t starved_ns;
};

/**
 * struct gpumon_job_tables - tables of the programs, which change them meanwhile
 * @jobs: SOURCE_JOBS jobs in flight
 * @rings: SOURCE_RINGS + 1 rings
 * @processes: SOURCE_PROCESSES processes
 * @completed: sets *run and *done to the jobs of a ring that were, since it came; 0 or -1
 * @data: for @completed
 */
struct gpumon_job_tables {
	const struct source_job *jobs;
	const struct source_ring *rings;
	const struct source_process *processes;
	int (*completed)(void *data, unsigned int ring, uint64_t *run, uint64_t *done);
	void *data;
};

struct gpumon_job_watch;

struct gpumon_job_watch *gpumon_job_watch_new(struct gpumon_job_limits limits);
void gpumon_job_watch_free(struct gpumon_job_watch *watch);

/**
 * gpumon_job_watch_look() - find jobs that are over their limit
 * @watch: the watch, with the limits
 * @tables: tables
 * @now_ns: CLOCK_MONOTONIC
 *
 * To be called once a second. Only rings are looked at that have jobs, and of which no job went on
 * since the call before.
 *
 * Return: true if there are some that were not told yet: gpumon_job_watch_tell() is to be called, after
 * GPUMON_JOB_SETTLE_NS, in which a program has filled in an entry that it has just taken.
 */
bool gpumon_job_watch_look(struct gpumon_job_watch *watch, const struct gpumon_job_tables *tables,
			   uint64_t now_ns);

#define GPUMON_JOB_SETTLE_NS 10000000ULL

/* Adds alerts for the jobs that were found and still are what they were, once for each. */
void gpumon_job_watch_tell(struct gpumon_job_watch *watch, const struct gpumon_job_tables *tables,
			   uint64_t now_ns, struct gpumon_model *model);

#endif /* GPUMON_DRIVER_JOB_WATCH_H */
