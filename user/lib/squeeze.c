// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "output_text.h"
#include "squeeze.h"

/* Replacing a gap of this width or less by "…" saves nothing. */
#define SMALL_GAP 3

/* Positions in a name where it differs from similar names. */
#define MARKS_MAX 16

/* Rounds in which rows that look alike get more marks. */
#define ROUNDS 8

/* Following rows that a row is made to differ from in a round. */
#define NEIGHBOURS 64

/* Longer names are cut to this first. */
#define NAME_MAX_BYTES 4096

struct cell {
	uint32_t code;
	size_t at; /* byte offset */
	unsigned int width;
	bool keep;
};

/* The characters of a text. @used counts the columns of the kept ones and of the "…" in gaps. */
struct line {
	struct cell *cells;
	size_t n;
	unsigned int used;
	unsigned int columns;
};

static bool is_kept(const struct line *line, size_t i)
{
	return line->cells[i].keep;
}

/* False if there is no room for the character. */
static bool keep_cell(struct line *line, size_t i)
{
	bool left = !i || is_kept(line, i - 1), right = i + 1 == line->n || is_kept(line, i + 1);
	unsigned int used = line->used + line->cells[i].width;

	if (is_kept(line, i))
		return true;
	/* The character closes a gap, or splits one into two. */
	if (left && right)
		used--;
	else if (!left && !right)
		used++;
	if (used > line->columns)
		return false;
	line->cells[i].keep = true;
	line->used = used;
	return true;
}

static bool is_word(const struct line *line, size_t i)
{
	return line->cells[i].code >= 0x80 || isalnum((int)line->cells[i].code);
}

/* Keep the marked characters first, then a share of the columns for each of their words. */
static void keep_marks(struct line *line, const size_t *marks, size_t count)
{
	unsigned int share = line->columns / ((unsigned int)count + 1);

	for (unsigned int words = 0; words < 2; words++) {
		size_t at = 0;

		for (size_t i = 0; i < count; i++) {
			while (at + 1 < line->n && line->cells[at].at < marks[i])
				at++;
			if (!keep_cell(line, at))
				return;
			for (size_t to = at + 1; words && to < line->n && to < at + share &&
						 is_word(line, to) && keep_cell(line, to);)
				to++;
			for (size_t to = at; words && to && to + share > at &&
					     is_word(line, to - 1) && keep_cell(line, to - 1);)
				to--;
		}
	}
}

static void close_small_gaps(struct line *line)
{
	size_t begin = 0;

	for (size_t i = 0; i < line->n; i++) {
		if (!is_kept(line, i))
			continue;
		for (size_t gap = begin; begin && i - begin <= SMALL_GAP && gap < i; gap++) {
			if (!keep_cell(line, gap))
				break;
		}
		begin = i + 1;
	}
}

static void keep_head(struct line *line, unsigned int columns)
{
	for (size_t i = 0; i < line->n && line->used < columns; i++) {
		if (!keep_cell(line, i))
			break;
	}
}

static void keep_tail(struct line *line)
{
	for (size_t i = line->n; i--;) {
		if (!keep_cell(line, i))
			break;
	}
}

static char *line_text(const struct line *line)
{
	static const char dots[] = "…";
	char *text = gpumon_malloc(line->n * sizeof(dots) + 1), *to = text;

	for (size_t i = 0; i < line->n; i++) {
		if (is_kept(line, i)) {
			to += gpumon_text_encode(to, line->cells[i].code);
		} else if (!i || is_kept(line, i - 1)) {
			memcpy(to, dots, sizeof(dots) - 1);
			to += sizeof(dots) - 1;
		}
	}
	*to = '\0';
	return text;
}

char *gpumon_text_squeeze(const char *text, unsigned int columns, const size_t *marks, size_t count)
{
	struct line line = { .columns = columns, .used = 1 };
	const char *at = text;
	unsigned int all = 0;
	char *squeezed;
	uint32_t code;

	line.cells = gpumon_calloc(strlen(text) + 1, sizeof(*line.cells));
	for (size_t begin = 0; (code = gpumon_text_next(&at)); begin = (size_t)(at - text)) {
		struct cell *cell = &line.cells[line.n++];

		*cell = (struct cell){ .code = code, .at = begin };
		cell->width = gpumon_text_character_columns(code);
		all += cell->width;
	}
	if (all <= columns) {
		for (size_t i = 0; i < line.n; i++)
			line.cells[i].keep = true;
	} else {
		keep_marks(&line, marks, count);
		close_small_gaps(&line);
		if (strchr(text, '<')) {
			keep_head(&line, line.used + (columns - line.used) * 2 / 3);
			keep_tail(&line);
		}
		keep_head(&line, columns);
	}
	squeezed = line_text(&line);
	free(line.cells);
	return squeezed;
}

