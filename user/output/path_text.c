// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "output_text.h"
#include "path_text.h"
#include "tree.h"

#define FRAMES	      1024
#define NAME_COLUMNS  40
#define SEPARATOR     " › "
#define SEPARATOR_LEN 3 /* columns */

static bool is_caller(const struct gpumon_node *node)
{
	switch (node->kind) {
	case GPUMON_NODE_PROCESS:
	case GPUMON_NODE_THREAD:
	case GPUMON_NODE_FUNCTION:
	case GPUMON_NODE_PYTHON:
	case GPUMON_NODE_REASON:
		return true;
	default:
		return false;
	}
}

/* "Block.forward model.py:88"; of machine code the name alone, lines are in the pictures. */
static const char *frame_text(char *buf, size_t len, const struct gpumon_node *node)
{
	char name[256], line[128];
	const char *base;

	gpumon_text_function(name, sizeof(name), node->name);
	gpumon_text_fit(name, sizeof(name), strdupa(name), NAME_COLUMNS);
	if (node->kind != GPUMON_NODE_PYTHON || !node->line || !*node->line)
		return gpumon_text_cut(buf, len, name, 0);
	base = strrchr(node->line, '/');
	gpumon_text_cut(line, sizeof(line), base ? base + 1 : node->line, NAME_COLUMNS);
	snprintf(buf, len, "%s %s", name, line);
	return buf;
}

/* The ones to keep, as many as there is room for. */
static void choose(const struct gpumon_node *const *frames, unsigned int n, bool *keep,
		   unsigned int columns)
{
	/* What may be left out at both ends and between takes its own room. */
	unsigned int used = 2 * (1 + SEPARATOR_LEN);
	char text[512];

	for (unsigned int python = 1; python < 2; python--) {
		for (unsigned int i = 0; i < n; i++) {
			unsigned int width;

			if ((frames[i]->kind == GPUMON_NODE_PYTHON) != (python == 1))
				continue;
			width = gpumon_text_columns(frame_text(text, sizeof(text), frames[i])) +
				SEPARATOR_LEN;
			if (columns && used + width > columns)
				break;
			used += width;
			keep[i] = true;
		}
	}
}

const char *gpumon_path_text(char *buf, size_t len, const struct gpumon_node *node,
			     unsigned int columns)
{
	const struct gpumon_node *frames[FRAMES];
	bool keep[FRAMES] = { false }, gap = false;
	char text[512];
	unsigned int n = 0;
	size_t at = 0;

	if (!len)
		return buf;
	buf[0] = '\0';
	for (const struct gpumon_node *up = node->parent; up && n < FRAMES; up = up->parent) {
		if (is_caller(up))
			frames[n++] = up;
	}
	choose(frames, n, keep, columns);
	for (unsigned int i = n; i--;) {
		const char *piece;

		if (!keep[i]) {
			gap = true;
			continue;
		}
		piece = frame_text(text, sizeof(text), frames[i]);
		at += (size_t)snprintf(buf + at, len - at, "%s%s%s", at ? SEPARATOR : "",
				       gap ? "…" SEPARATOR : "", piece);
		gap = false;
		if (at >= len)
			break;
	}
	if (gap && at < len)
		snprintf(buf + at, len - at, "%s…", at ? SEPARATOR : "");
	/* A gap amid frames took room that was not foreseen, or the text was longer than that. */
	return gpumon_text_cut(buf, len, strdupa(buf), columns);
}

unsigned int gpumon_paths_top(const struct gpumon_node *root, enum gpumon_weight weight,
			      const struct gpumon_node **top, unsigned int room)
{
	unsigned int n = 0;

	for (const struct gpumon_node *node = root; node; node = gpumon_tree_next(node, root)) {
		uint64_t value = gpumon_tree_weight(node, weight);
		unsigned int at;

		if (!value)
			continue;
		for (at = n; at && gpumon_tree_weight(top[at - 1], weight) < value; at--) {
			if (at < room)
				top[at] = top[at - 1];
		}
		if (at < room) {
			top[at] = node;
			n += n < room;
		}
	}
	return n;
}
