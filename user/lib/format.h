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

void gpumon_term_get(struct gpumon_term *term, FILE *stream);

/* ANSI sequences; "" without colour. */
const char *gpumon_term_red(const struct gpumon_term *term);
const char *gpumon_term_yellow(const struct gpumon_term *term);
const char *gpumon_term_green(const struct gpumon_term *term);
const char *gpumon_term_bold(const struct gpumon_term *term);
const char *gpumon_term_dim(const struct gpumon_term *term);
const char *gpumon_term_reset(const struct gpumon_term *term);

#endif /* GPUMON_LIB_FORMAT_H */
