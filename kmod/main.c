// SPDX-License-Identifier: GPL-2.0-only
/* Load and unload: parameters, the order in which the parts start and stop. */
#include <linux/module.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "common/alert.h"
#include "common/event_ring.h"
#include "common/process.h"
#include "compat/sched_device.h"
#include "core/clock.h"
#include "core/counters.h"
#include "core/fault.h"
#include "core/memory.h"
#include "core/period.h"
#include "drivers/drm_sched/hang.h"
#include "drivers/drm_sched/job.h"
#include "drivers/drm_sched/ring.h"
#include "drivers/drm_sched/usage.h"
#include "drivers/groups.h"
#include "interface/debugfs.h"
#include "interface/netlink.h"
#include "interface/parameters.h"

/*
 * How often housekeeping looks for entries whose object is gone, which are reused only under
 * pressure. It does not run where nothing happens.
 */
#define HOUSEKEEPING_MS 1000
/*
 * After so many seconds without an event, housekeeping still looks at processes: they may end or be
 * renamed.
 */
#define IDLE_SECONDS	60
#define IDLE_MS		30000

static struct gpumon_group *const all_groups[] = {
#define GROUP_ENTRY(_name, _on) &gpumon_##_name,
	GPUMON_GROUPS(GROUP_ENTRY)
};

static void housekeeping(struct work_struct *work);
static DECLARE_DELAYED_WORK(housekeeping_work, housekeeping);

/*
 * The work is not deferrable: its CPU may sleep for long while the others fill the tables. Its time
 * is rounded, so that it wakes that CPU together with other timers.
 */
static void schedule_housekeeping(unsigned int ms)
{
	schedule_delayed_work(&housekeeping_work, round_jiffies_relative(msecs_to_jiffies(ms)));
}

static bool housekeeping_slow;

/* It looks soon, also if nothing has happened for long. */
static void housekeeping_wake(void)
{
	if (READ_ONCE(housekeeping_slow)) {
		WRITE_ONCE(housekeeping_slow, false);
		cancel_delayed_work(&housekeeping_work);
	}
	schedule_housekeeping(HOUSEKEEPING_MS);
}

/*
 * Called when memory that was kept ready is used, or when an event comes after a while without any.
 */
static void memory_supply(void)
{
	gpumon_groups_supply();
	housekeeping_wake();
}

static void housekeeping(struct work_struct *work)
{
	static unsigned int idle_seconds;
	bool idle = gpumon_cpus_slept(), held, watched;
	unsigned int i;

	gpumon_cpus_sleep();
	if (GPUMON_HAS_drm_sched)
		gpumon_ring_schedulers_unknown();
	mutex_lock(&gpumon_period_lock);
	held = gpumon_process_refresh_all();
	if (GPUMON_HAS_drm_sched) {
		idle &= !gpumon_usage_age();
		idle &= !gpumon_process_age(&gpumon_usage_of_processes);
		idle &= !gpumon_ring_recycle();
	} else {
		idle &= !gpumon_process_age(NULL);
	}
	mutex_unlock(&gpumon_period_lock);
	for (i = 0; i < ARRAY_SIZE(all_groups); i++)
		if (all_groups[i]->refresh)
			all_groups[i]->refresh();
	if (gpumon_clock_changed())
		gpumon_probe_change_clock();
	/* A job that hangs makes no event. */
	watched = GPUMON_HAS_HANGS && gpumon_hang_look();
	if (idle && !held && !watched)
		return;
	idle_seconds = idle && !watched ? idle_seconds + 1 : 0;
	WRITE_ONCE(housekeeping_slow, idle_seconds > IDLE_SECONDS);
	schedule_housekeeping(idle_seconds > IDLE_SECONDS ? IDLE_MS : HOUSEKEEPING_MS);
}

static int init_tables(void)
{
	int ret = GPUMON_REGISTER("gpumon_groups_init", NULL,
				  gpumon_groups_init(all_groups, ARRAY_SIZE(all_groups)));

	if (!ret)
		ret = GPUMON_REGISTER("gpumon_probe_init", NULL, gpumon_probe_init());
	if (!ret && GPUMON_HAS_drm_sched)
		ret = GPUMON_REGISTER("gpumon_ring_init", NULL, gpumon_ring_init());
	if (!ret)
		ret = GPUMON_REGISTER("gpumon_process_init", NULL, gpumon_process_init());
	if (!ret && GPUMON_HAS_drm_sched)
		ret = GPUMON_REGISTER("gpumon_usage_init", NULL, gpumon_usage_init());
	if (!ret && GPUMON_HAS_drm_sched)
		ret = GPUMON_REGISTER("gpumon_job_init", NULL, gpumon_job_init());
	return ret;
}

