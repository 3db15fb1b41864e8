// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "format.h"
#include "output_text.h"

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

unsigned int gpumon_text_columns(const char *text)
{
	unsigned int columns = 0;
	uint32_t code;

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
			putc('\\', out);
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
	size_t at = 0, cut = 0;
	unsigned int used = 0;
	uint32_t code;
	char bytes[4];

	if (!len)
		return buf;
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
		if (!strncmp(at, "operator", 8) && (at == name || !is_word_character(at[-1])) &&
		    !is_word_character(at[8])) {
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
