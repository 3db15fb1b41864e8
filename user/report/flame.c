// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "flame.h"
#include "lib/output_text.h"
#include "tree.h"

int gpumon_flame_init(struct gpumon_flame *flame, size_t room)
{
	memset(flame, 0, sizeof(*flame));
	flame->frames = calloc(room ? room : 1, sizeof(*flame->frames));
	flame->room = room;
	return flame->frames ? 0 : -1;
}

void gpumon_flame_clear(struct gpumon_flame *flame)
{
	free(flame->frames);
	memset(flame, 0, sizeof(*flame));
}

struct gpumon_frame *gpumon_flame_add(struct gpumon_flame *flame, struct gpumon_frame *parent)
{
	struct gpumon_frame *frame;

	if (flame->n == flame->room)
		return NULL;
	frame = &flame->frames[flame->n++];
	frame->parent = parent;
	if (parent) {
		frame->next = parent->child;
		parent->child = frame;
	}
	return frame;
}

/* --- sums, and one frame for each function */

static void sum_frames(struct gpumon_flame *flame)
{
	for (size_t i = flame->n; i--;) {
		struct gpumon_frame *frame = &flame->frames[i], *parent = frame->parent;

		/* Children come after their parents, so all of them have been added by now. */
		frame->total = gpumon_add_saturated(frame->total, frame->self);
		frame->line_total = frame->total;
		if (!parent)
			continue;
		parent->total = gpumon_add_saturated(parent->total, frame->total);
		parent->count = gpumon_add_saturated(parent->count, frame->count);
		parent->cpu_ns = gpumon_add_saturated(parent->cpu_ns, frame->cpu_ns);
		parent->left = gpumon_add_saturated(parent->left, frame->left);
		parent->before = gpumon_add_saturated(parent->before, frame->before);
		parent->before_left = gpumon_add_saturated(parent->before_left, frame->before_left);
	}
}

static int compare_functions(const struct gpumon_frame *x, const struct gpumon_frame *y)
{
	int order = x->name == y->name ? 0 : strcmp(x->name, y->name);

	return order ? order : (int)x->kind - (int)y->kind;
}

static int by_function(const void *a, const void *b)
{
	const struct gpumon_frame *x = *(struct gpumon_frame *const *)a;
	const struct gpumon_frame *y = *(struct gpumon_frame *const *)b;
	int order = compare_functions(x, y);

	return order ? order : x < y ? -1 : x > y;
}

/* Make the children of @from children of @to. */
static void move_children(struct gpumon_frame *to, struct gpumon_frame *from)
{
	struct gpumon_frame *child = from->child;

	from->child = NULL;
	while (child) {
		struct gpumon_frame *next = child->next;

		child->parent = to;
		child->next = to->child;
		to->child = child;
		child = next;
	}
}

/* @to stands for both: they are one function, called from different lines. */
static void merge_frame(struct gpumon_frame *to, struct gpumon_frame *from)
{
	to->self = gpumon_add_saturated(to->self, from->self);
	to->total = gpumon_add_saturated(to->total, from->total);
	to->count = gpumon_add_saturated(to->count, from->count);
	to->cpu_ns = gpumon_add_saturated(to->cpu_ns, from->cpu_ns);
	to->left = gpumon_add_saturated(to->left, from->left);
	to->before = gpumon_add_saturated(to->before, from->before);
	to->before_left = gpumon_add_saturated(to->before_left, from->before_left);
	from->merged = to;
	from->same = to->same;
	to->same = from;
	move_children(to, from);
}

static void merge_children(struct gpumon_frame *parent, struct gpumon_frame **room)
{
	struct gpumon_frame *last = NULL;
	size_t n = 0;

	for (struct gpumon_frame *frame = parent->child; frame; frame = frame->next)
		room[n++] = frame;
	if (n < 2)
		return;
	qsort(room, n, sizeof(*room), by_function);
	parent->child = NULL;
	/* The first of equal ones stays: it comes before the children of the others, too. */
	for (size_t i = 0; i < n; i++) {
		if (last && !compare_functions(last, room[i])) {
			merge_frame(last, room[i]);
			continue;
		}
		last = room[i];
		last->next = parent->child;
		parent->child = last;
	}
}

