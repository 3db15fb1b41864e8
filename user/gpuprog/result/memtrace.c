// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Memory traffic by kernel, source line and direction, and how well threads of a warp lie side by side. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/map.h"
#include "gpuprog/object/map_memory.h"
#include "maps.h"
#include "outliers.h"
#include "lib/text.h"
#include "tool_views.h"

#define SECTOR_BYTES 32
#define FAR	     2.0 /* times the sectors that are needed: a line that stands out */
#define FAR_SHARE    5	 /* percent of all sectors that such a line has at least */
#define SAID_LINES   5

/* Sizes of the map "places", as in bpf/gpu/memtrace.bpf.c. */
#define KERNELS	   512
#define DIRECTIONS 8
#define WHOLE	   5

#define SEVERAL UINT32_MAX /* instead of a kernel: all that have no place of their own */

/* Place of an access. */
struct place {
	uint64_t line;
	uint32_t kernel;
	uint32_t flags;
};

/* Value of the map "places". */
struct counts {
	uint64_t accesses;
	uint64_t bytes;
	uint64_t sectors;
	uint64_t whole[WHOLE];
};

struct traffic {
	uint64_t accesses; /* of warps */
	uint64_t bytes;
	uint64_t sectors;
};

/* A line in one direction, over all SMs and GPUs. */
struct row {
	uint32_t kernel;
	uint32_t flags;
	uint64_t line; /* one of the numbers that it has */
	struct traffic traffic;
};

struct rows {
	struct gpumon_keys keys;
	struct row *rows;
	uint32_t room;
	uint64_t sectors;
};

static void add_traffic(struct traffic *to, const struct traffic *traffic)
{
	to->accesses = gpumon_add_saturated(to->accesses, traffic->accesses);
	to->bytes = gpumon_add_saturated(to->bytes, traffic->bytes);
	to->sectors = gpumon_add_saturated(to->sectors, traffic->sectors);
}

static uint64_t shift_saturated(uint64_t number, uint32_t bits)
{
	return number > UINT64_MAX >> bits ? UINT64_MAX : number << bits;
}

/* A whole warp takes 32 times what a thread takes, and so many sectors as a thread takes bytes. */
static struct traffic traffic_of(const struct counts *counts)
{
	struct traffic traffic = { counts->accesses, counts->bytes, counts->sectors };

	for (uint32_t i = 0; i < WHOLE; i++) {
		uint64_t accesses = counts->whole[i];
		struct traffic whole = { accesses, shift_saturated(accesses, 5 + i),
					 shift_saturated(accesses, i) };

		add_traffic(&traffic, &whole);
	}
	return traffic;
}

static void add_place(struct rows *rows, const struct place *place, uint64_t line,
		      const struct traffic *traffic)
{
	struct gpumon_key key = { { place->kernel, line, place->flags } };
	struct row *row;
	bool added;

	row = GPUMON_KEYS_VALUE(&rows->keys, &key, rows->rows, rows->room, &added);
	if (added)
		*row = (struct row){ .kernel = place->kernel, .flags = place->flags, .line = line };
	add_traffic(&row->traffic, traffic);
	rows->sectors = gpumon_add_saturated(rows->sectors, traffic->sectors);
}

static int compare_sectors(const void *a, const void *b)
{
	const struct row *one = a, *other = b;

	if (one->traffic.sectors != other->traffic.sectors)
		return one->traffic.sectors < other->traffic.sectors ? 1 : -1;
	if (one->kernel != other->kernel)
		return one->kernel < other->kernel ? -1 : 1;
	if (one->line != other->line)
		return one->line < other->line ? -1 : 1;
	return (one->flags > other->flags) - (one->flags < other->flags);
}

/* Place of an index of the map. */
static struct place place_of(const struct gpumon_gpuprog_run *run, uint32_t index)
{
	uint32_t row = index / DIRECTIONS, direction = index % DIRECTIONS;
	struct place place = { .kernel = row < KERNELS - 1 ? row : SEVERAL };

