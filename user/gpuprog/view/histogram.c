// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Histograms by powers of two, of any map. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "columns.h"
#include "generic.h"
#include "generic_inner.h"
#include "lib/output_text.h"

#define SHOWN_HISTOGRAMS 6 /* for people; JSON has all */
#define TITLE_BYTES	 256

static void find_range(const struct gpumon_probe_buckets *buckets, uint32_t *first, uint32_t *end)
{
	*first = *end = 0;
	for (uint32_t i = 0; i < GPUMON_PROBE_BUCKETS; i++) {
		if (!buckets->counts[i])
			continue;
		if (!*end)
			*first = i;
		*end = i + 1;
	}
}

void gpumon_probe_generic_bars(struct gpumon_sheet *sheet, const char *title, const char *unit,
			       const struct gpumon_probe_buckets *buckets)
{
	enum gpumon_sheet_kind kind = gpumon_probe_kind_of(unit);
	uint64_t total = gpumon_probe_buckets_total(buckets);
	uint32_t first, end;

	find_range(buckets, &first, &end);
	if (!total)
		return;
	gpumon_sheet_table(sheet, NULL, title);
	gpumon_sheet_column(sheet, "FROM", NULL, kind);
	gpumon_sheet_column(sheet, "TO", NULL, kind);
	gpumon_sheet_column(sheet, "COUNT", NULL, GPUMON_SHEET_COUNT);
	gpumon_sheet_column(sheet, "SHARE", NULL, GPUMON_SHEET_PERCENT);
	gpumon_sheet_column(sheet, "", NULL, GPUMON_SHEET_BAR);
	for (uint32_t i = first; i < end; i++) {
		gpumon_sheet_number(sheet, gpumon_probe_bucket_from(i));
		gpumon_sheet_number(sheet, gpumon_probe_bucket_to(i));
		gpumon_sheet_number(sheet, buckets->counts[i]);
		gpumon_sheet_ratio(sheet, (double)buckets->counts[i] * 100 / (double)total);
		gpumon_sheet_number(sheet, buckets->counts[i]);
	}
}

void gpumon_probe_generic_buckets(struct gpumon_sheet *sheet, const char *unit)
{
	enum gpumon_sheet_kind kind = gpumon_probe_kind_of(unit);
	const char *ending = kind == GPUMON_SHEET_NS	? "_ns" :
			     kind == GPUMON_SHEET_BYTES ? "_bytes" :
							  "";
	char from[16], to[16];

	snprintf(from, sizeof(from), "from%s", ending);
	snprintf(to, sizeof(to), "to%s", ending);
	gpumon_sheet_column(sheet, NULL, from, kind);
	gpumon_sheet_column(sheet, NULL, to, kind);
	gpumon_sheet_column(sheet, NULL, "count", GPUMON_SHEET_COUNT);
}

void gpumon_probe_generic_bucket(struct gpumon_sheet *sheet, uint32_t bucket, uint64_t count)
{
	gpumon_sheet_number(sheet, gpumon_probe_bucket_from(bucket));
	gpumon_sheet_number(sheet, gpumon_probe_bucket_to(bucket));
	gpumon_sheet_number(sheet, count);
}

/* "wait_ns of reduce", "wait_ns, lane 3", "wait_ns[3]" */
static void make_title(char *title, struct gpumon_probe_names *names, const char *map,
		       const struct gpumon_probe_words *words, uint32_t index, uint32_t indexes)
{
	if (!strcmp(words->index, "kernel"))
		snprintf(title, TITLE_BYTES, "%s of %s", words->value,
			 gpumon_probe_kernel_short(names, index));
	else if (*words->index)
		snprintf(title, TITLE_BYTES, "%s, %s %" PRIu32, words->value, words->index, index);
	else if (indexes > 1)
		snprintf(title, TITLE_BYTES, "%s[%" PRIu32 "]", map, index);
	else
		snprintf(title, TITLE_BYTES, "%s", map);
}

static void add_rows(struct gpumon_sheet *sheet, struct gpumon_probe_names *names,
		     const struct gpumon_probe_columns *key, uint32_t index,
		     const struct gpumon_probe_buckets *buckets)
{
	for (uint32_t i = 0; i < GPUMON_PROBE_BUCKETS; i++) {
		if (!buckets->counts[i])
			continue;
		gpumon_probe_columns_cells(key, names, sheet, &index, sizeof(index));
		gpumon_probe_generic_bucket(sheet, i, buckets->counts[i]);
	}
}

/* In JSON one table for all indexes, for people one for each that has counts. */
void gpumon_probe_generic_histogram(struct gpumon_sheet *sheet, struct gpumon_probe_names *names,
				    const struct gpumon_probe_map *map, bool people)
{
	struct gpumon_probe_buckets buckets;
	struct gpumon_probe_columns key;
	struct gpumon_probe_words words;
	char title[TITLE_BYTES];
	uint32_t shown = 0;

	gpumon_probe_words_of(map->name, &words);
	gpumon_probe_columns_index(&key, *words.index ? words.index : "index");
	gpumon_probe_generic_table(sheet, map, NULL);
	gpumon_probe_columns_add(&key, names, sheet);
	gpumon_probe_generic_buckets(sheet, words.value);
	for (uint32_t i = 0; i < map->max_entries; i++) {
		buckets = gpumon_probe_histogram(names->result, map, i);
		add_rows(sheet, names, &key, i, &buckets);
	}
	for (uint32_t i = 0; people && i < map->max_entries && shown < SHOWN_HISTOGRAMS; i++) {
		buckets = gpumon_probe_histogram(names->result, map, i);
		if (!gpumon_probe_buckets_total(&buckets))
			continue;
		make_title(title, names, map->name, &words, i, map->max_entries);
		gpumon_probe_generic_bars(sheet, title, words.value, &buckets);
		shown++;
	}
}