static bool is_unnamed(const struct gpumon_frame *frame)
{
	const struct gpumon_node node = {
		.name = frame->name,
		.module = frame->module,
		.kind = frame->kind,
	};

	return gpumon_tree_unnamed(&node);
}

/* Join an unnamed function and the only one that it calls, if that has no name either. */
static bool join_unnamed(struct gpumon_frame *frame)
{
	struct gpumon_frame *child = frame->child;

	if (!child || child->next || !frame->parent || frame->self ||
	    frame->before != child->before || frame->count != child->count ||
	    frame->cpu_ns != child->cpu_ns || frame->left != child->left || !is_unnamed(child) ||
	    !is_unnamed(frame) || strcmp(frame->module, child->module) != 0)
		return false;
	frame->self = child->self;
	frame->joined++;
	frame->last = child->name;
	frame->child = NULL;
	child->merged = frame;
	move_children(frame, child);
	return true;
}

/* --- positions */

/* The heaviest first, and by name for equal weights, so that equal input gives equal output. */
static int compare_weights(const void *a, const void *b)
{
	const struct gpumon_frame *x = *(struct gpumon_frame *const *)a;
	const struct gpumon_frame *y = *(struct gpumon_frame *const *)b;
	int order;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	order = strcmp(x->name, y->name);
	return order ? order : x < y ? -1 : x > y;
}

static void sort_children(struct gpumon_frame *parent, struct gpumon_frame **room)
{
	uint64_t start = parent->start;
	size_t n = 0;

	for (struct gpumon_frame *frame = parent->child; frame; frame = frame->next)
		room[n++] = frame;
	qsort(room, n, sizeof(*room), compare_weights);
	for (size_t i = 0; i < n; i++) {
		room[i]->next = i + 1 < n ? room[i + 1] : NULL;
		room[i]->start = start;
		room[i]->depth = parent->depth + 1;
		start = gpumon_add_saturated(start, room[i]->total);
	}
	parent->child = n ? room[0] : NULL;
}

int gpumon_flame_layout(struct gpumon_flame *flame)
{
	struct gpumon_frame **room =
		malloc((flame->n ? flame->n : 1) * sizeof(struct gpumon_frame *));

	if (!room)
		return -1;
	sum_frames(flame);
	for (size_t i = 0; i < flame->n; i++) {
		struct gpumon_frame *frame = &flame->frames[i];

		if (frame->merged || !frame->child)
			continue;
		do
			merge_children(frame, room);
		while (join_unnamed(frame));
		sort_children(frame, room);
	}
	free(room);
	return 0;
}

int gpumon_flame_of(struct gpumon_flame *flame, const struct gpumon_node *root,
		    enum gpumon_weight weight)
{
	const struct gpumon_node *node = root;
	struct gpumon_frame *frame = NULL;
	size_t n = 0;

	for (; node; node = gpumon_tree_next(node, root))
		n++;
	if (gpumon_flame_init(flame, n))
		return -1;
	for (node = root; node;) {
		frame = gpumon_flame_add(flame, frame);
		frame->node = node;
		frame->name = node->name;
		frame->module = node->module ? node->module : "";
		frame->line = node->line ? node->line : "";
		frame->kind = node->kind;
		frame->self = gpumon_tree_weight(node, weight);
		frame->count = node->count + node->left_count;
		frame->left = weight == GPUMON_WEIGHT_COUNT  ? node->left_count :
			      weight == GPUMON_WEIGHT_GPU_NS ? node->left_ns :
							       0;
		frame->cpu_ns = node->cpu_ns;
		if (node->child) {
			node = node->child;
			continue;
		}
		/* Go to the frame of the next node's parent. */
		while (node != root && !node->next) {
			frame = frame->parent;
			node = node->parent;
		}
		if (node == root)
			break;
		node = node->next;
		frame = frame->parent;
	}
	if (gpumon_flame_layout(flame)) {
		gpumon_flame_clear(flame);
		return -1;
	}
	return 0;
}
