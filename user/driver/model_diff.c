// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The difference of two readings, see gpumon_model_diff(). */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "histogram.h"
#include "model.h"
#include "process_count.h"

static bool same_string(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_value(struct gpumon_value a, struct gpumon_value b)
{
	return a.known == b.known && a.v == b.v;
}

static const struct gpumon_probe *find_probe(const struct gpumon_group *group,
					     const struct gpumon_probe *like)
{
	for (size_t i = 0; group && i < group->n_probes; i++) {
		if (same_string(group->probes[i].name, like->name) &&
		    same_string(group->probes[i].module, like->module) &&
		    same_value(group->probes[i].kind, like->kind))
			return &group->probes[i];
	}
	return NULL;
}

static int diff_group(struct gpumon_model *diff, const struct gpumon_group *before,
		      const struct gpumon_group *after)
{
	struct gpumon_group *group = gpumon_model_add_group(diff);

	if (!group || gpumon_copy_string(&group->name, after->name) ||
	    gpumon_copy_string(&group->reason, after->reason))
		return -1;
	group->enabled = after->enabled;
	group->state = after->state;

	for (size_t i = 0; i < after->n_probes; i++) {
		const struct gpumon_probe *new = &after->probes[i];
		const struct gpumon_probe *old = find_probe(before, new);
		struct gpumon_probe *probe = gpumon_group_add_probe(group);

		if (!probe)
			return -1;
		*probe = *new;
		probe->name = NULL;
		probe->module = NULL;
		probe->reason = NULL;
		if (gpumon_copy_string(&probe->name, new->name) ||
		    gpumon_copy_string(&probe->module, new->module) ||
		    gpumon_copy_string(&probe->reason, new->reason))
			return -1;
		if (!old)
			continue;
		probe->seen = gpumon_value_subtract(new->seen, old->seen);
		probe->recorded = gpumon_value_subtract(new->recorded, old->recorded);
		probe->dropped.table_full =
			gpumon_value_subtract(new->dropped.table_full, old->dropped.table_full);
		probe->dropped.recursion =
			gpumon_value_subtract(new->dropped.recursion, old->dropped.recursion);
		probe->dropped.unreadable =
			gpumon_value_subtract(new->dropped.unreadable, old->dropped.unreadable);
		probe->dropped.missed =
			gpumon_value_subtract(new->dropped.missed, old->dropped.missed);
		probe->dropped.no_memory =
			gpumon_value_subtract(new->dropped.no_memory, old->dropped.no_memory);
	}
	return 0;
}

/* A new ring may get the number of an old one, so the names must agree too. */
static const struct gpumon_ring *find_ring(const struct gpumon_model *model,
					   const struct gpumon_ring *like)
{
	for (size_t i = 0; i < model->n_rings; i++) {
		const struct gpumon_ring *ring = &model->rings[i];

		if (same_value(ring->id, like->id) && same_string(ring->device, like->device) &&
		    same_string(ring->name, like->name))
			return ring;
	}
	return NULL;
}

static int diff_ring(struct gpumon_model *diff, const struct gpumon_ring *before,
		     const struct gpumon_ring *after)
{
	struct gpumon_ring *ring = gpumon_model_add_ring(diff);

	if (!ring)
		return -1;
	*ring = *after;
	ring->device = NULL;
	ring->name = NULL;
	if (gpumon_copy_string(&ring->device, after->device) ||
	    gpumon_copy_string(&ring->name, after->name))
		return -1;
	if (!before)
		return 0;
	ring->queued = gpumon_value_subtract(after->queued, before->queued);
	ring->run = gpumon_value_subtract(after->run, before->run);
	ring->done = gpumon_value_subtract(after->done, before->done);
	ring->errors = gpumon_value_subtract(after->errors, before->errors);
	ring->killed = gpumon_value_subtract(after->killed, before->killed);
	ring->dependency_waits =
		gpumon_value_subtract(after->dependency_waits, before->dependency_waits);
	ring->untracked = gpumon_value_subtract(after->untracked, before->untracked);
	ring->jobs_table_full =
		gpumon_value_subtract(after->jobs_table_full, before->jobs_table_full);
	ring->clock_backwards =
		gpumon_value_subtract(after->clock_backwards, before->clock_backwards);
	return 0;
}

static int diff_histogram(struct gpumon_model *diff, const struct gpumon_model *before,
			  const struct gpumon_model *after_model,
			  const struct gpumon_histogram *after)
{
	static const struct gpumon_histogram nothing = {
		.count = { .known = true },
		.sum = { .known = true },
	};
	const struct gpumon_histogram *old = NULL;
	const struct gpumon_ring *ring = NULL;
	struct gpumon_histogram *histogram = gpumon_model_add_histogram(diff);

	if (!histogram || gpumon_copy_string(&histogram->group, after->group) ||
	    gpumon_copy_string(&histogram->name, after->name))
		return -1;
	histogram->ring_id = after->ring_id;

	if (after->ring_id.known && after->name)
		old = gpumon_model_histogram(before, after->ring_id.v, after->name);
	if (after->ring_id.known)
		ring = gpumon_model_ring(after_model, after->ring_id.v);
	if (ring && !find_ring(before, ring))
		old = NULL;
	/* Fewer values than before: a new ring got the same number. */
	if (old && old->count.known && after->count.known && after->count.v < old->count.v)
		old = NULL;
	return gpumon_histogram_subtract(histogram, old ? old : &nothing, after);
}

/* Only the counters: open handles are a level. */
static void subtract_process(struct gpumon_process *process, const struct gpumon_process *before,
			     const struct gpumon_process *after)
{
	for (size_t i = 0; i < GPUMON_PROCESS_COUNTS; i++)
		*gpumon_process_count(process, i) = gpumon_value_subtract(
			gpumon_process_count_of(after, i), gpumon_process_count_of(before, i));
}

static int copy_process(struct gpumon_process *to, const struct gpumon_process *from)
{
	*to = *from;
	to->comm = NULL;
	to->container = NULL;
	to->cgroup = NULL;
	return gpumon_copy_string(&to->comm, from->comm) ||
			       gpumon_copy_string(&to->container, from->container) ||
			       gpumon_copy_string(&to->cgroup, from->cgroup) ?
		       -1 :
		       0;
}

static int copy_info(struct gpumon_info *to, const struct gpumon_info *from)
{
	*to = *from;
	to->version = NULL;
	to->clock = NULL;
	return copy_process(&to->exited, &from->exited) ||
			       gpumon_copy_string(&to->version, from->version) ||
			       gpumon_copy_string(&to->clock, from->clock) ?
		       -1 :
		       0;
}

/*
 * NULL if it came since. All readings have processes in the same order, but for those that come and
 * go: the search begins at @next, behind the one that was found before.
 */
static const struct gpumon_process *find_process(const struct gpumon_model *model,
						 const struct gpumon_process *like, size_t *next)
{
	for (size_t i = 0; i < model->n_processes; i++) {
		size_t at = (*next + i) % model->n_processes;
		const struct gpumon_process *process = &model->processes[at];

		if (!same_value(process->pid, like->pid) ||
		    !same_value(process->start_ns, like->start_ns))
			continue;
		*next = at + 1;
		return process;
	}
	return NULL;
}

static int diff_process(struct gpumon_model *diff, const struct gpumon_process *before,
			const struct gpumon_process *after)
{
	struct gpumon_process *process = gpumon_model_add_process(diff);

	if (!process || copy_process(process, after))
		return -1;
	if (before)
		subtract_process(process, before, after);
	return 0;
}

int gpumon_model_diff(struct gpumon_model *diff, const struct gpumon_model *before,
		      const struct gpumon_model *after)
{
	static const struct gpumon_model nothing;
	const struct gpumon_model *base = before;
	size_t next = 0;

	diff->parts = after->parts;
	diff->inconsistent = after->inconsistent | before->inconsistent;
	if (copy_info(&diff->info, &after->info))
		return -1;

	diff->reset_between = before->info.period.known && after->info.period.known &&
			      before->info.period.v != after->info.period.v;
	if (diff->reset_between) {
		base = &nothing;
	} else {
		diff->info.since_ns = before->info.now_ns;
		diff->info.processes_exited = gpumon_value_subtract(after->info.processes_exited,
								    before->info.processes_exited);
		diff->info.jobs_unattributed = gpumon_value_subtract(
			after->info.jobs_unattributed, before->info.jobs_unattributed);
		diff->info.jobs_exited =
			gpumon_value_subtract(after->info.jobs_exited, before->info.jobs_exited);
		subtract_process(&diff->info.exited, &before->info.exited, &after->info.exited);
		diff->info.rings_retired = gpumon_value_subtract(after->info.rings_retired,
								 before->info.rings_retired);
	}
	diff->interval_ns = gpumon_value_subtract(diff->info.now_ns, diff->info.since_ns).v;

	/* Its counters restart when it is switched on, not at a reset: do not subtract them. */
	diff->event_ring = after->event_ring;

	for (size_t i = 0; i < after->n_groups; i++) {
		const struct gpumon_group *group = &after->groups[i];

		if (diff_group(diff, group->name ? gpumon_model_group(base, group->name) : NULL,
			       group))
			return -1;
	}
	for (size_t i = 0; i < after->n_rings; i++) {
		if (diff_ring(diff, find_ring(base, &after->rings[i]), &after->rings[i]))
			return -1;
	}
	for (size_t i = 0; i < after->n_histograms; i++) {
		if (diff_histogram(diff, base, after, &after->histograms[i]))
			return -1;
	}
	for (size_t i = 0; i < after->n_processes; i++) {
		const struct gpumon_process *process = &after->processes[i];

		if (diff_process(diff, find_process(base, process, &next), process))
			return -1;
	}
	return gpumon_statistics_diff(diff, base, after);
}
