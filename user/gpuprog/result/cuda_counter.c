// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Calls and time by kernel, block and SM. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/map.h"
#include "coverage.h"
#include "maps.h"
#include "outliers.h"
#include "tool_views.h"

#define FAR	   1.5 /* times the median: an SM or a block that stands out */
#define MAIN_SHARE 50  /* percent of the time: a kernel that stands out */

struct kernel {
	uint32_t number;
	uint64_t calls;
	uint64_t warps;
	uint64_t ns;
};

static int compare_ns(const void *a, const void *b)
{
	const struct kernel *one = a, *other = b;

	if (one->ns != other->ns)
		return one->ns < other->ns ? 1 : -1;
	return (one->number > other->number) - (one->number < other->number);
}

/* Kernels that ran, the longest first; to be freed. */
static struct kernel *read_kernels(const struct gpumon_gpuprog_result *result, uint32_t *n)
{
	const struct gpumon_gpuprog_map *calls =
		gpumon_gpuprog_result_map(result, "calls_by_kernel");
	const struct gpumon_gpuprog_map *warps =
		gpumon_gpuprog_result_map(result, "warps_by_kernel");
	const struct gpumon_gpuprog_map *ns =
		gpumon_gpuprog_result_map(result, "warp_ns_by_kernel");
	struct kernel *kernels = gpumon_calloc((size_t)calls->max_entries + 1, sizeof(*kernels)),
		      *kernel;

	*n = 0;
	for (uint32_t i = 0; i < calls->max_entries; i++) {
		kernel = &kernels[*n];
		kernel->number = i;
		kernel->calls = gpumon_gpuprog_number(result, calls, i);
		kernel->warps = i < warps->max_entries ? gpumon_gpuprog_number(result, warps, i) :
							 0;
		kernel->ns = i < ns->max_entries ? gpumon_gpuprog_number(result, ns, i) : 0;
		*n += kernel->calls || kernel->warps || kernel->ns;
	}
	qsort(kernels, *n, sizeof(*kernels), compare_ns);
	return kernels;
}

static double sum_ns(const struct kernel *kernels, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (double)kernels[i].ns;
	return sum;
}

