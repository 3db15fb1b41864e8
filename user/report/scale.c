// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "profile_internal.h"

static uint32_t find_group(struct gpumon_scale *scale, uint32_t process, uint32_t flags,
			   uint32_t graph, uint32_t stack, uint32_t function)
{
	/* Launches without a stack may have lost it, or not have been sampled. */
	uint64_t kind = flags & GPUMON_LAUNCH_UNSAMPLED;
	struct gpumon_key key = { { process, kind, stack, function } };
	const struct gpumon_scale_group *group;

	if (flags & GPUMON_LAUNCH_GRAPH && graph)
		key = (struct gpumon_key){ { process, GPUMON_LAUNCH_GRAPH, graph } };
	group = GPUMON_KEYS_VALUE(&scale->group_keys, &key, scale->groups, scale->groups_room,
				  NULL);
	return (uint32_t)(group - scale->groups);
}

static uint32_t find_stacks(struct gpumon_scale *scale, uint32_t process, uint32_t row)
{
	const struct gpumon_key key = { { process, row } };
	const struct gpumon_scale_stacks *stacks = GPUMON_KEYS_VALUE(
		&scale->stacks_keys, &key, scale->stacks, scale->stacks_room, NULL);

	return (uint32_t)(stacks - scale->stacks);
}

static void add_part(struct gpumon_scale *scale, const struct gpumon_scale_part *part)
{
	/* A node may be one of several processes. */
	const struct gpumon_key key = { { part->group, (uint64_t)part->stacks << 32 | part->kind,
					  (uintptr_t)part->node, part->number } };
	struct gpumon_scale_part *at;
	bool added;

	at = GPUMON_KEYS_VALUE(&scale->part_keys, &key, scale->parts, scale->parts_room, &added);
	if (added) {
		*at = *part;
		return;
	}
	at->count += part->count;
	at->ns += part->ns;
}

/* Paths of graph nodes are always known, and so is the reason where there is none. */
static bool is_sampled(const struct gpumon_work *work)
{
	return !(work->launch_flags & GPUMON_LAUNCH_UNSAMPLED) &&
	       (work->match == GPUMON_MATCH_STACK || work->match == GPUMON_MATCH_NO_STACK);
}

void gpumon_scale_work(struct gpumon_scale *scale, const struct gpumon_work *work,
		       const struct gpumon_scale_place *place, uint64_t gpu_ns)
{
	struct gpumon_scale_part part = {
		.group = GPUMON_KEY_NONE,
		.stacks = GPUMON_KEY_NONE,
		.unsampled = work->match == GPUMON_MATCH_UNSAMPLED && !place->sample,
		.kind = GPUMON_SCALE_WORK,
		.node = place->leaf,
		.number = place->row,
		.count = 1,
		.ns = gpu_ns,
	};
	struct gpumon_scale_group *group;

	if (place->windows && work->launch_ns) {
		part.group = find_group(scale, work->process, work->launch_flags,
					work->launch_graph, work->launch_stack,
					work->launch_function);
		group = &scale->groups[part.group];
		group->recorded += !work->launch_work;
		group->count++;
		group->ns += gpu_ns;
	}
	if (place->stacks && (part.unsampled || is_sampled(work)))
		part.stacks = find_stacks(scale, work->process, place->row);
	if (part.group != GPUMON_KEY_NONE || part.stacks != GPUMON_KEY_NONE)
		add_part(scale, &part);
}

void gpumon_scale_launch(struct gpumon_scale *scale, uint32_t process,
			 const struct gpumon_record_launch *launch, struct gpumon_node *call,
			 uint32_t ranges)
{
	struct gpumon_scale_part part = {
		.stacks = GPUMON_KEY_NONE,
		.kind = GPUMON_SCALE_CALL,
		.node = call,
		.count = 1,
	};

	part.group = find_group(scale, process, launch->head.flags, launch->graph, launch->stack,
				launch->function);
	scale->groups[part.group].left++;
	add_part(scale, &part);
	part.kind = GPUMON_SCALE_RANGES;
	part.node = NULL;
	part.number = ranges;
	if (ranges)
		add_part(scale, &part);
}

/* @value for @left launches, if @recorded launches had it. */
static uint64_t scaled(uint64_t value, uint64_t left, uint64_t recorded)
{
	return (uint64_t)(((__uint128_t)value * left + recorded / 2) / recorded);
}

/* What @value adds, so that the sum of a kernel in a group does not depend on its parts. */
static uint64_t scaled_more(uint64_t *sum, uint64_t value, const struct gpumon_scale_group *group)
{
	uint64_t before = scaled(*sum, group->left, group->recorded);

	*sum += value;
	return scaled(*sum, group->left, group->recorded) - before;
}

static void scale_work(struct gpumon_profile *profile, struct gpumon_scale_part *part,
		       const struct gpumon_scale_group *group)
{
	struct gpumon_kernel_row *row = &profile->kernels[part->number].row;
	const struct gpumon_key key = { { part->group, part->number } };
	struct gpumon_scale *scale = &profile->scale;
	struct gpumon_scale_sum *sum =
		GPUMON_KEYS_VALUE(&scale->sum_keys, &key, scale->sums, scale->sums_room, NULL);

	part->left_count = scaled_more(&sum->count, part->count, group);
	part->left_ns = scaled_more(&sum->ns, part->ns, group);
	row->left_count += part->left_count;
	row->left_ns += part->left_ns;
}

