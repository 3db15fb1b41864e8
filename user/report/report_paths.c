// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The report's table of call paths, which the script joins with kernels and the flame graph. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "path_text.h"
#include "view.h"
#include "report.h"
#include "lib/memory.h"
#include "lib/text.h"

/* Of the text of a path, which a cell shows on several lines. */
#define COLUMNS 200

/**
 * struct path - a row
 * @node: what was launched
 * @frame: its frame in the flame graph
 * @value: its weight
 * @kernel: its number, as in the table by kernel; 0 for others
 */
struct path {
	const struct gpumon_node *node;
	struct gpumon_frame *frame;
	uint64_t value;
	uint32_t kernel;
};

/**
 * struct paths - the table
 * @is_number: the weight is a number of launches, and not a time
 * @at: rows, the heaviest first
 * @all: number of paths of the profile
 * @n: number of rows
 * @functions: functions with their places, by number in the page
 * @function: the same as nodes
 */
struct paths {
	FILE *out;
	const struct gpumon_view *view;
	enum gpumon_weight weight;
	bool is_number;
	struct path *at;
	size_t all;
	size_t n;
	struct gpumon_intern functions;
	const struct gpumon_node **function;
};

uint32_t gpumon_report_kernel(struct gpumon_intern *kernels, enum gpumon_work_kind kind,
			      const char *name)
{
	const char *const parts[] = { gpumon_work_kind_text(kind), name };

	return gpumon_intern_parts(kernels, parts, 2, NULL);
}

static uint32_t kernel_of(struct gpumon_intern *kernels, const struct gpumon_node *node)
{
	switch (node->kind) {
	case GPUMON_NODE_KERNEL:
		return gpumon_report_kernel(kernels, GPUMON_WORK_KERNEL, node->name);
	case GPUMON_NODE_COPY:
		return gpumon_report_kernel(kernels, GPUMON_WORK_COPY, node->name);
	case GPUMON_NODE_SET:
		return gpumon_report_kernel(kernels, GPUMON_WORK_SET, node->name);
	case GPUMON_NODE_WHOLE_GRAPH:
		return gpumon_report_kernel(kernels, GPUMON_WORK_GRAPH, node->name);
	default:
		return 0;
	}
}

