// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Starts of kernels: after their launch on the CPU, if launches are known, and after the kernel
 * before.
 *
 * Starts and launches of a kernel are compared in their order. Where kernels overtake each other
 * that is the wrong launch for a single start, but sums and means are right all the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "maps.h"
#include "lib/text.h"
#include "tool_views.h"

/* A record of the ring "starts". */
struct start {
	uint64_t kernel;
	uint64_t ns; /* GPU's clock */
	uint64_t device;
};

/* Starts of one kernel in one context. */
struct row {
	uint32_t kernel;
	uint32_t device;
	uint64_t starts;
	uint64_t launches;
	uint64_t late_ns; /* sum */
	uint64_t least_ns;
	uint64_t most_ns;
	bool compared;
};

struct late {
	struct gpumon_findings *findings;
	struct gpumon_gpuprog_names *names;
	const struct gpumon_gpuprog_result *result;
	struct start *starts; /* by device and time */
	uint64_t starts_n;
	struct row *rows;
	uint32_t rows_n;
	uint64_t launch; /* the next one of those by device, kernel and time */
	struct gpumon_gpuprog_buckets buckets;
	uint64_t before; /* starts that seem to be before their launch by more than the error */
};

static int compare_time(const void *a, const void *b)
{
	const struct start *one = a, *other = b;

	if (one->device != other->device)
		return one->device < other->device ? -1 : 1;
	return (one->ns > other->ns) - (one->ns < other->ns);
}

static int compare_kernel(const void *a, const void *b)
{
	const struct start *one = a, *other = b;

	if (one->device == other->device && one->kernel != other->kernel)
		return one->kernel < other->kernel ? -1 : 1;
	return compare_time(a, b);
}

static int compare_launch(const void *a, const void *b)
{
	const struct gpumon_gpuprog_launch *one = a, *other = b;

	if (one->device != other->device)
		return one->device < other->device ? -1 : 1;
	if (one->kernel != other->kernel)
		return one->kernel < other->kernel ? -1 : 1;
	return (one->ns > other->ns) - (one->ns < other->ns);
}

static void read_starts(struct late *late)
{
	const struct gpumon_gpuprog_map *ring = gpumon_gpuprog_result_map(late->result, "starts");
	const struct gpumon_gpuprog_records *records =
		gpumon_gpuprog_records_of(late->result, ring);
	uint64_t kept = gpumon_gpuprog_records_kept(records), i;
	struct gpumon_gpuprog_record record;

	late->starts = gpumon_calloc(kept, sizeof(*late->starts));
	late->rows = gpumon_calloc(kept, sizeof(*late->rows));
	for (i = 0; i < kept; i++) {
		record = gpumon_gpuprog_records_at(records, i);
		if (record.device >= late->result->devices_n)
			continue;
		memcpy(&late->starts[late->starts_n], record.data, 2 * sizeof(uint64_t));
		late->starts[late->starts_n++].device = record.device;
	}
	qsort(late->starts, late->starts_n, sizeof(*late->starts), compare_time);
}

