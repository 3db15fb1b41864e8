// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "path_text.h"
#include "view.h"
#include "wrappers.h"

#define FRAMES	  1024
#define SEPARATOR " › "
#define WIDE	  110 /* columns; also shows the lines of packages */

/*
 * A name with more columns than a quarter of the line first loses its namespaces, then its middle.
 */
#define NAME_LEAST    16
#define NAME_MOST     40
#define PLACE_COLUMNS 24

/* Rounds in which lines that look alike get a difference added. */
#define ROUNDS 8

/* The order in which frames get room. */
enum rank {
	RANK_DIFFERENCE,
	RANK_LEVEL, /* requested levels, or a reason */
	RANK_PYTHON,
	RANK_FUNCTION,
	RANK_PLACE,
	RANK_WRAPPER, /* only if there is nothing else */
	RANK_CALL,    /* API call, only as a difference */
	RANKS
};

/* A part of a line that was made once, and its columns. */
struct word {
	char *text;
	unsigned int columns;
};

/**
 * struct label - what is known of a node in whichever row
 * @class: initial rank of its pieces
 * @name: its name, unless a difference has to be seen in it; made when it is needed
 */
struct label {
	enum rank class;
	struct word name;
};

/**
 * struct labels - labels of all nodes above the rows
 * @by_node: number in @at + 1
 * @columns: width of the lines
 */
struct labels {
	struct gpumon_map by_node;
	struct label *at;
	size_t used;
	unsigned int columns;
};

/**
 * struct piece - a candidate frame for the line
 * @label: number of its label
 * @class: its initial rank
 * @rank: current rank, RANK_DIFFERENCE if it was raised
 * @mark: offset of the difference in its name, 0 if the beginning shows it
 * @place: offset in its line + 1 from where on it is shown, as it is the difference; otherwise 0
 * @tried: it already was a difference when the text was made
 * @bare: shown without file and line
 * @keep: it is in the line
 * @marked: its name with @mark
 * @where: its line with @place
 */
struct piece {
	const struct gpumon_node *node;
	size_t label;
	enum rank class;
	enum rank rank;
	size_t mark;
	size_t place;
	bool tried;
	bool bare;
	bool keep;
	struct word marked;
	struct word where;
};

/**
 * struct path - the line of a row
 * @labels: shared by all rows
 * @pieces: the innermost first
 * @text: text of the line
 * @key: the same without unnamed places, which do not help a reader
 * @changed: a piece was raised since the line was made
 */
struct path {
	struct labels *labels;
	const struct gpumon_node *work;
	struct piece *pieces;
	unsigned int n;
	unsigned int number;
	char *text;
	char *key;
	bool changed;
};

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

static enum rank class_of(const struct gpumon_node *node)
{
	enum gpumon_frame_role role;

	if (node->kind == GPUMON_NODE_API)
		return RANK_CALL;
	if (node->kind != GPUMON_NODE_FUNCTION && node->kind != GPUMON_NODE_PYTHON)
		return RANK_LEVEL;
	role = gpumon_frame_role(node);
	if (role == GPUMON_FRAME_WRAPPER)
		return RANK_WRAPPER;
	if (role == GPUMON_FRAME_TELLING || node->kind == GPUMON_NODE_PYTHON)
		return RANK_PYTHON;
	return gpumon_tree_unnamed(node) ? RANK_PLACE : RANK_FUNCTION;
}

static const char *line_of(const struct gpumon_node *node)
{
	return node->line ? node->line : "";
}

static void make_word(struct word *word, char *text)
{
	free(word->text);
	word->text = text;
	word->columns = text ? gpumon_text_columns(text) : 0;
}

/* As gpumon_text_squeeze(). */
static char *squeeze(const char *text, unsigned int columns, const size_t *mark, size_t marks)
{
	char *short_text = gpumon_text_squeeze(text, columns, mark, marks);

	if (!short_text)
		gpumon_memory_failed(columns);
	return short_text;
}

