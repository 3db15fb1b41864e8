// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* In place of json-c, see include/json.h. Without memory the program ends: lib/memory.h. */
#include <json.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/decimal.h"
#include "lib/memory.h"

/* Values within values: as json-c has it. */
#define DEPTH_MAX 32

/**
 * struct json_object - a value; null is NULL
 * @type: what it is
 * @negative: an int below 0: its bits are those of an int64_t
 * @number: of INT and BOOLEAN
 * @real: of DOUBLE
 * @text: of STRING
 * @members: of OBJECT and ARRAY, in their order
 * @n_members: their number
 * @printed: of a value that was printed
 */
struct json_object {
	enum json_type type;
	bool negative;
	union {
		uint64_t number;
		double real;
		char *text;
		struct {
			struct member *members;
			size_t n_members;
		};
	};
	char *printed;
};

struct member {
	char *key; /* NULL in an array */
	struct json_object *value;
};

static struct json_object *new_value(enum json_type type)
{
	struct json_object *value = gpumon_calloc(1, sizeof(*value));

	value->type = type;
	return value;
}

struct json_object *json_object_new_object(void)
{
	return new_value(json_type_object);
}

struct json_object *json_object_new_array(void)
{
	return new_value(json_type_array);
}

struct json_object *json_object_new_boolean(int boolean)
{
	struct json_object *value = new_value(json_type_boolean);

	value->number = boolean != 0;
	return value;
}

struct json_object *json_object_new_int64(int64_t number)
{
	struct json_object *value = new_value(json_type_int);

	value->number = (uint64_t)number;
	value->negative = number < 0;
	return value;
}

struct json_object *json_object_new_uint64(uint64_t number)
{
	struct json_object *value = new_value(json_type_int);

	value->number = number;
	return value;
}

struct json_object *json_object_new_double(double number)
{
	struct json_object *value = new_value(json_type_double);

	value->real = number;
	return value;
}

struct json_object *json_object_new_string(const char *text)
{
	struct json_object *value = new_value(json_type_string);

	value->text = gpumon_strdup(text);
	return value;
}

int json_object_put(struct json_object *value)
{
	if (!value)
		return 0;
	if (value->type == json_type_string) {
		free(value->text);
	} else if (value->type == json_type_object || value->type == json_type_array) {
		for (size_t i = 0; i < value->n_members; i++) {
			free(value->members[i].key);
			json_object_put(value->members[i].value);
		}
		free(value->members);
	}
	free(value->printed);
	free(value);
	return 1;
}

/* The last one of that key, or NULL. */
static struct member *find_member(const struct json_object *object, const char *key)
{
	for (size_t i = object->n_members; i > 0; i--)
		if (!strcmp(object->members[i - 1].key, key))
			return &object->members[i - 1];
	return NULL;
}

static void append(struct json_object *to, char *key, struct json_object *value)
{
	struct member *member = GPUMON_GROW(to->members, to->n_members);

	*member = (struct member){ key, value };
}

int json_object_object_add(struct json_object *object, const char *key, struct json_object *value)
{
	struct member *member = find_member(object, key);

	if (member) {
		json_object_put(member->value);
		member->value = value;
	} else {
		append(object, gpumon_strdup(key), value);
	}
	return 0;
}

int json_object_array_add(struct json_object *array, struct json_object *value)
{
	append(array, NULL, value);
	return 0;
}

/* --- reading values */

int json_object_is_type(const struct json_object *value, enum json_type type)
{
	return (value ? value->type : json_type_null) == type;
}

int json_object_object_get_ex(const struct json_object *object, const char *key,
			      struct json_object **value)
{
	const struct member *member =
		json_object_is_type(object, json_type_object) ? find_member(object, key) : NULL;

	*value = member ? member->value : NULL;
	return member != NULL;
}

size_t json_object_array_length(const struct json_object *array)
{
	return array->n_members;
}

struct json_object *json_object_array_get_idx(const struct json_object *array, size_t i)
{
	return i < array->n_members ? array->members[i].value : NULL;
}

const char *json_object_get_string(struct json_object *value)
{
	return json_object_is_type(value, json_type_string) ? value->text : NULL;
}

uint64_t json_object_get_uint64(const struct json_object *value)
{
	return json_object_is_type(value, json_type_int) && !value->negative ? value->number : 0;
}

