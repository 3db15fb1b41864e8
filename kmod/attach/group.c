// SPDX-License-Identifier: GPL-2.0-only
/* Groups: the memory of their tables, and which of their columns are known. */
#include <linux/string.h>

#include "core/fault.h"
#include "core/period.h"
#include "core/statistics.h"
#include "core/track.h"
#include "engine.h"

struct gpumon_group *const *gpumon_groups;
unsigned int gpumon_group_count;

/**
 * gpumon_groups_init - the groups there are, and the layout of their tables
 * @groups: groups, they are there for ever
 * @count: how many
 *
 * Context: may sleep, before all else that has to do with groups.
 * Return: 0 or -ENOMEM, then gpumon_groups_exit() frees what was allocated.
 */
int gpumon_groups_init(struct gpumon_group *const *groups, unsigned int count)
{
	const struct gpumon_group *group;
	unsigned int g, i;
	int ret = 0;

	gpumon_groups = groups;
	gpumon_group_count = count;
	for_each_group(group, g) {
		if (group->init)
			group->init();
		for (i = 0; i < group->statistics_count && !ret; i++)
			ret = gpumon_statistics_init(group->statistics[i]);
	}
	return ret;
}

/**
 * gpumon_group_find - group of a name
 * @name: name
 *
 * Return: the group or NULL.
 */
struct gpumon_group *gpumon_group_find(const char *name)
{
	struct gpumon_group *group;
	unsigned int g;

	for_each_group(group, g)
		if (!strcmp(group->name, name))
			return group;
	return NULL;
}

static void group_free(struct gpumon_group *group)
{
	unsigned int i;

	for (i = 0; i < group->statistics_count; i++)
		gpumon_statistics_free(group->statistics[i]);
	for (i = 0; i < group->track_count; i++)
		gpumon_track_exit(group->tracks[i]);
	group->allocated = false;
}

/*
 * Allocates the tables of a group when a module of it comes, so that machines without such a GPU
 * need no memory. With -ENOMEM nothing is allocated.
 */
int gpumon_group_allocate(struct gpumon_group *group)
{
	unsigned int i;
	int ret = 0;

	if (group->allocated)
		return 0;
	/* Readers must see all tables of the group or none of them. */
	mutex_lock(&gpumon_period_lock);
	for (i = 0; i < group->statistics_count && !ret; i++)
		ret = GPUMON_REGISTER("statistics_allocate", group->statistics[i]->name,
				      gpumon_statistics_allocate(group->statistics[i]));
	for (i = 0; i < group->track_count && !ret; i++)
		ret = gpumon_track_init(group->tracks[i]);
	if (ret)
		group_free(group);
	else
		group->allocated = true;
	mutex_unlock(&gpumon_period_lock);
	return ret;
}

/* Frees the counts of a group whose last module is gone; no probe of the group runs. */
void gpumon_group_release(struct gpumon_group *group)
{
	/* Tells a dump in parts that the table has changed meanwhile. */
	mutex_lock(&gpumon_period_lock);
	if (group->allocated)
		group_free(group);
	mutex_unlock(&gpumon_period_lock);
}

/**
 * gpumon_groups_exit - free the tables of all groups
 *
 * Context: may sleep, no probe may run.
 */
void gpumon_groups_exit(void)
{
	struct gpumon_group *group;
	unsigned int g, i;

	for_each_group(group, g) {
		group_free(group);
		for (i = 0; i < group->statistics_count; i++)
			gpumon_statistics_exit(group->statistics[i]);
	}
}

/**
 * gpumon_group_bytes - memory of the tables of a group, and of its kretprobes while attached
 * @group: group
 *
 * Context: may sleep, gpumon_probe_lock and gpumon_period_lock held.
 * Return: bytes.
 */
size_t gpumon_group_bytes(const struct gpumon_group *group)
{
	const struct gpumon_probe *probe;
	unsigned int i;
	size_t bytes = 0;

	for_each_probe(group, probe)
		bytes += gpumon_kprobe_bytes(probe);
	for (i = 0; i < group->statistics_count; i++)
		bytes += gpumon_statistics_bytes(group->statistics[i]);
	for (i = 0; i < group->track_count; i++)
		bytes += gpumon_track_bytes(group->tracks[i]);
	return bytes;
}

/**
 * gpumon_groups_keep - get memory for the end of a period
 *
 * Context: may sleep, gpumon_period_lock held.
 * Return: 0 or -ENOMEM.
 */
int gpumon_groups_keep(void)
{
	const struct gpumon_group *group;
	unsigned int g, i;
	int ret = 0;

	for_each_group(group, g)
		for (i = 0; i < group->statistics_count && !ret; i++)
			ret = gpumon_statistics_keep(group->statistics[i]);
	return ret;
}

/**
 * gpumon_groups_supply - memory for what probes will need: what was kept ready is used
 *
 * Context: may sleep.
 */
