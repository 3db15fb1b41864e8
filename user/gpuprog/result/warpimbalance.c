// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* How long blocks wait for their last warp. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "coverage.h"
#include "maps.h"
#include "tool_views.h"

#define WARPS	      32
#define SHOWN_KERNELS 3
#define SAID_KERNELS  5
#define FAR	      4	  /* a wait is long if it is that part of a warp's time */
#define LEAST_WAIT_NS 100 /* and that long: clocks have steps */
#define HALF	      50
#define TENTH	      10
#define TITLE_BYTES   256

struct kernel {
	uint32_t number;
	struct gpumon_gpuprog_buckets wait;
	struct gpumon_gpuprog_buckets time;
	uint64_t blocks;
	uint64_t warps;
	uint64_t last[WARPS];  /* blocks whose last warp this one was */
	uint64_t half_reached; /* blocks that wait @half_wait */
	uint64_t half_wait;
	uint64_t tenth_reached; /* and @tenth_wait */
	uint64_t tenth_wait;
	uint64_t half_time;
};

static void read_kernel(const struct gpumon_gpuprog_result *result, struct kernel *kernel)
{
	const struct gpumon_gpuprog_map *last = gpumon_gpuprog_result_map(result, "lasts");
	uint64_t reached, at;

	kernel->wait = gpumon_gpuprog_histogram(
		result, gpumon_gpuprog_result_map(result, "straggling_ns_by_kernel"),
		kernel->number);
	kernel->time = gpumon_gpuprog_histogram(
		result, gpumon_gpuprog_result_map(result, "warp_ns_by_kernel"), kernel->number);
	kernel->blocks = gpumon_gpuprog_buckets_total(&kernel->wait);
	kernel->warps = gpumon_gpuprog_buckets_total(&kernel->time);
	kernel->half_wait =
		gpumon_gpuprog_buckets_reached(&kernel->wait, HALF, &kernel->half_reached);
	kernel->tenth_wait =
		gpumon_gpuprog_buckets_reached(&kernel->wait, TENTH, &kernel->tenth_reached);
	kernel->half_time = gpumon_gpuprog_buckets_reached(&kernel->time, HALF, &reached);
	for (uint32_t i = 0; i < WARPS; i++) {
		at = (uint64_t)kernel->number * WARPS + i;
		kernel->last[i] = at < last->max_entries ? gpumon_gpuprog_number(result, last, at) :
							   0;
	}
}

static int compare_warps(const void *a, const void *b)
{
	const struct kernel *one = a, *other = b;

	if (one->warps != other->warps)
		return one->warps < other->warps ? 1 : -1;
	return (one->number > other->number) - (one->number < other->number);
}

/* Kernels that ran; to be freed. */
static struct kernel *read_kernels(const struct gpumon_gpuprog_result *result, uint32_t *n)
{
	const struct gpumon_gpuprog_map *waits =
		gpumon_gpuprog_result_map(result, "straggling_ns_by_kernel");
	const struct gpumon_gpuprog_map *times =
		gpumon_gpuprog_result_map(result, "warp_ns_by_kernel");
	uint32_t all = waits->max_entries < times->max_entries ? waits->max_entries :
								 times->max_entries;
	struct kernel *kernels = gpumon_calloc((size_t)all + 1, sizeof(*kernels));

	*n = 0;
	for (uint32_t i = 0; i < all; i++) {
		kernels[*n].number = i;
		read_kernel(result, &kernels[*n]);
		*n += kernels[*n].warps > 0;
	}
	qsort(kernels, *n, sizeof(*kernels), compare_warps);
	return kernels;
}

static void show_kernels(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
			 const struct kernel *kernels, uint32_t n)
{
	struct gpumon_table *table = gpumon_findings_table(
		findings, "by_kernel",
		"How long blocks wait for their last warp, at least (powers of two)");

	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	gpumon_table_typed(table, NULL, "kernel", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, "BLOCKS", "blocks", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "HALF WAIT", "half_wait_ns", GPUMON_CELL_NS);
	gpumon_table_figure(table, NULL);
	gpumon_table_typed(table, "A TENTH", "tenth_wait_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "WARPS", "warps", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "HALF TAKE", "half_warp_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "KERNEL", "kernel_name", GPUMON_CELL_NAME);
	for (uint32_t i = 0; i < n; i++) {
		gpumon_table_number(table, kernels[i].number);
		gpumon_table_number(table, kernels[i].blocks);
		gpumon_table_number(table, kernels[i].half_wait);
		gpumon_table_number(table, kernels[i].tenth_wait);
		gpumon_table_number(table, kernels[i].warps);
		gpumon_table_number(table, kernels[i].half_time);
		gpumon_table_text(table, gpumon_gpuprog_kernel_name(names, kernels[i].number));
	}
}

/* Bars of the waits of a kernel, and of which warp is last. */
static void show_kernel(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
			const struct kernel *kernel)
{
	const char *name = gpumon_gpuprog_kernel_short(names, kernel->number);
	char title[TITLE_BYTES];
	struct gpumon_table *table;

	snprintf(title, sizeof(title), "Blocks of %s by their wait for the last warp", name);
	gpumon_gpuprog_generic_bars(findings, title, "ns", &kernel->wait);
	snprintf(title, sizeof(title), "Which warp of a block of %s is the last one", name);
	table = gpumon_findings_table(findings, NULL, title);
	gpumon_table_typed(table, "WARP", NULL, GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, "BLOCKS", NULL, GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "", NULL, GPUMON_CELL_BAR);
	for (uint32_t i = 0; i < WARPS; i++) {
		if (!kernel->last[i])
			continue;
		gpumon_table_number(table, i);
		gpumon_table_number(table, kernel->last[i]);
		gpumon_table_number(table, kernel->last[i]);
	}
}

