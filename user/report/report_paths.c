// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The report's tables of call paths, which the script joins with kernels and a flame graph. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "path_text.h"
#include "ranks.h"
#include "view.h"
#include "report.h"
#include "lib/memory.h"
#include "lib/text.h"

/* Of the text of a path, which a cell shows on several lines. */
#define COLUMNS 200

/* What a row takes in the page besides its path, and each function of a path. */
#define ROW_BYTES   500
#define FRAME_BYTES 8

/**
 * struct path - a row
 * @node: what was launched, called or waited for
 * @frame: its frame in the flame graph
 * @value: its weight
 * @kernel: its number, as in the table by kernel; GPUMON_KEY_NONE for others
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
 */
struct paths {
	FILE *out;
	const struct gpumon_view *view;
	enum gpumon_weight weight;
	bool is_number;
	struct path *at;
	size_t all;
	size_t n;
	struct gpumon_report_names *names;
};

static uint32_t kernel_of(struct gpumon_report_names *names, const struct gpumon_node *node)
{
	switch (node->kind) {
	case GPUMON_NODE_KERNEL:
	case GPUMON_NODE_COPY:
	case GPUMON_NODE_SET:
	case GPUMON_NODE_WHOLE_GRAPH:
		return gpumon_report_function(names, node->kind, node->name, node->module);
	default:
		return GPUMON_KEY_NONE;
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

		if (value && frame->kind != GPUMON_NODE_STALL)
			paths->at[paths->all++] =
				(struct path){ frame->node, frame, value, GPUMON_KEY_NONE };
	}
	qsort(paths->at, paths->all, sizeof(*paths->at), by_value);
}

/* Takes the bytes of a row from the @room that is left for rows, if there are enough. */
static bool take_room(const struct paths *paths, const struct path *path, size_t *room)
{
	size_t n = ROW_BYTES;

	for (const struct gpumon_node *node = path->node; node && node != paths->view->root;
	     node = node->parent)
		n += FRAME_BYTES;
	if (n > *room)
		return false;
	*room -= n;
	return true;
}

/*
 * The heaviest ones are rows, and by GPU time the heaviest of each kernel that is a row of its table. Each of
 * the two has a room.
 */
static void choose_paths(struct paths *paths)
{
	bool first = paths->weight != GPUMON_WEIGHT_WALL_NS &&
		     paths->weight != GPUMON_WEIGHT_IDLE_NS;
	size_t room = first ? GPUMON_REPORT_PATHS : GPUMON_REPORT_PATHS_MORE;
	size_t room_of_kernels = first ? GPUMON_REPORT_PATHS_MORE : 0;
	const struct gpumon_view *view = paths->view;
	bool heaviest = true, *seen;
	uint32_t known = paths->names->functions.n;

	/* Kernels got their numbers before all other functions. */
	seen = gpumon_calloc((size_t)known + 1, sizeof(*seen));
	for (unsigned int i = 0; i < gpumon_report_kernel_rows(view); i++)
		seen[gpumon_report_kernel(paths->names, view->kernels[i].kind,
					  view->kernels[i].name)] = true;
	for (size_t i = 0; i < paths->all; i++) {
		struct path path = paths->at[i];

		path.kernel = kernel_of(paths->names, path.node);
		heaviest = heaviest && i < GPUMON_REPORT_ROWS && take_room(paths, &path, &room);
		if (!heaviest && (path.kernel >= known || !seen[path.kernel] ||
				  !take_room(paths, &path, &room_of_kernels)))
			continue;
		if (path.kernel < known)
			seen[path.kernel] = false;
		paths->at[paths->n++] = path;
	}
	free(seen);
}

static const char *by_text(enum gpumon_weight weight)
{
	switch (weight) {
	case GPUMON_WEIGHT_GPU_NS:
		return "by GPU time";
	case GPUMON_WEIGHT_CPU_NS:
		return "by time in calls";
	case GPUMON_WEIGHT_WALL_NS:
		return "by wall time of threads";
	case GPUMON_WEIGHT_IDLE_NS:
		return "by the time in which a GPU was idle, and its next launching thread was there";
	default:
		return "by number";
	}
}

static void open_paths(const struct paths *paths)
{
	static const char *const gpu[] = { "GPU time", "share", "count", "kernel, copy, set, graph",
					   "call path, outermost caller first" };
	static const char *const cpu[] = { "time", "share", "count", "call",
					   "call path, outermost caller first" };
	static const char *const wall[] = { "wall time", "share", "call or state",
					    "call path, outermost caller first" };
	static const char *const idle[] = { "idle",	     "share",
					    "times",	     "longest",
					    "call or state", "call path, outermost caller first" };

	fprintf(paths->out,
		"<p class=\"what\">%s</p><p class=\"picked\" aria-live=\"polite\"></p>\n",
		by_text(paths->weight));
	switch (paths->weight) {
	case GPUMON_WEIGHT_WALL_NS:
		gpumon_report_open_table(paths->out, "paths-wall", wall, 4, 3 << 2);
		return;
	case GPUMON_WEIGHT_IDLE_NS:
		gpumon_report_open_table(paths->out, "paths-idle", idle, 6, 3 << 4);
		return;
	case GPUMON_WEIGHT_GPU_NS:
		gpumon_report_open_table(paths->out, "paths-gpu", gpu, 5, 3 << 3);
		return;
	default:
		gpumon_report_open_table(paths->out,
					 paths->is_number ? "paths-number" : "paths-cpu",
					 cpu + paths->is_number, 5 - paths->is_number,
					 3 << (3 - paths->is_number));
	}
}