/* --- printing */

static void print_text(FILE *out, const char *text, int flags)
{
	static const char escaped[] = "\b\n\r\t\f\"\\/", letters[] = "bnrtf\"\\/";

	fputc('"', out);
	for (; *text; text++) {
		const char *found = strchr(escaped, *text);

		if (found && !(*text == '/' && flags & JSON_C_TO_STRING_NOSLASHESCAPE))
			fprintf(out, "\\%c", letters[found - escaped]);
		else if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void print_double(FILE *out, double number)
{
	char text[64];

	if (isnan(number) || isinf(number)) {
		fputs(isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity", out);
		return;
	}
	snprintf(text, sizeof(text), "%.17g", number);
	fprintf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void print_value(FILE *out, const struct json_object *value, int flags, int level);

static void begin_line(FILE *out, int flags, int level)
{
	if (flags & JSON_C_TO_STRING_PRETTY)
		fprintf(out, "\n%*s", 2 * level, "");
}

static void print_members(FILE *out, const struct json_object *value, int flags, int level)
{
	bool spaced = flags & JSON_C_TO_STRING_SPACED;
	const char *blank = spaced && !(flags & JSON_C_TO_STRING_PRETTY) ? " " : "";

	fputc(value->type == json_type_object ? '{' : '[', out);
	for (size_t i = 0; i < value->n_members; i++) {
		const struct member *member = &value->members[i];

		fputs(i ? "," : "", out);
		begin_line(out, flags, level + 1);
		fputs(blank, out);
		if (member->key) {
			print_text(out, member->key, flags);
			fputs(spaced ? ": " : ":", out);
		}
		print_value(out, member->value, flags, level + 1);
	}
	if (value->n_members)
		begin_line(out, flags, level);
	fprintf(out, "%s%c", blank, value->type == json_type_object ? '}' : ']');
}

static void print_value(FILE *out, const struct json_object *value, int flags, int level)
{
	switch (value ? value->type : json_type_null) {
	case json_type_null:
		fputs("null", out);
		break;
	case json_type_boolean:
		fputs(value->number ? "true" : "false", out);
		break;
	case json_type_double:
		print_double(out, value->real);
		break;
	case json_type_int:
		if (value->negative)
			fprintf(out, "%lld", (long long)value->number);
		else
			fprintf(out, "%llu", (unsigned long long)value->number);
		break;
	case json_type_string:
		print_text(out, value->text, flags);
		break;
	case json_type_object:
	case json_type_array:
		print_members(out, value, flags, level);
		break;
	}
}

const char *json_object_to_json_string_ext(struct json_object *value, int flags)
{
	char *text;
	size_t size;
	FILE *out;

	if (!value)
		return "null";
	out = gpumon_memstream_open(&text, &size);
	print_value(out, value, flags, 0);
	gpumon_memstream_close(out);
	free(value->printed);
	value->printed = text;
	return text;
}

/* --- parsing */

/* What is left of the text; NULL after what is no JSON. */
struct parser {
	const char *at;
	unsigned int depth;
};

static struct json_object *parse_value(struct parser *parser);

static char next(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t\n\r");
	return *parser->at;
}

static struct json_object *parse_failed(struct parser *parser, struct json_object *value)
{
	json_object_put(value);
	parser->at = NULL;
	return NULL;
}

/* Four digits. -1: they are not there. */
static int parse_code(const char *at)
{
	int code = 0;

	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = at[i] ? strchr(digits, at[i] | 0x20) : NULL;

		if (!digit || (at[i] < '0'))
			return -1;
		code = code << 4 | (int)(digit - digits);
	}
	return code;
}

static char *put_utf8(char *to, unsigned int code)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

/* The character behind "\u", with the second half of one beyond U+FFFF; half of one is U+FFFD. */
static const char *take_code(const char *at, char **to)
{
	int code = parse_code(at), low;

	if (code < 0)
		return NULL;
	at += 4;
	if (code >= 0xd800 && code < 0xe000) {
		low = code < 0xdc00 && at[0] == '\\' && at[1] == 'u' ? parse_code(at + 2) : -1;
		if (low >= 0xdc00 && low < 0xe000) {
			code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
			at += 6;
		} else {
			code = 0xfffd;
		}
	}
	*to = put_utf8(*to, (unsigned int)code);
	return at;
}

/* A text in quotes, to be freed. NULL: it is none. */
static char *parse_text(struct parser *parser)
{
	static const char letters[] = "bnrtf\"\\/", meant[] = "\b\n\r\t\f\"\\/";
	const char *at = parser->at + 1, *end = at;
	char *text, *to;

	while (*end && *end != '"')
		end += *end == '\\' && end[1] ? 2 : 1;
	text = to = gpumon_malloc((size_t)(end - at) + 1);
	while (at && at < end) {
		const char *letter;

		if (*at != '\\') {
			*to++ = *at++;
			continue;
		}
		letter = at[1] ? strchr(letters, at[1]) : NULL;
		if (letter)
			*to++ = meant[letter - letters];
		at = letter ? at + 2 : at[1] == 'u' ? take_code(at + 2, &to) : NULL;
	}
	*to = '\0';
	if (!at || *end != '"') {
		free(text);
		parser->at = NULL;
		return NULL;
	}
	parser->at = end + 1;
	return text;
}

static struct json_object *parse_string(struct parser *parser)
{
	char *text = parse_text(parser);
	struct json_object *value;

	if (!text)
		return NULL;
	value = new_value(json_type_string);
	value->text = text;
	return value;
}

/* With a power of ten, where there is one. */
static double scale_by(double number, const char *power, char **end)
{
	long times;

	if (!isdigit((unsigned char)power[*power == '-' || *power == '+']))
		return number;
	times = strtol(power, end, 10);
	for (; times > 0 && number && number < INFINITY; times--)
		number *= 10;
	for (; times < 0 && number; times++)
		number /= 10;
	return number;
}

static struct json_object *parse_number(struct parser *parser)
{
	const char *at = parser->at, *digits = at + (*at == '-');
	size_t length = strspn(digits, "0123456789");
	char *end;

	if (!length || (*digits == '0' && length > 1))
		return parse_failed(parser, NULL);
	errno = 0;
	if (strchr(".eE", digits[length]) && digits[length]) {
		double number = gpumon_decimal_parse(digits, &end);

		if (*end == 'e' || *end == 'E')
			number = scale_by(number, end + 1, &end);
		parser->at = end;
		return json_object_new_double(*at == '-' ? -number : number);
	}
	parser->at = digits + length;
	/* What is too large is the largest one. */
	return *at == '-' ? json_object_new_int64(strtoll(at, NULL, 10)) :
			    json_object_new_uint64(strtoull(at, NULL, 10));
}

static struct json_object *parse_members(struct parser *parser, enum json_type type, char close)
{
	struct json_object *value = new_value(type);

	parser->at++;
	if (next(parser) == close) {
		parser->at++;
		return value;
	}
	for (;;) {
		char *key = NULL;
		struct json_object *member;

		if (type == json_type_object) {
			key = next(parser) == '"' ? parse_text(parser) : NULL;
			if (!key || next(parser) != ':') {
				free(key);
				return parse_failed(parser, value);
			}
			parser->at++;
		}
		member = parse_value(parser);
		append(value, key, member);
		if (!parser->at || (next(parser) != ',' && *parser->at != close))
			return parse_failed(parser, value);
		if (*parser->at++ == close)
			return value;
	}
}

static struct json_object *parse_value(struct parser *parser)
{
	static const char *const words[] = { "false", "true", "null" };
	struct json_object *value = NULL;

	switch (next(parser)) {
	case '{':
	case '[':
		if (parser->depth == DEPTH_MAX)
			return parse_failed(parser, NULL);
		parser->depth++;
		value = *parser->at == '{' ? parse_members(parser, json_type_object, '}') :
					     parse_members(parser, json_type_array, ']');
		parser->depth--;
		return value;
	case '"':
		return parse_string(parser);
	case '-':
	case '0' ... '9':
		return parse_number(parser);
	default:
		for (int i = 0; i < 3; i++) {
			if (strncmp(parser->at, words[i], strlen(words[i])) != 0)
				continue;
			parser->at += strlen(words[i]);
			return i < 2 ? json_object_new_boolean(i) : NULL;
		}
		return parse_failed(parser, NULL);
	}
}

struct json_object *json_tokener_parse(const char *text)
{
	struct parser parser = { .at = text };

	return parse_value(&parser);
}