/* The heaviest first; equal ones as they are in the tree. */
static int by_value(const void *a, const void *b)
{
	const struct path *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static void find_paths(struct paths *paths, struct gpumon_flame *flame)
{
	paths->at = gpumon_calloc(flame->n + 1, sizeof(*paths->at));
	for (size_t i = 0; i < flame->n; i++) {
		struct gpumon_frame *frame = &flame->frames[i];
		uint64_t value = gpumon_tree_weight(frame->node, paths->weight);

		if (value)
			paths->at[paths->all++] = (struct path){ frame->node, frame, value, 0 };
	}
	qsort(paths->at, paths->all, sizeof(*paths->at), by_value);
}

/* Takes the frames of a path from the @room that is left for frames, if they all fit. */
static bool take_frames(const struct paths *paths, const struct path *path, size_t *room)
{
	size_t n = 0;

	for (const struct gpumon_node *node = path->node; node && node != paths->view->root;
	     node = node->parent)
		n++;
	if (n > *room)
		return false;
	*room -= n;
	return true;
}

/*
 * The heaviest ones are rows, and the heaviest of each kernel that is a row of its table. Each of
 * the two has room for a number of frames.
 */
static void choose_paths(struct paths *paths, struct gpumon_intern *kernels)
{
	size_t room = GPUMON_REPORT_FRAMES, room_of_kernels = GPUMON_REPORT_FRAMES;
	const struct gpumon_view *view = paths->view;
	bool heaviest = true;
	uint32_t known;
	bool *seen;

	for (unsigned int i = 0; i < view->kernel_count && i < GPUMON_REPORT_ROWS; i++)
		(void)gpumon_report_kernel(kernels, view->kernels[i].kind, view->kernels[i].name);
	known = kernels->n;
	seen = gpumon_calloc((size_t)known + 1, sizeof(*seen));
	for (size_t i = 0; i < paths->all; i++) {
		struct path path = paths->at[i];

		path.kernel = kernel_of(kernels, path.node);
		if (path.kernel > known)
			path.kernel = 0;
		heaviest = heaviest && i < GPUMON_REPORT_ROWS && take_frames(paths, &path, &room);
		if (!heaviest && (!path.kernel || seen[path.kernel] ||
				  !take_frames(paths, &path, &room_of_kernels)))
			continue;
		seen[path.kernel] = true;
		paths->at[paths->n++] = path;
	}
	free(seen);
}

static void open_paths(const struct paths *paths)
{
	bool number = paths->is_number;
	bool gpu = paths->weight == GPUMON_WEIGHT_GPU_NS;
	const char *titles[] = { gpu ? "GPU time" : "time", "share", "count",
				 gpu ? "kernel, copy, set, graph" : "call",
				 "call path, outermost caller first" };

	gpumon_report_section(paths->out,
			      paths->weight == GPUMON_WEIGHT_UNTIMED ? "launch-paths" : "paths",
			      "Call paths",
			      number ? "by number" :
			      gpu    ? "by GPU time" :
				       "by time in calls");
	fputs("<p class=\"picked\" aria-live=\"polite\"></p>\n", paths->out);
	gpumon_report_open_table(paths->out, titles + number, 5 - number, 2);
}

/* The path of a row: numbers of its functions, the outermost first. */
static void put_functions(struct paths *paths, const struct gpumon_node *node)
{
	const struct gpumon_node *root = paths->view->root, *way[1024];
	size_t n = 0;

	for (; node && node != root && n < sizeof(way) / sizeof(way[0]); node = node->parent)
		way[n++] = node;
	while (n--) {
		const char *const parts[] = { gpumon_node_kind_name(way[n]->kind), way[n]->name,
					      way[n]->line ? way[n]->line : "",
					      way[n]->module ? way[n]->module : "" };
		bool added;
		uint32_t number = gpumon_intern_parts(&paths->functions, parts, 4, &added);

		if (added) {
			paths->function = gpumon_reallocarray(paths->function, number,
							      sizeof(*paths->function));
			paths->function[number - 1] = way[n];
		}
		fprintf(paths->out, "%" PRIu32 "%s", number - 1, n ? " " : "");
	}
}

/* The innermost frame that is wide enough to be in the picture. */
static unsigned int drawn_frame(struct gpumon_frame *frame)
{
	frame = gpumon_flame_shown(frame);
	while (frame && !frame->number)
		frame = frame->parent;
	return frame ? frame->number : 0;
}

static void put_path(struct paths *paths, const struct path *path, uint64_t all, const char *text)
{
	const struct gpumon_node *node = path->node;
	uint64_t left = paths->weight == GPUMON_WEIGHT_GPU_NS ? node->left_ns : 0;
	FILE *out = paths->out;

	fprintf(out, "<tr data-frame=\"%u\" data-kernel=\"%" PRIu32 "\" data-path=\"",
		drawn_frame(path->frame), path->kernel);
	put_functions(paths, node);
	fputs("\">", out);
	if (!paths->is_number)
		gpumon_report_estimate(out, true, path->value - left, left, node->count);
	gpumon_report_share(out, gpumon_tree_is_estimate(node), path->value, all);
	gpumon_report_estimate(out, false, node->count, node->left_count, node->count);
	gpumon_report_name(out, node->name);
	fputs("<td class=\"name\">", out);
	gpumon_text_xml(out, text);
	fputs("</td></tr>\n", out);
}

/* What the numbers of paths mean. */
static void put_function_names(const struct paths *paths)
{
	FILE *out = paths->out;

	fputs("<div class=\"functions\" hidden=\"\">\n", out);
	for (uint32_t i = 0; i < paths->functions.n; i++) {
		const struct gpumon_node *node = paths->function[i];
		const char *line = node->line ? node->line : "";

		fputs("<i title=\"", out);
		gpumon_text_xml(out, *line || !node->module ? line : node->module);
		fputs("\">", out);
		gpumon_text_xml(out, *node->name ? node->name : "[unknown]");
		fputs("</i>\n", out);
	}
	fputs("</div>\n", out);
}

static void put_rows(struct paths *paths, uint64_t all)
{
	const struct gpumon_node **nodes = gpumon_calloc(paths->n + 1, sizeof(*nodes));
	char **texts = gpumon_calloc(paths->n + 1, sizeof(*texts));

	for (size_t i = 0; i < paths->n; i++)
		nodes[i] = paths->at[i].node;
	gpumon_path_texts(nodes, (unsigned int)paths->n, COLUMNS, texts);
	for (size_t i = 0; i < paths->n; i++) {
		put_path(paths, &paths->at[i], all, texts[i]);
		free(texts[i]);
	}
	free(nodes);
	free(texts);
}

void gpumon_report_paths(FILE *out, const struct gpumon_view *view, struct gpumon_flame *flame,
			 enum gpumon_weight weight, struct gpumon_intern *kernels)
{
	struct paths paths = {
		.out = out,
		.view = view,
		.weight = weight,
		.is_number = weight == GPUMON_WEIGHT_COUNT || weight == GPUMON_WEIGHT_UNTIMED,
	};
	bool any = false;

	find_paths(&paths, flame);
	choose_paths(&paths, kernels);
	/* Without callers (--gpu-only) it would repeat the table by kernel. */
	for (size_t i = 0; i < paths.n && !any; i++)
		any = gpumon_paths_any(&paths.at[i].node, 1);
	if (any) {
		open_paths(&paths);
		put_rows(&paths, flame->frames[0].total);
		gpumon_report_close_table(out);
		put_function_names(&paths);
		gpumon_report_more(out, (unsigned int)paths.n, (unsigned int)paths.all,
				   paths.is_number ? "call paths, with fewer launches" :
						     "call paths, which took less");
		gpumon_report_end(out);
	}
	free(paths.at);
	free(paths.function);
	gpumon_intern_clear(&paths.functions);
}
