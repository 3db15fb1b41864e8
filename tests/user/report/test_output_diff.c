// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Differences of two profiles, and messages about data that is missing in one. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "report/diff.h"
#include "report/output.h"
#include "report/view.h"
#include "output_profile.h"

/* The text that @write writes to @out. */
#define WRITTEN(text, write)                               \
	do {                                               \
		size_t size_;                              \
		FILE *out = open_memstream(&text, &size_); \
		assert_int_equal(write, 0);                \
		assert_int_equal(fclose(out), 0);          \
	} while (0)

static void assert_side(const struct gpumon_diff_side *side, bool there, uint64_t count,
			uint64_t ns)
{
	assert_int_equal(side->there, there);
	assert_int_equal(side->count, count);
	assert_int_equal(side->ns, ns);
}

/* Templates that demangle to the same name are one row. A copy with a kernel's name is another. */
static void kernels_of_one_name(void **state)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	const struct gpumon_kernel_row before_rows[] = {
		{ .name = "gemm",
		  .mangled = "_Z4gemmA",
		  .kind = GPUMON_WORK_KERNEL,
		  .count = 2,
		  .gpu_ns = 100 },
		{ .name = "gemm",
		  .mangled = "gemm",
		  .kind = GPUMON_WORK_COPY,
		  .count = 1,
		  .gpu_ns = 7 },
		{ .name = "gemm",
		  .mangled = "_Z4gemmB",
		  .kind = GPUMON_WORK_KERNEL,
		  .count = 3,
		  .gpu_ns = 50 },
		{ .name = "old",
		  .mangled = "old",
		  .kind = GPUMON_WORK_KERNEL,
		  .count = 1,
		  .gpu_ns = 20 },
	};
	const struct gpumon_kernel_row after_rows[] = {
		{ .name = "new",
		  .mangled = "new",
		  .kind = GPUMON_WORK_KERNEL,
		  .count = 4,
		  .gpu_ns = 11 },
		{ .name = "gemm",
		  .mangled = "_Z4gemmB",
		  .kind = GPUMON_WORK_KERNEL,
		  .count = 1,
		  .gpu_ns = 30 },
		{ .name = "gemm",
		  .mangled = "_Z4gemmC",
		  .kind = GPUMON_WORK_KERNEL,
		  .count = 5,
		  .gpu_ns = 1 },
	};
	const struct gpumon_view before = { .root = root,
					    .kernels = before_rows,
					    .kernel_count = 4 };
	const struct gpumon_view after = { .root = root, .kernels = after_rows, .kernel_count = 3 };
	struct gpumon_diff *diff = gpumon_diff_new(&before, &after);

	(void)state;
	/* The largest change first. */
	assert_int_equal(diff->kernel_count, 4);
	assert_string_equal(diff->kernels[0].name, "gemm");
	assert_int_equal(diff->kernels[0].kind, GPUMON_WORK_KERNEL);
	assert_side(&diff->kernels[0].before, true, 5, 150);
	assert_side(&diff->kernels[0].after, true, 6, 31);
	assert_string_equal(diff->kernels[1].name, "old");
	assert_side(&diff->kernels[1].before, true, 1, 20);
	assert_side(&diff->kernels[1].after, false, 0, 0);
	assert_string_equal(diff->kernels[2].name, "new");
	assert_side(&diff->kernels[2].before, false, 0, 0);
	assert_side(&diff->kernels[2].after, true, 4, 11);
	assert_string_equal(diff->kernels[3].name, "gemm");
	assert_int_equal(diff->kernels[3].kind, GPUMON_WORK_COPY);
	assert_side(&diff->kernels[3].before, true, 1, 7);
	assert_side(&diff->kernels[3].after, false, 0, 0);
	gpumon_diff_free(diff);
	made_free(root);
}

static struct gpumon_node *training(uint64_t gemm_ns, const char *other, uint64_t other_ns)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	struct gpumon_node *step = made_place(made_place(root, "main", "train"), "step", "train");

	made_node(made_place(step, "forward", "train"), GPUMON_NODE_KERNEL, "gemm", 1, gemm_ns, 0);
	made_node(made_place(step, other, "train"), GPUMON_NODE_KERNEL, "gemm", 1, other_ns, 0);
	return root;
}

