// SPDX-License-Identifier: GPL-2.0-only
/*
 * The attach engine: attaches and detaches probes, and keeps the reasons why one is not attached.
 * modules.c knows which modules are loaded.
 *
 * A probe whose prototype in the running kernel's BTF is not the one expected is refused in
 * probe_attach(), before it is registered; check.c looks up the prototype when the module comes.
 */
#include <linux/irq_work.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "btf/btf.h"
#include "core/clock.h"
#include "core/fault.h"
#include "core/period.h"
#include "core/statistics.h"
#include "engine.h"

DEFINE_MUTEX(gpumon_probe_lock);
struct gpumon_counters gpumon_probe_counters = {
	.sums = GPUMON_PROBE_WORDS,
	.anchor = GPUMON_ANCHOR(probes),
	.others_count = true,
};

static bool probes_running;

/* The module that a probe waits for, NULL if it need not wait. */
static const struct gpumon_followed *probe_waits_for(const struct gpumon_probe *probe)
{
	const struct gpumon_followed *module = gpumon_followed(probe->module);
	const struct gpumon_followed *with = gpumon_followed(probe->with);

	return !module->loaded ? module : !with->loaded ? with : NULL;
}

static void probe_missing(struct gpumon_group *group, struct gpumon_probe *probe)
{
	const struct gpumon_probe *other = gpumon_probe_other_name(group, probe);
	bool tracepoint = probe->kind == GPUMON_PROBE_KIND_TRACEPOINT;
	const char *what = "not in this kernel";

	if (other) {
		gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_MISSING,
				 other->fallback ? "%s is used instead" : "this kernel calls it %s",
				 other->name);
		return;
	}
	if (!tracepoint)
		what = "not in this kernel, or inlined";
	else if (probe->module && !gpumon_followed(probe->module)->tracepoints)
		what = "the module has no tracepoints, or a licence that hides them";
	gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_MISSING, "%s%s%s", what,
			 probe->without ? ": " : "", probe->without ?: "");
}

/*
 * Body for a tracepoint: @unchecked while layouts are unknown. A driver that is built in has the
 * layouts of the kernel's headers.
 */
static void *probe_body(const struct gpumon_group *group, const struct gpumon_probe *probe)
{
	bool known = group->layout_known &&
		     (!probe->check || gpumon_followed(probe->module)->built_in);

	return known || !probe->unchecked ? probe->body : probe->unchecked;
}

static void probe_attach(struct gpumon_group *group, struct gpumon_probe *probe)
{
	char reason[GPUMON_REASON_LEN];
	int ret;

	if (probe->state == GPUMON_ATTACH_STATE_ATTACHED)
		return;
	if (probe->kind == GPUMON_PROBE_KIND_TRACEPOINT && !probe->tp) {
		probe_missing(group, probe);
		return;
	}
	if (gpumon_probe_mismatches(group, probe, reason, sizeof(reason))) {
		gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_MISMATCH, "%s", reason);
		return;
	}
	if (probe->kind != GPUMON_PROBE_KIND_TRACEPOINT) {
		if (gpumon_kprobe_attach(probe) == -ENOENT)
			probe_missing(group, probe);
		return;
	}
	probe->attached = probe_body(group, probe);
	ret = GPUMON_REGISTER("tracepoint_probe_register", probe->name,
			      tracepoint_probe_register(probe->tp, probe->attached,
							gpumon_probe_data(probe)));
	if (ret)
		gpumon_probe_set_failed(probe, ret);
	else
		gpumon_probe_set_attached(probe);
}

static void probe_detach(struct gpumon_probe *probe)
{
	if (probe->state != GPUMON_ATTACH_STATE_ATTACHED)
		return;
	if (probe->kind == GPUMON_PROBE_KIND_TRACEPOINT) {
		gpumon_kprobe_detached();
		tracepoint_probe_unregister(probe->tp, probe->attached, gpumon_probe_data(probe));
	} else {
		gpumon_kprobe_detach(probe);
	}
	gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_OFF, "switched off");
}

bool gpumon_group_attached(const struct gpumon_group *group)
{
	const struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (probe->state == GPUMON_ATTACH_STATE_ATTACHED)
			return true;
	return false;
}

/* Is there no module of a group? */
bool gpumon_group_waits(const struct gpumon_group *group)
{
	const struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (!probe_waits_for(probe))
			return false;
	return true;
}

/*
 * Attaches the probes of a group that can be attached now. Later probes of the table come first:
 * those that see the end of a job before those that see its beginning. The result is in the states
 * and reasons of the probes.
 */
