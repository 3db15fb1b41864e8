// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Finds the lines of a function in another version of it, whose lines moved. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "profile_diff.h"

/* With more to compare, lines that did not move are found, and others are not. */
#define CELLS_MAX (1u << 20)
#define CALLS_MAX ((uint64_t)1 << 24)

static long number_of(const struct gpumon_node *node)
{
	unsigned long number;

	gpumon_line_file(node->line ? node->line : "", &number);
	return number > LONG_MAX ? LONG_MAX : (long)number;
}

/* Do both call the same function, or launch the same operation? */
static bool calls_same(const struct gpumon_node *x, const struct gpumon_node *y)
{
	const struct gpumon_node *of_x, *of_y;

	if (!x->child && !y->child)
		return true;
	for (of_x = x->child; of_x; of_x = of_x->next) {
		for (of_y = y->child; of_y; of_y = of_y->next) {
			if (of_x->kind == of_y->kind && !strcmp(of_x->name, of_y->name))
				return true;
		}
	}
	return false;
}

static int by_value(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return x < y ? -1 : x > y;
}

/**
 * struct table - all ways to pair the lines
 * @columns: number of lines after, plus one
 * @same: for each line before and each after: they call the same function
 * @best: the most that is reached from each two lines on: pairs in the upper half, and those
 *        of them that moved by @distance in the lower half
 */
struct table {
	const struct gpumon_node *const *before;
	size_t before_n;
	const struct gpumon_node *const *after;
	size_t after_n;
	long distance;
	bool *same;
	uint64_t *best;
};

/* The most common distance between two lines with the same callee; the shortest of several. */
static int find_distance(struct table *table)
{
	long *all = calloc(table->before_n * table->after_n + 1, sizeof(*all));
	size_t n = 0, most = 0;

	if (!all)
		return -1;
	for (size_t b = 0; b < table->before_n; b++) {
		for (size_t a = 0; a < table->after_n; a++) {
			bool same = calls_same(table->before[b], table->after[a]);

			table->same[b * table->after_n + a] = same;
			if (same)
				all[n++] = number_of(table->after[a]) - number_of(table->before[b]);
		}
	}
	qsort(all, n, sizeof(*all), by_value);
	for (size_t i = 0, run; i < n; i += run) {
		for (run = 1; i + run < n && all[i + run] == all[i];)
			run++;
		if (run < most || (run == most && labs(all[i]) >= labs(table->distance)))
			continue;
		most = run;
		table->distance = all[i];
	}
	free(all);
	return 0;
}

/* What a pair counts; 0 if it is none. */
static uint64_t worth(const struct table *table, size_t b, size_t a)
{
	long by = number_of(table->after[a]) - number_of(table->before[b]);

	return table->same[b * table->after_n + a] ? ((uint64_t)1 << 32) + (by == table->distance) :
						     0;
}

static uint64_t *best_from(const struct table *table, size_t b, size_t a)
{
	return &table->best[b * (table->after_n + 1) + a];
}

static uint64_t larger(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

static void fill_table(struct table *table)
{
	for (size_t b = table->before_n; b--;) {
		for (size_t a = table->after_n; a--;) {
			uint64_t pair = worth(table, b, a);

			*best_from(table, b, a) = larger(
				larger(*best_from(table, b + 1, a), *best_from(table, b, a + 1)),
				pair ? pair + *best_from(table, b + 1, a + 1) : 0);
		}
	}
}

static void take_pairs(const struct table *table, struct gpumon_line_pairs *pairs)
{
	size_t b = 0, a = 0;

	while (b < table->before_n && a < table->after_n) {
		uint64_t pair = worth(table, b, a), best = *best_from(table, b, a);

		if (pair && best == pair + *best_from(table, b + 1, a + 1))
			pairs->at[pairs->n++] = (struct gpumon_line_pair){ b++, a++ };
		else if (best == *best_from(table, b + 1, a))
			b++;
		else
			a++;
	}
}

/* Pair equal lines. Returns whether these are all of them. */
static bool pair_equal(const struct table *table, struct gpumon_line_pairs *pairs)
{
	size_t b = 0, a = 0;

	while (b < table->before_n && a < table->after_n) {
		int order = gpumon_node_order(table->before[b], table->after[a]);

		if (!order)
			pairs->at[pairs->n++] = (struct gpumon_line_pair){ b, a };
		b += order <= 0;
		a += order >= 0;
	}
	return pairs->n == table->before_n && pairs->n == table->after_n;
}

static uint64_t calls_of(const struct gpumon_node *const *lines, size_t n)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < n; i++) {
		for (const struct gpumon_node *call = lines[i]->child; call; call = call->next)
			calls++;
	}
	return calls;
}

static bool is_too_much(const struct table *table)
{
	uint64_t calls = calls_of(table->after, table->after_n);

	return table->before_n > CELLS_MAX / table->after_n ||
	       (calls && calls_of(table->before, table->before_n) > CALLS_MAX / calls);
}

int gpumon_diff_pair_lines(const struct gpumon_node *const *before, size_t before_n,
			   const struct gpumon_node *const *after, size_t after_n,
			   struct gpumon_line_pairs *pairs)
{
	size_t least = before_n < after_n ? before_n : after_n;
	struct table table = {
		.before = before,
		.before_n = before_n,
		.after = after,
		.after_n = after_n,
	};
	int ret = 0;

	pairs->n = 0;
	pairs->at = calloc(least + 1, sizeof(*pairs->at));
	if (!pairs->at)
		return -1;
	if (pair_equal(&table, pairs) || !least || is_too_much(&table))
		return 0;
	pairs->n = 0;
	table.same = calloc(before_n * after_n, sizeof(*table.same));
	table.best = calloc((before_n + 1) * (after_n + 1), sizeof(*table.best));
	if (!table.same || !table.best || find_distance(&table))
		ret = -1;
	if (!ret) {
		fill_table(&table);
		take_pairs(&table, pairs);
	}
	free(table.same);
	free(table.best);
	if (ret) {
		free(pairs->at);
		pairs->at = NULL;
	}
	return ret;
}
