// SPDX-License-Identifier: GPL-2.0-only
/* The account of the memory that gpumon holds, by what it is for. */
#include <linux/cpumask.h>
#include <linux/lockdep.h>

#include "account.h"
#include "attach/probe.h"
#include "common/process.h"
#include "core/counters.h"
#include "core/gpumon.h"
#include "core/memory.h"
#include "core/period.h"
#include "core/statistics.h"
#include "drivers/drm_sched/job.h"
#include "drivers/drm_sched/ring.h"

static size_t probe_bytes(void)
{
	return gpumon_counters_bytes(&gpumon_probe_counters) +
	       num_possible_cpus() * sizeof(struct gpumon_cpu);
}

static const struct {
	const char *name;
	size_t (*bytes)(void);
} parts[] = {
	{ "probes", probe_bytes },
	{ "rings", gpumon_ring_bytes },
	{ "processes", gpumon_process_bytes },
	{ "jobs", gpumon_job_bytes },
};

/**
 * gpumon_memory_part - what a part of gpumon holds
 * @part: number of the part, from 0: first what is there from load on, then the groups
 * @name: set to what it is called
 * @bytes: set to what it holds
 *
 * The event ring is none of them: it comes and goes.
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: false if there are no more.
 */
bool gpumon_memory_part(unsigned int part, const char **name, size_t *bytes)
{
	const struct gpumon_group *group;

	lockdep_assert_held(&gpumon_period_lock);
	if (part < ARRAY_SIZE(parts)) {
		*name = parts[part].name;
		*bytes = parts[part].bytes();
		return true;
	}
	part -= ARRAY_SIZE(parts);
	if (part >= gpumon_group_count)
		return false;
	group = gpumon_groups[part];
	*name = group->name;
	*bytes = gpumon_group_bytes(group);
	return true;
}

/**
 * gpumon_memory_bytes - memory held for statistics, the event ring apart
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: bytes.
 */
size_t gpumon_memory_bytes(void)
{
	size_t bytes, sum = 0;
	const char *name;
	unsigned int part;

	for (part = 0; gpumon_memory_part(part, &name, &bytes); part++)
		sum += bytes;
	return sum;
}