/* The title of a frame: its name and everything after it. */
static void assert_frame(const char *svg, const char *name, const char *difference)
{
	char title[64];
	const char *at;

	snprintf(title, sizeof(title), "<title>%s\n", name);
	at = strstr(svg, title);
	if (!at)
		fail_msg("no frame %s in %s", name, svg);
	if (!strstr(at, difference) || strstr(at, difference) > strstr(at, "</title>"))
		fail_msg("no %s in %.200s", difference, at);
}

/* Frames within the stack include the earlier time of all frames above them. */
static void flame_graph_of_a_difference(void **state)
{
	struct gpumon_view before = { .root = training(100000, "backward", 20000) };
	struct gpumon_view after = { .root = training(130000, "optimise", 5000) };
	struct gpumon_diff *diff = gpumon_diff_new(&before, &after);
	char *text;

	(void)state;
	WRITTEN(text, gpumon_diff_flamegraph(out, diff));
	assert_frame(text, "main", "before 120\u00a0µs, +15.0\u00a0µs (+12.5%)");
	assert_frame(text, "step", "before 120\u00a0µs, +15.0\u00a0µs (+12.5%)");
	assert_frame(text, "forward", "before 100\u00a0µs, +30.0\u00a0µs (+30.0%)");
	assert_frame(text, "optimise", "before 0\u00a0ns, +5.00\u00a0µs (new)");
	assert_non_null(strstr(
		text,
		"135\u00a0µs after (widths), 120\u00a0µs before, 20.0\u00a0µs of it in paths"));
	free(text);
	gpumon_diff_free(diff);
	made_free((struct gpumon_node *)before.root);
	made_free((struct gpumon_node *)after.root);
}

/**
 * struct call - a call of a function at a line
 * @line: 0: the build has no lines
 */
struct call {
	unsigned int line;
	const char *callee;
	uint64_t ns;
};

#define CALLS_MAX 8

/* A profile of "main" that calls from these lines of its file. */
static struct gpumon_node *calls_of(const struct call *calls, char (*lines)[32])
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0), *node;

	for (unsigned int i = 0; i < CALLS_MAX && calls[i].callee; i++) {
		snprintf(lines[i], sizeof(lines[i]), "/src/main.cc:%u", calls[i].line);
		node = made_place(root, "main", "program");
		node->line = calls[i].line ? lines[i] : "";
		node = made_place(node, calls[i].callee, "program");
		made_node(node, GPUMON_NODE_KERNEL, "gemm", 1, calls[i].ns, 0);
	}
	return root;
}

/* The paths of the difference, as "line before callee ns, line after ns" each. */
static char *compared(const struct call *of_before, const struct call *of_after, size_t *moved)
{
	char lines_before[CALLS_MAX][32], lines_after[CALLS_MAX][32], *text;
	struct gpumon_view before = { .root = calls_of(of_before, lines_before) };
	struct gpumon_view after = { .root = calls_of(of_after, lines_after) };
	struct gpumon_diff *diff = gpumon_diff_new(&before, &after);
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*moved = diff->moved;
	for (size_t i = 0; i < diff->node_count; i++) {
		const struct gpumon_diff_node *node = &diff->nodes[i], *callee, *caller;
		const char *before_line, *after_line;

		if (strcmp(node->of->name, "gemm") != 0)
			continue;
		callee = &diff->nodes[node->parent];
		caller = &diff->nodes[callee->parent];
		before_line = strchr(caller->line_before, ':');
		after_line = caller->after.there ? strchr(caller->of->line, ':') : NULL;
		fprintf(out, "%s%s %s %d>%d", i > 3 ? ", " : "",
			before_line ? before_line + 1 : "-", after_line ? after_line + 1 : "-",
			(int)node->before.ns, (int)node->after.ns);
	}
	fclose(out);
	gpumon_diff_free(diff);
	made_free((struct gpumon_node *)before.root);
	made_free((struct gpumon_node *)after.root);
	return text;
}

static void expect_compared(const struct call *before, const struct call *after, size_t moved,
			    const char *want)
{
	size_t found;
	char *text = compared(before, after, &found);

	assert_string_equal(text, want);
	assert_int_equal(found, moved);
	free(text);
}

