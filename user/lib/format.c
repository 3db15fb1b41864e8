// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format.h"
#include "text.h"

/* Three significant digits: 1.23, 12.3, 123. Rounding may carry into another digit. */
static void format_three_digits(char *buf, size_t len, double number, const char *unit)
{
	int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;

	snprintf(buf, len, "%.*f%s", decimals, number, unit);
}

/* Move to the next unit as long as the number would print with four digits. */
static void format_scaled(char *buf, size_t len, double number, double step,
			  const char *const *units, size_t n_units)
{
	size_t i = 0;

	while (i + 1 < n_units && number >= (i ? step - 0.5 : step)) {
		number /= step;
		i++;
	}
	if (i)
		format_three_digits(buf, len, number, units[i]);
	else
		snprintf(buf, len, "%.0f%s", number, units[0]);
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

const char *gpumon_format_ns(char *buf, size_t len, struct gpumon_value ns)
{
	uint64_t seconds;

	if (!ns.known)
		snprintf(buf, len, "-");
	else if (ns.v < 1000)
		snprintf(buf, len, "%" PRIu64 "ns", ns.v);
	else if (ns.v < 999500)
		format_three_digits(buf, len, (double)ns.v / 1e3, "us");
	else if (ns.v < 999500000)
		format_three_digits(buf, len, (double)ns.v / 1e6, "ms");
	else if (ns.v < 59950000000ULL)
		format_three_digits(buf, len, (double)ns.v / 1e9, "s");
	else {
		seconds = ns.v / 1000000000 + (ns.v % 1000000000 >= 500000000);
		if (seconds < 3600)
			snprintf(buf, len, "%" PRIu64 "m%02" PRIu64 "s", seconds / 60,
				 seconds % 60);
		else
			snprintf(buf, len, "%" PRIu64 "h%02" PRIu64 "m", seconds / 3600,
				 seconds / 60 % 60);
	}
	return buf;
}

const char *gpumon_format_count(char *buf, size_t len, struct gpumon_value value)
{
	if (value.known)
		snprintf(buf, len, "%" PRIu64, value.v);
	else
		snprintf(buf, len, "-");
	return buf;
}

const char *gpumon_format_short(char *buf, size_t len, struct gpumon_value value)
{
	static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };

	if (value.known)
		format_scaled(buf, len, (double)value.v, 1000, units, COUNT_OF(units));
	else
		snprintf(buf, len, "-");
	return buf;
}

const char *gpumon_format_rate(char *buf, size_t len, struct gpumon_value count,
			       uint64_t interval_ns)
{
	double rate;

	if (!count.known || !interval_ns) {
		snprintf(buf, len, "-");
		return buf;
	}
	rate = (double)count.v * 1e9 / (double)interval_ns;
	if (!count.v)
		snprintf(buf, len, "0");
	else if (rate < 999.5)
		format_three_digits(buf, len, rate, "");
	else
		gpumon_format_short(buf, len, gpumon_value_of((uint64_t)(rate + 0.5)));
	return buf;
}

const char *gpumon_format_share(char *buf, size_t len, struct gpumon_value ns, uint64_t of_ns)
{
	/* What is read a little later than the whole may be more than that. */
	if (ns.known && of_ns)
		snprintf(buf, len, "%.1f%%",
			 ns.v < of_ns ? 100. * (double)ns.v / (double)of_ns : 100.);
	else
		snprintf(buf, len, "-");
	return buf;
}

const char *gpumon_format_bytes(char *buf, size_t len, struct gpumon_value bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	if (bytes.known)
		format_scaled(buf, len, (double)bytes.v, 1024, units, COUNT_OF(units));
	else
		snprintf(buf, len, "-");
	return buf;
}