/* Half of the blocks wait a good part of a warp's time, or a tenth of them as long as a warp takes. */
static bool half_waits(const struct kernel *kernel)
{
	return kernel->half_wait >= LEAST_WAIT_NS && kernel->half_wait >= kernel->half_time / FAR;
}

static bool tenth_waits(const struct kernel *kernel)
{
	return kernel->tenth_wait >= LEAST_WAIT_NS && kernel->tenth_wait >= kernel->half_time;
}

static void say_wait(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
		     const struct kernel *kernel)
{
	bool half = half_waits(kernel);
	char wait[GPUMON_FORMAT_LEN], time[GPUMON_FORMAT_LEN];

	gpumon_format_ns(wait, sizeof(wait),
			 gpumon_value_of(half ? kernel->half_wait : kernel->tenth_wait));
	gpumon_format_ns(time, sizeof(time), gpumon_value_of(kernel->half_time));
	gpumon_findings_say(
		findings,
		"%" PRIu64 " of %" PRIu64
		" blocks of %s wait %s or more for their last warp; half of its warps take %s or more",
		half ? kernel->half_reached : kernel->tenth_reached, kernel->blocks,
		gpumon_gpuprog_kernel_short(names, kernel->number), wait, time);
}

/* A warp that is last twice as often as if all were equal. */
static void say_last(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
		     const struct kernel *kernel)
{
	uint32_t most = 0, warps = 2;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < WARPS; i++) {
		sum += kernel->last[i];
		most = kernel->last[i] > kernel->last[most] ? i : most;
		warps = kernel->last[i] && i + 1 > warps ? i + 1 : warps;
	}
	if (sum && (double)kernel->last[most] * warps >= 2 * (double)sum)
		gpumon_findings_say(findings,
				    "Warp %" PRIu32
				    " of a block of %s is the last one in %.0f %% of them",
				    most, gpumon_gpuprog_kernel_short(names, kernel->number),
				    (double)kernel->last[most] * 100 / (double)sum);
}

static void say_kernels(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
			const struct kernel *kernels, uint32_t n)
{
	uint32_t said = 0;

	for (uint32_t i = 0; i < n && said < SAID_KERNELS; i++) {
		if (!half_waits(&kernels[i]) && !tenth_waits(&kernels[i]))
			continue;
		say_wait(findings, names, &kernels[i]);
		say_last(findings, names, &kernels[i]);
		said++;
	}
	if (n && !said)
		gpumon_findings_say(
			findings,
			"No kernel stands out: in none do half of the blocks wait a quarter of a warp's time for their last warp, or a tenth of them all of it, and 100 ns");
}

static void note_crowded(struct gpumon_findings *findings,
			 const struct gpumon_gpuprog_result *result)
{
	uint64_t crowded =
		gpumon_gpuprog_number(result, gpumon_gpuprog_result_map(result, "crowded"), 0);

	if (crowded)
		gpumon_findings_note(
			findings,
			"%" PRIu64
			" exits of warps are not in the waits: another block had their block's place",
			crowded);
}

static void show(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_result *result = names->result;
	uint32_t n, i;
	struct kernel *kernels = read_kernels(result, &n);

	for (i = 0; i < n && i < SHOWN_KERNELS; i++)
		show_kernel(findings, names, &kernels[i]);
	show_kernels(findings, names, kernels, n);
	gpumon_gpuprog_generic_map(findings, names,
				   gpumon_gpuprog_result_map(result, "straggling_ns_by_kernel"),
				   false);
	gpumon_gpuprog_generic_map(findings, names,
				   gpumon_gpuprog_result_map(result, "warp_ns_by_kernel"), false);
	gpumon_gpuprog_generic_map(findings, names, gpumon_gpuprog_result_map(result, "lasts"),
				   false);
	say_kernels(findings, names, kernels, n);
	note_crowded(findings, result);
	gpumon_gpuprog_note_kernels(
		findings, names,
		gpumon_gpuprog_result_map(result, "warp_ns_by_kernel")->max_entries);
	free(kernels);
}

const struct gpumon_gpuprog_view gpumon_gpuprog_view_warpimbalance = {
	.tool = "warpimbalance",
	.maps = { { "straggling_ns_by_kernel", GPUMON_GPUPROG_MAP_HISTOGRAM,
		    GPUMON_GPUPROG_BUCKETS * sizeof(uint64_t) },
		  { "warp_ns_by_kernel", GPUMON_GPUPROG_MAP_HISTOGRAM,
		    GPUMON_GPUPROG_BUCKETS * sizeof(uint64_t) },
		  { "lasts", GPUMON_GPUPROG_MAP_SM_ARRAY, sizeof(uint64_t) },
		  { "crowded", GPUMON_GPUPROG_MAP_SM_ARRAY, sizeof(uint64_t) } },
	.show = show,
};