/* A line that moved is the same call: its time is compared, and nothing is new or gone. */
static void lines_that_moved(void **state)
{
	static const struct call before[CALLS_MAX] = { { 9, "q", 1 },
						       { 320, "q", 10 },
						       { 321, "q", 20 },
						       { 322, "q", 30 },
						       { 325, "q", 40 } };
	static const struct call same[CALLS_MAX] = { { 9, "q", 2 },
						     { 320, "q", 11 },
						     { 321, "q", 21 },
						     { 322, "q", 31 },
						     { 325, "q", 41 } };
	static const struct call shifted[CALLS_MAX] = { { 9, "q", 2 },
							{ 323, "q", 11 },
							{ 324, "q", 21 },
							{ 325, "q", 31 },
							{ 328, "q", 41 } };
	static const struct call added[CALLS_MAX] = { { 9, "q", 2 },	{ 330, "q", 11 },
						      { 331, "q", 21 }, { 332, "q", 31 },
						      { 333, "q", 99 }, { 335, "q", 41 } };
	static const struct call removed[CALLS_MAX] = {
		{ 9, "q", 2 }, { 320, "q", 11 }, { 321, "q", 21 }, { 324, "q", 41 }
	};
	static const struct call other[CALLS_MAX] = { { 9, "q", 2 },
						      { 320, "q", 11 },
						      { 321, "k", 21 },
						      { 322, "q", 31 },
						      { 330, "q", 41 } };
	static const struct call without[CALLS_MAX] = { { 0, "q", 100 } };

	(void)state;
	expect_compared(before, same, 0,
			"9 9 1>2, 320 320 10>11, 321 321 20>21, 322 322 30>31, 325 325 40>41");
	/* 325 is another call in each of them. */
	expect_compared(before, shifted, 4,
			"9 9 1>2, 320 323 10>11, 321 324 20>21, 322 325 30>31, 325 328 40>41");
	expect_compared(
		before, added, 4,
		"9 9 1>2, 320 330 10>11, 321 331 20>21, 322 332 30>31, - 333 0>99, 325 335 40>41");
	/* One of two is gone, and nothing says which. */
	expect_compared(before, removed, 1,
			"9 9 1>2, 320 320 10>11, 321 321 20>21, 322 324 30>41, 325 - 40>0");
	/* Another function is called there now. */
	expect_compared(
		before, other, 1,
		"9 9 1>2, 320 320 10>11, 321 - 20>0, - 321 0>21, 322 322 30>31, 325 330 40>41");
	/* A build without lines is compared as a whole. */
	expect_compared(before, without, 0, "9 - 101>100");
	expect_compared(without, same, 0, "- 9 100>106");
}

/* A function with more lines than are compared with each other: those that did not move are found. */
static void many_lines(void **state)
{
	enum {
		LINES = 1500
	};
	static char text[2][LINES][32];
	static struct gpumon_node nodes[2][LINES];
	static const struct gpumon_node *lists[2][LINES];
	struct gpumon_line_pairs pairs;

	(void)state;
	for (unsigned int i = 0; i < 2 * LINES; i++) {
		unsigned int side = i % 2, at = i / 2;

		/* The last line moved. */
		snprintf(text[side][at], 32, "a.py:%u", at + 1 + (side && at + 1 == LINES));
		nodes[side][at].name = "generated";
		nodes[side][at].line = text[side][at];
		lists[side][at] = &nodes[side][at];
	}
	gpumon_diff_pair_lines(lists[0], LINES, lists[1], LINES, &pairs);
	assert_int_equal(pairs.n, LINES - 1);
	assert_int_equal(pairs.at[LINES - 2].before, LINES - 2);
	free(pairs.at);
}

/* A path that is longer than the stack of the program that compares it has room for. */
static void deep_paths(void **state)
{
	enum {
		DEPTH = 200000
	};
	static struct gpumon_node nodes[DEPTH];
	const struct gpumon_view view = { .root = nodes };
	struct gpumon_diff *diff;

	(void)state;
	for (unsigned int i = 0; i < DEPTH; i++) {
		nodes[i] = (struct gpumon_node){ .name = "visit", .module = "", .line = "a.cc:1" };
		nodes[i].parent = i ? &nodes[i - 1] : NULL;
		nodes[i].child = i + 1 < DEPTH ? &nodes[i + 1] : NULL;
	}
	nodes[DEPTH - 1].gpu_ns = 7;
	diff = gpumon_diff_new(&view, &view);
	assert_int_equal(diff->node_count, DEPTH);
	assert_int_equal(diff->nodes[DEPTH - 1].parent, DEPTH - 2);
	assert_side(&diff->nodes[DEPTH - 1].after, true, 0, 7);
	gpumon_diff_free(diff);
}