const char *gpumon_format_time(char *buf, size_t len, uint64_t ns)
{
	snprintf(buf, len, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
	return buf;
}

const char *gpumon_format_name(char *buf, size_t len, const char *name)
{
	uint32_t code;
	size_t at = 0;
	char bytes[4];

	if (!len)
		return buf;
	if (!name)
		name = "-";
	while ((code = gpumon_text_next(&name))) {
		size_t size = gpumon_text_encode(bytes, code);

		if (at + size >= len)
			break;
		memcpy(buf + at, bytes, size);
		at += size;
	}
	buf[at] = '\0';
	return buf;
}

/* A positive number from the environment, or 0. */
static unsigned int environment_number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long number;

	if (!text)
		return 0;
	number = strtol(text, &end, 10);
	return *end || number < 1 || number > 100000 ? 0 : (unsigned int)number;
}

/* No screen is larger: serial lines and broken programs say 65535. */
#define SIZE_MAX_SHOWN 2000

static bool has_utf8;

void gpumon_term_start(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && (!value || !*value); i++)
		value = getenv(names[i]);
	has_utf8 = value && (strcasestr(value, "UTF-8") || strcasestr(value, "UTF8"));
}

bool gpumon_term_utf8(void)
{
	return has_utf8;
}

void gpumon_term_get(struct gpumon_term *term, FILE *stream)
{
	const char *kind = getenv("TERM"), *no_color = getenv("NO_COLOR");
	struct winsize size = { 0 };
	int fd = fileno(stream);

	memset(term, 0, sizeof(*term));
	/* A memory stream has no descriptor. */
	term->tty = fd >= 0 && isatty(fd);
	if (term->tty)
		(void)ioctl(fd, TIOCGWINSZ, &size);
	term->cursor = term->tty && kind && *kind && strcmp(kind, "dumb");
	term->colour = term->cursor && !(no_color && *no_color);
	term->columns = environment_number("COLUMNS");
	if (!term->columns)
		term->columns = size.ws_col < SIZE_MAX_SHOWN ? size.ws_col : SIZE_MAX_SHOWN;
	term->rows = environment_number("LINES");
	if (!term->rows)
		term->rows = size.ws_row < SIZE_MAX_SHOWN ? size.ws_row : SIZE_MAX_SHOWN;
}

#define SEQUENCE(name, code)                                           \
	const char *gpumon_term_##name(const struct gpumon_term *term) \
	{                                                              \
		return term->colour ? "\033[" code "m" : "";           \
	}

SEQUENCE(red, "31")
SEQUENCE(yellow, "33")
SEQUENCE(green, "32")
SEQUENCE(bold, "1")
SEQUENCE(dim, "2")
SEQUENCE(reset, "0")

void gpumon_sentence_print(FILE *out, const struct gpumon_term *term, const char *colour,
			   unsigned int taken, unsigned int indent, const char *sentence)
{
	unsigned int columns = term->columns, at = taken, width;
	char text[1024], word[512], *rest = text, *next;

	snprintf(text, sizeof(text), "%s", sentence);
	fputs(colour, out);
	while ((next = strsep(&rest, " "))) {
		unsigned int blank = next != text;

		/* "12 %" stays together. */
		while (rest && *rest == '%') {
			rest[-1] = ' ';
			(void)strsep(&rest, " ");
		}
		gpumon_text_cut(word, sizeof(word), next,
				columns > indent + 8 ? columns - indent : 0);
		width = gpumon_text_columns(word);
		if (at > indent && at + blank + width > columns) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			blank = 0;
		}
		fprintf(out, "%s%s", blank ? " " : "", word);
		at += blank + width;
	}
	fprintf(out, "%s\n", *colour ? gpumon_term_reset(term) : "");
}

