// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of the module: the memory that each holds, and the end of a period for all of them; and the
 * parts that this kernel lacks.
 */
#include <linux/kernel.h>
#include <linux/lockdep.h>

#include "account.h"
#include "attach/probe.h"
#include "common/process.h"
#include "core/period.h"
#include "drivers/drm_sched/hang.h"
#include "drivers/drm_sched/job.h"
#include "drivers/drm_sched/usage.h"
#include "uapi/gpumon_options.h"

/*
 * Parts that hold memory from load on, or while they are switched on; the groups' tables come with their
 * drivers.
 */
static const struct {
	const char *name;
	size_t (*bytes)(void);
} parts[] = {
	{ "probes", gpumon_probe_bytes },
	{ "processes", gpumon_process_bytes },
#if GPUMON_HAS_drm_sched
	{ "jobs", gpumon_job_bytes },
	{ "usage", gpumon_usage_bytes },
#endif
#if GPUMON_HAS_HANGS
	{ "hanging_jobs", gpumon_hang_bytes },
#endif
};

/*
 * Name and bytes of a part of gpumon, by number: first the parts that hold memory from load on,
 * then the groups. Returns false behind the last. The event ring is no part: it comes and goes.
 * Both gpumon_probe_lock and gpumon_period_lock are held.
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

/* Memory held for statistics, without the event ring; both locks held. */
size_t gpumon_account_bytes(void)
{
	size_t bytes, sum = 0;
	const char *name;
	unsigned int part;

	for (part = 0; gpumon_account_part(part, &name, &bytes); part++)
		sum += bytes;
	return sum;
}

/*
 * Ends the running period of all counters and begins the next; gpumon_period_lock held. With
 * -ENOMEM the period goes on.
 */
int gpumon_account_close(void)
{
	int ret;

	lockdep_assert_held(&gpumon_period_lock);
	ret = gpumon_probe_keep() ?: gpumon_process_keep() ?: gpumon_groups_keep();
	if (ret)
		return ret;
	gpumon_probe_close();
	gpumon_process_close();
	gpumon_groups_close();
	gpumon_period_next();
	return 0;
}

/* Both are NULL of an option that this kernel has. */
#define OPTION(_option, _costs, _lost)						\
	{									\
		.name = IS_ENABLED(CONFIG_##_option) ? NULL : "CONFIG_" #_option, \
		.lost = IS_ENABLED(CONFIG_##_option) ? NULL : _lost,		\
	},

static const struct {
	const char *name;
	const char *lost;
} options[] = { GPUMON_OPTIONS(OPTION) };

/**
 * gpumon_missing_options - name each option that this kernel was built without
 * @show: is called with the option's name and what is lost, until it returns an error
 * @arg: its first argument
 *
 * Return: 0, or what @show returned.
 */
int gpumon_missing_options(int (*show)(void *arg, const char *option, const char *lost), void *arg)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(options) && !ret; i++)
		if (options[i].name)
			ret = show(arg, options[i].name, options[i].lost);
	return ret;
}