void gpumon_group_attach(struct gpumon_group *group)
{
	const struct gpumon_followed *missing;
	const struct gpumon_probe *other;
	struct gpumon_probe *probe;

	if (!group->enabled || !probes_running)
		return;
	if (!gpumon_group_waits(group) && gpumon_group_allocate(group)) {
		for_each_probe(group, probe)
			gpumon_probe_set_state(
				probe, GPUMON_ATTACH_STATE_FAILED,
				"no memory for its statistics" GPUMON_TRY_AGAIN);
		return;
	}
	if (!gpumon_group_attached(group)) {
		gpumon_group_forget(group);
		group->layout_known = gpumon_check_layout_known(group);
		if (group->start)
			group->start();
	}
	for (probe = group->probes + group->count; probe-- > group->probes;) {
		missing = probe_waits_for(probe);
		other = gpumon_probe_other_name(group, probe);
		if (missing)
			gpumon_probe_set_waiting(probe, missing);
		else if (!other || !(probe->fallback || other->fallback))
			probe_attach(group, probe);
		else if (probe->fallback && probe->state != GPUMON_ATTACH_STATE_ATTACHED)
			gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_OFF, "not needed, %s is used",
					 other->name);
	}
	/* After all attempts it is known which of several names the kernel has. */
	for_each_probe(group, probe)
		if (probe->state == GPUMON_ATTACH_STATE_MISSING &&
		    gpumon_probe_other_name(group, probe))
			probe_missing(group, probe);
}

/*
 * Detaches the probes of a group: beginnings first, while the ends of jobs that were seen to begin
 * still count. The caller calls gpumon_groups_wait().
 */
void gpumon_group_detach(struct gpumon_group *group)
{
	struct gpumon_probe *probe;

	for_each_probe(group, probe)
		probe_detach(probe);
	gpumon_kprobe_detached();
}

/* Waits until no probe of the groups that were detached runs, nor what their probes have begun. */
void gpumon_groups_wait(void)
{
	const struct gpumon_group *group;
	unsigned int g;

	tracepoint_synchronize_unregister();
	for_each_group(group, g)
		if (group->stop && !gpumon_group_attached(group))
			group->stop();
}

/**
 * gpumon_probe_init - number the probes and allocate their counters
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, then gpumon_probe_exit() frees what was allocated.
 */
int gpumon_probe_init(void)
{
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	unsigned int g;
	u32 number = 0;

	for_each_group(group, g) {
		for_each_probe(group, probe) {
			probe->number = number++;
			gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_OFF, "switched off");
		}
	}
	return gpumon_check_init()		   ?:
		       gpumon_follow_init()	   ?:
		       gpumon_kprobe_init(number) ?:
		       gpumon_counters_init(&gpumon_probe_counters, number, GPUMON_PROBE_STRIDE);
}

/**
 * gpumon_probe_exit - free what gpumon_probe_init() allocated
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_probe_exit(void)
{
	gpumon_counters_free(&gpumon_probe_counters);
	gpumon_kprobe_exit();
	gpumon_follow_exit();
	gpumon_btf_stop();
}

/**
 * gpumon_probe_bytes - memory of the probes' counters, and of what is known of the kernel's BTF
 *
 * Return: bytes.
 */
size_t gpumon_probe_bytes(void)
{
	return gpumon_counters_bytes(&gpumon_probe_counters) + gpumon_btf_memory() +
	       num_possible_cpus() * sizeof(struct gpumon_cpu);
}

/**
 * gpumon_probe_keep - get memory for the end of a period
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: 0 or -ENOMEM.
 */
int gpumon_probe_keep(void)
{
	return gpumon_counters_keep(&gpumon_probe_counters, NULL, 0);
}

/**
 * gpumon_probe_close - end the period of the probes' counters, gpumon_probe_keep() was called
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_probe_close(void)
{
	const struct gpumon_group *group;
	const struct gpumon_probe *probe;
	unsigned int g;

	for_each_group(group, g)
		for_each_probe(group, probe)
			gpumon_kprobe_collect(probe);
	gpumon_counters_close(&gpumon_probe_counters);
}

static void groups_detach(void)
{
	struct gpumon_group *group;
	unsigned int g;

	mutex_lock(&gpumon_probe_lock);
	probes_running = false;
	for_each_group(group, g)
		gpumon_group_detach(group);
	gpumon_groups_wait();
	mutex_unlock(&gpumon_probe_lock);
}

/*
 * Detaches probes that must not be attached: a prototype could not be checked before and can be
 * now, or a probe has found another layout.
 */
