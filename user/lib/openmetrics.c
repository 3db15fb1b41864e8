// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "openmetrics.h"
#include "utf8.h"

static void put(struct gpumon_labels *labels, const char *text, size_t length)
{
	if (labels->used + length + 1 > labels->room) {
		labels->room = 2 * (labels->used + length + 1);
		labels->text = gpumon_realloc(labels->text, labels->room);
	}
	memcpy(labels->text + labels->used, text, length);
	labels->used += length;
	labels->text[labels->used] = '\0';
}

static void put_text(struct gpumon_labels *labels, const char *text)
{
	put(labels, text, strlen(text));
}

/* Names have letters, digits and "_", and begin with no digit. */
static char name_byte(char c, bool first)
{
	unsigned char byte = (unsigned char)c;

	return byte < 0x80 && (isalpha(byte) || byte == '_' || (!first && isdigit(byte))) ? c : '_';
}

void gpumon_labels_add(struct gpumon_labels *labels, const char *name, const char *value)
{
	char *text;

	if (!value || !*value)
		return;
	if (labels->used)
		put(labels, ",", 1);
	for (const char *c = name; *c; c++) {
		char byte = name_byte(*c, c == name);

		put(labels, &byte, 1);
	}
	put_text(labels, "=\"");
	text = gpumon_utf8_copy(value);
	for (const char *c = text; *c; c++) {
		if (*c == '\n')
			put_text(labels, "\\n");
		else if (*c == '"' || *c == '\\')
			put(labels, *c == '"' ? "\\\"" : "\\\\", 2);
		else
			put(labels, c, 1);
	}
	free(text);
	put(labels, "\"", 1);
}

void gpumon_labels_cut(struct gpumon_labels *labels, size_t used)
{
	if (used >= labels->used)
		return;
	labels->used = used;
	labels->text[used] = '\0';
}

void gpumon_labels_clear(struct gpumon_labels *labels)
{
	free(labels->text);
	memset(labels, 0, sizeof(*labels));
}

const char *gpumon_labels_text(const struct gpumon_labels *labels)
{
	return labels->text ? labels->text : "";
}

static bool ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), behind = strlen(ending);

	return length >= behind && !strcmp(text + length - behind, ending);
}

/* The endings that the format itself gives to samples. A column of such a name gets one more word. */
static bool is_reserved(const char *name)
{
	static const char *const endings[] = { "_total", "_count",  "_sum", "_bucket",
					       "_info",	 "_gcount", "_gsum" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (ends_with(name, endings[i]))
			return true;
	}
	return false;
}

char *gpumon_openmetrics_name(const char *prefix, const char *column, const char **unit,
			      unsigned int *digits)
{
	static const struct {
		const char *ending;
		const char *unit;
		unsigned int digits;
	} units[] = {
		{ "_ns", "seconds", 9 },	 { "_ms", "seconds", 3 },
		{ "_millihertz", "hertz", 3 },	 { "_microwatts", "watts", 6 },
		{ "_microjoules", "joules", 6 }, { "_millidegrees", "celsius", 3 },
		{ "_millivolts", "volts", 3 },	 { "_percent", "ratio", 2 },
	};
	static const char *const base[] = { "_bytes", "_seconds", "_hertz" };
	char *name = gpumon_asprintf("%s_%s", prefix, column), *whole;

	*unit = "";
	*digits = 0;
	for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++)
		if (ends_with(name, base[i]))
			*unit = base[i] + 1;
	for (char *c = name; *c; c++)
		*c = name_byte(*c, c == name);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!ends_with(name, units[i].ending))
			continue;
		*unit = units[i].unit;
		*digits = units[i].digits;
		name[strlen(name) - strlen(units[i].ending)] = '\0';
		whole = gpumon_asprintf("%s_%s", name, *unit);
		free(name);
		return whole;
	}
	if (!is_reserved(name))
		return name;
	whole = gpumon_asprintf("%s_value", name);
	free(name);
	return whole;
}

const char *gpumon_exposition_content_type(bool openmetrics)
{
	return openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8" :
			     "text/plain; version=0.0.4; charset=utf-8";
}

static void put_help(FILE *stream, const char *help, bool quotes)
{
	char *text = gpumon_utf8_copy(help);

	for (const char *c = text; *c; c++) {
		if (*c == '\n')
			fputs("\\n", stream);
		else if (*c == '\\' || (*c == '"' && quotes))
			fprintf(stream, "\\%c", *c);
		else
			fputc(*c, stream);
	}
	free(text);
}

/* In the older format the type is that of the samples' name, and there is no info. */
void gpumon_exposition_family(const struct gpumon_exposition *exposition, const char *name,
			      enum gpumon_metric_type type, const char *unit, const char *help)
{
	static const char *const types[] = { "counter", "gauge", "histogram", "info" };
	static const char *const endings[] = { "_total", "", "", "_info" };
	bool is_new = exposition->openmetrics;
	const char *ending = is_new ? "" : endings[type];
	const char *word = !is_new && type == GPUMON_METRIC_INFO ? "gauge" : types[type];
	FILE *stream = exposition->stream;

	fprintf(stream, "# HELP %s%s ", name, ending);
	put_help(stream, help, is_new);
	fprintf(stream, "\n# TYPE %s%s %s\n", name, ending, word);
	if (is_new && *unit)
		fprintf(stream, "# UNIT %s %s\n", name, unit);
}

static void put_number(FILE *stream, bool negative, uint64_t number, unsigned int digits)
{
	uint64_t one = 1, rest;

	for (unsigned int i = 0; i < digits; i++)
		one *= 10;
	rest = number % one;
	while (digits && !(rest % 10)) {
		rest /= 10;
		digits--;
	}
	fprintf(stream, "%s%" PRIu64, negative ? "-" : "", number / one);
	if (digits)
		fprintf(stream, ".%0*" PRIu64, (int)digits, rest);
}

void gpumon_exposition_sample(const struct gpumon_exposition *exposition, const char *name,
			      const char *suffix, const char *labels, const char *more,
			      bool negative, uint64_t number, unsigned int digits)
{
	FILE *stream = exposition->stream;

	fprintf(stream, "%s%s", name, suffix);
	if (*labels || *more)
		fprintf(stream, "{%s%s%s}", labels, *labels && *more ? "," : "", more);
	fputc(' ', stream);
	put_number(stream, negative, number, digits);
	fputc('\n', stream);
}

void gpumon_exposition_end(const struct gpumon_exposition *exposition)
{
	if (exposition->openmetrics)
		fputs("# EOF\n", exposition->stream);
}
