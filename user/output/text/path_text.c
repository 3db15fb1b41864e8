// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "term/output_text.h"
#include "path_text.h"
#include "output/tree.h"

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
	case GPUMON_NODE_DEVICE:
	case GPUMON_NODE_STREAM:
	case GPUMON_NODE_GRAPH:
		return true;
	default:
		return false;
	}
}

/*
 * A piece of a line.
 * @node: of it, the outermost where it is several
 * @functions: how many without a name, of one library, it stands for; 0: it is @node
 */
struct piece {
	const struct gpumon_node *node;
	unsigned int functions;
	bool keep;
};

/* "Block.forward model.py:88"; of machine code the name alone, lines are in the pictures. */
static void put_piece(FILE *out, const struct piece *piece, unsigned int columns)
{
	const struct gpumon_node *node = piece->node;
	unsigned int limit = columns ? NAME_COLUMNS : 0;
	size_t room = strlen(node->name) + 16;
	char *name = malloc(room), cut[4 * NAME_COLUMNS + 8];
	const char *line = node->line ? node->line : "", *slash = strrchr(line, '/');

	if (piece->functions) {
		gpumon_text_plain(out, node->module);
		fprintf(out, " (%u)", piece->functions);
	} else if (name) {
		gpumon_text_function(name, room, node->name);
		gpumon_text_plain(out,
				  limit ? gpumon_text_fit(cut, sizeof(cut), name, limit) : name);
	}
	free(name);
	if (node->kind != GPUMON_NODE_PYTHON || !*line)
		return;
	putc(' ', out);
	line = slash ? slash + 1 : line;
	gpumon_text_plain(out, limit ? gpumon_text_cut(cut, sizeof(cut), line, limit) : line);
}

static char *piece_text(const struct piece *piece, unsigned int columns)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_piece(out, piece, columns);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* Callers, the innermost first; where there is a limit what has no name is one per library. */
static unsigned int find_pieces(const struct gpumon_node *node, unsigned int columns,
				struct piece *pieces)
{
	unsigned int n = 0;

	for (node = node->parent; node && n < FRAMES; node = node->parent) {
		struct piece *last = n ? &pieces[n - 1] : NULL;

		if (!is_caller(node))
			continue;
		if (columns && last && gpumon_tree_unnamed(node) &&
		    gpumon_tree_unnamed(last->node) && !strcmp(node->module, last->node->module)) {
			last->functions += last->functions ? 1 : 2;
			last->node = node;
			continue;
		}
		pieces[n++] = (struct piece){ .node = node };
	}
	return n;
}

/* What tells more comes first: Python, names, places. */
static unsigned int rank(const struct piece *piece)
{
	return piece->node->kind == GPUMON_NODE_PYTHON ? 0 :
	       !gpumon_tree_unnamed(piece->node)       ? 1 :
							 2;
}

/* The ones to keep, as many as there is room for. */
static int choose(struct piece *pieces, unsigned int n, unsigned int columns)
{
	/* What may be left out at both ends and between takes its own room. */
	unsigned int used = 2 * (1 + SEPARATOR_LEN);

	for (unsigned int of = 0; of < 3; of++) {
		for (unsigned int i = 0; i < n; i++) {
			char *text;

			if (rank(&pieces[i]) != of)
				continue;
			text = columns ? piece_text(&pieces[i], columns) : NULL;
			if (columns && !text)
				return -1;
			used += text ? gpumon_text_columns(text) + SEPARATOR_LEN : 0;
			free(text);
			if (columns && used > columns)
				break;
			pieces[i].keep = true;
		}
	}
	return 0;
}

static void put_pieces(FILE *out, const struct piece *pieces, unsigned int n, unsigned int columns)
{
	bool gap = false, any = false;

	for (unsigned int i = n; i--;) {
		if (!pieces[i].keep) {
			gap = true;
			continue;
		}
		fprintf(out, "%s%s", any ? SEPARATOR : "", gap ? "…" SEPARATOR : "");
		put_piece(out, &pieces[i], columns);
		gap = false;
		any = true;
	}
	if (gap)
		fprintf(out, "%s…", any ? SEPARATOR : "");
}

char *gpumon_path_text(const struct gpumon_node *node, unsigned int columns)
{
	struct piece *pieces = calloc(FRAMES, sizeof(*pieces));
	char *text = NULL, *cut;
	size_t size = 0;
	unsigned int n;
	FILE *out;

	if (!pieces)
		return NULL;
	n = find_pieces(node, columns, pieces);
	out = choose(pieces, n, columns) ? NULL : open_memstream(&text, &size);
	if (out)
		put_pieces(out, pieces, n, columns);
	free(pieces);
	if (!out || fclose(out)) {
		free(text);
		return NULL;
	}
	if (!columns)
		return text;
	/* A gap amid frames took room that was not foreseen, or the text was longer than that. */
	cut = malloc(size + 8);
	if (cut)
		gpumon_text_cut(cut, size + 8, text, columns);
	free(text);
	return cut;
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

bool gpumon_paths_any(const struct gpumon_node *const *nodes, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		for (const struct gpumon_node *up = nodes[i]->parent; up; up = up->parent) {
			if (is_caller(up) || up->kind == GPUMON_NODE_API)
				return true;
		}
	}
	return false;
}
