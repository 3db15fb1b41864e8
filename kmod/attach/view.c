// SPDX-License-Identifier: GPL-2.0-only
/* The attach engine for readers: states, reasons, counters. */
#include <linux/string.h>

#include "btf/btf.h"
#include "core/period.h"
#include "engine.h"

/*
 * Sets the state of a probe and the reason, for a reader; the reason is "" if there is nothing to
 * say.
 */
void gpumon_probe_set_state(struct gpumon_probe *probe, enum gpumon_attach_state state,
		      const char *format, ...)
{
	va_list args;

	probe->state = state;
	if (state == GPUMON_ATTACH_STATE_ATTACHED)
		probe->counted = true;
	va_start(args, format);
	vscnprintf(probe->reason, sizeof(probe->reason), format, args);
	va_end(args);
}

void gpumon_probe_set_attached(struct gpumon_probe *probe)
{
	bool built_in = probe->module && gpumon_followed(probe->module)->built_in;

	gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_ATTACHED, "%s%s%s",
			 built_in ? "built into the kernel" : "",
			 built_in && *probe->check_reason ? ", " : "", probe->check_reason);
}

/* Sets the state of a probe whose registration returned a negative error. */
void gpumon_probe_set_failed(struct gpumon_probe *probe, int error)
{
	const char *why = NULL;

	switch (error) {
	case -EOPNOTSUPP:
		why = "kernel without kprobes, rebuild it with CONFIG_KPROBES and CONFIG_KRETPROBES";
		break;
	case -EINVAL:
		if (probe->kind != GPUMON_PROBE_KIND_TRACEPOINT)
			why = "the kernel does not let it be probed, see blacklist in /sys/kernel/debug/kprobes";
		break;
	case -EPERM:
	case -EACCES:
		why = "refused by lockdown or a security module";
		break;
	case -EBUSY:
	case -EILSEQ:
		why = "its code is changed by a live patch or another tracer" GPUMON_TRY_AGAIN;
		break;
	case -EALREADY:
		why = "the kernel had no memory to take it off before and keeps it, boot the machine again";
		break;
	case -ENOMEM:
		why = "no memory" GPUMON_TRY_AGAIN;
		break;
	}
	if (why)
		gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_FAILED, "%s", why);
	else
		gpumon_probe_set_state(
			probe, GPUMON_ATTACH_STATE_FAILED,
			"registration failed with error %d" GPUMON_TRY_AGAIN,
			error);
}

/*
 * The attached alternative of a probe: the one with the name that another kernel generation has for
 * the same event; or NULL.
 */
const struct gpumon_probe *gpumon_probe_other_name(const struct gpumon_group *group,
						   const struct gpumon_probe *probe)
{
	const struct gpumon_probe *other;

	for_each_probe(group, other)
		if (other != probe && other->role == probe->role &&
		    other->state == GPUMON_ATTACH_STATE_ATTACHED)
			return other;
	return NULL;
}

/*
 * Of the alternatives for one event, the probe whose reason explains why none is attached; in a
 * refused group any probe with a reason.
 */
static const struct gpumon_probe *probe_to_blame(const struct gpumon_group *group,
						 const struct gpumon_probe *probe)
{
	const struct gpumon_probe *other;

	if (probe->state != GPUMON_ATTACH_STATE_MISSING)
		return probe;
	for_each_probe(group, other)
		if ((other->role == probe->role && other->state == GPUMON_ATTACH_STATE_FAILED) ||
		    ((other->role == probe->role || group->refused) &&
		     other->state == GPUMON_ATTACH_STATE_MISMATCH))
			return other;
	return probe;
}

/**
 * gpumon_group_state - state of a group as a whole
 * @group: group
 * @reason: set to why it is not attached, "" if it is
 *
 * A group is attached when each of its roles that is not optional is.
 *
 * Context: gpumon_probe_lock held.
 * Return: the state.
 */
enum gpumon_attach_state gpumon_group_state(const struct gpumon_group *group, const char **reason)
{
	const struct gpumon_probe *probe;

	if (!group->enabled) {
		*reason = "switched off, switch on with: gpumon-user set <group> on";
		return GPUMON_ATTACH_STATE_OFF;
	}
	for_each_probe(group, probe) {
		if (probe->state == GPUMON_ATTACH_STATE_ATTACHED || probe->optional ||
		    gpumon_probe_other_name(group, probe))
			continue;
		probe = probe_to_blame(group, probe);
		*reason = probe->reason;
		return probe->state;
	}
	*reason = "";
	return GPUMON_ATTACH_STATE_ATTACHED;
}

/**
 * gpumon_probe_read - counters of a probe in one period
 * @probe: probe
 * @closed: the period that the last reset closed, else the one that runs
 * @view: filled in
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_probe_read(const struct gpumon_probe *probe, bool closed,
		       struct gpumon_probe_view *view)
{
	unsigned int i;

	if (!closed)
		gpumon_kprobe_collect(probe);
	gpumon_counters_read(&gpumon_probe_counters, probe->number, closed, view->words);
	view->seen = 0;
	for (i = 0; i < GPUMON_PROBE_WORDS; i++)
		view->seen += view->words[i];
}
