// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "flamegraph.h"
#include "lib/array.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "lib/map.h"
#include "diff.h"
#include "view.h"

int64_t gpumon_diff_change(uint64_t before, uint64_t after)
{
	uint64_t by = after > before ? after - before : before - after;
	int64_t limited = by > INT64_MAX ? INT64_MAX : (int64_t)by;

	return after > before ? limited : -limited;
}

/* --- kernels */

static int kernels_by_name(const void *a, const void *b)
{
	const struct gpumon_kernel_row *x = *(const struct gpumon_kernel_row *const *)a;
	const struct gpumon_kernel_row *y = *(const struct gpumon_kernel_row *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (int)x->kind - (int)y->kind;
}

static int by_change(const void *a, const void *b)
{
	const struct gpumon_diff_kernel *x = a, *y = b;
	uint64_t of_x = gpumon_diff_size(&x->before, &x->after);
	uint64_t of_y = gpumon_diff_size(&y->before, &y->after);

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	return strcmp(x->name, y->name);
}

static const struct gpumon_kernel_row **sorted_kernels(const struct gpumon_view *view)
{
	const struct gpumon_kernel_row **rows =
		gpumon_calloc((size_t)view->kernel_count + 1, sizeof(*rows));

	for (unsigned int i = 0; i < view->kernel_count; i++)
		rows[i] = &view->kernels[i];
	qsort(rows, view->kernel_count, sizeof(*rows), kernels_by_name);
	return rows;
}

/* Estimates are compared. */
static void add_sums(struct gpumon_diff_side *side, uint64_t count, uint64_t ns,
		     uint64_t left_count, uint64_t left_ns)
{
	side->there = true;
	side->count = gpumon_add_saturated(side->count, gpumon_add_saturated(count, left_count));
	side->ns = gpumon_add_saturated(side->ns, gpumon_add_saturated(ns, left_ns));
	side->left_count = gpumon_add_saturated(side->left_count, left_count);
	side->left_ns = gpumon_add_saturated(side->left_ns, left_ns);
}

static void add_kernel(struct gpumon_diff_side *side, const struct gpumon_kernel_row *row)
{
	add_sums(side, row->count, row->gpu_ns, row->left_count, row->left_ns);
}

static void compare_kernels(struct gpumon_diff *diff)
{
	const struct gpumon_kernel_row **before = sorted_kernels(diff->before);
	const struct gpumon_kernel_row **after = sorted_kernels(diff->after);
	const struct gpumon_kernel_row **b = before, **a = after;

	while (*b || *a) {
		int order = !*b ? 1 : !*a ? -1 : kernels_by_name(b, a);
		struct gpumon_diff_kernel *kernel = GPUMON_GROW(diff->kernels, diff->kernel_count);

		kernel->name = order <= 0 ? (*b)->name : (*a)->name;
		kernel->kind = order <= 0 ? (*b)->kind : (*a)->kind;
		/* Rows whose mangled names differ but whose names are equal form one row here. */
		for (; order <= 0 && *b && !strcmp((*b)->name, kernel->name) &&
		       (*b)->kind == kernel->kind;
		     b++)
			add_kernel(&kernel->before, *b);
		for (; order >= 0 && *a && !strcmp((*a)->name, kernel->name) &&
		       (*a)->kind == kernel->kind;
		     a++)
			add_kernel(&kernel->after, *a);
	}
	free(before);
	free(after);
	if (diff->kernel_count)
		qsort(diff->kernels, diff->kernel_count, sizeof(*diff->kernels), by_change);
}

/* --- paths */

static void add_side(struct gpumon_diff_side *side, const struct gpumon_node *node,
		     enum gpumon_weight weight)
{
	if (weight == GPUMON_WEIGHT_GPU_NS)
		add_sums(side, node->count, node->gpu_ns, node->left_count, node->left_ns);
	else
		add_sums(side, node->count, gpumon_tree_weight(node, weight), 0, 0);
}

static int by_node(const void *a, const void *b)
{
	return gpumon_node_order(*(const struct gpumon_node *const *)a,
				 *(const struct gpumon_node *const *)b);
}

/**
 * struct node_list - nodes that are one function below one caller
 * @at: by line
 * @n: number of them
 */
struct node_list {
	const struct gpumon_node **at;
	size_t n;
};

/**
 * struct pending - nodes that are compared later
 * @parent: as in struct gpumon_diff_node
 */
struct pending {
	struct node_list before;
	struct node_list after;
	size_t parent;
};

/**
 * struct comparison - of two trees, which may be deeper than the program's own stack
 * @pool: memory of lists
 * @working: nodes with work at them or below: the others have only time of threads between calls, or of
 *	     an idle GPU, which is not compared
 * @pending: the last one is the next one
 */
struct comparison {
	struct gpumon_diff *diff;
	struct gpumon_pool pool;
	struct gpumon_map working;
	struct pending *pending;
	uint32_t pending_used;
	uint32_t pending_room;
};

static const struct gpumon_node **new_nodes(struct comparison *comparison, size_t n)
{
	return gpumon_pool_zalloc(&comparison->pool, (n + 1) * sizeof(const struct gpumon_node *));
}

static bool has_work(const struct comparison *comparison, const struct gpumon_node *node)
{
	return gpumon_map_get(&comparison->working, (uintptr_t)node);
}

static void find_working(struct comparison *comparison, const struct gpumon_node *root)
{
	for (const struct gpumon_node *node = root; node; node = gpumon_tree_next(node, root)) {
		if (!node->count && !node->gpu_ns && !node->cpu_ns && !node->left_count &&
		    !node->left_ns)
			continue;
		for (const struct gpumon_node *at = node; at && !has_work(comparison, at);
		     at = at->parent)
			gpumon_map_set(&comparison->working, (uintptr_t)at, 1);
	}
}

/* The children of all of @parents, sorted. */
static void sorted_children(struct comparison *comparison, struct node_list parents,
			    struct node_list *list)
{
	const struct gpumon_node *child;

	list->n = 0;
	for (size_t i = 0; i < parents.n; i++) {
		for (child = parents.at[i]->child; child; child = child->next)
			list->n += has_work(comparison, child);
	}
	list->at = new_nodes(comparison, list->n);
	list->n = 0;
	for (size_t i = 0; i < parents.n; i++) {
		for (child = parents.at[i]->child; child; child = child->next) {
			if (has_work(comparison, child))
				list->at[list->n++] = child;
		}
	}
	qsort(list->at, list->n, sizeof(*list->at), by_node);
}

static int function_order(const struct gpumon_node *x, const struct gpumon_node *y)
{
	int order = strcmp(x->name, y->name);

	return order ? order : (int)x->kind - (int)y->kind;
}

/* Take the nodes of the first function from @list, if it is @function. */
static struct node_list take_function(struct node_list *list, const struct gpumon_node *function)
{
	struct node_list taken = { .at = list->at };

	while (taken.n < list->n && !function_order(list->at[taken.n], function))
		taken.n++;
	list->at += taken.n;
	list->n -= taken.n;
	return taken;
}

/* The same for a line of one function. */
static struct node_list take_line(struct node_list *list)
{
	const struct gpumon_node *first = *list->at;
	struct node_list taken = { .at = list->at };

	while (taken.n < list->n && !gpumon_node_order(list->at[taken.n], first))
		taken.n++;
	list->at += taken.n;
	list->n -= taken.n;
	return taken;
}

/* One node of each line. */
static void find_lines(struct comparison *comparison, struct node_list list,
		       struct node_list *lines)
{
	lines->n = 0;
	lines->at = new_nodes(comparison, list.n);
	while (list.n)
		lines->at[lines->n++] = *take_line(&list).at;
}

static bool has_lines(struct node_list list)
{
	for (size_t i = 0; i < list.n; i++) {
		if (list.at[i]->line && *list.at[i]->line)
			return true;
	}
	return false;
}

static void compare_later(struct comparison *comparison, struct node_list before,
			  struct node_list after, size_t parent)
{
	struct pending *pending = GPUMON_ARRAY_ADD(comparison->pending, comparison->pending_used,
						   comparison->pending_room);

	*pending = (struct pending){ before, after, parent };
}

/* A number of lines on each side, of which none is on the other one. */
static void add_unpaired(struct comparison *comparison, struct node_list *before, size_t before_n,
			 struct node_list *after, size_t after_n, size_t parent)
{
	const struct node_list none = { 0 };

	while (before_n--)
		compare_later(comparison, take_line(before), none, parent);
	while (after_n--)
		compare_later(comparison, none, take_line(after), parent);
}

/* One function below one caller: compare it line by line. */
static void compare_lines(struct comparison *comparison, struct node_list before,
			  struct node_list after, size_t parent)
{
	struct node_list of_before = { 0 }, of_after = { 0 };
	struct gpumon_line_pairs pairs = { 0 };
	size_t b = 0, a = 0;

	/* Beside a build without lines, the function is one row. */
	if (before.n && after.n && (!has_lines(before) || !has_lines(after))) {
		compare_later(comparison, before, after, parent);
		return;
	}
	find_lines(comparison, before, &of_before);
	find_lines(comparison, after, &of_after);
	gpumon_diff_pair_lines(of_before.at, of_before.n, of_after.at, of_after.n, &pairs);
	for (size_t i = 0; i < pairs.n; i++) {
		const struct gpumon_line_pair *pair = &pairs.at[i];

		add_unpaired(comparison, &before, pair->before - b, &after, pair->after - a,
			     parent);
		b = pair->before + 1;
		a = pair->after + 1;
		comparison->diff->moved += gpumon_node_order(*before.at, *after.at) != 0;
		compare_later(comparison, take_line(&before), take_line(&after), parent);
	}
	add_unpaired(comparison, &before, of_before.n - b, &after, of_after.n - a, parent);
	free(pairs.at);
}

/* Those that were added last come first then, as they are sorted. */
static void reverse_pending(struct comparison *comparison, uint32_t first)
{
	uint32_t last = comparison->pending_used;

	for (; first + 1 < last; first++) {
		struct pending pending = comparison->pending[--last];

		comparison->pending[last] = comparison->pending[first];
		comparison->pending[first] = pending;
	}
}

static void compare_nodes(struct comparison *comparison, const struct pending *pending)
{
	struct node_list before = pending->before, after = pending->after, b, a;
	struct gpumon_diff *diff = comparison->diff;
	struct gpumon_diff_node *node = GPUMON_GROW(diff->nodes, diff->node_count);
	uint32_t first = comparison->pending_used;
	size_t number = diff->node_count - 1;

	node->of = after.n ? after.at[0] : before.at[0];
	node->line_before = before.n && before.at[0]->line ? before.at[0]->line : "";
	node->parent = pending->parent;
	for (size_t i = 0; i < before.n; i++)
		add_side(&node->before, before.at[i], diff->weight);
	for (size_t i = 0; i < after.n; i++)
		add_side(&node->after, after.at[i], diff->weight);
	sorted_children(comparison, before, &b);
	sorted_children(comparison, after, &a);
	while (b.n || a.n) {
		int order = !b.n ? 1 : !a.n ? -1 : function_order(*b.at, *a.at);
		const struct gpumon_node *function = order <= 0 ? *b.at : *a.at;
		struct node_list lines_b = take_function(&b, function);
		struct node_list lines_a = take_function(&a, function);

		compare_lines(comparison, lines_b, lines_a, number);
	}
	reverse_pending(comparison, first);
}

static void compare_trees(struct gpumon_diff *diff, const struct gpumon_node *before,
			  const struct gpumon_node *after)
{
	struct comparison comparison = { .diff = diff };

	find_working(&comparison, before);
	find_working(&comparison, after);
	compare_later(&comparison, (struct node_list){ &before, 1 },
		      (struct node_list){ &after, 1 }, (size_t)-1);
	while (comparison.pending_used) {
		struct pending next = comparison.pending[--comparison.pending_used];

		compare_nodes(&comparison, &next);
	}
	free(comparison.pending);
	gpumon_map_clear(&comparison.working);
	gpumon_pool_clear(&comparison.pool);
}

struct gpumon_diff *gpumon_diff_new(const struct gpumon_view *before,
				    const struct gpumon_view *after)
{
	struct gpumon_diff *diff = gpumon_calloc(1, sizeof(*diff));
	struct gpumon_view_totals of_before, of_after;

	gpumon_view_totals(before, &of_before);
	gpumon_view_totals(after, &of_after);
	diff->before = before;
	diff->after = after;
	diff->weight = of_before.gpu_ns || of_after.gpu_ns ? GPUMON_WEIGHT_GPU_NS :
							     GPUMON_WEIGHT_CPU_NS;
	compare_kernels(diff);
	compare_trees(diff, before->root, after->root);
	return diff;
}

void gpumon_diff_free(struct gpumon_diff *diff)
{
	if (!diff)
		return;
	free(diff->kernels);
	free(diff->nodes);
	free(diff);
}

/* Of both sides, of those that have something to say: "before: ...; after: ...". */
static void join_sides(char *buf, size_t len, const char *before, const char *after)
{
	snprintf(buf, len, "%s%s%s%s%s", *before ? "before: " : "", before,
		 *before && *after ? "; " : "", *after ? "after: " : "", after);
}

static const char *say_ranges(char *buf, size_t len, const struct gpumon_diff *diff)
{
	char before[512], after[512];

	join_sides(buf, len, gpumon_view_range(before, sizeof(before), diff->before),
		   gpumon_view_range(after, sizeof(after), diff->after));
	return buf;
}

static void say_sampling(char *buf, size_t len, const struct gpumon_diff *diff)
{
	char before[512], after[512];

	join_sides(buf, len, gpumon_view_sampling(before, sizeof(before), diff->before),
		   gpumon_view_sampling(after, sizeof(after), diff->after));
}

static void say_missing(char *buf, size_t len, const struct gpumon_diff *diff)
{
	struct gpumon_missing of_before, of_after;
	char before[256], after[256], both[600];

	gpumon_missing_of(diff->before, &of_before);
	gpumon_missing_of(diff->after, &of_after);
	join_sides(both, sizeof(both), gpumon_missing_line(before, sizeof(before), &of_before),
		   gpumon_missing_line(after, sizeof(after), &of_after));
	snprintf(buf, len, "%s%s", *both ? "Missing " : "", both);
}

/* An amount of the line below the title. */
struct amount {
	uint64_t ns;
	uint64_t left_ns;
	char text[GPUMON_TEXT_NUMBER + 1];
};

static void add_amount(struct amount *amount, const struct gpumon_diff_side *side)
{
	amount->ns = gpumon_add_saturated(amount->ns, side->ns);
	amount->left_ns = gpumon_add_saturated(amount->left_ns, side->left_ns);
}

static const char *amount_text(struct amount *amount)
{
	amount->text[0] = '~';
	gpumon_text_ns(amount->text + 1, sizeof(amount->text) - 1, amount->ns);
	return amount->text + !amount->left_ns;
}

int gpumon_diff_flamegraph(FILE *out, const struct gpumon_diff *diff)
{
	struct amount before = { 0 }, after = { 0 }, gone = { 0 };
	char subtitle[1400], ranges[1100], sampling[1100], losses[640];
	struct gpumon_flamegraph_options options = {
		.weight = diff->weight,
		.title = diff->weight == GPUMON_WEIGHT_GPU_NS ?
				 NULL :
			 gpumon_view_has_hits(diff->after) ?
				 "Change of the time in blocking calls by call path" :
				 "Change of the time in launch calls by call path",
		.subtitle = subtitle,
		.sampling = sampling,
		.losses = losses,
	};
	struct gpumon_flame flame;
	int ret;

	gpumon_flame_init(&flame, diff->node_count);
	flame.differs = true;
	for (size_t i = 0; i < diff->node_count; i++) {
		const struct gpumon_diff_node *node = &diff->nodes[i];
		struct gpumon_frame *frame = gpumon_flame_add(
			&flame, node->parent == (size_t)-1 ? NULL : &flame.frames[node->parent]);

		frame->name = node->of->name;
		frame->module = node->of->module ? node->of->module : "";
		frame->line = node->of->line ? node->of->line : "";
		frame->kind = node->of->kind;
		frame->self = node->after.ns;
		frame->left = node->after.left_ns;
		frame->count = node->after.count;
		frame->before = node->before.ns;
		frame->before_left = node->before.left_ns;
		add_amount(&before, &node->before);
		add_amount(&after, &node->after);
		if (!node->after.there)
			add_amount(&gone, &node->before);
	}
	snprintf(subtitle, sizeof(subtitle),
		 "%s after (widths), %s before, %s of it in paths that are gone",
		 amount_text(&after), amount_text(&before), amount_text(&gone));
	if (*say_ranges(ranges, sizeof(ranges), diff)) {
		size_t length = strlen(subtitle);

		snprintf(subtitle + length, sizeof(subtitle) - length, " · %s", ranges);
	}
	say_sampling(sampling, sizeof(sampling), diff);
	say_missing(losses, sizeof(losses), diff);
	gpumon_flame_layout(&flame);
	ret = gpumon_flame_write(out, &flame, &options, NULL);
	gpumon_flame_clear(&flame);
	return ret;
}

/* --- the lines of a function in another version of it, whose lines moved */

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
			if (of_x->kind == of_y->kind && of_x->kind != GPUMON_NODE_STATE &&
			    !strcmp(of_x->name, of_y->name))
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
static void find_distance(struct table *table)
{
	long *all = gpumon_calloc(table->before_n * table->after_n + 1, sizeof(*all));
	size_t n = 0, most = 0;

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

void gpumon_diff_pair_lines(const struct gpumon_node *const *before, size_t before_n,
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

	pairs->n = 0;
	pairs->at = gpumon_calloc(least + 1, sizeof(*pairs->at));
	if (pair_equal(&table, pairs) || !least || is_too_much(&table))
		return;
	pairs->n = 0;
	table.same = gpumon_calloc(before_n * after_n, sizeof(*table.same));
	table.best = gpumon_calloc((before_n + 1) * (after_n + 1), sizeof(*table.best));
	find_distance(&table);
	fill_table(&table);
	take_pairs(&table, pairs);
	free(table.same);
	free(table.best);
}