	place.flags = (direction & (GPUMON_GPUPROG_READ | GPUMON_GPUPROG_WRITE)) |
		      (direction & 4 ? GPUMON_GPUPROG_ASYNC : 0);
	if (row < KERNELS)
		return place;
	place.line = row - KERNELS;
	place.kernel = run && place.line && place.line <= run->lines_n ?
			       run->lines[place.line - 1].kernel :
			       SEVERAL;
	return place;
}

static void read_device(const struct gpumon_gpuprog_result *result, uint32_t device,
			const uint64_t *lines, struct rows *rows)
{
	const struct gpumon_gpuprog_map *map = gpumon_gpuprog_result_map(result, "places");
	const void *image = gpumon_gpuprog_image_of(result, device, map);
	uint32_t lines_n = result->run ? result->run->lines_n : 0;
	struct traffic traffic;
	struct counts counts;
	struct place place;
	uint64_t line;

	for (uint32_t i = 0; image && i < map->max_entries; i++) {
		gpumon_gpuprog_read_value(map, result->devices[device].shards, image, i, &counts);
		traffic = traffic_of(&counts);
		if (!traffic.accesses)
			continue;
		place = place_of(result->run, i);
		line = place.line && place.line <= lines_n ? lines[place.line - 1] : place.line;
		add_place(rows, &place, line, &traffic);
	}
}

/* The first number of each line. A line that is in several images has several numbers. */
static uint64_t *number_lines(const struct gpumon_gpuprog_run *run)
{
	uint32_t lines_n = run ? run->lines_n : 0, number;
	uint64_t *lines = gpumon_calloc(((size_t)lines_n + 1) * 2, sizeof(*lines));
	uint64_t *firsts = lines + lines_n + 1; /* by number in keys */
	struct gpumon_pool files = { 0 };
	struct gpumon_keys keys = { 0 };
	bool added;

	for (uint32_t i = 0; i < lines_n; i++) {
		const struct gpumon_gpuprog_line_of *of = &run->lines[i];
		const char *file = gpumon_pool_text(&files, of->file);
		struct gpumon_key key = { { of->kernel, of->line, (uintptr_t)file } };

		number = gpumon_keys_number(&keys, &key, &added);
		if (added)
			firsts[number] = i + 1;
		lines[i] = firsts[number];
	}
	gpumon_keys_clear(&keys);
	gpumon_pool_clear(&files);
	return lines;
}

static void read_rows(const struct gpumon_gpuprog_result *result, struct rows *rows)
{
	uint64_t *lines = number_lines(result->run);

	for (uint32_t device = 0; device < result->devices_n; device++)
		read_device(result, device, lines, rows);
	free(lines);
	if (rows->keys.used)
		qsort(rows->rows, rows->keys.used, sizeof(*rows->rows), compare_sectors);
}

static const char several[] = "several kernels";

static const char *direction(uint32_t flags)
{
	static const char *const words[] = { "-", "read", "write", "atomic" };

	return words[flags & (GPUMON_GPUPROG_READ | GPUMON_GPUPROG_WRITE)];
}

static double per_access(uint64_t number, const struct traffic *traffic)
{
	return traffic->accesses ? (double)number / (double)traffic->accesses : 0;
}

/* Sectors of an access of a warp if its threads lie side by side; one at least. */
static double sectors_needed(const struct traffic *traffic)
{
	double sectors = per_access(traffic->bytes, traffic) / SECTOR_BYTES;

	return sectors > 1 ? sectors : 1;
}

static double times_needed(const struct traffic *traffic)
{
	return per_access(traffic->sectors, traffic) / sectors_needed(traffic);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? (double)part * 100 / (double)whole : 0;
}