/* The first one means zero. It is a dot, since the lowest block would look like a small value. */
static const char *const glyphs_utf8[] = { "·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const glyphs_ascii[] = { ".", "_", "-", "=", "+", "*", "#", "%", "@" };

#define LEVELS (sizeof(glyphs_utf8) / sizeof(glyphs_utf8[0]) - 1)

static const char *sparkline_glyph(double value, double scale, bool utf8)
{
	size_t level;

	if (!(value >= 0))
		return " ";
	if (value == 0)
		level = 0;
	else if (!(scale > 0) || value >= scale)
		level = LEVELS;
	else
		level = 1 + (size_t)(value / scale * (double)LEVELS);
	if (level > LEVELS)
		level = LEVELS;
	return utf8 ? glyphs_utf8[level] : glyphs_ascii[level];
}

const char *gpumon_sparkline(char *buf, size_t len, const double *values, size_t n, size_t width,
			     double scale, bool utf8)
{
	size_t at = 0;

	if (!len)
		return buf;
	for (size_t column = 0; column < width; column++) {
		size_t back = width - column; /* 1 is the newest */
		const char *glyph = back > n ? " " : sparkline_glyph(values[n - back], scale, utf8);
		size_t size = strlen(glyph);

		if (at + size >= len)
			break;
		memcpy(buf + at, glyph, size);
		at += size;
	}
	buf[at] = '\0';
	return buf;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), e = strlen(end);

	return n > e && !strcmp(name + n - e, end);
}

static bool is_time(const char *name)
{
	return name && ends_with(name, "_ns");
}

static bool is_bytes(const char *name)
{
	return name && (ends_with(name, "_bytes") || !strcmp(name, "bytes"));
}

static bool is_rate(const char *name)
{
	return name && ends_with(name, "_millihertz");
}

const char *gpumon_format_by_name(char *buf, const char *name, struct gpumon_value value)
{
	if (is_time(name))
		return gpumon_format_ns(buf, GPUMON_FORMAT_LEN, value);
	if (is_bytes(name))
		return gpumon_format_bytes(buf, GPUMON_FORMAT_LEN, value);
	if (is_rate(name) && value.known) {
		snprintf(buf, GPUMON_FORMAT_LEN, "%.2fHz", (double)value.v / 1e3);
		return buf;
	}
	return gpumon_format_count(buf, GPUMON_FORMAT_LEN, value);
}

const char *gpumon_format_level(char *buf, const char *name, struct gpumon_level level)
{
	char text[GPUMON_FORMAT_LEN];
	struct gpumon_value size = { .known = level.known };

	size.v = level.v < 0 ? 0 - (uint64_t)level.v : (uint64_t)level.v;
	gpumon_format_by_name(text, name, size);
	snprintf(buf, GPUMON_FORMAT_LEN, "%s%.*s", level.v < 0 ? "-" : "", GPUMON_FORMAT_LEN - 2,
		 text);
	return buf;
}

const char *gpumon_format_rate_by_name(char *buf, const char *name, struct gpumon_value count,
				       uint64_t interval_ns)
{
	double rate;

	if (!count.known || !interval_ns || (!is_time(name) && !is_bytes(name)))
		return gpumon_format_rate(buf, GPUMON_FORMAT_LEN, count, interval_ns);
	rate = (double)count.v * 1e9 / (double)interval_ns;
	/* Higher values do not fit into a uint64_t. */
	count.v = rate < 1e19 ? (uint64_t)(rate + 0.5) : UINT64_MAX;
	return gpumon_format_by_name(buf, name, count);
}

const char *gpumon_format_title(char *buf, const char *name, const char *ending)
{
	size_t room = GPUMON_TITLE_LEN - strlen(ending) - 1;
	size_t length = name ? strlen(name) : 0;
	size_t i;

	if (is_time(name))
		length -= strlen("_ns");
	else if (is_rate(name))
		length -= strlen("_millihertz");
	for (i = 0; i < length && i < room; i++) {
		unsigned char c = (unsigned char)name[i];

		buf[i] = c == '_' ? '-' : isgraph(c) ? (char)toupper(c) : '?';
	}
	strcpy(buf + i, ending);
	return buf;
}