static void probes_check_again(void)
{
	char reason[GPUMON_REASON_LEN];
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	bool detached = false;
	unsigned int g;

	for_each_group(group, g) {
		for_each_probe(group, probe) {
			if (probe->state != GPUMON_ATTACH_STATE_ATTACHED)
				continue;
			if (gpumon_probe_mismatches(group, probe, reason, sizeof(reason))) {
				probe_detach(probe);
				gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_MISMATCH, "%s", reason);
				detached = true;
			} else if (strstr(probe->reason, GPUMON_BTF_NOT_CHECKED)) {
				gpumon_probe_set_attached(probe);
			}
		}
	}
	if (detached) {
		gpumon_kprobe_detached();
		gpumon_groups_wait();
	}
}

static void groups_refuse(struct work_struct *work)
{
	mutex_lock(&gpumon_probe_lock);
	probes_check_again();
	mutex_unlock(&gpumon_probe_lock);
}

static DECLARE_WORK(refuse_work, groups_refuse);

static void refuse_soon(struct irq_work *work)
{
	schedule_work(&refuse_work);
}

static DEFINE_IRQ_WORK(refuse_irq_work, refuse_soon);

/* No probe runs; gpumon_probe_lock is not held. */
static void refuse_stop(void)
{
	irq_work_sync(&refuse_irq_work);
	cancel_work_sync(&refuse_work);
}

/**
 * gpumon_group_refuse - a probe has found that the group's types are laid out otherwise
 * @group: group
 * @member: what is not where the headers have it, for a reader; it is there for ever
 *
 * The probes of the group are detached soon. Until then they follow no pointer.
 *
 * Context: any but NMI.
 */
void gpumon_group_refuse(struct gpumon_group *group, const char *member)
{
	WRITE_ONCE(group->refused, member);
	irq_work_queue(&refuse_irq_work);
}

/* Reads BTF and sysfs again where that failed before, and updates the probes of all groups. */
static void groups_try_again(void)
{
	struct gpumon_group *group;
	unsigned int g;

	if (!probes_running)
		return;
	if (gpumon_follow_read_again())
		probes_check_again();
	if (gpumon_modules_look(true))
		for_each_group(group, g)
			gpumon_group_attach(group);
}

/**
 * gpumon_probe_start - attach what is there, and from now on what comes
 *
 * Context: may sleep, gpumon_probe_lock not held: the notifier takes it.
 * Return: 0, or a negative error and nothing is attached.
 */
int gpumon_probe_start(void)
{
	struct gpumon_group *group;
	unsigned int g;
	int ret;

	mutex_lock(&gpumon_probe_lock);
	probes_running = true;
	mutex_unlock(&gpumon_probe_lock);

	ret = gpumon_modules_follow();
	if (ret) {
		/* Detaches probes of modules that came before the error. */
		groups_detach();
		refuse_stop();
		return ret;
	}
	mutex_lock(&gpumon_probe_lock);
	for_each_group(group, g)
		gpumon_group_attach(group);
	mutex_unlock(&gpumon_probe_lock);
	return 0;
}

/**
 * gpumon_probe_stop - detach everything and wait until no probe runs
 *
 * Context: may sleep, gpumon_probe_lock not held.
 */
void gpumon_probe_stop(void)
{
	groups_detach();
	gpumon_modules_leave();
	refuse_stop();
}

/**
 * gpumon_probe_change_clock - let the probes measure with another clock
 *
 * Everything is detached for a moment, and what is under way is forgotten: it
 * began by the clock that was.
 *
 * Context: may sleep, gpumon_probe_lock not held.
 */
void gpumon_probe_change_clock(void)
{
	struct gpumon_group *group;
	unsigned int g;

	mutex_lock(&gpumon_probe_lock);
	for_each_group(group, g)
		gpumon_group_detach(group);
	gpumon_groups_wait();
	/* Sums of times end while the clock that they are of can still be read. */
	for_each_group(group, g)
		gpumon_group_forget(group);
	gpumon_clock_select();
	for_each_group(group, g)
		gpumon_group_attach(group);
	mutex_unlock(&gpumon_probe_lock);
}

/**
 * gpumon_group_set - switch a group on or off
 * @group: group
 * @enabled: on
 *
 * An event that comes at that moment is counted whole or not at all.
 *
 * Context: may sleep, gpumon_probe_lock held.
 */
void gpumon_group_set(struct gpumon_group *group, bool enabled)
{
	struct gpumon_probe *probe;

	lockdep_assert_held(&gpumon_probe_lock);
	if (group->enabled == enabled)
		return;
	group->enabled = enabled;
	if (enabled) {
		groups_try_again();
		gpumon_group_attach(group);
		return;
	}
	gpumon_group_detach(group);
	gpumon_groups_wait();
	gpumon_group_forget(group);
	for_each_probe(group, probe)
		gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_OFF, "switched off");
}