/* Times from the first start of a context, and from the start before. */
static void show_starts(struct late *late)
{
	struct gpumon_table *table =
		gpumon_findings_table(late->findings, "starts", "Starts, from the first one on");
	uint64_t first = 0, before = 0;

	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	if (late->result->devices_n > 1)
		gpumon_table_typed(table, "GPU", "gpu", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, "AT", "since_first_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "AFTER", "since_previous_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, NULL, "gpu_clock_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, NULL, "kernel", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, "KERNEL", "kernel_name", GPUMON_CELL_NAME);
	for (uint64_t i = 0; i < late->starts_n; i++) {
		const struct start *start = &late->starts[i];
		bool is_first = !i || start[-1].device != start->device;

		first = is_first ? start->ns : first;
		before = is_first ? start->ns : start[-1].ns;
		if (i >= GPUMON_GPUPROG_JSON_ROWS) {
			table->left_out++;
			continue;
		}
		if (late->result->devices_n > 1)
			gpumon_table_text(table, gpumon_gpuprog_device_name(
							 late->names, (uint32_t)start->device));
		gpumon_table_number(table, start->ns - first);
		gpumon_table_value(table, (struct gpumon_value){ .v = start->ns - before,
								 .known = !is_first });
		gpumon_table_number(table, start->ns);
		gpumon_table_number(table, start->kernel);
		gpumon_table_text(table, gpumon_gpuprog_kernel_name(late->names, start->kernel));
	}
}

/* @after: what half of the kernels start so long after. */
static void show_buckets(struct late *late, const char *key, const char *title, const char *after,
			 const struct gpumon_gpuprog_buckets *buckets)
{
	char time[GPUMON_FORMAT_LEN];
	uint64_t reached, ns = gpumon_gpuprog_buckets_reached(buckets, 50, &reached);
	struct gpumon_table *table;

	gpumon_gpuprog_generic_bars(late->findings, title, "ns", buckets);
	table = gpumon_findings_table(late->findings, key, NULL);
	gpumon_gpuprog_generic_buckets(table, "ns");
	for (uint32_t i = 0; i < GPUMON_GPUPROG_BUCKETS; i++)
		if (buckets->counts[i])
			gpumon_gpuprog_generic_bucket(table, i, buckets->counts[i]);
	if (reached)
		gpumon_findings_say(late->findings,
				    "%" PRIu64 " of %" PRIu64 " kernels start %s or more after %s",
				    reached, gpumon_gpuprog_buckets_total(buckets),
				    gpumon_format_ns(time, sizeof(time), gpumon_value_of(ns)),
				    after);
}

/* Writes the intervals between starts, if launches are not known. */
static void show_distances(struct late *late)
{
	struct gpumon_gpuprog_buckets buckets = { 0 };

	for (uint64_t i = 1; i < late->starts_n; i++)
		if (late->starts[i].device == late->starts[i - 1].device)
			gpumon_gpuprog_buckets_add(&buckets,
						   late->starts[i].ns - late->starts[i - 1].ns);
	show_buckets(late, "distances", "From one start to the next", "the one before", &buckets);
	if (late->result->launches_why)
		gpumon_findings_note(late->findings, "Starts are not compared with launches: %s",
				     late->result->launches_why);
}

/* Launches of this kernel. The kernels come in the order of the launches. */
static const struct gpumon_gpuprog_launch *find_launches(struct late *late, struct row *row)
{
	const struct gpumon_gpuprog_launch *launches = late->result->launches, *found;
	struct gpumon_gpuprog_launch first = { .kernel = row->kernel, .device = row->device };

	while (late->launch < late->result->launches_n &&
	       compare_launch(&launches[late->launch], &first) < 0)
		late->launch++;
	found = &launches[late->launch];
	while (late->launch < late->result->launches_n &&
	       launches[late->launch].kernel == row->kernel &&
	       launches[late->launch].device == row->device) {
		late->launch++;
		row->launches++;
	}
	return found;
}

/* @starts: of one kernel in one context, by time. */
static void compare_launches(struct late *late, const struct start *starts, struct row *row)
{
	const struct gpumon_gpuprog_clock *clock = &late->result->devices[row->device].clock;
	const struct gpumon_gpuprog_launch *launches = find_launches(late, row);
	int64_t ns;

	row->compared = clock->known && row->launches == row->starts;
	for (uint64_t i = 0; row->compared && i < row->starts; i++) {
		ns = (int64_t)(starts[i].ns + (uint64_t)clock->offset_ns - launches[i].ns);
		late->before += ns < 0 && 0 - (uint64_t)ns > clock->error_ns;
		ns = ns < 0 ? 0 : ns;
		gpumon_gpuprog_buckets_add(&late->buckets, (uint64_t)ns);
		row->late_ns = gpumon_add_saturated(row->late_ns, (uint64_t)ns);
		if (!i || (uint64_t)ns < row->least_ns)
			row->least_ns = (uint64_t)ns;
		if ((uint64_t)ns > row->most_ns)
			row->most_ns = (uint64_t)ns;
	}
}

/* The rows of all kernels. The starts are sorted by kernel afterwards. */
static void make_rows(struct late *late)
{
	uint64_t end;

	qsort(late->starts, late->starts_n, sizeof(*late->starts), compare_kernel);
	for (uint64_t i = 0; i < late->starts_n; i = end) {
		const struct start *start = &late->starts[i];
		struct row *row = &late->rows[late->rows_n++];

		for (end = i; end < late->starts_n && late->starts[end].kernel == start->kernel &&
			      late->starts[end].device == start->device;)
			end++;
		row->kernel = (uint32_t)start->kernel;
		row->device = (uint32_t)start->device;
		row->starts = end - i;
		compare_launches(late, start, row);
	}
}

static void add_time(struct gpumon_table *table, const struct row *row, uint64_t ns)
{
	gpumon_table_value(table, (struct gpumon_value){ .v = row->compared ? ns : 0,
							 .known = row->compared });
}

static void show_rows(struct late *late)
{
	struct gpumon_table *table = gpumon_findings_table(
		late->findings, "by_kernel", "From the launch to the first instruction");

	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	if (late->result->devices_n > 1)
		gpumon_table_typed(table, "GPU", "gpu", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, NULL, "kernel", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, "STARTS", "starts", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, NULL, "launches", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, NULL, "sum_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "LEAST", "least_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "MEAN", "mean_ns", GPUMON_CELL_NS);
	gpumon_table_figure(table, "TO START");
	gpumon_table_typed(table, "MOST", "most_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "KERNEL", "kernel_name", GPUMON_CELL_NAME);
	for (uint32_t i = 0; i < late->rows_n; i++) {
		const struct row *row = &late->rows[i];

		if (late->result->devices_n > 1)
			gpumon_table_text(table,
					  gpumon_gpuprog_device_name(late->names, row->device));
		gpumon_table_number(table, row->kernel);
		gpumon_table_number(table, row->starts);
		gpumon_table_number(table, row->launches);
		add_time(table, row, row->late_ns);
		add_time(table, row, row->least_ns);
		add_time(table, row, row->late_ns / row->starts);
		add_time(table, row, row->most_ns);
		gpumon_table_text(table, gpumon_gpuprog_kernel_name(late->names, row->kernel));
	}
}

static void note_rows(struct late *late)
{
	uint64_t error = 0, odd = 0;
	char time[GPUMON_FORMAT_LEN];
	bool unknown = false;

	for (uint32_t i = 0; i < late->rows_n; i++) {
		const struct gpumon_gpuprog_clock *clock =
			&late->result->devices[late->rows[i].device].clock;

		unknown |= !clock->known;
		odd += clock->known && !late->rows[i].compared;
		error = clock->known && clock->error_ns > error ? clock->error_ns : error;
	}
	if (unknown)
		gpumon_findings_note(
			late->findings,
			"Starts are not compared with launches: the clock of the GPU is not known");
	if (late->result->launchers_left_out)
		gpumon_findings_note(
			late->findings,
			"Launches of %" PRIu32
			" processes are not known, and their kernels are not compared: there were too many at a time, or there was no memory. Start fewer processes at a time",
			late->result->launchers_left_out);
	if (odd)
		gpumon_findings_note(
			late->findings,
			"%" PRIu64 " of %" PRIu32
			" kernels are not compared: they have not as many starts as launches (records were lost, a launch failed, or the process was killed)",
			odd, late->rows_n);
	if (!unknown)
		gpumon_findings_note(late->findings, "The GPU's clock is known to within %s",
				     gpumon_format_ns(time, sizeof(time), gpumon_value_of(error)));
	if (late->before)
		gpumon_findings_note(
			late->findings,
			"%" PRIu64
			" starts seem to be before their launch and count as 0: the clocks have drifted",
			late->before);
}

static void show_late(struct late *late)
{
	if (late->result->launches_n)
		qsort(late->result->launches, late->result->launches_n,
		      sizeof(*late->result->launches), compare_launch);
	make_rows(late);
	show_rows(late);
	show_buckets(late, "late", "From the launch to the first instruction, all kernels",
		     "their launch", &late->buckets);
	note_rows(late);
}

static void show(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	struct late late = { .findings = findings, .names = names, .result = names->result };

	read_starts(&late);
	show_starts(&late);
	if (late.starts_n && late.result->launches)
		show_late(&late);
	else
		show_distances(&late);
	free(late.starts);
	free(late.rows);
}

const struct gpumon_gpuprog_view gpumon_gpuprog_view_launchlate = {
	.tool = "launchlate",
	.maps = { { "starts", GPUMON_GPUPROG_MAP_RING, 2 * sizeof(uint64_t) } },
	.show = show,
};
