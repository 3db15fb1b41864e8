// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "flame.h"
#include "term/output_text.h"
#include "output/tree.h"

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
		frame->depth = parent->depth + 1;
		frame->next = parent->child;
		parent->child = frame;
	}
	return frame;
}

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
	for (size_t i = flame->n; i--;) {
		struct gpumon_frame *frame = &flame->frames[i], *parent = frame->parent;

		/* Children come after their parents, so all of them have been added by now. */
		frame->total = gpumon_add_saturated(frame->total, frame->self);
		if (!parent)
			continue;
		parent->total = gpumon_add_saturated(parent->total, frame->total);
		parent->count = gpumon_add_saturated(parent->count, frame->count);
		parent->cpu_ns = gpumon_add_saturated(parent->cpu_ns, frame->cpu_ns);
		parent->left = gpumon_add_saturated(parent->left, frame->left);
		parent->before = gpumon_add_saturated(parent->before, frame->before);
		parent->before_left = gpumon_add_saturated(parent->before_left, frame->before_left);
	}
	for (size_t i = 0; i < flame->n; i++) {
		if (flame->frames[i].child)
			sort_children(&flame->frames[i], room);
	}
	free(room);
	return 0;
}

/* Does it belong to its parent's frame? */
static bool is_joined(const struct gpumon_node *node, const struct gpumon_node *root)
{
	const struct gpumon_node *parent = node->parent;

	return node != root && parent != root && parent->child == node && !node->next &&
	       !parent->count && !parent->gpu_ns && !parent->cpu_ns &&
	       !gpumon_tree_is_estimate(parent) && gpumon_tree_unnamed(node) &&
	       gpumon_tree_unnamed(parent) && !strcmp(node->module, parent->module);
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
		if (is_joined(node, root)) {
			frame->joined++;
			frame->last = node->name;
		} else {
			frame = gpumon_flame_add(flame, frame);
			frame->name = node->name;
			frame->module = node->module ? node->module : "";
			frame->line = node->line ? node->line : "";
			frame->kind = node->kind;
		}
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
			if (!is_joined(node, root))
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