/* The label of a node, which has its class. */
static struct label *find_label(struct labels *labels, const struct gpumon_node *node)
{
	size_t number = gpumon_map_get(&labels->by_node, (uintptr_t)node);
	struct label *label;

	if (number)
		return &labels->at[number - 1];
	label = GPUMON_GROW(labels->at, labels->used);
	gpumon_map_set(&labels->by_node, (uintptr_t)node, labels->used);
	label->class = class_of(node);
	return label;
}

static void clear_labels(struct labels *labels)
{
	for (size_t i = 0; i < labels->used; i++)
		free(labels->at[i].name.text);
	free(labels->at);
	gpumon_map_clear(&labels->by_node);
}

static void find_pieces(struct path *path)
{
	const struct gpumon_node *node;
	unsigned int room = 0;
	bool stub = false;

	for (node = path->work->parent; node && room < FRAMES; node = node->parent)
		room++;
	path->pieces = gpumon_calloc((size_t)room + 1, sizeof(*path->pieces));
	for (node = path->work->parent; node && path->n < room; node = node->parent) {
		struct piece *piece = &path->pieces[path->n];
		const struct label *label;

		if (!is_caller(node) && node->kind != GPUMON_NODE_API)
			continue;
		label = find_label(path->labels, node);
		piece->node = node;
		piece->label = (size_t)(label - path->labels->at);
		piece->class = label->class;
		/* "kernel<1>" and "__device_stub__Z6kernelILi1EEvPjj" below it. */
		if (stub && piece->class == RANK_FUNCTION && gpumon_frame_is_stub(node, path->work))
			piece->class = RANK_WRAPPER;
		if (node->kind == GPUMON_NODE_FUNCTION)
			stub = piece->class == RANK_WRAPPER;
		piece->rank = piece->class;
		path->n++;
	}
}

/* "gemm<float, float>" to "gemm<…>" */
static void drop_arguments(char *name)
{
	char *open = strchr(name, '<'), *close = strrchr(name, '>');
	static const char dots[] = "<…";

	if (!open || !close || open == name || close - open < (ptrdiff_t)sizeof(dots))
		return;
	memcpy(open, dots, sizeof(dots) - 1);
	memmove(open + sizeof(dots) - 1, close, strlen(close) + 1);
}

/* Returns a text to free. */
static char *name_text(const struct gpumon_node *node, const size_t *mark, unsigned int columns)
{
	const char *name = node->name;
	unsigned int limit = columns / 4;
	size_t room = strlen(name) + 16;
	char *whole = gpumon_malloc(room), *copy = gpumon_malloc(room), *text;

	limit = limit < NAME_LEAST ? NAME_LEAST : limit > NAME_MOST ? NAME_MOST : limit;
	gpumon_text_function(whole, room, name);
	gpumon_text_strip(copy, room, whole, limit);
	limit += limit / 2;
	if (limit > columns)
		limit = columns;
	if (!mark && node->kind == GPUMON_NODE_FUNCTION && gpumon_text_columns(copy) > limit)
		drop_arguments(copy);
	text = mark ? squeeze(name, limit, mark, 1) : squeeze(copy, limit, NULL, 0);
	free(whole);
	free(copy);
	return text;
}

/* The name of a piece, with the difference if that has to be seen. */
static const struct word *piece_name(struct labels *labels, struct piece *piece)
{
	struct word *word = piece->mark ? &piece->marked : &labels->at[piece->label].name;

	if (!word->text)
		make_word(word, name_text(piece->node, piece->mark ? &piece->mark : NULL,
					  labels->columns));
	return word;
}

/*
 * "model.py:88". Machine code only gets a file if there is a line, which with the option @functions
 * a function that calls from several lines lacks: then it is "".
 */
