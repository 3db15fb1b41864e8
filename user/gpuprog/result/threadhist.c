// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* How often each thread of the grid ran. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "maps.h"
#include "outliers.h"
#include "lib/text.h"
#include "tool_views.h"

#define LANES	   32
#define SHOWN_BINS 32
#define LIST_BYTES 128

/* Half as often again, or two thirds as often. */
static const struct gpumon_gpuprog_threshold warps_far = { .part = 0.5 };
static const struct gpumon_gpuprog_threshold lanes_far = { .part = 0.1 };

struct threads {
	const struct gpumon_gpuprog_map *map;
	uint64_t *runs;
	uint32_t n; /* up to the last one that ran */
};

static void read_threads(const struct gpumon_gpuprog_result *result, struct threads *threads)
{
	threads->map = gpumon_gpuprog_result_map(result, "runs");
	threads->runs = gpumon_calloc(threads->map->max_entries, sizeof(*threads->runs));
	threads->n = 0;
	for (uint32_t i = 0; i < threads->map->max_entries; i++) {
		threads->runs[i] = gpumon_gpuprog_number(result, threads->map, i);
		if (threads->runs[i])
			threads->n = i + 1;
	}
}

/* Threads that follow each other and ran equally often. Returns how many such ranges there are. */
static uint32_t show_ranges(struct gpumon_findings *findings, const struct threads *threads)
{
	struct gpumon_table *table =
		gpumon_findings_table(findings, "threads", "Runs of each thread");
	uint32_t ranges = 0, end;

	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	gpumon_table_typed(table, "THREADS FROM", "from_thread", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "TO", "to_thread", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "RUNS", "runs_of_each", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "", NULL, GPUMON_CELL_BAR);
	for (uint32_t i = 0; i < threads->n; i = end, ranges++) {
		end = i + 1;
		while (end < threads->n && threads->runs[end] == threads->runs[i])
			end++;
		if (ranges >= GPUMON_GPUPROG_JSON_ROWS) {
			table->left_out++;
			continue;
		}
		gpumon_table_number(table, i);
		gpumon_table_number(table, end - 1);
		gpumon_table_number(table, threads->runs[i]);
		gpumon_table_number(table, threads->runs[i]);
	}
	return ranges;
}

static uint64_t sum_of(const struct threads *threads, uint64_t from, uint64_t end)
{
	uint64_t sum = 0;

	for (uint64_t i = from; i < end && i < threads->n; i++)
		sum = gpumon_add_saturated(sum, threads->runs[i]);
	return sum;
}

/* If there are too many ranges, means of whole warps that follow each other are shown. */
static void show_bins(struct gpumon_findings *findings, const struct threads *threads)
{
	uint64_t bin = LANES, end, mean;
	struct gpumon_table *table;

	while (bin * SHOWN_BINS < threads->n)
		bin *= 2;
	table = gpumon_findings_table(findings, NULL, "Runs of each thread, on average");
	gpumon_table_typed(table, "THREADS FROM", NULL, GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "TO", NULL, GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "RUNS", NULL, GPUMON_CELL_RATIO);
	gpumon_table_typed(table, "", NULL, GPUMON_CELL_BAR);
	for (uint64_t i = 0; i < threads->n; i = end) {
		end = i + bin < threads->n ? i + bin : threads->n;
		mean = sum_of(threads, i, end);
		gpumon_table_number(table, i);
		gpumon_table_number(table, end - 1);
		gpumon_table_ratio(table, (double)mean / (double)(end - i));
		gpumon_table_number(table, mean / (end - i));
	}
}

static void say_warps(struct gpumon_findings *findings, const struct threads *threads,
		      const struct gpumon_gpuprog_outliers *outliers, const char *of)
{
	char list[LIST_BYTES], range[LIST_BYTES] = "", factor[GPUMON_GPUPROG_FACTOR_BYTES];
	const uint32_t *which = outliers->which;
	uint64_t last = (uint64_t)which[outliers->n - 1] * LANES + LANES - 1;

	gpumon_gpuprog_list(list, sizeof(list), "Warp", which, outliers->n);
	if (which[outliers->n - 1] - which[0] == outliers->n - 1)
		snprintf(range, sizeof(range), " (threads %" PRIu32 " to %" PRIu64 ")",
			 which[0] * LANES, last < threads->n ? last : threads->n - 1);
	if (outliers->rest > 0)
		gpumon_findings_say(findings, "%s of %s%s run%s %s as often as the rest", list, of,
				    range, outliers->n == 1 ? "s" : "",
				    gpumon_gpuprog_factor(factor, outliers->mean / outliers->rest));
	else
		gpumon_findings_say(findings, "%s of %s%s ran to an exit, no other did", list, of,
				    range);
}

/* Returns whether something stands out. */
static bool find_warps(struct gpumon_findings *findings, const struct threads *threads,
		       const char *of)
{
	uint32_t n = (threads->n + LANES - 1) / LANES;
	double *means = gpumon_calloc(n, sizeof(*means));
	struct gpumon_gpuprog_outliers outliers;
	uint64_t from, size;

	for (uint32_t i = 0; i < n; i++) {
		from = (uint64_t)i * LANES;
		size = threads->n - from < LANES ? threads->n - from : LANES;
		means[i] = (double)sum_of(threads, from, from + size) / (double)size;
	}
	gpumon_gpuprog_find_outliers(means, n, &warps_far, &outliers);
	if (outliers.n)
		say_warps(findings, threads, &outliers, of);
	free(outliers.which);
	free(means);
	return outliers.n;
}

static bool find_lanes(struct gpumon_findings *findings, const struct threads *threads,
		       const char *of)
{
	struct gpumon_gpuprog_outliers outliers;
	double sums[LANES] = { 0 };
	bool found;
	char list[LIST_BYTES], factor[GPUMON_GPUPROG_FACTOR_BYTES];

	/* The last warp may be incomplete. */
	for (uint32_t i = 0; i < threads->n / LANES * LANES; i++)
		sums[i % LANES] += (double)threads->runs[i];
	gpumon_gpuprog_find_outliers(sums, LANES, &lanes_far, &outliers);
	found = outliers.n && outliers.rest > 0;
	if (found) {
		gpumon_gpuprog_list(list, sizeof(list), "Thread", outliers.which, outliers.n);
		gpumon_findings_say(findings,
				    "%s of each warp of %s run%s %s as often as the others", list,
				    of, outliers.n == 1 ? "s" : "",
				    gpumon_gpuprog_factor(factor, outliers.mean / outliers.rest));
	}
	free(outliers.which);
	return found;
}

static void show(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	const char *of = gpumon_gpuprog_only_kernel(names);
	struct threads threads;
	bool found = false;

	read_threads(names->result, &threads);
	if (!of)
		of = "all kernels together";
	if (show_ranges(findings, &threads) > GPUMON_GPUPROG_SHOWN_ROWS)
		show_bins(findings, &threads);
	if (threads.n) {
		found = find_warps(findings, &threads, of);
		found |= find_lanes(findings, &threads, of);
	}
	if (threads.n && !found)
		gpumon_findings_say(
			findings,
			"No thread stands out: no warp runs 1.5 times as often as the median one, or half as often, and no thread of each warp differs by a tenth");
	free(threads.runs);
}

const struct gpumon_gpuprog_view gpumon_gpuprog_view_threadhist = {
	.tool = "threadhist",
	.maps = { { "runs", GPUMON_GPUPROG_MAP_THREAD_ARRAY, sizeof(uint64_t) } },
	.show = show,
};
