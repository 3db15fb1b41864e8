/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Numbers, units and names as text. All functions write a NUL-terminated string of at most len
 * bytes into buf and return buf.
 */
#ifndef GPUMON_LIB_FORMAT_H
#define GPUMON_LIB_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "value.h"

#define GPUMON_FORMAT_LEN 32 /* enough for every number below */

/* "850ns" "12.3us" "1.20ms" "3.45s" "2m05s" "3h04m"; "-" unknown. Three significant digits. */
const char *gpumon_format_ns(char *buf, size_t len, struct gpumon_value ns);
/* All digits: "1234567"; "-" unknown. */
const char *gpumon_format_count(char *buf, size_t len, struct gpumon_value value);
/* "999" "1.23k" "45.6M" "7.89G"; "-" unknown. */
const char *gpumon_format_short(char *buf, size_t len, struct gpumon_value value);
/* Events per second: "0" "0.25" "12.5" "123" "1.23k"; "-" if the count or the time is unknown. */
const char *gpumon_format_rate(char *buf, size_t len, struct gpumon_value count,
			       uint64_t interval_ns);
/* Part of a time: "37.2%", at most "100.0%"; "-" if either is unknown. */
const char *gpumon_format_share(char *buf, size_t len, struct gpumon_value ns, uint64_t of_ns);
/* "512B" "1.50KiB" "3.00MiB"; "-" unknown. */
const char *gpumon_format_bytes(char *buf, size_t len, struct gpumon_value bytes);
/* Seconds with nine decimals: "12.000000345". */
const char *gpumon_format_time(char *buf, size_t len, uint64_t ns);
/* Control characters and invalid UTF-8 become '?', to protect the terminal. NULL: "-". */
const char *gpumon_format_name(char *buf, size_t len, const char *name);

/**
 * struct gpumon_term - where the output goes
 * @tty: it is a terminal: progress and widths make sense
 * @cursor: tty, and by TERM one that knows escape sequences: neither "dumb" nor unknown
 * @colour: cursor, and not NO_COLOR
 * @columns: COLUMNS, or the terminal's width, or 0 for no limit
 * @rows: LINES, or the terminal's height, or 0
 */
struct gpumon_term {
	bool tty;
	bool cursor;
	bool colour;
	unsigned int columns;
	unsigned int rows;
};

/*
 * To be called once, at the start: whether texts may have characters that are not ASCII, by LC_ALL, LC_CTYPE and
 * LANG. The C library's locale stays C, since programs read our numbers.
 */
void gpumon_term_start(void);
bool gpumon_term_utf8(void);

void gpumon_term_get(struct gpumon_term *term, FILE *stream);

/* ANSI sequences; "" without colour. */
const char *gpumon_term_red(const struct gpumon_term *term);
const char *gpumon_term_yellow(const struct gpumon_term *term);
const char *gpumon_term_green(const struct gpumon_term *term);
const char *gpumon_term_bold(const struct gpumon_term *term);
const char *gpumon_term_dim(const struct gpumon_term *term);
const char *gpumon_term_reset(const struct gpumon_term *term);

/**
 * gpumon_sentence_print - print a text that is never cut, since its end often is the remedy
 * @out: stream
 * @term: its width
 * @colour: a gpumon_term_*() sequence, or ""
 * @taken: columns of the first line that are already printed
 * @indent: of the second and later lines
 * @sentence: words; one that has no room in a line is shortened
 */
void gpumon_sentence_print(FILE *out, const struct gpumon_term *term, const char *colour,
			   unsigned int taken, unsigned int indent, const char *sentence);

/* A row of small bars, one for each value. */

/* Bytes of the longest glyph. */
#define GPUMON_SPARKLINE_GLYPH 3

/**
 * gpumon_sparkline() - draw values as bars
 * @buf: out, NUL-terminated; the full width needs width * GPUMON_SPARKLINE_GLYPH + 1 bytes
 * @len: size of @buf
 * @values: oldest first; NAN or a negative number means no value, drawn as a blank
 * @n: number of values
 * @width: columns; the newest values are drawn right-aligned
 * @scale: value of a full bar; higher values are drawn as a full bar too
 * @utf8: use block elements, otherwise ASCII
 *
 * Zero is drawn as the lowest mark, so that it differs from a missing value. A value above zero
 * never looks like zero.
 *
 * Return: @buf.
 */
const char *gpumon_sparkline(char *buf, size_t len, const double *values, size_t n, size_t width,
			     double scale, bool utf8);

/* Columns of the self-describing tables. The ending of a column's name is its unit. */

#define GPUMON_TITLE_LEN 64

/*
 * "queue_ns": time; "bytes", "moved_bytes": bytes; "refresh_millihertz": shown as Hz; others:
 * plain. All functions write GPUMON_FORMAT_LEN bytes at most and return buf.
 */
const char *gpumon_format_by_name(char *buf, const char *name, struct gpumon_value value);
/* The same for a level, which may be negative. */
const char *gpumon_format_level(char *buf, const char *name, struct gpumon_level level);
/* The same, per second. */
const char *gpumon_format_rate_by_name(char *buf, const char *name, struct gpumon_value count,
				       uint64_t interval_ns);

/**
 * gpumon_format_title() - make the heading of a column
 * @buf: GPUMON_TITLE_LEN bytes
 * @name: "refresh_interval_ns"
 * @ending: "-P99", "/s"
 *
 * Units that the values show are left out, except "_bytes": often there is a count of the same name
 * without it.
 *
 * Return: @buf, "REFRESH-INTERVAL-P99".
 */
const char *gpumon_format_title(char *buf, const char *name, const char *ending);

#endif /* GPUMON_LIB_FORMAT_H */
