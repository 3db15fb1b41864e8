// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "memory.h"
#include "profile.h"
#include "text.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

uint32_t gpumon_text_next(const char **text)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *at = (const unsigned char *)*text;
	unsigned int bytes = at[0] < 0x80	    ? 1 :
			     (at[0] & 0xe0) == 0xc0 ? 2 :
			     (at[0] & 0xf0) == 0xe0 ? 3 :
			     (at[0] & 0xf8) == 0xf0 ? 4 :
						      0;
	uint32_t code;

	if (!at[0])
		return 0;
	code = bytes > 1 ? at[0] & (0x7fu >> bytes) : at[0];
	for (unsigned int i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80) {
			bytes = 0;
			break;
		}
		code = code << 6 | (at[i] & 0x3f);
	}
	if (!bytes || code < least[bytes]) {
		*text += 1;
		return '?';
	}
	*text += bytes;
	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000) ||
	    (code & 0xfffe) == 0xfffe || code > 0x10ffff)
		return '?';
	/* Characters that change the writing direction could disguise a name. */
	if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
	    code == 0x2028 || code == 0x2029)
		return '?';
	return code;
}

unsigned int gpumon_text_character_columns(uint32_t code)
{
	static const struct {
		uint32_t first, last;
		unsigned int columns;
	} ranges[] = {
		{ 0x300, 0x36f, 0 },	 { 0x1100, 0x115f, 2 },	  { 0x200b, 0x200f, 0 },
		{ 0x20d0, 0x20ff, 0 },	 { 0x2e80, 0xa4cf, 2 },	  { 0xac00, 0xd7a3, 2 },
		{ 0xf900, 0xfaff, 2 },	 { 0xfe00, 0xfe0f, 0 },	  { 0xfe30, 0xfe6f, 2 },
		{ 0xff00, 0xff60, 2 },	 { 0xffe0, 0xffe6, 2 },	  { 0x1f300, 0x1f64f, 2 },
		{ 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
	};

	for (size_t i = 0; i < COUNT_OF(ranges) && code >= ranges[i].first; i++) {
		if (code <= ranges[i].last)
			return ranges[i].columns;
	}
	return 1;
}

/* Number of characters that a text begins with and that are one byte, one column and shown as they are. */
static size_t plain_length(const char *text)
{
	size_t length = 0;

	while (text[length] >= 0x20 && text[length] < 0x7f)
		length++;
	return length;
}

unsigned int gpumon_text_columns(const char *text)
{
	size_t plain = plain_length(text);
	unsigned int columns = (unsigned int)plain;
	uint32_t code;

	text += plain;
	while ((code = gpumon_text_next(&text)))
		columns += gpumon_text_character_columns(code);
	return columns;
}

size_t gpumon_text_encode(char *to, uint32_t code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

static void put_character(FILE *out, uint32_t code)
{
	char bytes[4];

	fwrite(bytes, 1, gpumon_text_encode(bytes, code), out);
}

void gpumon_text_xml(FILE *out, const char *text)
{
	uint32_t code;

	while ((code = gpumon_text_next(&text))) {
		switch (code) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			put_character(out, code);
		}
	}
}

void gpumon_text_json(FILE *out, const char *text)
{
	uint32_t code;

	while ((code = gpumon_text_next(&text))) {
		if (code == '"' || code == '\\')
			fputc('\\', out);
		put_character(out, code);
	}
}

void gpumon_text_plain(FILE *out, const char *text)
{
	uint32_t code;

	while ((code = gpumon_text_next(&text)))
		put_character(out, code);
}

void gpumon_text_folded(FILE *out, const char *text)
{
	uint32_t code;

	while ((code = gpumon_text_next(&text)))
		put_character(out, code == ';' ? ':' : code);
}

const char *gpumon_text_cut(char *buf, size_t len, const char *text, unsigned int columns)
{
	static const char dots[] = "…";
	size_t at = 0, cut = 0, plain;
	unsigned int used = 0;
	uint32_t code;
	char bytes[4];

	if (!len)
		return buf;
	plain = plain_length(text);
	if (!text[plain] && plain < len && (!columns || plain <= columns))
		return memcpy(buf, text, plain + 1);
	while ((code = gpumon_text_next(&text))) {
		unsigned int width = gpumon_text_character_columns(code);
		size_t size = gpumon_text_encode(bytes, code);

		if ((columns && used + width > columns) || at + size >= len) {
			at = cut;
			if (at + sizeof(dots) <= len) {
				memcpy(buf + at, dots, sizeof(dots) - 1);
				at += sizeof(dots) - 1;
			}
			break;
		}
		memcpy(buf + at, bytes, size);
		at += size;
		used += width;
		/* Leave room for the ellipsis. */
		if ((!columns || used < columns) && at + sizeof(dots) <= len)
			cut = at;
	}
	buf[at] = '\0';
	return buf;
}

/* The bracket that closes the one at @at, or NULL. */
static const char *closing_bracket(const char *at)
{
	char open = *at, close = open == '<' ? '>' : open == '(' ? ')' : '}';
	unsigned int depth = 0;

	for (; *at; at++) {
		/* The '>' of "operator->" and "->" is not a bracket. */
		if (open == '<' && *at == '>' && at[-1] == '-')
			continue;
		if (*at == open)
			depth++;
		else if (*at == close && !--depth)
			return at;
	}
	return NULL;
}

static bool is_word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* Skip "operator" and its symbol, which may contain brackets. */
static const char *behind_operator(const char *at)
{
	at += strlen("operator");
	if (!strncmp(at, "()", 2) || !strncmp(at, "[]", 2))
		return at + 2;
	at += strspn(at, "<>=-+*/%&|^!~,");
	/* "operator< <int>", "operator bool": the blank belongs to the name. */
	return at + (*at == ' ');
}

/* Find where the parameters of a demangled name and the name itself begin. NULL without any. */
static const char *find_parameters(const char *name, const char **begin)
{
	const char *at = name, *end;

	*begin = name;
	while (*at) {
		if (*at == 'o' && !strncmp(at, "operator", 8) &&
		    (at == name || !is_word_character(at[-1])) && !is_word_character(at[8])) {
			at = behind_operator(at);
			continue;
		}
		if (*at == '<' || *at == '{' || *at == '(') {
			end = closing_bracket(at);
			if (!end)
				return NULL;
			/* "(anonymous namespace)::f", "f(int)::{lambda()#1}": part of the name. */
			if (*at == '(' && at != *begin && strncmp(end + 1, "::", 2) &&
			    strncmp(end + 1, " const::", 8))
				return at;
			at = end;
			if (!strncmp(end + 1, " const::", 8))
				at += 6;
		} else if (*at == ' ') {
			*begin = at + 1;
		}
		at++;
	}
	return NULL;
}

const char *gpumon_text_function(char *buf, size_t len, const char *name)
{
	const char *begin, *parameters;
	char copy[4096];

	/*
	 * Names in brackets, such as "[kernel without stack]" and "<module>", have no parameters.
	 */
	if (*name == '[' || *name == '<')
		return gpumon_text_cut(buf, len, name, 0);
	parameters = find_parameters(name, &begin);
	if (!parameters || parameters <= begin || (size_t)(parameters - begin) >= sizeof(copy))
		return gpumon_text_cut(buf, len, name, 0);
	memcpy(copy, begin, (size_t)(parameters - begin));
	copy[parameters - begin] = '\0';
	return gpumon_text_cut(buf, len, copy, 0);
}

/* Remove "a::b::" within template arguments, in place. */
static void drop_namespaces(char *name)
{
	static const char anonymous[] = "(anonymous namespace)::";
	unsigned int depth = 0;
	char *to = name, *begin = NULL;

	for (char *at = name; *at; at++) {
		if (!strncmp(at, anonymous, sizeof(anonymous) - 1) && depth) {
			at += sizeof(anonymous) - 2;
			begin = NULL;
			continue;
		}
		if (is_word_character(*at)) {
			if (!begin)
				begin = to;
			*to++ = *at;
			continue;
		}
		if (begin && at[0] == ':' && at[1] == ':' && depth) {
			to = begin;
			at++;
			begin = NULL;
			continue;
		}
		begin = NULL;
		if (*at == '<' || *at == '(')
			depth++;
		else if ((*at == '>' || *at == ')') && depth)
			depth--;
		*to++ = *at;
	}
	*to = '\0';
}

/* Skip the outermost "a::" of a name. NULL if it has none. */
static const char *behind_namespace(const char *name)
{
	for (const char *at = name; *at; at++) {
		if (*at == '<' || *at == '(' || *at == '{') {
			at = closing_bracket(at);
			if (!at)
				return NULL;
		} else if (at[0] == ':' && at[1] == ':') {
			return at[2] ? at + 2 : NULL;
		}
	}
	return NULL;
}

/* A name that many functions have: it says nothing without its namespace. */
static bool is_general(const char *name)
{
	static const char *const names[] = { "call",   "redispatch", "impl",	 "apply",     "run",
					     "invoke", "forward",    "backward", "operator()" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

/* Remove every part that can go before the name itself has to be cut. */
static const char *strip_name(char *copy, size_t len, const char *name, unsigned int columns)
{
	const char *shorter, *next;

	gpumon_text_function(copy, len, name);
	if (gpumon_text_columns(copy) > columns && strchr(copy, '<'))
		drop_namespaces(copy);
	for (shorter = copy; gpumon_text_columns(shorter) > columns; shorter = next) {
		next = behind_namespace(shorter);
		/* A lambda is only identified by the function that contains it. */
		if (!next || *next == '{' || is_general(next))
			break;
	}
	return shorter;
}

const char *gpumon_text_strip(char *buf, size_t len, const char *name, unsigned int columns)
{
	char copy[4096];

	if (gpumon_text_columns(name) <= columns || *name == '[')
		return gpumon_text_cut(buf, len, name, 0);
	return gpumon_text_cut(buf, len, strip_name(copy, sizeof(copy), name, columns), 0);
}

const char *gpumon_text_fit(char *buf, size_t len, const char *name, unsigned int columns)
{
	char copy[4096];

	if (!columns || gpumon_text_columns(name) <= columns || *name == '[')
		return gpumon_text_cut(buf, len, name, columns);
	return gpumon_text_cut(buf, len, strip_name(copy, sizeof(copy), name, columns), columns);
}

const char *gpumon_text_ns(char *buf, size_t len, uint64_t ns)
{
	static const char blank[] = "\u00a0";
	char plain[GPUMON_FORMAT_LEN];
	size_t at;

	gpumon_format_ns(plain, sizeof(plain), gpumon_value_of(ns));
	at = strspn(plain, "0123456789.");
	/* Leave "2m05s" unchanged. */
	if (strpbrk(plain + at, "0123456789"))
		snprintf(buf, len, "%s", plain);
	else if (plain[at] == 'u')
		snprintf(buf, len, "%.*s%sµs", (int)at, plain, blank);
	else
		snprintf(buf, len, "%.*s%s%s", (int)at, plain, blank, plain + at);
	return buf;
}

const char *gpumon_text_count(char *buf, size_t len, uint64_t count)
{
	char digits[24], *at = digits;
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t to = 0;

	for (; n > 0 && to + 2 < len; n--) {
		buf[to++] = *at++;
		if (n % 3 == 1 && n > 1)
			buf[to++] = ',';
	}
	if (len)
		buf[to] = '\0';
	return buf;
}

const char *gpumon_text_percent(char *buf, size_t len, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!whole)
		snprintf(buf, len, "-");
	else if (part && percent < 0.005)
		snprintf(buf, len, "<0.01%%");
	else if (percent < 9.995)
		snprintf(buf, len, "%.2f%%", percent);
	else
		snprintf(buf, len, "%.1f%%", percent);
	return buf;
}

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
	size_t size = strlen(text) + 1;
	const char *at = text;
	char *squeezed;
	uint32_t code;

	if (gpumon_text_columns(text) <= columns) {
		squeezed = gpumon_malloc(size);
		gpumon_text_cut(squeezed, size, text, 0);
		return squeezed;
	}
	line.cells = gpumon_calloc(size, sizeof(*line.cells));
	for (size_t begin = 0; (code = gpumon_text_next(&at)); begin = (size_t)(at - text)) {
		struct cell *cell = &line.cells[line.n++];

		*cell = (struct cell){ .code = code, .at = begin };
		cell->width = gpumon_text_character_columns(code);
	}
	keep_marks(&line, marks, count);
	close_small_gaps(&line);
	if (strchr(text, '<')) {
		keep_head(&line, line.used + (columns - line.used) * 2 / 3);
		keep_tail(&line);
	}
	keep_head(&line, columns);
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
		fill_row(&rows[i], names[i], columns, functions && !GPUMON_IS_SMALL);
	}
	kept = merge_rows(rows, count, first);
	tell_all_apart(rows, kept, columns);
	give_texts(rows, kept, first, count, texts);
	for (size_t i = 0; i < kept; i++)
		free_row(&rows[i]);
	free(first);
	free(rows);
}

bool gpumon_text_pci_address(const char *text, unsigned int part[4])
{
	static const char ends[4] = { ':', ':', '.', '\0' };
	char *end;

	for (int i = 0; i < 4; i++) {
		if (!isxdigit((unsigned char)*text))
			return false;
		part[i] = (unsigned int)strtoul(text, &end, 16);
		if (*end != ends[i])
			return false;
		text = end + 1;
	}
	return true;
}