/* Paths have the times of calls then, kernels still those of the GPU. */
static void difference_of_calls(void **state)
{
	const struct gpumon_kernel_row rows[] = {
		{ .name = "gemm", .kind = GPUMON_WORK_KERNEL, .count = 2, .gpu_ns = 700 },
	};
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	struct gpumon_view view = { .root = root, .kernels = rows, .kernel_count = 1 };
	struct gpumon_diff *diff;
	char *text;

	(void)state;
	made_node(root, GPUMON_NODE_API, "cuLaunchKernel", 2, 0, 900);
	diff = gpumon_diff_new(&view, &view);
	WRITTEN(text, gpumon_diff_json(out, diff));
	assert_non_null(strstr(text, "\"before\":{\"count\":2,\"gpu_ns\":700,\"scaled_count\":2,"
				     "\"scaled_gpu_ns\":700}"));
	assert_non_null(strstr(text, "\"before\":{\"count\":2,\"cpu_ns\":900,\"scaled_count\":2}"));
	free(text);
	WRITTEN(text, gpumon_diff_flamegraph(out, diff));
	assert_non_null(strstr(text, ">Change of the time in launch calls by call path<"));
	free(text);
	view.hits = 1;
	WRITTEN(text, gpumon_diff_flamegraph(out, diff));
	assert_non_null(strstr(text, ">Change of the time in blocking calls by call path<"));
	free(text);
	gpumon_diff_free(diff);
	made_free(root);
}

/* The picture marks estimates of both sides, and says from what they come and what is missing. */
static void flame_graph_of_estimates(void **state)
{
	const struct gpumon_sampling sampling = {
		.windows = 1, .left_out = 3, .recorded = 1, .no_sample = 5
	};
	const struct gpumon_term term = { .columns = 80 };
	const struct gpumon_capture_damage damage = { .missing_chunks = 1 };
	struct gpumon_view before = { .root = training(100000, "backward", 20000),
				      .sampling = &sampling };
	struct gpumon_view after = { .root = training(130000, "optimise", 5000),
				     .damage = &damage };
	struct gpumon_node *step = before.root->child->child;
	struct gpumon_diff *diff;
	char *text;

	(void)state;
	for (struct gpumon_node *place = step->child; place; place = place->next) {
		place->child->gpu_ns /= 4;
		place->child->left_ns = 3 * place->child->gpu_ns;
	}
	diff = gpumon_diff_new(&before, &after);
	WRITTEN(text, gpumon_diff_flamegraph(out, diff));
	assert_frame(text, "forward", "before ~100\u00a0µs, ~+30.0\u00a0µs (+30.0%)");
	assert_frame(text, "optimise", "before 0\u00a0ns, +5.00\u00a0µs (new)");
	assert_non_null(strstr(
		text,
		"135\u00a0µs after (widths), ~120\u00a0µs before, ~20.0\u00a0µs of it in paths"));
	assert_non_null(strstr(text, ">before: ~ is estimated: the work of 1 of 4 launches"));
	assert_non_null(strstr(text, ">Missing after: the capture is damaged<"));
	free(text);
	/* In a terminal they are in several lines, and not cut. */
	WRITTEN(text, gpumon_diff_print(out, &term, diff, NULL));
	assert_non_null(strstr(text, "\n       ~ is estimated: the work of 1 of 4 launches"));
	assert_non_null(strstr(text, " part of it\n"));
	assert_non_null(strstr(text, "\n       missing: the capture is damaged\n"));
	free(text);
	gpumon_diff_free(diff);
	made_free((struct gpumon_node *)before.root);
	made_free((struct gpumon_node *)after.root);
}

/* Text, JSON, report and picture must agree. */
static void assert_missing(const struct gpumon_view *view, bool is)
{
	const struct gpumon_term term = { .columns = 120 };
	char line[256], *text;
	struct gpumon_missing missing;

	gpumon_missing_of(view, &missing);
	assert_int_equal(*gpumon_missing_line(line, sizeof(line), &missing) != '\0', is);
	WRITTEN(text, gpumon_output_summary(out, &term, view, NULL));
	assert_int_equal(!strstr(text, "Nothing is missing"), is);
	free(text);
	WRITTEN(text, gpumon_output_report(out, view));
	assert_int_equal(!strstr(text, "Nothing is missing"), is);
	free(text);
	WRITTEN(text, gpumon_output_json(out, view));
	assert_int_equal(!strstr(text, "\"nothing\":true") && !strstr(text, "\"nothing\": true"),
			 is);
	free(text);
}

