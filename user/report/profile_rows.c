// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The tables of a profile: their rows in order, and who asks for them. */
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "profile_internal.h"

static int by_gpu_time(const void *a, const void *b)
{
	const struct gpumon_kernel_row *x = a, *y = b;

	if (x->gpu_ns + x->left_ns != y->gpu_ns + y->left_ns)
		return x->gpu_ns + x->left_ns > y->gpu_ns + y->left_ns ? -1 : 1;
	if (x->count + x->left_count != y->count + y->left_count)
		return x->count + x->left_count > y->count + y->left_count ? -1 : 1;
	return strcmp(x->mangled, y->mangled);
}

static int by_range_time(const void *a, const void *b)
{
	const struct gpumon_range_row *x = a, *y = b;
	int order;

	if (x->gpu_ns + x->left_ns != y->gpu_ns + y->left_ns)
		return x->gpu_ns + x->left_ns > y->gpu_ns + y->left_ns ? -1 : 1;
	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	order = strcmp(x->text, y->text);
	return order ? order : strcmp(x->domain, y->domain);
}

void gpumon_profile_rows(struct gpumon_profile *profile)
{
	profile->kernel_rows =
		gpumon_calloc((size_t)profile->kernel_keys.used + 1, sizeof(*profile->kernel_rows));
	for (uint32_t i = 0; i < profile->kernel_keys.used; i++) {
		const struct gpumon_kernel_growing *kernel = &profile->kernels[i];
		struct gpumon_kernel_row *row = &profile->kernel_rows[profile->kernel_count];

		/* Of what is not shown. */
		if (!kernel->row.count && !kernel->row.left_count && !kernel->row.left_ns)
			continue;
		*row = kernel->row;
		row->duration = &kernel->duration;
		row->latency = &kernel->latency;
		profile->kernel_count++;
	}
	qsort(profile->kernel_rows, profile->kernel_count, sizeof(*profile->kernel_rows),
	      by_gpu_time);
	for (uint32_t i = 0; i < profile->ranges.row_keys.used; i++) {
		const struct gpumon_range_row *row = &profile->ranges.rows[i];

		if (row->count || row->cpu_ns || row->works || row->left_works)
			profile->ranges.rows[profile->range_count++] = *row;
	}
	if (profile->range_count)
		qsort(profile->ranges.rows, profile->range_count, sizeof(*profile->ranges.rows),
		      by_range_time);
	gpumon_tree_end(&profile->tree);
}

/* --- asking */

const struct gpumon_node *gpumon_profile_root(const struct gpumon_profile *profile)
{
	return profile->tree.root;
}

const struct gpumon_kernel_row *gpumon_profile_kernels(const struct gpumon_profile *profile,
						       unsigned int *count)
{
	*count = profile->kernel_count;
	return profile->kernel_rows;
}

const struct gpumon_device_row *gpumon_profile_devices(const struct gpumon_profile *profile,
						       unsigned int *count)
{
	*count = profile->device_count;
	return profile->device_rows;
}

const struct gpumon_range_row *gpumon_profile_ranges(const struct gpumon_profile *profile,
						     unsigned int *count)
{
	*count = profile->range_count;
	return profile->ranges.rows;
}

const struct gpumon_budget_row *gpumon_profile_budget(const struct gpumon_profile *profile,
						      unsigned int *count)
{
	*count = profile->budget.row_count;
	return profile->budget.rows;
}

const struct gpumon_idle_row *gpumon_profile_idle(const struct gpumon_profile *profile,
						  unsigned int *count)
{
	*count = profile->budget.idle_used;
	return profile->budget.idle;
}

const struct gpumon_stalls *gpumon_profile_stalls(const struct gpumon_profile *profile)
{
	return profile->stalls;
}

const struct gpumon_copy_sum *gpumon_profile_copies(const struct gpumon_profile *profile)
{
	return profile->copies;
}

const struct gpumon_rank_row *gpumon_profile_ranks(const struct gpumon_profile *profile,
						   unsigned int *count)
{
	*count = profile->collectives.row_count;
	return profile->collectives.rows;
}

const struct gpumon_operation *gpumon_profile_operations(const struct gpumon_profile *profile,
							 unsigned int *count)
{
	*count = profile->longest.used;
	return profile->longest.at;
}

const struct gpumon_gap *gpumon_profile_gaps(const struct gpumon_profile *profile,
					     unsigned int *count)
{
	*count = profile->gap_count;
	return profile->gaps;
}

const struct gpumon_distribution *gpumon_profile_latency(const struct gpumon_profile *profile)
{
	return &profile->latency;
}

const struct gpumon_sampling *gpumon_profile_sampling(const struct gpumon_profile *profile)
{
	return &profile->sampling;
}

const struct gpumon_correlate_counts *gpumon_profile_counts(const struct gpumon_profile *profile)
{
	return &profile->counts;
}

bool gpumon_profile_has_presents(const struct gpumon_profile *profile)
{
	return profile->has_presents;
}

uint64_t gpumon_profile_hits(const struct gpumon_profile *profile)
{
	return profile->hits;
}

const uint64_t *gpumon_profile_losses(const struct gpumon_profile *profile)
{
	return profile->losses;
}

const struct gpumon_capture_damage *gpumon_profile_damage(const struct gpumon_profile *profile)
{
	return &profile->damage;
}

uint64_t gpumon_profile_cut_paths(const struct gpumon_profile *profile)
{
	return profile->tree.cut_paths;
}

uint64_t gpumon_profile_cut_stacks(const struct gpumon_profile *profile)
{
	return profile->cut_stacks;
}

void gpumon_profile_times(const struct gpumon_profile *profile, uint64_t *first_ns,
			  uint64_t *last_ns)
{
	*first_ns = profile->from_ns;
	*last_ns = profile->until_ns;
}

const struct gpumon_time_range *gpumon_profile_range(const struct gpumon_profile *profile)
{
	return gpumon_range_is_asked(&profile->options.asked) ? &profile->range : NULL;
}

uint64_t gpumon_profile_bin_ns(const struct gpumon_profile *profile)
{
	return profile->bin_ns;
}

const struct gpumon_scan *gpumon_profile_scan(const struct gpumon_profile *profile)
{
	return profile->scan;
}