static void scale_ranges(struct gpumon_profile *profile, const struct gpumon_scale_part *part,
			 const struct gpumon_scale_group *group)
{
	struct gpumon_range_row *row;
	uint32_t path = part->number;

	while ((row = gpumon_ranges_next(&profile->ranges, &path))) {
		row->left_works += scaled(group->count, part->count, group->recorded);
		row->left_ns += scaled(group->ns, part->count, group->recorded);
	}
}

/* Nothing is known of what these launches did. */
static void count_no_sample(struct gpumon_profile *profile, const struct gpumon_scale_part *part)
{
	struct gpumon_node *node = part->node;

	profile->sampling.no_sample += part->count;
	if (!node || profile->options.cpu_only)
		return;
	node = gpumon_tree_named(&profile->tree, node, GPUMON_NODE_REASON, "[no sample]");
	node->count += part->count;
}

/* Multiply what was recorded in windows. */
static void scale_windows(struct gpumon_profile *profile)
{
	struct gpumon_scale *scale = &profile->scale;

	for (uint32_t i = 0; i < scale->part_keys.used; i++) {
		struct gpumon_scale_part *part = &scale->parts[i];
		const struct gpumon_scale_group *group;

		if (part->group == GPUMON_KEY_NONE)
			continue;
		group = &scale->groups[part->group];
		if (part->kind == GPUMON_SCALE_CALL) {
			if (!group->recorded)
				count_no_sample(profile, part);
		} else if (group->recorded && group->left) {
			if (part->kind != GPUMON_SCALE_WORK)
				scale_ranges(profile, part, group);
			else
				scale_work(profile, part, group);
		}
	}
}

static void sum_stacks(struct gpumon_profile *profile)
{
	struct gpumon_sampling *sampling = &profile->sampling;
	struct gpumon_scale *scale = &profile->scale;

	for (uint32_t i = 0; i < scale->part_keys.used; i++) {
		const struct gpumon_scale_part *part = &scale->parts[i];
		struct gpumon_scale_stacks *stacks;

		if (part->stacks == GPUMON_KEY_NONE)
			continue;
		stacks = &scale->stacks[part->stacks];
		if (part->unsampled) {
			sampling->unsampled += part->count;
			stacks->left_count += part->count + part->left_count;
			stacks->left_ns += part->ns + part->left_ns;
		} else {
			sampling->sampled += part->count;
			stacks->count += part->count;
			stacks->ns += part->ns;
		}
	}
}

/* The next share of @whole: shares of all @of parts have it as their sum. */
static uint64_t take_share(uint64_t whole, uint64_t *done, uint64_t part, uint64_t of)
{
	uint64_t before = of ? (uint64_t)((__uint128_t)whole * *done / of) : 0;

	*done += part;
	return of ? (uint64_t)((__uint128_t)whole * *done / of) - before : 0;
}

/* Enter estimates into the tree, on sampled paths what has no path. */
static void scale_tree(struct gpumon_profile *profile)
{
	struct gpumon_scale *scale = &profile->scale;

	for (uint32_t i = 0; i < scale->part_keys.used; i++) {
		const struct gpumon_scale_part *part = &scale->parts[i];
		struct gpumon_scale_stacks none = { 0 }, *stacks = &none;
		struct gpumon_node *node = part->node;
		uint64_t share, by_count;

		if (part->kind != GPUMON_SCALE_WORK || !node)
			continue;
		if (part->stacks != GPUMON_KEY_NONE)
			stacks = &scale->stacks[part->stacks];
		if (part->unsampled && stacks->count) {
			node->count -= part->count;
			node->gpu_ns -= part->ns;
			continue;
		}
		if (part->unsampled)
			profile->sampling.no_path += part->count;
		node->left_count += part->left_count;
		node->left_ns += part->left_ns;
		if (part->unsampled)
			continue;
		by_count = stacks->done;
		share = take_share(stacks->left_ns, &by_count, part->count, stacks->count);
		node->left_count +=
			take_share(stacks->left_count, &stacks->done, part->count, stacks->count);
		/* Without times it is the number that counts. */
		node->left_ns += stacks->ns ? take_share(stacks->left_ns, &stacks->done_ns,
							 part->ns, stacks->ns) :
					      share;
	}
}

void gpumon_profile_scale(struct gpumon_profile *profile)
{
	struct gpumon_sampling *sampling = &profile->sampling;
	struct gpumon_scale *scale = &profile->scale;

	for (uint32_t i = 0; i < profile->captures.tables.used; i++) {
		const struct gpumon_windows *windows =
			&profile->captures.tables.processes[i].windows;
		uint64_t count;

		if (!windows->sampled)
			continue;
		sampling->windows_ns +=
			gpumon_windows_ns(windows, profile->first_ns, profile->last_ns, &count);
		sampling->windows += count;
		sampling->paused |= windows->beginnings > 1;
	}
	for (uint32_t i = 0; i < scale->group_keys.used; i++) {
		sampling->recorded += scale->groups[i].recorded;
		sampling->left_out += scale->groups[i].left;
	}
	scale_windows(profile);
	sum_stacks(profile);
	scale_tree(profile);
}

void gpumon_scale_clear(struct gpumon_scale *scale)
{
	gpumon_keys_clear(&scale->group_keys);
	gpumon_keys_clear(&scale->stacks_keys);
	gpumon_keys_clear(&scale->part_keys);
	free(scale->groups);
	free(scale->stacks);
	free(scale->parts);
	gpumon_keys_clear(&scale->sum_keys);
	free(scale->sums);
	memset(scale, 0, sizeof(*scale));
}