/* The path of a row: numbers of its functions and lines, the outermost first. */
static void put_functions(struct paths *paths, const struct gpumon_node *node)
{
	const struct gpumon_node *root = paths->view->root, *way[1024];
	size_t n = 0;

	for (; node && node != root && n < sizeof(way) / sizeof(way[0]); node = node->parent)
		way[n++] = node;
	while (n--) {
		uint32_t line = gpumon_report_line(paths->names, way[n]->line);

		fprintf(paths->out, "%" PRIu32,
			gpumon_report_function(paths->names, way[n]->kind, way[n]->name,
					       way[n]->module));
		if (line)
			fprintf(paths->out, ":%" PRIu32, line);
		if (n)
			putc(' ', paths->out);
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

static void put_path(struct paths *paths, const struct path *path, uint64_t all, const char *name,
		     const char *text)
{
	const struct gpumon_node *node = path->node;
	bool gpu = paths->weight == GPUMON_WEIGHT_GPU_NS;
	uint64_t left = gpu ? node->left_ns : 0;
	FILE *out = paths->out;
	char waiting[128];

	fprintf(out, "<tr data-frame=\"%u\" data-path=\"", drawn_frame(path->frame));
	put_functions(paths, node);
	fputs("\">", out);
	if (!paths->is_number)
		gpumon_report_estimate(out, true, path->value - left, left, node->count);
	gpumon_report_share(out, (gpu || paths->is_number) && gpumon_tree_is_estimate(node),
			    path->value, all);
	if (paths->weight == GPUMON_WEIGHT_IDLE_NS) {
		gpumon_report_estimate(out, false, node->idle_count, 0, 0);
		gpumon_report_estimate(out, true, node->idle_longest_ns, 0, 0);
	} else if (paths->weight != GPUMON_WEIGHT_WALL_NS) {
		gpumon_report_estimate(out, false, node->count, node->left_count, node->count);
	}
	gpumon_report_name_with(
		out, name,
		gpu ? gpumon_ranks_of_node(waiting, sizeof(waiting), paths->view, node) : "");
	gpumon_report_name(out, text);
	fputs("</tr>\n", out);
}

static void put_rows(struct paths *paths, uint64_t all)
{
	const struct gpumon_node **nodes = gpumon_calloc(paths->n + 1, sizeof(*nodes));
	const char **whole = gpumon_calloc(paths->n + 1, sizeof(*whole));
	char **texts = gpumon_calloc(paths->n + 1, sizeof(*texts));
	char **names = gpumon_calloc(paths->n + 1, sizeof(*names));

	for (size_t i = 0; i < paths->n; i++) {
		nodes[i] = paths->at[i].node;
		whole[i] = nodes[i]->name;
	}
	gpumon_text_squeeze_rows(whole, paths->n, GPUMON_REPORT_NAME, true, names);
	gpumon_path_texts(nodes, (unsigned int)paths->n, COLUMNS, texts);
	for (size_t i = 0; i < paths->n; i++) {
		put_path(paths, &paths->at[i], all, names[i], texts[i]);
		free(texts[i]);
		free(names[i]);
	}
	free(whole);
	free(names);
	free(nodes);
	free(texts);
}

bool gpumon_report_paths(FILE *out, const struct gpumon_view *view, struct gpumon_flame *flame,
			 enum gpumon_weight weight, struct gpumon_report_names *names)
{
	struct paths paths = {
		.out = out,
		.view = view,
		.weight = weight,
		.is_number = weight == GPUMON_WEIGHT_COUNT || weight == GPUMON_WEIGHT_UNTIMED,
		.names = names,
	};
	bool any = false;

	find_paths(&paths, flame);
	choose_paths(&paths);
	/* Without callers (--gpu-only) it would repeat the table by kernel. */
	for (size_t i = 0; i < paths.n && !any; i++)
		any = gpumon_paths_any(&paths.at[i].node, 1);
	if (any) {
		open_paths(&paths);
		put_rows(&paths, flame->frames[0].total);
		gpumon_report_close_table(out);
		gpumon_report_more(out, (unsigned int)paths.n, (unsigned int)paths.all,
				   paths.is_number ? "call paths, with fewer launches" :
						     "call paths, which took less");
	}
	free(paths.at);
	return any;
}
