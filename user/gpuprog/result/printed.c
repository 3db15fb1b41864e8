// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "maps.h"
#include "printed.h"
#include "gpuprog/object/program.h"
#include "lib/text.h"

#define ARGUMENTS   3
#define WIDEST	    99 /* of a number */
#define TITLE_BYTES 64

/* A place in a format: "%-8llx". */
struct conversion {
	char flags[6];
	unsigned int width;
	unsigned int bits; /* of the number */
	char letter;	   /* 0: none that is known */
	size_t length;
};

static struct conversion read_conversion(const char *text)
{
	struct conversion found = { .bits = 32 };
	const char *at = text + 1;
	size_t flags = strspn(at, "-+ #0");

	if (flags < sizeof(found.flags))
		memcpy(found.flags, at, flags);
	for (at += flags; *at >= '0' && *at <= '9'; at++)
		found.width = found.width * 10 + (unsigned int)(*at - '0') < WIDEST ?
				      found.width * 10 + (unsigned int)(*at - '0') :
				      WIDEST;
	for (; *at && strchr("hlzjt", *at); at++)
		found.bits = *at != 'h' ? 64 : found.bits > 8 ? found.bits / 2 : 8;
	if (*at && strchr("diuxXocp", *at) && flags < sizeof(found.flags)) {
		found.letter = *at;
		found.length = (size_t)(at + 1 - text);
	}
	return found;
}

/* The format is put together here: the object's own is not trusted. */
static void print_number(char *buf, size_t size, const struct conversion *conversion,
			 uint64_t number)
{
	char letter = conversion->letter, format[32];
	unsigned int beyond = letter == 'p' ? 0 : 64 - conversion->bits;

	if (letter == 'c') {
		snprintf(buf, size, "%c", (int)(number & 0xff ? number & 0xff : ' '));
		return;
	}
	number <<= beyond;
	number = letter == 'd' || letter == 'i' ? (uint64_t)((int64_t)number >> beyond) :
						  number >> beyond;
	snprintf(format, sizeof(format), "%%%s%s%.0u%s%c", letter == 'p' ? "#" : "",
		 conversion->flags, conversion->width, "ll", letter == 'p' ? 'x' : letter);
	snprintf(buf, size, format, (unsigned long long)number);
}

/* The bytes that a record's text is in, and how many there are; NULL if it names none. */
static const char *find_bytes(const struct gpumon_gpuprog_object *object,
			      const struct gpumon_gpuprog_print *print, uint32_t *size)
{
	const struct gpumon_gpuprog_map *map =
		print->map < object->maps_n ? &object->maps[print->map] : NULL;

	if (print->map == GPUMON_GPUPROG_TEXTS_MAP && object->texts) {
		*size = object->texts->used;
		return object->texts->bytes;
	}
	if (!map || map->kind != GPUMON_GPUPROG_MAP_DATA)
		return NULL;
	*size = map->value_size;
	return (const char *)map->data;
}

/* The text that a record names, up to its end or that of its map; "" if it names none. */
static void find_text(const struct gpumon_gpuprog_object *object,
		      const struct gpumon_gpuprog_print *print, char *text)
{
	uint32_t size = 0;
	const char *bytes = find_bytes(object, print, &size);
	size_t left;

	text[0] = '\0';
	if (!bytes || print->offset >= size)
		return;
	left = size - print->offset;
	if (left > GPUMON_GPUPROG_LINE_BYTES - 1)
		left = GPUMON_GPUPROG_LINE_BYTES - 1;
	left = strnlen(bytes + print->offset, left);
	memcpy(text, bytes + print->offset, left);
	while (left && text[left - 1] == '\n')
		left--;
	text[left] = '\0';
}

static void add_text(char *buf, const char *text, size_t length)
{
	size_t used = strlen(buf);

	snprintf(buf + used, GPUMON_GPUPROG_LINE_BYTES - used, "%.*s", (int)length, text);
}

const char *gpumon_gpuprog_print_text(const struct gpumon_gpuprog_object *object,
				      const struct gpumon_gpuprog_print *print, char *buf)
{
	char text[GPUMON_GPUPROG_LINE_BYTES], number[WIDEST + 32];
	unsigned int argument = 0;
	struct conversion next;
	size_t plain;

	buf[0] = '\0';
	find_text(object, print, text);
	for (const char *at = text; *at;) {
		plain = strcspn(at, "%");
		add_text(buf, at, plain);
		at += plain;
		if (!*at)
			break;
		next = read_conversion(at);
		if (next.letter && argument < ARGUMENTS) {
			print_number(number, sizeof(number), &next, print->arguments[argument++]);
			add_text(buf, number, strlen(number));
			at += next.length;
		} else {
			add_text(buf, "%", 1);
			at += at[1] == '%' ? 2 : 1;
		}
	}
	return buf;
}

/* Rows of the newest lines, from the record with this index on. */
static void add_rows(struct gpumon_table *table, const struct gpumon_gpuprog_result *result,
		     uint64_t index)
{
	char line[GPUMON_GPUPROG_LINE_BYTES], before[GPUMON_GPUPROG_LINE_BYTES];
	uint64_t kept = gpumon_gpuprog_records_kept(result->prints), same = 0;
	struct gpumon_gpuprog_print print;

	for (; index < kept; index++) {
		struct gpumon_gpuprog_record record =
			gpumon_gpuprog_records_at(result->prints, index);

		memcpy(&print, record.data, sizeof(print));
		gpumon_gpuprog_print_text(result->object, &print, line);
		if (same && strcmp(line, before) != 0) {
			gpumon_table_number(table, same);
			gpumon_table_text(table, before);
			same = 0;
		}
		same++;
		strcpy(before, line);
	}
	if (same) {
		gpumon_table_number(table, same);
		gpumon_table_text(table, before);
	}
}

static struct gpumon_table *new_table(struct gpumon_findings *findings, const char *key,
				      const char *title)
{
	struct gpumon_table *table = gpumon_findings_table(findings, key, title);

	gpumon_table_typed(table, "TIMES", "times", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "TEXT", "text", GPUMON_CELL_TEXT);
	return table;
}

void gpumon_gpuprog_show_prints(struct gpumon_findings *findings,
				const struct gpumon_gpuprog_result *result)
{
	uint64_t kept = result->prints ? gpumon_gpuprog_records_kept(result->prints) : 0, first;
	struct gpumon_table *table;
	char title[TITLE_BYTES];

	if (!kept)
		return;
	first = kept > GPUMON_GPUPROG_JSON_ROWS ? kept - GPUMON_GPUPROG_JSON_ROWS : 0;
	table = new_table(findings, "printed", NULL);
	table->left_out = result->prints->added - kept + first;
	add_rows(table, result, first);
	snprintf(title, sizeof(title), "Printed: the newest of %" PRIu64 " lines",
		 result->prints->added);
	table = new_table(findings, NULL, title);
	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	first = kept > GPUMON_GPUPROG_SHOWN_ROWS ? kept - GPUMON_GPUPROG_SHOWN_ROWS : 0;
	add_rows(table, result, first);
}