static const struct word *piece_place(struct piece *piece)
{
	const struct gpumon_node *node = piece->node;
	const char *line = line_of(node), *slash = strrchr(line, '/');
	unsigned long unused;
	size_t number;

	if (piece->where.text)
		return &piece->where;
	line = piece->place ? line + piece->place - 1 : slash ? slash + 1 : line;
	if (node->kind != GPUMON_NODE_PYTHON && !strchr(line, ':'))
		line = "";
	number = gpumon_line_file(line, &unused);
	make_word(&piece->where,
		  *line ? squeeze(line, PLACE_COLUMNS, &number, 1) : gpumon_strdup(""));
	return &piece->where;
}

/**
 * struct line - a line that is written, or only measured
 * @text: its text so far; NULL: it is measured
 * @size: bytes of it
 */
struct line {
	char *text;
	size_t size;
	unsigned int columns;
};

static void put_text(struct line *line, const char *text, unsigned int columns)
{
	size_t size = strlen(text);

	if (line->text)
		memcpy(line->text + line->size, text, size + 1);
	line->size += size;
	line->columns += columns;
}

/* "Block.forward model.py:88" */
static void put_piece(struct line *line, struct labels *labels, struct piece *piece)
{
	const struct word *name = piece_name(labels, piece);
	const struct word *place = piece->bare ? NULL : piece_place(piece);

	put_text(line, name->text, name->columns);
	if (place && *place->text) {
		put_text(line, " ", 1);
		put_text(line, place->text, place->columns);
	}
}

/* Are they merged: unnamed places of one library, or a recursive function? */
static bool is_same(const struct piece *a, const struct piece *b)
{
	if (a->rank != b->rank || a->rank < RANK_PYTHON || a->node->kind != b->node->kind)
		return false;
	return a->rank == RANK_PLACE ? !strcmp(a->node->module, b->node->module) :
				       !strcmp(a->node->name, b->node->name);
}

/* Length of the run of equal pieces from here outwards. */
static unsigned int run_of(const struct path *path, unsigned int i)
{
	unsigned int n = 1;

	while (i + n < path->n && is_same(&path->pieces[i], &path->pieces[i + n]))
		n++;
	return n;
}

/* Put the pieces from the outermost on. */
static void put_pieces(struct line *line, const struct path *path)
{
	bool gap = false, any = false;
	char number[16], *module;

	for (unsigned int i = path->n; i--;) {
		const struct piece *piece = &path->pieces[i];
		unsigned int run = 1;

		if (!piece->keep) {
			gap |= piece->rank <= RANK_FUNCTION;
			continue;
		}
		for (; i && is_same(&path->pieces[i - 1], &path->pieces[i]); i--)
			run++;
		if (any)
			put_text(line, SEPARATOR, 3);
		if (gap)
			put_text(line, "…" SEPARATOR, 4);
		if (run > 1 && piece->rank == RANK_PLACE) {
			module = squeeze(piece->node->module, UINT_MAX, NULL, 0);
			put_text(line, module, gpumon_text_columns(module));
			free(module);
		} else {
			put_piece(line, path->labels, &path->pieces[i]);
		}
		if (run > 1)
			put_text(line, number,
				 (unsigned int)snprintf(number, sizeof(number), " (%u)", run));
		gap = false;
		any = true;
	}
	if (gap && any)
		put_text(line, SEPARATOR, 3);
	if (gap)
		put_text(line, "…", 1);
}

static char *path_line(const struct path *path)
{
	struct line line = { 0 };

	put_pieces(&line, path);
	line = (struct line){ .text = gpumon_malloc(line.size + 1) };
	line.text[0] = '\0';
	put_pieces(&line, path);
	return line.text;
}

/* Whether the kept pieces fit the line. */
static bool path_fits(const struct path *path)
{
	struct line line = { 0 };

	put_pieces(&line, path);
	return line.columns <= path->labels->columns;
}

/* Keep a piece, and the run it begins, if there is room. The first one is kept in any case. */
static bool try_piece(struct path *path, unsigned int i, bool first)
{
	unsigned int run = run_of(path, i);
	bool bare = path->pieces[i].bare, fits;

	for (unsigned int j = i; j < i + run; j++)
		path->pieces[j].keep = true;
	fits = path_fits(path);
	if (!fits && !bare && !path->pieces[i].place) {
		path->pieces[i].bare = true;
		fits = path_fits(path);
	}
	if (fits || first)
		return true;
	path->pieces[i].bare = bare;
	for (unsigned int j = i; j < i + run; j++)
		path->pieces[j].keep = false;
	return false;
}

