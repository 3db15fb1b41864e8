// SPDX-License-Identifier: GPL-2.0-only
/* Load and unload: parameters, the order in which the parts start and stop. */
#include <linux/module.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "common/alert.h"
#include "common/event_ring.h"
#include "common/process.h"
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

module_param_named(max_rings, gpumon_ring_max, uint, 0444);
MODULE_PARM_DESC(max_rings, "rings that fit, 1 to 1024 (default 64)");

module_param_named(max_processes, gpumon_process_max, uint, 0444);
MODULE_PARM_DESC(max_processes, "processes that fit, 8 to 65536 (default 1024)");

module_param_named(max_jobs, gpumon_job_max, uint, 0444);
MODULE_PARM_DESC(
	max_jobs,
	"jobs in flight that are tracked, 8 to 1048576, rounded up to a power of two (default 8192)");

#define GROUP_PARAMETER(_name, _on)                            \
	static bool enable_##_name = _on;                      \
	module_param_named(_name, enable_##_name, bool, 0444); \
	MODULE_PARM_DESC(_name, "group " #_name " is on at load, 0 or 1 (default " #_on ")");
GPUMON_GROUPS(GROUP_PARAMETER)

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
	gpumon_ring_schedulers_unknown();
	mutex_lock(&gpumon_period_lock);
	held = gpumon_process_refresh_all();
	idle &= !gpumon_usage_age();
	idle &= !gpumon_process_age(&gpumon_usage_of_processes);
	/*
	 * While the group is off, no ring comes that would need room, and all rings would seem to
	 * be gone.
	 */
	if (READ_ONCE(gpumon_drm_sched.enabled))
		idle &= !gpumon_ring_recycle();
	mutex_unlock(&gpumon_period_lock);
	for (i = 0; i < ARRAY_SIZE(all_groups); i++)
		if (all_groups[i]->refresh)
			all_groups[i]->refresh();
	if (gpumon_clock_changed())
		gpumon_probe_change_clock();
	/* A job that hangs makes no event. */
	watched = gpumon_hang_look();
	if (idle && !held && !watched)
		return;
	idle_seconds = idle && !watched ? idle_seconds + 1 : 0;
	WRITE_ONCE(housekeeping_slow, idle_seconds > IDLE_SECONDS);
	schedule_housekeeping(idle_seconds > IDLE_SECONDS ? IDLE_MS : HOUSEKEEPING_MS);
}

static int check_parameter(const char *name, unsigned int value, unsigned int min, unsigned int max)
{
	if (value >= min && value <= max)
		return 0;
	pr_err("parameter %s=%u is out of range, choose %u to %u\n", name, value, min, max);
	return -EINVAL;
}

static int check_parameters(void)
{
	return check_parameter("max_rings", gpumon_ring_max, 1, 1024)				?:
		       check_parameter("max_processes", gpumon_process_max, 8, 65536) ?:
		       check_parameter("max_jobs", gpumon_job_max, 8, 1048576);
}

static int init_tables(void)
{
	int ret = GPUMON_REGISTER("gpumon_groups_init", NULL,
				  gpumon_groups_init(all_groups, ARRAY_SIZE(all_groups)));

	if (!ret)
		ret = GPUMON_REGISTER("gpumon_probe_init", NULL, gpumon_probe_init());
	if (!ret)
		ret = GPUMON_REGISTER("gpumon_ring_init", NULL, gpumon_ring_init());
	if (!ret)
		ret = GPUMON_REGISTER("gpumon_process_init", NULL, gpumon_process_init());
	if (!ret)
		ret = GPUMON_REGISTER("gpumon_usage_init", NULL, gpumon_usage_init());
	if (!ret)
		ret = GPUMON_REGISTER("gpumon_job_init", NULL, gpumon_job_init());
	return ret;
}

/* Also undoes a partial init_tables(). */
static void free_tables(void)
{
	gpumon_job_exit();
	gpumon_usage_exit();
	gpumon_process_exit();
	gpumon_probe_exit();
	gpumon_groups_exit();
	gpumon_counters_stop();
}

static int __init gpumon_init(void)
{
	int ret = check_parameters();

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
	gpumon_clock_select();
	gpumon_memory_start(memory_supply);
	gpumon_event_ring_init();
	gpumon_alert_init(gpumon_netlink_alert_send);
	gpumon_period_start();
	gpumon_hang_start(housekeeping_wake);
#define GROUP_ENABLE(_name, _on) gpumon_##_name.enabled = enable_##_name;
	GPUMON_GROUPS(GROUP_ENABLE)
	/* Registered before the probes, so that their first alerts find the family. */
	ret = gpumon_netlink_init();
	if (ret) {
		pr_err("cannot register the generic netlink family, error %d, load it again when there is memory\n",
		       ret);
		goto err_tables;
	}
	ret = gpumon_probe_start();
	if (ret)
		goto err_probes;
	gpumon_debugfs_init();
	schedule_housekeeping(HOUSEKEEPING_MS);
	return 0;

err_probes:
	gpumon_hang_stop();
	gpumon_memory_stop();
	cancel_delayed_work_sync(&housekeeping_work);
	gpumon_alert_exit();
	gpumon_netlink_exit();
	/* The event ring may have been switched on through the family. */
	gpumon_event_ring_exit();
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
	gpumon_debugfs_exit();
	gpumon_hang_stop();
	gpumon_probe_stop();
	gpumon_memory_stop();
	gpumon_alert_exit();
	gpumon_netlink_exit();
	cancel_delayed_work_sync(&housekeeping_work);
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