/* Also undoes a partial init_tables(). */
static void free_tables(void)
{
	if (GPUMON_HAS_drm_sched) {
		gpumon_job_exit();
		gpumon_usage_exit();
	}
	gpumon_process_exit();
	gpumon_probe_exit();
	gpumon_groups_exit();
	gpumon_counters_stop();
}

static int __init gpumon_init(void)
{
	int ret = gpumon_parameters_check();

	if (ret)
		return ret;
	ret = gpumon_counters_start();
	if (ret) {
		pr_err("cannot follow CPUs, cpuhp_setup_state() failed with error %d, load gpumon again\n",
		       ret);
		return ret;
	}
	ret = init_tables();
	if (ret) {
		pr_err("no memory for the statistics, choose smaller max_rings, max_processes or max_jobs\n");
		goto err_tables;
	}
	ret = gpumon_compat_sched_devices_start();
	if (ret) {
		pr_err("cannot follow devices, bus_register_notifier() failed with error %d, load gpumon again\n",
		       ret);
		goto err_tables;
	}
	gpumon_clock_select();
	gpumon_memory_start(memory_supply);
	if (GPUMON_HAS_EVENTS)
		gpumon_event_ring_init();
	gpumon_alert_init(gpumon_netlink_alert_send);
	gpumon_period_start();
	if (GPUMON_HAS_HANGS)
		gpumon_hang_start(housekeeping_wake);
	gpumon_parameters_enable_groups();
	/* Registered before the probes, so that their first alerts find the family. */
	ret = GPUMON_HAS_NETLINK ? gpumon_netlink_init() : 0;
	if (ret) {
		pr_err("cannot register the generic netlink family, error %d, load it again when there is memory\n",
		       ret);
		goto err_devices;
	}
	ret = gpumon_probe_start();
	if (ret)
		goto err_probes;
	if (GPUMON_HAS_DEBUGFS)
		gpumon_debugfs_init();
	gpumon_parameters_start();
	schedule_housekeeping(HOUSEKEEPING_MS);
	return 0;

err_probes:
	if (GPUMON_HAS_HANGS)
		gpumon_hang_stop();
	gpumon_memory_stop();
	cancel_delayed_work_sync(&housekeeping_work);
	gpumon_alert_exit();
	if (GPUMON_HAS_NETLINK)
		gpumon_netlink_exit();
	/* The event ring may have been switched on through the family. */
	if (GPUMON_HAS_EVENTS)
		gpumon_event_ring_exit();
err_devices:
	gpumon_compat_sched_devices_stop();
err_tables:
	free_tables();
	return ret;
}

static void __exit gpumon_exit(void)
{
	/*
	 * First the writers stop, then the requests, then the memory is freed. A request between
	 * the first two cannot attach anything.
	 */
	gpumon_parameters_stop();
	if (GPUMON_HAS_DEBUGFS)
		gpumon_debugfs_exit();
	if (GPUMON_HAS_HANGS)
		gpumon_hang_stop();
	gpumon_probe_stop();
	gpumon_compat_sched_devices_stop();
	gpumon_memory_stop();
	gpumon_alert_exit();
	if (GPUMON_HAS_NETLINK)
		gpumon_netlink_exit();
	cancel_delayed_work_sync(&housekeeping_work);
	if (GPUMON_HAS_EVENTS)
		gpumon_event_ring_exit();
	free_tables();
}

module_init(gpumon_init);
module_exit(gpumon_exit);

/*
 * No MODULE_ALIAS_GENL_FAMILY: with it any user could load the module from any
 * network namespace by asking for the family, and a poller would bring it back
 * right after rmmod. To load it at boot, use modules-load.d.
 */
MODULE_AUTHOR("The gpumon authors");
MODULE_DESCRIPTION("GPU driver statistics from tracepoints, per CPU, always on");
MODULE_VERSION(GPUMON_VERSION);
MODULE_INFO(schema, __stringify(GPUMON_SCHEMA));
MODULE_LICENSE("GPL");
