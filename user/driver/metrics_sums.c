// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "metrics_sums.h"

/* The first bound is 2^10 ns, a microsecond, and the last one 2^36 ns, a minute. */
#define FIRST_BOUND 10

/* Lines of a histogram: its buckets, one without an end, count and sum. */
#define HISTOGRAM_LINES (GPUMON_METRIC_BOUNDS + 3)

#define OTHERS "series=\"other\""

/**
 * struct series - a series
 * @family: number of its family
 * @key: name of the family and labels
 * @labels: the labels in it
 * @reading: number of the reading that had it last
 * @seen_ns: when that was
 * @again: that reading had it twice
 * @negative: @number is below 0
 * @number: its value; of a histogram the sum
 * @counts: of a histogram: values of each bucket, and behind them those above the last bound
 */
struct series {
	uint32_t family;
	char *key;
	const char *labels;
	uint64_t reading;
	uint64_t seen_ns;
	bool again;
	bool negative;
	uint64_t number;
	uint64_t *counts;
};

/**
 * struct family - metrics of one name
 * @name: without endings
 * @help: what it is
 * @unit: or ""
 * @digits: the numbers of its series are multiples of 10^-digits
 * @type: its type
 * @kept: its series are never forgotten
 */
struct family {
	char *name;
	char *help;
	const char *unit;
	unsigned int digits;
	enum gpumon_metric_type type;
	bool kept;
};

/**
 * struct gpumon_sums - all sums
 * @names: numbers of families, plus 1
 * @keys: numbers of series, plus 1
 * @lines: that they take
 * @left: lines that new ones leave
 */
struct gpumon_sums {
	struct gpumon_sums_limits limits;
	struct gpumon_intern names;
	struct family *families;
	size_t n_families;
	struct gpumon_intern keys;
	struct series *series;
	size_t n_series;
	uint64_t lines;
	int64_t left;
	uint64_t folded;
	uint64_t reading;
	uint64_t now_ns;
};

struct gpumon_sums *gpumon_sums_new(struct gpumon_sums_limits limits)
{
	struct gpumon_sums *sums = gpumon_calloc(1, sizeof(*sums));

	sums->limits = limits;
	return sums;
}

static void clear_series(struct series *series)
{
	free(series->key);
	free(series->counts);
}

void gpumon_sums_free(struct gpumon_sums *sums)
{
	if (!sums)
		return;
	for (size_t i = 0; i < sums->n_series; i++)
		clear_series(&sums->series[i]);
	for (size_t i = 0; i < sums->n_families; i++) {
		free(sums->families[i].name);
		free(sums->families[i].help);
	}
	free(sums->series);
	free(sums->families);
	gpumon_intern_clear(&sums->keys);
	gpumon_intern_clear(&sums->names);
	free(sums);
}

void gpumon_sums_begin(struct gpumon_sums *sums, uint64_t now_ns)
{
	sums->reading++;
	sums->now_ns = now_ns;
}

uint32_t gpumon_sums_family(struct gpumon_sums *sums, const char *prefix, const char *column,
			    enum gpumon_metric_type type, const char *help)
{
	struct family *family;
	const char *unit;
	unsigned int digits;
	bool added;
	char *name = gpumon_openmetrics_name(prefix, column, &unit, &digits);
	uint32_t number = gpumon_intern(&sums->names, name, &added);

	if (!added) {
		free(name);
		return number - 1;
	}
	family = GPUMON_GROW(sums->families, sums->n_families);
	family->name = name;
	family->unit = unit;
	family->digits = digits;
	family->help = gpumon_strdup(help);
	family->type = type;
	return number - 1;
}

bool gpumon_sums_has(const struct gpumon_sums *sums, const char *prefix, const char *column,
		     uint32_t *family)
{
	const char *unit;
	unsigned int digits;
	char *name = gpumon_openmetrics_name(prefix, column, &unit, &digits);
	uint32_t number = gpumon_intern_find(&sums->names, name);

	free(name);
	*family = number - 1;
	return number != 0;
}

void gpumon_sums_keep(struct gpumon_sums *sums, uint32_t family)
{
	sums->families[family].kept = true;
}

static bool is_sum(const struct family *family)
{
	return family->type == GPUMON_METRIC_COUNTER || family->type == GPUMON_METRIC_HISTOGRAM;
}

static uint64_t lines_of(const struct family *family)
{
	return family->type == GPUMON_METRIC_HISTOGRAM ? HISTOGRAM_LINES : 1;
}