/* Each cause alone, also if another counter has its highest value. */
static void nothing_is_missing_or_it_is(void **state)
{
	static const size_t of_damage[] = {
		offsetof(struct gpumon_capture_damage, truncated_bytes),
		offsetof(struct gpumon_capture_damage, broken_chunks),
		offsetof(struct gpumon_capture_damage, broken_records),
		offsetof(struct gpumon_capture_damage, missing_chunks),
		offsetof(struct gpumon_capture_damage, unreadable_files),
	};
	struct gpumon_capture_damage damage = { 0 };
	struct gpumon_correlate_counts counts = { 0 };
	uint64_t losses[GPUMON_LOSS_CAUSES] = { 0 };
	struct gpumon_scan scan = { .ended = true, .host = "", .command = "" };
	struct gpumon_idle_row idle = { 0 };
	struct gpumon_view view;

	(void)state;
	made_training(&view);
	view.idle = &idle;
	view.idle_count = 1;
	view.damage = &damage;
	view.losses = losses;
	view.counts = &counts;
	view.cut_paths = 0;
	view.scan = &scan;
	counts.works[GPUMON_WORK_KERNEL][GPUMON_MATCH_STACK] = 10;
	counts.works[GPUMON_WORK_COPY][GPUMON_MATCH_GRAPH_NODE] = 10;
	counts.works[GPUMON_WORK_SET][GPUMON_MATCH_INTERNAL] = 10;
	counts.unmatched_launches[GPUMON_LAUNCH_IN_GRAPH] = 10;
	counts.unmatched_launches[GPUMON_LAUNCH_REFUSED] = 10;
	assert_missing(&view, false);
#define WITH(place, value)                   \
	do {                                 \
		(place) = (value);           \
		assert_missing(&view, true); \
		(place) = 0;                 \
	} while (0)
	for (size_t i = 0; i < sizeof(of_damage) / sizeof(of_damage[0]); i++) {
		uint64_t *one = (uint64_t *)((char *)&damage + of_damage[i]);
		uint64_t *other = (uint64_t *)((char *)&damage + of_damage[!i]);

		WITH(*one, 1);
		*other = UINT64_MAX;
		WITH(*one, 1);
		*other = 0;
	}
	WITH(damage.broken_info, true);
	for (unsigned int i = 1; i < GPUMON_LOSS_CAUSES; i++)
		WITH(losses[i], 1);
	for (unsigned int kind = 0; kind < GPUMON_WORK_KINDS; kind++) {
		WITH(counts.works[kind][GPUMON_MATCH_NO_STACK], 1);
		WITH(counts.works[kind][GPUMON_MATCH_NO_LAUNCH], 1);
	}
	WITH(counts.unmatched_launches[GPUMON_LAUNCH_UNMATCHED], 1);
	WITH(view.cut_paths, 1);
	WITH(view.cut_stacks, 1);
	WITH(idle.forgotten, 1);
	WITH(scan.missing_notes, 1);
	WITH(scan.no_gpu, true);
	WITH(scan.lost_records, 1);
	/* Losses that also have a record are counted once. */
	losses[GPUMON_LOSS_RECORDER] = scan.lost_records = 5;
	assert_missing(&view, true);
	assert_int_equal(gpumon_view_lost(&view, GPUMON_LOSS_RECORDER), 5);
	scan.lost_records = 7;
	assert_int_equal(gpumon_view_lost(&view, GPUMON_LOSS_RECORDER), 7);
	scan.ended = false;
	losses[GPUMON_LOSS_RECORDER] = scan.lost_records = 0;
	assert_missing(&view, true);
	made_training_free(&view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_one_name),
		cmocka_unit_test(flame_graph_of_a_difference),
		cmocka_unit_test(lines_that_moved),
		cmocka_unit_test(many_lines),
		cmocka_unit_test(deep_paths),
		cmocka_unit_test(difference_of_calls),
		cmocka_unit_test(flame_graph_of_estimates),
		cmocka_unit_test(nothing_is_missing_or_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