size_t gpumon_text_difference(const char *one, const char *other)
{
	size_t at = 0;

	while (one[at] && one[at] == other[at])
		at++;
	/* Not in the middle of a character. */
	while (at && (one[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/**
 * struct row - a name in the table
 * @number: of the first name in the table that is this one
 * @name: full name
 * @stripped: without the parts that can go
 * @whole: show @name, otherwise @stripped
 * @marks: where it differs from names that looked like it
 * @text: shown text
 */
struct row {
	size_t number;
	char *name;
	char *stripped;
	bool whole;
	size_t marks[MARKS_MAX];
	size_t count;
	bool changed;
	char *text;
};

static int by_text(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : x->number < y->number ? -1 : 1;
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->number < y->number ? -1 : 1;
}

/* Keep the marks sorted and unique. False if the mark is known or there are too many. */
static bool add_mark(struct row *row, size_t mark)
{
	size_t at = 0;

	while (at < row->count && row->marks[at] < mark)
		at++;
	if (row->count == MARKS_MAX || (at < row->count && row->marks[at] == mark))
		return false;
	memmove(&row->marks[at + 1], &row->marks[at], (row->count - at) * sizeof(*row->marks));
	row->marks[at] = mark;
	row->count++;
	return true;
}

static const char *shown_text(const struct row *row)
{
	return row->whole ? row->name : row->stripped;
}

/* Two different names are shown alike: mark where they differ. */
static void tell_apart(struct row *row, const struct row *other)
{
	/* They differ only in the stripped parts, so show those. */
	if (!row->whole && !strcmp(row->stripped, other->stripped)) {
		row->whole = true;
		row->count = 0;
		row->changed = true;
	}
	if (add_mark(row, gpumon_text_difference(shown_text(row),
						 row->whole ? other->name : other->stripped)))
		row->changed = true;
}

static void squeeze_row(struct row *row, unsigned int columns)
{
	free(row->text);
	row->text = gpumon_text_squeeze(shown_text(row), columns, row->marks, row->count);
	row->changed = false;
}

static void fill_row(struct row *row, const char *name, unsigned int columns, bool function)
{
	size_t len = strlen(name) + 1;

	len = len < NAME_MAX_BYTES ? len : NAME_MAX_BYTES;
	row->name = gpumon_malloc(len);
	row->stripped = gpumon_malloc(len);
	gpumon_text_cut(row->name, len, name, 0);
	if (function)
		gpumon_text_strip(row->stripped, len, row->name, columns);
	else
		strcpy(row->stripped, row->name);
	squeeze_row(row, columns);
}

static void tell_all_apart(struct row *rows, size_t count, unsigned int columns)
{
	bool changed = true;

	/* A mark that separates two names can make one look like a third. */
	for (unsigned int round = 0; changed && round < ROUNDS; round++) {
		qsort(rows, count, sizeof(*rows), by_text);
		for (size_t i = 0; i < count; i++) {
			for (size_t j = i + 1; j < count && j - i <= NEIGHBOURS &&
					       !strcmp(rows[i].text, rows[j].text);
			     j++) {
				tell_apart(&rows[i], &rows[j]);
				tell_apart(&rows[j], &rows[i]);
			}
		}
		changed = false;
		for (size_t i = 0; i < count; i++) {
			changed |= rows[i].changed;
			if (rows[i].changed)
				squeeze_row(&rows[i], columns);
		}
	}
}

static void free_row(struct row *row)
{
	free(row->name);
	free(row->stripped);
	free(row->text);
}

/* Keep one row of each name. @first: out, for each name, the number of its row. */
static size_t merge_rows(struct row *rows, size_t count, size_t *first)
{
	size_t kept = 0;

	qsort(rows, count, sizeof(*rows), by_name);
	for (size_t i = 0; i < count; i++) {
		bool same = kept && !strcmp(rows[kept - 1].name, rows[i].name);

		first[rows[i].number] = same ? rows[kept - 1].number : rows[i].number;
		if (same)
			free_row(&rows[i]);
		else
			rows[kept++] = rows[i];
	}
	return kept;
}

/* Move the rows' texts to their names and copy them to the same names. */
static void give_texts(struct row *rows, size_t kept, const size_t *first, size_t count,
		       char **texts)
{
	for (size_t i = 0; i < kept; i++) {
		texts[rows[i].number] = rows[i].text;
		rows[i].text = NULL;
	}
	for (size_t i = 0; i < count; i++) {
		if (!texts[i])
			texts[i] = gpumon_strdup(texts[first[i]]);
	}
}

void gpumon_text_squeeze_rows(const char *const *names, size_t count, unsigned int columns,
			      bool functions, char **texts)
{
	struct row *rows = gpumon_calloc(count + 1, sizeof(*rows));
	size_t *first = gpumon_calloc(count + 1, sizeof(*first)), kept;

	memset(texts, 0, count * sizeof(*texts));
	for (size_t i = 0; i < count; i++) {
		rows[i].number = i;
		fill_row(&rows[i], names[i], columns, functions);
	}
	kept = merge_rows(rows, count, first);
	tell_all_apart(rows, kept, columns);
	give_texts(rows, kept, first, count, texts);
	for (size_t i = 0; i < kept; i++)
		free_row(&rows[i]);
	free(first);
	free(rows);
}