/* Third-party code: its line matters less than that of its caller. */
static bool is_package(const struct gpumon_node *node)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/",
					       "/lib/python3" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (strstr(line_of(node), folders[i]))
			return true;
	}
	return false;
}

static void choose_pieces(struct path *path)
{
	unsigned int columns = path->labels->columns;
	bool any = false;
	char *text;

	for (unsigned int i = 0; i < path->n; i++) {
		path->pieces[i].keep = false;
		path->pieces[i].tried = path->pieces[i].rank == RANK_DIFFERENCE;
		path->pieces[i].bare = columns < WIDE && !path->pieces[i].place &&
				       is_package(path->pieces[i].node);
	}
	for (enum rank rank = 0; rank < RANK_CALL; rank++) {
		if (rank == RANK_WRAPPER && any)
			break;
		if (rank == RANK_PLACE) {
			free(path->key);
			path->key = path_line(path);
		}
		for (unsigned int i = 0; i < path->n; i += run_of(path, i)) {
			if (path->pieces[i].rank != rank)
				continue;
			if (!try_piece(path, i, !any))
				break;
			any = true;
		}
	}
	text = path_line(path);
	free(path->text);
	/* Only needed if a single piece is too long. */
	path->text = squeeze(text, columns, NULL, 0);
	free(text);
}

/* The next piece of a class, going inwards from before @at. NULL if there is none. */
static struct piece *next_piece(const struct path *path, unsigned int *at,
				bool (*of)(enum rank class))
{
	while (*at) {
		struct piece *piece = &path->pieces[--*at];

		if (of(piece->class))
			return piece;
	}
	return NULL;
}

static bool is_function(enum rank class)
{
	return class <= RANK_FUNCTION;
}

static bool is_call(enum rank class)
{
	return class == RANK_CALL;
}

static bool is_wrapper(enum rank class)
{
	return class == RANK_WRAPPER;
}

static bool is_place(enum rank class)
{
	return class == RANK_PLACE;
}

static void raise_piece(struct path *path, struct piece *piece, size_t mark)
{
	if (!piece || (piece->rank == RANK_DIFFERENCE && piece->mark == mark))
		return;
	piece->rank = RANK_DIFFERENCE;
	piece->mark = mark;
	make_word(&piece->marked, NULL);
	path->changed = true;
}

/* Raise the outermost frames of a class that differ. False if none does. */
static bool raise_difference(struct path *a, struct path *b, bool (*of)(enum rank class))
{
	unsigned int at_a = a->n, at_b = b->n;

	for (;;) {
		struct piece *in_a = next_piece(a, &at_a, of);
		struct piece *in_b = next_piece(b, &at_b, of);
		size_t mark = 0;

		if (!in_a && !in_b)
			return false;
		if (in_a && in_b) {
			if (in_a->node == in_b->node ||
			    (in_a->node->kind == in_b->node->kind &&
			     !strcmp(in_a->node->name, in_b->node->name)))
				continue;
			/* Both are shown already, but their shortened names are equal. */
			if (in_a->tried && in_b->tried)
				mark = gpumon_text_difference(in_a->node->name, in_b->node->name);
		}
		raise_piece(a, in_a, mark);
		raise_piece(b, in_b, mark);
		return true;
	}
}

/* Where lines begin to differ, at the beginning of the name of a file or folder. */
static size_t line_difference(const char *a, const char *b)
{
	size_t length_a = strlen(a), length_b = strlen(b), at = 0;

	/* From the end: of two files with one name, the folders differ. */
	while (at < length_a && at < length_b && a[length_a - 1 - at] == b[length_b - 1 - at])
		at++;
	at = length_a - at;
	while (at && a[at - 1] != '/')
		at--;
	return at;
}

