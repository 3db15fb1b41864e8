// SPDX-License-Identifier: GPL-2.0-only
/* Memory of the jobs in flight. */
#include <linux/log2.h>
#include <linux/mm.h>

#include "core/memory.h"
#include "job.h"

unsigned int gpumon_job_max = 8192;
struct gpumon_job *gpumon_jobs __read_mostly;
u32 gpumon_job_mask __read_mostly;

static size_t job_entries(void)
{
	return (size_t)gpumon_job_mask + 1;
}

/**
 * gpumon_job_init - allocate the table of jobs in flight
 *
 * For gpumon_job_max jobs, which is rounded up to a power of two; there is twice the room.
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_job_exit() frees what was allocated.
 */
int gpumon_job_init(void)
{
	/* Readers see the rounded value. */
	gpumon_job_max = roundup_pow_of_two(gpumon_job_max);
	gpumon_job_mask = 2 * gpumon_job_max - 1;
	gpumon_jobs = kvmalloc_array(job_entries(), sizeof(*gpumon_jobs), GFP_KERNEL);
	if (!gpumon_jobs)
		return -ENOMEM;
	gpumon_job_clear();
	return 0;
}

/**
 * gpumon_job_exit - free the table of jobs in flight
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_job_exit(void)
{
	kvfree(gpumon_jobs);
	gpumon_jobs = NULL;
}

/* Forgets all jobs in flight; no probe runs. */
void gpumon_job_clear(void)
{
	struct gpumon_job *job;

	memset(gpumon_jobs, 0, job_entries() * sizeof(*gpumon_jobs));
	for (job = gpumon_jobs; job < gpumon_jobs + job_entries(); job++)
		job->place = GPUMON_NONE;
}

/*
 * Ends the jobs of a scheduler that has ended, also those whose fences never signalled. @scheduler:
 * its slot, which no other scheduler may have yet; @leave is called for each job. Reads the whole
 * table.
 */
void gpumon_job_abandon(u32 scheduler, void (*leave)(const struct gpumon_job *job))
{
	struct gpumon_job *job;

	for (job = gpumon_jobs; job < gpumon_jobs + job_entries(); job++) {
		if (READ_ONCE(job->place) >> 16 != scheduler)
			continue;
		leave(job);
		gpumon_job_release(job);
	}
}

/*
 * Sets the bits of the rows that jobs in flight count for, of gpumon_usage_statistics. No process that
 * has such a row and is gone queues another job meanwhile.
 */
void gpumon_job_mark_usage(unsigned long *rows, u32 count)
{
	const struct gpumon_job *job;
	u32 row;

	for (job = gpumon_jobs; job < gpumon_jobs + job_entries(); job++) {
		if (!gpumon_read_once64(job->key))
			continue;
		/* An entry that is being taken may have the row of the job before. */
		row = gpumon_job_usage(job);
		if (row < count)
			__set_bit(row, rows);
	}
}

/**
 * gpumon_job_bytes - memory of the table of jobs in flight
 *
 * Return: bytes.
 */
size_t gpumon_job_bytes(void)
{
	return gpumon_memory_held(gpumon_jobs, job_entries() * sizeof(*gpumon_jobs));
}

/* Entry of a job by its finished fence, NULL if its queueing was not seen. */
struct gpumon_job *gpumon_job_find(const struct dma_fence *finished)
{
	struct gpumon_job *job;
	u32 way;

	for (way = 0; way < GPUMON_JOB_WAYS; way++) {
		job = gpumon_job_entry(finished, way);
		if (gpumon_job_is(job, finished))
			return job;
	}
	return NULL;
}

/* Entry for a job that is queued, with the key and nothing else; NULL if there is no room. */
struct gpumon_job *gpumon_job_insert(const struct dma_fence *finished)
{
	struct gpumon_job *job;
	u32 way;

	for (way = 0; way < GPUMON_JOB_WAYS; way++) {
		job = gpumon_job_entry(finished, way);
		if (!gpumon_read_once64(job->key) && gpumon_job_take(job, finished))
			return job;
	}
	return NULL;
}