static struct series *find_series(const struct gpumon_sums *sums, const char *key)
{
	uint32_t number = gpumon_intern_find(&sums->keys, key);

	return number ? &sums->series[number - 1] : NULL;
}

/* @key is taken. It is a new one, so that its number is that of the next series. */
static struct series *add_series(struct gpumon_sums *sums, uint32_t family, char *key)
{
	const struct family *of = &sums->families[family];
	struct series *series = GPUMON_GROW(sums->series, sums->n_series);

	(void)gpumon_intern(&sums->keys, key, NULL);
	series->family = family;
	series->key = key;
	series->labels = key + strlen(of->name) + 1;
	if (of->type == GPUMON_METRIC_HISTOGRAM)
		series->counts = gpumon_calloc(GPUMON_METRIC_BOUNDS + 1, sizeof(*series->counts));
	sums->lines += lines_of(of);
	return series;
}

static bool has_room(const struct gpumon_sums *sums, const struct family *family)
{
	return (int64_t)(sums->lines + lines_of(family)) + sums->left <=
	       (int64_t)sums->limits.series;
}

static struct series *others_of(struct gpumon_sums *sums, uint32_t family)
{
	char *key = gpumon_asprintf("%s\n" OTHERS, sums->families[family].name);
	struct series *series = find_series(sums, key);

	if (!series)
		return add_series(sums, family, key);
	free(key);
	return series;
}

/* The series; where there is no room for it that of the others, or NULL of a gauge. */
static struct series *take_series(struct gpumon_sums *sums, uint32_t family, const char *labels)
{
	const struct family *of = &sums->families[family];
	char *key = gpumon_asprintf("%s\n%s", of->name, labels);
	struct series *series = find_series(sums, key);

	if (series || !has_room(sums, of)) {
		free(key);
		key = NULL;
	}
	if (!series && !key) {
		sums->folded++;
		if (!is_sum(of))
			return NULL;
		series = others_of(sums, family);
	}
	if (!series)
		series = add_series(sums, family, key);
	series->again = series->reading == sums->reading;
	series->reading = sums->reading;
	series->seen_ns = sums->now_ns;
	return series;
}

void gpumon_sums_count(struct gpumon_sums *sums, uint32_t family, const char *labels,
		       struct gpumon_value more)
{
	struct series *series = take_series(sums, family, labels);

	series->number += more.v;
}

void gpumon_sums_set(struct gpumon_sums *sums, uint32_t family, const char *labels,
		     struct gpumon_level level)
{
	struct series *series = level.known ? take_series(sums, family, labels) : NULL;

	if (!series)
		return;
	series->negative = level.v < 0;
	series->number = level.v < 0 ? 0 - (uint64_t)level.v : (uint64_t)level.v;
}

void gpumon_sums_add(struct gpumon_sums *sums, uint32_t family, const char *labels,
		     struct gpumon_value level)
{
	struct series *series = level.known ? take_series(sums, family, labels) : NULL;

	if (!series)
		return;
	if (!series->again)
		series->number = 0;
	series->number += level.v;
}

/* The first bound that no value of a bucket is above; that of all values is GPUMON_METRIC_BOUNDS. */
static unsigned int bound_of(const struct gpumon_bucket *bucket)
{
	unsigned int bound = 0;

	/* The bounds of buckets are powers of two, and parts of them. */
	while (bound < GPUMON_METRIC_BOUNDS && bucket->lt > 1ULL << (FIRST_BOUND + bound))
		bound++;
	return bound;
}

void gpumon_sums_add_histogram(struct gpumon_sums *sums, uint32_t family, const char *labels,
			       const struct gpumon_histogram *histogram)
{
	struct series *series = take_series(sums, family, labels);

	series->number += histogram->sum.v;
	for (size_t i = 0; i < histogram->n_buckets; i++)
		series->counts[bound_of(&histogram->buckets[i])] += histogram->buckets[i].count;
}

static bool is_over(const struct gpumon_sums *sums, const struct series *series)
{
	if (sums->families[series->family].kept)
		return false;
	if (!is_sum(&sums->families[series->family]))
		return series->reading != sums->reading;
	return sums->now_ns - series->seen_ns > sums->limits.forget_ns &&
	       strcmp(series->labels, OTHERS) != 0;
}

/* What a series that is forgotten has counted goes to that of the others. */
static void fold(struct gpumon_sums *sums, struct series *from)
{
	struct series *others;

	if (!is_sum(&sums->families[from->family]))
		return;
	others = others_of(sums, from->family);
	others->number += from->number;
	for (unsigned int i = 0; others->counts && i <= GPUMON_METRIC_BOUNDS; i++)
		others->counts[i] += from->counts[i];
}