static void raise_line(struct path *path, struct piece *piece, const char *other)
{
	size_t place = line_difference(line_of(piece->node), other) + 1;

	if (piece->place == place)
		return;
	piece->rank = RANK_DIFFERENCE;
	piece->place = place;
	make_word(&piece->where, NULL);
	path->changed = true;
}

/* The next piece of a class, going outwards from @at. */
static unsigned int piece_outwards(const struct path *path, unsigned int at,
				   bool (*of)(enum rank class))
{
	while (at < path->n && !of(path->pieces[at].class))
		at++;
	return at;
}

/*
 * Raise the innermost frames of a class whose lines differ, those of the program rather than those
 * of packages. All of its functions are equal. False if no line differs.
 */
static bool raise_line_difference(struct path *a, struct path *b, bool (*of)(enum rank class))
{
	struct piece *found_a = NULL, *found_b = NULL;
	unsigned int i = piece_outwards(a, 0, of), j = piece_outwards(b, 0, of);

	for (; i < a->n && j < b->n;
	     i = piece_outwards(a, i + 1, of), j = piece_outwards(b, j + 1, of)) {
		bool package = is_package(a->pieces[i].node);

		if (!strcmp(line_of(a->pieces[i].node), line_of(b->pieces[j].node)) ||
		    (found_a && package))
			continue;
		found_a = &a->pieces[i];
		found_b = &b->pieces[j];
		if (!package)
			break;
	}
	if (!found_a)
		return false;
	raise_line(a, found_a, line_of(found_b->node));
	raise_line(b, found_b, line_of(found_a->node));
	return true;
}

/* Two texts look alike. If the kernels beside them in the table differ, that is enough. */
static void tell_apart(struct path *a, struct path *b)
{
	if (raise_difference(a, b, is_function) || raise_line_difference(a, b, is_function) ||
	    strcmp(a->work->name, b->work->name) || a->work->kind != b->work->kind)
		return;
	if (!raise_difference(a, b, is_call) && !raise_difference(a, b, is_wrapper) &&
	    !raise_difference(a, b, is_place))
		raise_line_difference(a, b, is_wrapper);
}

static int by_key(const void *a, const void *b)
{
	const struct path *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order ? order : x->number < y->number ? -1 : 1;
}

static void tell_all_apart(struct path *paths, unsigned int count)
{
	bool changed = true;

	for (unsigned int round = 0; changed && round < ROUNDS; round++) {
		qsort(paths, count, sizeof(*paths), by_key);
		for (unsigned int i = 0; i < count; i++) {
			for (unsigned int j = i + 1;
			     j < count && !strcmp(paths[i].key, paths[j].key); j++)
				tell_apart(&paths[i], &paths[j]);
		}
		changed = false;
		for (unsigned int i = 0; i < count; i++) {
			if (!paths[i].changed)
				continue;
			paths[i].changed = false;
			changed = true;
			choose_pieces(&paths[i]);
		}
	}
}

void gpumon_path_texts(const struct gpumon_node *const *nodes, unsigned int count,
		       unsigned int columns, char **texts)
{
	struct path *paths = gpumon_calloc((size_t)count + 1, sizeof(*paths));
	struct labels labels = { .columns = columns };

	for (unsigned int i = 0; i < count; i++) {
		paths[i].labels = &labels;
		paths[i].work = nodes[i];
		paths[i].number = i;
		find_pieces(&paths[i]);
		choose_pieces(&paths[i]);
	}
	tell_all_apart(paths, count);
	for (unsigned int i = 0; i < count; i++) {
		texts[paths[i].number] = paths[i].text;
		free(paths[i].key);
		for (unsigned int k = 0; k < paths[i].n; k++) {
			free(paths[i].pieces[k].marked.text);
			free(paths[i].pieces[k].where.text);
		}
		free(paths[i].pieces);
	}
	clear_labels(&labels);
	free(paths);
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