static struct gpumon_table *new_table(struct gpumon_findings *findings)
{
	struct gpumon_table *table = gpumon_findings_table(
		findings, "lines", "Global memory, by line; accesses are those of warps");

	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	gpumon_table_typed(table, NULL, "kernel", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, "SHARE", "sectors_percent", GPUMON_CELL_PERCENT);
	gpumon_table_typed(table, "BYTES", "bytes", GPUMON_CELL_BYTES);
	gpumon_table_typed(table, "ACCESSES", "accesses", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, NULL, "sectors", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "SECTORS", "sectors_per_access", GPUMON_CELL_RATIO);
	gpumon_table_typed(table, "NEEDED", "sectors_needed_per_access", GPUMON_CELL_RATIO);
	gpumon_table_typed(table, "DOES", "direction", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, NULL, "asynchronous", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, "LINE", "line", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, "", NULL, GPUMON_CELL_BAR);
	gpumon_table_typed(table, "KERNEL", "kernel_name", GPUMON_CELL_NAME);
	return table;
}

static void show_rows(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
		      const struct rows *rows)
{
	struct gpumon_table *table = new_table(findings);

	for (uint32_t i = 0; i < rows->keys.used; i++) {
		const struct row *row = &rows->rows[i];

		gpumon_table_value(table, (struct gpumon_value){ .v = row->kernel,
								 .known = row->kernel != SEVERAL });
		gpumon_table_ratio(table, percent(row->traffic.sectors, rows->sectors));
		gpumon_table_number(table, row->traffic.bytes);
		gpumon_table_number(table, row->traffic.accesses);
		gpumon_table_number(table, row->traffic.sectors);
		gpumon_table_ratio(table, per_access(row->traffic.sectors, &row->traffic));
		gpumon_table_ratio(table, sectors_needed(&row->traffic));
		gpumon_table_text(table, direction(row->flags));
		gpumon_table_number(table, (row->flags & GPUMON_GPUPROG_ASYNC) != 0);
		gpumon_table_text(table, gpumon_gpuprog_line_name(names, row->line));
		gpumon_table_number(table, row->traffic.sectors);
		gpumon_table_text(table, row->kernel == SEVERAL ?
						 several :
						 gpumon_gpuprog_kernel_name(names, row->kernel));
	}
}

static void say_row(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
		    const struct row *row)
{
	const char *line = gpumon_gpuprog_line_name(names, row->line);
	char factor[GPUMON_GPUPROG_FACTOR_BYTES];

	gpumon_findings_say(
		findings,
		"%s of %s, %s: %.1f sectors for %.0f bytes of a warp: %s what coalesced access needs",
		line ? line : "Accesses without a line",
		row->kernel == SEVERAL ? several : gpumon_gpuprog_kernel_short(names, row->kernel),
		direction(row->flags), per_access(row->traffic.sectors, &row->traffic),
		per_access(row->traffic.bytes, &row->traffic),
		gpumon_gpuprog_factor(factor, times_needed(&row->traffic)));
}

static void say_rows(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
		     const struct rows *rows)
{
	uint32_t said = 0;

	for (uint32_t i = 0; i < rows->keys.used && said < SAID_LINES; i++) {
		const struct row *row = &rows->rows[i];

		if (times_needed(&row->traffic) < FAR ||
		    percent(row->traffic.sectors, rows->sectors) < FAR_SHARE)
			continue;
		say_row(findings, names, row);
		said++;
	}
	if (rows->keys.used && !said)
		gpumon_findings_say(
			findings,
			"No line stands out: none with 5 %% of the sectors takes twice what coalesced access needs");
}

static void show(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	struct rows rows = { 0 };

	read_rows(names->result, &rows);
	show_rows(findings, names, &rows);
	say_rows(findings, names, &rows);
	gpumon_keys_clear(&rows.keys);
	free(rows.rows);
}

const struct gpumon_gpuprog_view gpumon_gpuprog_view_memtrace = {
	.tool = "memtrace",
	.maps = { { "places", GPUMON_GPUPROG_MAP_SM_ARRAY, sizeof(struct counts) } },
	.show = show,
};
