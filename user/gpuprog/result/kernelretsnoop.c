// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Times at which threads leave a kernel, by their place in the warp. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "coverage.h"
#include "maps.h"
#include "outliers.h"
#include "tool_views.h"

#define LANES	      32
#define SHOWN_KERNELS 3 /* with a table of their lanes, for people */
#define LIST_BYTES    128
#define TITLE_BYTES   256

static const struct gpumon_gpuprog_threshold far = { .part = 0.01, .amount = 100 };

/* A value of the map "lanes". */
struct lane {
	uint64_t exits;
	uint64_t ns;
};

struct kernel {
	uint32_t number;
	uint64_t exits;
	uint64_t ns;
	struct lane lanes[LANES];
	double means[LANES]; /* of lanes that have left */
	uint32_t which[LANES];
	uint32_t means_n;
};

static double mean_of(uint64_t ns, uint64_t exits)
{
	return exits ? (double)ns / (double)exits : 0;
}

static void read_kernel(const struct gpumon_gpuprog_result *result,
			const struct gpumon_gpuprog_map *map, struct kernel *kernel)
{
	uint64_t numbers[2];

	for (uint32_t i = 0; i < LANES; i++) {
		gpumon_gpuprog_numbers(result, map, (uint64_t)kernel->number * LANES + i, numbers);
		kernel->lanes[i] = (struct lane){ .exits = numbers[0], .ns = numbers[1] };
		kernel->exits += numbers[0];
		kernel->ns += numbers[1];
		if (!numbers[0])
			continue;
		kernel->which[kernel->means_n] = i;
		kernel->means[kernel->means_n++] = mean_of(numbers[1], numbers[0]);
	}
}

static int compare_exits(const void *a, const void *b)
{
	uint64_t one = ((const struct kernel *)a)->exits, other = ((const struct kernel *)b)->exits;

	return (one < other) - (one > other);
}

/* Kernels with exits, the most first; to be freed. */
static struct kernel *read_kernels(const struct gpumon_gpuprog_result *result, uint32_t *n)
{
	const struct gpumon_gpuprog_map *map = gpumon_gpuprog_result_map(result, "lanes");
	uint32_t all = map->max_entries / LANES;
	struct kernel *kernels = gpumon_calloc(all + 1, sizeof(*kernels));

	*n = 0;
	for (uint32_t i = 0; i < all; i++) {
		memset(&kernels[*n], 0, sizeof(kernels[*n]));
		kernels[*n].number = i;
		read_kernel(result, map, &kernels[*n]);
		*n += kernels[*n].exits > 0;
	}
	qsort(kernels, *n, sizeof(*kernels), compare_exits);
	return kernels;
}