void gpumon_sums_end(struct gpumon_sums *sums)
{
	struct series *before = sums->series, *over;
	size_t n = sums->n_series, n_over = 0;

	for (size_t i = 0; i < n; i++)
		n_over += is_over(sums, &before[i]);
	if (!n_over)
		return;
	over = gpumon_calloc(n_over, sizeof(*over));
	n_over = 0;
	gpumon_intern_clear(&sums->keys);
	sums->series = NULL;
	sums->n_series = 0;
	sums->lines = 0;
	for (size_t i = 0; i < n; i++) {
		if (is_over(sums, &before[i])) {
			over[n_over++] = before[i];
			continue;
		}
		(void)gpumon_intern(&sums->keys, before[i].key, NULL);
		*(struct series *)GPUMON_GROW(sums->series, sums->n_series) = before[i];
		sums->lines += lines_of(&sums->families[before[i].family]);
	}
	for (size_t i = 0; i < n_over; i++) {
		fold(sums, &over[i]);
		clear_series(&over[i]);
	}
	free(over);
	free(before);
}

void gpumon_sums_leave(struct gpumon_sums *sums, int64_t lines)
{
	sums->left = lines;
}

static int compare_series(const void *a, const void *b)
{
	const struct series *x = *(const struct series *const *)a;
	const struct series *y = *(const struct series *const *)b;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	return strcmp(x->labels, y->labels);
}

/* "0.001", "1.023e-06", and "1.0" of a whole number, as other exporters write bounds. */
static void write_bound(char *text, size_t room, unsigned int digits, uint64_t bound)
{
	double value = (double)bound;

	for (unsigned int i = 0; i < digits; i++)
		value /= 10;
	snprintf(text, room, "le=\"%.12g\"", value);
	if (!strpbrk(text + strlen("le=\""), ".e"))
		snprintf(text, room, "le=\"%.12g.0\"", value);
}

/* A value that is a bound is in the bucket below it, and the source's buckets end before theirs. */
static void write_histogram(const struct gpumon_exposition *exposition, const struct family *family,
			    const struct series *series)
{
	uint64_t count = 0;
	char bound[64];

	for (unsigned int i = 0; i < GPUMON_METRIC_BOUNDS; i++) {
		count += series->counts[i];
		write_bound(bound, sizeof(bound), family->digits, (1ULL << (FIRST_BOUND + i)) - 1);
		gpumon_exposition_sample(exposition, family->name, "_bucket", series->labels, bound,
					 false, count, 0);
	}
	count += series->counts[GPUMON_METRIC_BOUNDS];
	gpumon_exposition_sample(exposition, family->name, "_bucket", series->labels, "le=\"+Inf\"",
				 false, count, 0);
	gpumon_exposition_sample(exposition, family->name, "_sum", series->labels, "", false,
				 series->number, family->digits);
	gpumon_exposition_sample(exposition, family->name, "_count", series->labels, "", false,
				 count, 0);
}

void gpumon_sums_write(const struct gpumon_sums *sums, const struct gpumon_exposition *exposition)
{
	static const char *const endings[] = {
		[GPUMON_METRIC_COUNTER] = "_total",
		[GPUMON_METRIC_GAUGE] = "",
		[GPUMON_METRIC_INFO] = "_info",
	};
	const struct series **sorted = gpumon_calloc(sums->n_series + 1, sizeof(*sorted));

	for (size_t i = 0; i < sums->n_series; i++)
		sorted[i] = &sums->series[i];
	qsort(sorted, sums->n_series, sizeof(*sorted), compare_series);
	for (size_t i = 0; i < sums->n_series; i++) {
		const struct series *series = sorted[i];
		const struct family *family = &sums->families[series->family];

		if (!i || sorted[i - 1]->family != series->family)
			gpumon_exposition_family(exposition, family->name, family->type,
						 family->unit, family->help);
		if (family->type == GPUMON_METRIC_HISTOGRAM)
			write_histogram(exposition, family, series);
		else
			gpumon_exposition_sample(exposition, family->name, endings[family->type],
						 series->labels, "", series->negative,
						 series->number, family->digits);
	}
	free(sorted);
}

uint64_t gpumon_sums_series(const struct gpumon_sums *sums)
{
	return sums->lines;
}

uint64_t gpumon_sums_folded(const struct gpumon_sums *sums)
{
	return sums->folded;
}
