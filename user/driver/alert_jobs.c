// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <time.h>

#include "alert_jobs.h"
#include "bpf_source.h"
#include "lib/memory.h"
#include "lib/wait.h"

#define LOOK_NS 1000000000ULL

/**
 * struct gpumon_alert_jobs - a watch of the programs' tables
 * @source: the programs
 * @own: @source is closed with it
 * @watch: what was seen so far
 * @next_ns: when the next look is due
 */
struct gpumon_alert_jobs {
	struct gpumon_bpf_source *source;
	bool own;
	struct gpumon_job_watch *watch;
	uint64_t next_ns;
};

int gpumon_alert_jobs_open(struct gpumon_alert_jobs **jobs, struct gpumon_job_limits limits,
			   struct gpumon_bpf_source *source, struct gpumon_error *err)
{
	struct gpumon_alert_jobs *new;
	struct gpumon_job_tables tables;
	bool own = !source;

	*jobs = NULL;
	if (own && gpumon_bpf_source_open_jobs(&source, err))
		return -1;
	if (gpumon_bpf_source_job_tables(source, &tables, err) < 0) {
		if (own)
			gpumon_bpf_source_close(source);
		return -1;
	}
	new = gpumon_calloc(1, sizeof(*new));
	new->source = source;
	new->own = own;
	new->watch = gpumon_job_watch_new(limits);
	new->next_ns = gpumon_monotonic_ns();
	*jobs = new;
	return 0;
}

void gpumon_alert_jobs_close(struct gpumon_alert_jobs *jobs)
{
	if (!jobs)
		return;
	if (jobs->own)
		gpumon_bpf_source_close(jobs->source);
	gpumon_job_watch_free(jobs->watch);
	free(jobs);
}

uint64_t gpumon_alert_jobs_next_ns(const struct gpumon_alert_jobs *jobs)
{
	return jobs->next_ns;
}

int gpumon_alert_jobs_read(struct gpumon_alert_jobs *jobs, struct gpumon_model *model,
			   struct gpumon_error *err)
{
	const struct timespec settle = { .tv_nsec = GPUMON_JOB_SETTLE_NS };
	uint64_t now = gpumon_monotonic_ns();
	struct gpumon_job_tables tables;
	int ret;

	if (now < jobs->next_ns)
		return 0;
	/* After a command that took long there are not several looks at once. */
	jobs->next_ns = now + LOOK_NS;
	gpumon_bpf_source_look(jobs->source);
	ret = gpumon_bpf_source_job_tables(jobs->source, &tables, err);
	if (ret <= 0)
		return ret;
	if (gpumon_job_watch_look(jobs->watch, &tables, now)) {
		nanosleep(&settle, NULL);
		gpumon_job_watch_tell(jobs->watch, &tables, gpumon_monotonic_ns(), model);
	}
	return 0;
}
