// SPDX-License-Identifier: GPL-2.0-only
/* The parts of the module: the memory that each holds, and the period of what they count. */
#include <linux/kernel.h>
#include <linux/lockdep.h>

#include "account.h"
#include "attach/probe.h"
#include "common/process.h"
#include "core/period.h"
#include "drivers/drm_sched/job.h"

/* What is there from load on; the groups' tables come with their drivers. */
static const struct {
	const char *name;
	size_t (*bytes)(void);
	void (*close)(void);
} parts[] = {
	{ "probes", gpumon_probe_bytes, gpumon_probe_close },
	{ "processes", gpumon_process_bytes, gpumon_process_close },
	{ "jobs", gpumon_job_bytes, NULL },
};

/**
 * gpumon_account_part - what a part of gpumon holds
 * @part: number of the part, from 0: first what is there from load on, then the groups
 * @name: set to what it is called
 * @bytes: set to what it holds
 *
 * The event ring is none of them: it comes and goes.
 *
 * Context: may sleep, gpumon_probe_lock and gpumon_period_lock held.
 * Return: false if there are no more.
 */
bool gpumon_account_part(unsigned int part, const char **name, size_t *bytes)
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
 * gpumon_account_bytes - memory held for statistics, the event ring apart
 *
 * Context: may sleep, gpumon_probe_lock and gpumon_period_lock held.
 * Return: bytes.
 */
size_t gpumon_account_bytes(void)
{
	size_t bytes, sum = 0;
	const char *name;
	unsigned int part;

	for (part = 0; gpumon_account_part(part, &name, &bytes); part++)
		sum += bytes;
	return sum;
}

/**
 * gpumon_account_close - end the running period of everything that counts, begin the next
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_account_close(void)
{
	unsigned int i;

	lockdep_assert_held(&gpumon_period_lock);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].close)
			parts[i].close();
	gpumon_groups_close();
	gpumon_period_next();
}