static void show_kernels(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
			 const struct kernel *kernels, uint32_t n)
{
	struct gpumon_table *table = gpumon_findings_table(
		findings, "by_kernel", "Time of a thread from its first instruction to its exit");

	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	gpumon_table_typed(table, NULL, "kernel", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, "EXITS", "exits", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, NULL, "sum_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "MEAN", "mean_ns", GPUMON_CELL_NS);
	gpumon_table_figure(table, "TO EXIT");
	gpumon_table_typed(table, "KERNEL", "kernel_name", GPUMON_CELL_NAME);
	for (uint32_t i = 0; i < n; i++) {
		gpumon_table_number(table, kernels[i].number);
		gpumon_table_number(table, kernels[i].exits);
		gpumon_table_number(table, kernels[i].ns);
		gpumon_table_number(table, (uint64_t)mean_of(kernels[i].ns, kernels[i].exits));
		gpumon_table_text(table, gpumon_gpuprog_kernel_name(names, kernels[i].number));
	}
}

static void list_lanes(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
		       const struct kernel *kernels, uint32_t n)
{
	struct gpumon_table *table = gpumon_findings_table(findings, "lanes", NULL);

	gpumon_table_typed(table, NULL, "kernel", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, NULL, "kernel_name", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, NULL, "lane", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, NULL, "exits", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, NULL, "sum_ns", GPUMON_CELL_NS);
	for (uint32_t i = 0; i < n * LANES; i++) {
		const struct lane *lane = &kernels[i / LANES].lanes[i % LANES];

		gpumon_table_number(table, kernels[i / LANES].number);
		gpumon_table_text(table,
				  gpumon_gpuprog_kernel_name(names, kernels[i / LANES].number));
		gpumon_table_number(table, i % LANES);
		gpumon_table_number(table, lane->exits);
		gpumon_table_number(table, lane->ns);
	}
}

/* Bars begin at the first one that leaves, so that differences are seen. */
static void show_lanes(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
		       const struct kernel *kernel)
{
	double first = kernel->means[0];
	char title[TITLE_BYTES];
	uint32_t i;
	struct gpumon_table *table;

	for (i = 1; i < kernel->means_n; i++)
		first = kernel->means[i] < first ? kernel->means[i] : first;
	snprintf(title, sizeof(title), "Threads of each warp of %s",
		 gpumon_gpuprog_kernel_short(names, kernel->number));
	table = gpumon_findings_table(findings, NULL, title);
	gpumon_table_typed(table, "THREAD", NULL, GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, "EXITS", NULL, GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "MEAN", NULL, GPUMON_CELL_NS);
	gpumon_table_typed(table, "AFTER FIRST", NULL, GPUMON_CELL_NS);
	gpumon_table_typed(table, "", NULL, GPUMON_CELL_BAR);
	for (i = 0; i < kernel->means_n; i++) {
		uint64_t after = (uint64_t)(kernel->means[i] - first + 0.5);

		gpumon_table_number(table, kernel->which[i]);
		gpumon_table_number(table, kernel->lanes[kernel->which[i]].exits);
		gpumon_table_number(table, (uint64_t)kernel->means[i]);
		gpumon_table_number(table, after);
		gpumon_table_number(table, after);
	}
}

/* Returns whether something stands out. */
static bool say_lanes(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
		      const struct kernel *kernel)
{
	struct gpumon_gpuprog_outliers outliers;
	char list[LIST_BYTES], time[GPUMON_FORMAT_LEN];
	bool found, late;

	gpumon_gpuprog_find_outliers(kernel->means, kernel->means_n, &far, &outliers);
	for (uint32_t i = 0; i < outliers.n; i++)
		outliers.which[i] = kernel->which[outliers.which[i]];
	found = outliers.n > 0;
	if (found) {
		late = outliers.mean > outliers.rest;
		gpumon_gpuprog_list(list, sizeof(list), "Thread", outliers.which, outliers.n);
		gpumon_format_ns(time, sizeof(time),
				 gpumon_value_of((uint64_t)((late ? outliers.mean - outliers.rest :
								    outliers.rest - outliers.mean) +
							    0.5)));
		gpumon_findings_say(findings, "%s of each warp leave%s %s %s %s the others", list,
				    outliers.n == 1 ? "s" : "",
				    gpumon_gpuprog_kernel_short(names, kernel->number), time,
				    late ? "after" : "before");
	}
	free(outliers.which);
	return found;
}

static void show_histogram(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_map *map =
		gpumon_gpuprog_result_map(names->result, "times_ns_by_lane");
	struct gpumon_gpuprog_buckets all = { 0 }, lane;

	for (uint32_t i = 0; i < map->max_entries; i++) {
		lane = gpumon_gpuprog_histogram(names->result, map, i);
		for (uint32_t bucket = 0; bucket < GPUMON_GPUPROG_BUCKETS; bucket++)
			all.counts[bucket] += lane.counts[bucket];
	}
	gpumon_gpuprog_generic_bars(findings, "Times of all threads", "ns", &all);
	gpumon_gpuprog_generic_map(findings, names, map, false);
}

static void show(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_map *ring = gpumon_gpuprog_result_map(names->result, "exits");
	bool found = false;
	uint32_t n, i;
	struct kernel *kernels = read_kernels(names->result, &n);

	list_lanes(findings, names, kernels, n);
	for (i = 0; i < n && i < SHOWN_KERNELS; i++)
		show_lanes(findings, names, &kernels[i]);
	show_kernels(findings, names, kernels, n);
	show_histogram(findings, names);
	gpumon_gpuprog_generic_map(findings, names, ring, false);
	for (i = 0; i < n; i++)
		found |= say_lanes(findings, names, &kernels[i]);
	if (n && !found)
		gpumon_findings_say(
			findings,
			"No thread stands out: the mean time of none is 100 ns and 1 %% of it away from the median of the threads of a warp");
	gpumon_gpuprog_note_kernels(findings, names,
				    gpumon_gpuprog_result_map(names->result, "lanes")->max_entries /
					    LANES);
	free(kernels);
}

const struct gpumon_gpuprog_view gpumon_gpuprog_view_kernelretsnoop = {
	.tool = "kernelretsnoop",
	.maps = { { "lanes", GPUMON_GPUPROG_MAP_SM_ARRAY, sizeof(struct lane) },
		  { "times_ns_by_lane", GPUMON_GPUPROG_MAP_HISTOGRAM,
		    GPUMON_GPUPROG_BUCKETS * sizeof(uint64_t) },
		  { "exits", GPUMON_GPUPROG_MAP_RING, 3 * sizeof(uint64_t) } },
	.show = show,
};