void gpumon_groups_supply(void)
{
	const struct gpumon_group *group;
	unsigned int g, i;

	mutex_lock(&gpumon_period_lock);
	for_each_group(group, g) {
		for (i = 0; i < group->statistics_count; i++)
			gpumon_statistics_supply(group->statistics[i]);
		for (i = 0; i < group->track_count; i++)
			gpumon_track_supply(group->tracks[i]);
	}
	mutex_unlock(&gpumon_period_lock);
}

/**
 * gpumon_groups_close - end the period of the tables of all groups, gpumon_groups_keep() was called
 *
 * Context: may sleep, gpumon_period_lock held.
 */
void gpumon_groups_close(void)
{
	const struct gpumon_group *group;
	unsigned int g, i;

	for_each_group(group, g) {
		for (i = 0; i < group->statistics_count; i++)
			gpumon_statistics_close(group->statistics[i]);
	}
}

/*
 * Starts the levels of a group over: when it starts, when it is switched off and when its module
 * goes. An object that is alive then ends unseen, or its end must not be counted, because its
 * beginning was not. No probe of the group runs.
 */
void gpumon_group_forget(const struct gpumon_group *group)
{
	unsigned int i;

	/* Rows are recycled under this lock. */
	mutex_lock(&gpumon_period_lock);
	for (i = 0; i < group->track_count; i++)
		gpumon_track_clear(group->tracks[i]);
	for (i = 0; i < group->statistics_count; i++)
		gpumon_statistics_forget_levels(group->statistics[i]);
	mutex_unlock(&gpumon_period_lock);
}

/**
 * gpumon_group_can_count - could the probes of a role count on this machine
 * @group: group
 * @role: role
 *
 * Context: any.
 * Return: false if all of them were looked for and cannot be attached.
 */
bool gpumon_group_can_count(const struct gpumon_group *group, unsigned int role)
{
	const struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (probe->role == role &&
		    READ_ONCE(probe->state) <= GPUMON_ATTACH_STATE_ATTACHED)
			return true;
	return false;
}

/**
 * gpumon_group_trusts - are the arguments and the result of a role what they are taken for
 * @group: group
 * @role: role
 *
 * Context: any.
 * Return: false if a function that the compiler has changed is probed.
 */
bool gpumon_group_trusts(const struct gpumon_group *group, unsigned int role)
{
	const struct gpumon_probe *probe;

	for_each_probe(group, probe)
		if (probe->role == role &&
		    READ_ONCE(probe->state) == GPUMON_ATTACH_STATE_ATTACHED &&
		    !probe->arguments_trusted)
			return false;
	return true;
}

/**
 * gpumon_group_column_known - is a column's number known for a row
 * @group: group
 * @statistics: table of it
 * @row: slot with a row
 * @column: number of the column
 *
 * Context: gpumon_probe_lock held.
 * Return: false if it is unknown, to be shown as such and not as 0.
 */
bool gpumon_group_column_known(const struct gpumon_group *group,
			       const struct gpumon_statistics *statistics, u32 row, u32 column)
{
	const struct gpumon_column *described = &statistics->columns[column];
	unsigned int role;

	if (described->needs && !gpumon_field_known(described->needs))
		return false;
	for (role = 0; described->roles >> role; role++)
		if (described->roles & BIT_ULL(role) && !gpumon_group_can_count(group, role))
			return false;
	return !described->known || described->known(group, row);
}

/**
 * gpumon_group_counts_of_processes - is something counted for processes
 * @word: what, a bit of process_words
 *
 * Context: gpumon_probe_lock held.
 * Return: whether a probe that counts it is attached, and none that is lacks what it needs. One whose
 *         module is gone has counted before, as far as it did not need the module's types.
 */
bool gpumon_group_counts_of_processes(unsigned int word)
{
	const struct gpumon_group *group;
	const struct gpumon_probe *probe;
	bool known = false;
	unsigned int g;

	for_each_group(group, g) {
		for_each_probe(group, probe) {
			if (probe->state == GPUMON_ATTACH_STATE_WAITING && probe->counted &&
			    probe->process_words & BIT(word) && !probe->process_needs)
				known = true;
			if (probe->state != GPUMON_ATTACH_STATE_ATTACHED ||
			    !(probe->process_words & BIT(word)))
				continue;
			if (probe->process_needs && !gpumon_field_known(probe->process_needs))
				return false;
			known = true;
		}
	}
	return known;
}

/**
 * gpumon_group_keeps_level_of_processes - is a level of processes kept up to date
 * @level: which, a bit of process_levels
 *
 * Context: gpumon_probe_lock held.
 * Return: whether all probes that change it are attached, and their group, of which there is one, knows
 * the level.
 */
bool gpumon_group_keeps_level_of_processes(unsigned int level)
{
	const struct gpumon_group *group;
	const struct gpumon_probe *probe;
	bool kept = false;
	unsigned int g;

	for_each_group(group, g) {
		for_each_probe(group, probe) {
			if (!(probe->process_levels & BIT(level)))
				continue;
			if (probe->state != GPUMON_ATTACH_STATE_ATTACHED)
				return false;
			kept = !group->level_known || group->level_known();
		}
	}
	return kept;
}