static void show_kernels(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
			 const struct kernel *kernels, uint32_t n)
{
	struct gpumon_table *table =
		gpumon_findings_table(findings, "by_kernel", "Time of warps, by kernel");
	double sum = sum_ns(kernels, n);

	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	gpumon_table_typed(table, NULL, "kernel", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, "SHARE", "share_percent", GPUMON_CELL_PERCENT);
	gpumon_table_typed(table, "TIME", "warp_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "CALLS", "calls", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "WARPS", "warps", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "OF A WARP", "mean_ns", GPUMON_CELL_NS);
	gpumon_table_figure(table, "A WARP");
	gpumon_table_typed(table, "", NULL, GPUMON_CELL_BAR);
	gpumon_table_typed(table, "KERNEL", "kernel_name", GPUMON_CELL_NAME);
	for (uint32_t i = 0; i < n; i++) {
		gpumon_table_number(table, kernels[i].number);
		gpumon_table_ratio(table, sum > 0 ? (double)kernels[i].ns * 100 / sum : 0);
		gpumon_table_number(table, kernels[i].ns);
		gpumon_table_number(table, kernels[i].calls);
		gpumon_table_number(table, kernels[i].warps);
		gpumon_table_value(
			table, (struct gpumon_value){
				       .v = kernels[i].warps ? kernels[i].ns / kernels[i].warps : 0,
				       .known = kernels[i].warps });
		gpumon_table_number(table, kernels[i].ns);
		gpumon_table_text(table, gpumon_gpuprog_kernel_name(names, kernels[i].number));
	}
}

static void say_kernel(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
		       const struct kernel *kernels, uint32_t n)
{
	double sum = sum_ns(kernels, n), share;

	if (n < 2 || sum <= 0)
		return;
	share = (double)kernels[0].ns * 100 / sum;
	if (share >= MAIN_SHARE)
		gpumon_findings_say(findings, "%s takes %.0f %% of the time of all warps",
				    gpumon_gpuprog_kernel_short(names, kernels[0].number), share);
	else
		gpumon_findings_say(findings, "No kernel takes half of the time of all warps");
}

/**
 * struct spread - of numbers that are not 0
 * @n: how many there are
 * @least: the smallest one
 * @median: of an even number the lower one
 * @most: the largest one
 * @most_at: its index
 */
struct spread {
	uint32_t n;
	uint64_t least;
	uint64_t median;
	uint64_t most;
	uint32_t most_at;
};

static void find_spread(const uint64_t *numbers, uint32_t n, struct spread *spread)
{
	uint64_t *used = gpumon_calloc(n, sizeof(*used));

	memset(spread, 0, sizeof(*spread));
	for (uint32_t i = 0; i < n; i++) {
		if (!numbers[i])
			continue;
		used[spread->n++] = numbers[i];
		if (numbers[i] > spread->most) {
			spread->most = numbers[i];
			spread->most_at = i;
		}
	}
	if (spread->n) {
		qsort(used, spread->n, sizeof(*used), gpumon_by_value);
		spread->least = used[0];
		spread->median = used[(spread->n - 1) / 2];
	}
	free(used);
}

/*
 * Writes a row of the table of spreads, of the first @n numbers of a map, and names its outliers.
 */
static bool show_spread(struct gpumon_findings *findings, struct gpumon_table *table,
			const struct gpumon_gpuprog_result *result,
			const struct gpumon_gpuprog_map *map, uint32_t n, const char *word)
{
	uint64_t *numbers = gpumon_calloc(n, sizeof(*numbers));
	char factor[GPUMON_GPUPROG_FACTOR_BYTES];
	struct spread spread;
	bool found;

	for (uint32_t i = 0; i < n; i++)
		numbers[i] = gpumon_gpuprog_number(result, map, i);
	find_spread(numbers, n, &spread);
	gpumon_table_text(table, word);
	gpumon_table_number(table, spread.n);
	gpumon_table_number(table, spread.least);
	gpumon_table_number(table, spread.median);
	gpumon_table_number(table, spread.most);
	gpumon_table_number(table, spread.most_at);
	found = spread.n > 2 && (double)spread.most >= FAR * (double)spread.median;
	if (found)
		gpumon_findings_say(
			findings, "The time of %s %" PRIu32 " is %s that of the median %s", word,
			spread.most_at,
			gpumon_gpuprog_factor(factor, (double)spread.most / (double)spread.median),
			word);
	free(numbers);
	return found;
}

static void show_spreads(struct gpumon_findings *findings,
			 const struct gpumon_gpuprog_result *result)
{
	struct gpumon_table *table = gpumon_findings_table(
		findings, "spread", "How the time is spread, all kernels together");
	const struct gpumon_gpuprog_map *sms = gpumon_gpuprog_result_map(result, "warp_ns_by_sm");
	const struct gpumon_gpuprog_map *blocks =
		gpumon_gpuprog_result_map(result, "warp_ns_by_block");
	bool found;

	gpumon_table_typed(table, "OVER", "over", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, "USED", "used", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "LEAST", "least_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "MEDIAN", "median_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "MOST", "most_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "WHICH", "most_at", GPUMON_CELL_NUMBER);
	found = show_spread(findings, table, result, sms, sms->max_entries, "SM");
	found |= show_spread(findings, table, result, blocks, blocks->max_entries - 1, "block");
	if (!found)
		gpumon_findings_say(
			findings,
			"No SM and no block stands out: none has 1.5 times the time of the median one");
}

/* On a terminal: how many blocks have how much time. */
static void show_blocks(struct gpumon_findings *findings,
			const struct gpumon_gpuprog_result *result)
{
	const struct gpumon_gpuprog_map *map =
		gpumon_gpuprog_result_map(result, "warp_ns_by_block");
	struct gpumon_gpuprog_buckets buckets = { 0 };
	uint64_t ns;

	for (uint32_t i = 0; i + 1 < map->max_entries; i++) {
		ns = gpumon_gpuprog_number(result, map, i);
		if (ns)
			gpumon_gpuprog_buckets_add(&buckets, ns);
	}
	gpumon_gpuprog_generic_bars(findings, "Blocks by their time, each number over all calls",
				    "ns", &buckets);
}

static void note_last(struct gpumon_findings *findings, const struct gpumon_gpuprog_result *result)
{
	const struct gpumon_gpuprog_map *map =
		gpumon_gpuprog_result_map(result, "warp_ns_by_block");
	uint32_t last = map->max_entries - 1;
	uint64_t ns = gpumon_gpuprog_number(result, map, last);
	char time[GPUMON_FORMAT_LEN];

	if (ns)
		gpumon_findings_note(findings,
				     "%s is of blocks from number %" PRIu32
				     " on, which are counted together",
				     gpumon_format_ns(time, sizeof(time), gpumon_value_of(ns)),
				     last);
}

static void show(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_result *result = names->result;
	uint32_t n;
	struct kernel *kernels = read_kernels(result, &n);

	show_blocks(findings, result);
	if (n)
		show_spreads(findings, result);
	show_kernels(findings, names, kernels, n);
	say_kernel(findings, names, kernels, n);
	gpumon_gpuprog_generic_map(findings, names,
				   gpumon_gpuprog_result_map(result, "warp_ns_by_sm"), false);
	gpumon_gpuprog_generic_map(findings, names,
				   gpumon_gpuprog_result_map(result, "warp_ns_by_block"), false);
	note_last(findings, result);
	gpumon_gpuprog_note_kernels(
		findings, names, gpumon_gpuprog_result_map(result, "calls_by_kernel")->max_entries);
	free(kernels);
}

const struct gpumon_gpuprog_view gpumon_gpuprog_view_cuda_counter = {
	.tool = "cuda-counter",
	.maps = { { "calls_by_kernel", GPUMON_GPUPROG_MAP_SM_ARRAY, sizeof(uint64_t) },
		  { "warps_by_kernel", GPUMON_GPUPROG_MAP_SM_ARRAY, sizeof(uint64_t) },
		  { "warp_ns_by_kernel", GPUMON_GPUPROG_MAP_SM_ARRAY, sizeof(uint64_t) },
		  { "warp_ns_by_sm", GPUMON_GPUPROG_MAP_ARRAY, sizeof(uint64_t) },
		  { "warp_ns_by_block", GPUMON_GPUPROG_MAP_ARRAY, sizeof(uint64_t) } },
	.show = show,
};
