// SPDX-License-Identifier: GPL-2.0-only
/* Memory of the jobs in flight. */
#include <linux/mm.h>

#include "job.h"

struct gpumon_table gpumon_job_table;
struct gpumon_job *gpumon_jobs;

/**
 * gpumon_job_init - allocate the table of jobs in flight
 * @max_jobs: jobs that have to fit
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_job_exit() frees what was allocated.
 */
int gpumon_job_init(u32 max_jobs)
{
	int ret = gpumon_table_init(&gpumon_job_table, max_jobs, GPUMON_TABLE_WAYS);

	if (ret)
		return ret;
	gpumon_jobs = kvcalloc(gpumon_job_table.slots, sizeof(*gpumon_jobs), GFP_KERNEL);
	return gpumon_jobs ? 0 : -ENOMEM;
}

/**
 * gpumon_job_exit - free the table of jobs in flight
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_job_exit(void)
{
	kvfree(gpumon_jobs);
	gpumon_table_free(&gpumon_job_table);
}

/**
 * gpumon_job_bytes - memory of the table of jobs in flight
 *
 * Return: bytes.
 */
size_t gpumon_job_bytes(void)
{
	return gpumon_table_bytes(&gpumon_job_table) +
	       gpumon_job_table.slots * sizeof(*gpumon_jobs);
}
