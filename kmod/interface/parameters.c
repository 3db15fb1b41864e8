// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module's parameters. Limits are given at load. A group can also be switched while the module
 * runs, and a period ended, by a write to /sys/module/gpumon/parameters/: that needs no netlink, no
 * debugfs and no program, and the words are those of modprobe.d.
 */
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "account.h"
#include "attach/probe.h"
#include "common/process.h"
#include "core/period.h"
#include "drivers/drm_sched/job.h"
#include "drivers/drm_sched/ring.h"
#include "drivers/drm_vblank/internal.h"
#include "drivers/groups.h"
#include "parameters.h"

/* A limit that is given at load: its range and default are said where it is. */
#define LIMIT(_name, _variable, _text)                  \
	module_param_named(_name, _variable, uint, 0444); \
	MODULE_PARM_DESC(_name, _text)

#if GPUMON_HAS_drm_sched
LIMIT(max_rings, gpumon_ring_max, "rings that fit, 1 to 1024 (default 64)");
LIMIT(max_jobs, gpumon_job_max,
	"jobs in flight that are tracked, 8 to 1048576, rounded up to a power of two (default 8192)");
#endif
#if GPUMON_HAS_drm_vblank
LIMIT(max_crtcs, gpumon_vblank_crtc_max, "crtcs of all displays that fit, 1 to 32 (default 32)");
#endif
LIMIT(max_processes, gpumon_process_max, "processes that fit, 8 to 65536 (default 1024)");

static int check_limit(const char *name, unsigned int value, unsigned int min, unsigned int max)
{
	if (value >= min && value <= max)
		return 0;
	pr_err("parameter %s=%u is out of range, choose %u to %u\n", name, value, min, max);
	return -EINVAL;
}

/**
 * gpumon_parameters_check - are the limits in their range
 *
 * Return: 0, or -EINVAL after it has said which one is not.
 */
int gpumon_parameters_check(void)
{
	int ret = 0;

	if (GPUMON_HAS_drm_sched)
		ret = check_limit("max_rings", gpumon_ring_max, 1, 1024);
	if (!ret)
		ret = check_limit("max_processes", gpumon_process_max, 8, 65536);
	if (!ret && GPUMON_HAS_drm_sched)
		ret = check_limit("max_jobs", gpumon_job_max, 8, 1048576);
	if (!ret && GPUMON_HAS_drm_vblank)
		ret = check_limit("max_crtcs", gpumon_vblank_crtc_max, 1, 32);
	return ret;
}

/* The module can be told to change something. parameters_lock is held while it does. */
static bool parameters_open;
static DEFINE_MUTEX(parameters_lock);

/* A write that is not taken: the log says why, once, since any program could fill it. */
static int refuse(const struct kernel_param *parameter, const char *why)
{
	if (READ_ONCE(parameters_open))
		pr_warn_once("write to parameter %s refused: %s\n", parameter->name, why);
	return -EINVAL;
}

/*
 * A write leaves the kernel's lock of parameters while it changes what runs: under gpumon_probe_lock the module reads
 * a file of sysfs, and the kernel takes its lock of parameters within a lock of such files.
 */
static bool parameters_begin_change(void)
{
	kernel_param_unlock(THIS_MODULE);
	mutex_lock(&parameters_lock);
	return parameters_open;
}

static void parameters_end_change(void)
{
	mutex_unlock(&parameters_lock);
	kernel_param_lock(THIS_MODULE);
}

/**
 * struct group_switch - the parameter of a group
 * @group: group
 * @on: it is on at load
 */
struct group_switch {
	struct gpumon_group *group;
	bool on;
};

static int group_switch_set(const char *text, const struct kernel_param *parameter)
{
	struct group_switch *of = parameter->arg;
	bool on = true;

	if (text && kstrtobool(text, &on))
		return refuse(parameter, "write 1 for on, 0 for off");
	if (parameters_begin_change()) {
		mutex_lock(&gpumon_probe_lock);
		gpumon_group_set(of->group, on);
		mutex_unlock(&gpumon_probe_lock);
	} else {
		of->on = on;
	}
	parameters_end_change();
	return 0;
}

static int group_switch_get(char *buffer, const struct kernel_param *parameter)
{
	const struct group_switch *of = parameter->arg;

	return sprintf(buffer, "%c\n", (READ_ONCE(parameters_open) ? READ_ONCE(of->group->enabled) : of->on) ? 'Y' : 'N');
}

static const struct kernel_param_ops group_switch_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = group_switch_set,
	.get = group_switch_get,
};

#define GROUP_SWITCH(_name, _on)                                                           \
	static struct group_switch switch_##_name = { .group = &gpumon_##_name, .on = _on }; \
	module_param_cb(_name, &group_switch_ops, &switch_##_name, 0644);                    \
	__MODULE_PARM_TYPE(_name, "bool");                                                   \
	MODULE_PARM_DESC(_name, "group " #_name " is on, 0 or 1, also while it runs (default " #_on ")");
GPUMON_GROUPS(GROUP_SWITCH)

static int reset_set(const char *text, const struct kernel_param *parameter)
{
	int ret = -EINVAL;
	bool yes;

	if (kstrtobool(text, &yes) || !yes)
		return refuse(parameter, "write 1 to end the period");
	if (parameters_begin_change()) {
		mutex_lock(&gpumon_period_lock);
		ret = gpumon_account_close();
		mutex_unlock(&gpumon_period_lock);
	}
	parameters_end_change();
	return ret;
}

static const struct kernel_param_ops reset_ops = { .set = reset_set };

module_param_cb(reset, &reset_ops, NULL, 0200);
__MODULE_PARM_TYPE(reset, "bool");
MODULE_PARM_DESC(reset, "write 1 while it runs: all counts start over");

/* Switches the groups as they are to be at load. */
void gpumon_parameters_enable_groups(void)
{
#define GROUP_ENABLE(_name, _on) gpumon_##_name.enabled = switch_##_name.on;
	GPUMON_GROUPS(GROUP_ENABLE)
}

/* From now on a write changes what runs. */
void gpumon_parameters_start(void)
{
	mutex_lock(&parameters_lock);
	WRITE_ONCE(parameters_open, true);
	mutex_unlock(&parameters_lock);
}

/*
 * From now on a write changes nothing, and none is under way: the files go only after the module's
 * exit function.
 */
void gpumon_parameters_stop(void)
{
	mutex_lock(&parameters_lock);
	WRITE_ONCE(parameters_open, false);
	mutex_unlock(&parameters_lock);
}
