/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A row of small bars, one for each value. */
#ifndef GPUMON_USER_SPARKLINE_H
#define GPUMON_USER_SPARKLINE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that the longest glyph takes. */
#define GPUMON_SPARKLINE_GLYPH 3

/**
 * gpumon_sparkline() - draw values as bars
 * @buf: out, NUL-terminated; needs width * GPUMON_SPARKLINE_GLYPH + 1 bytes for all of it
 * @len: size of @buf
 * @values: oldest first; NAN or negative is a time without a value, drawn as a blank
 * @n: how many
 * @width: columns; the newest values are drawn, on the right, and blanks before them
 * @scale: the value of a full bar, more is drawn as a full bar too
 * @utf8: block elements, or ASCII
 *
 * Zero is drawn as the lowest mark, so that it differs from no value; what is above zero never
 * looks like zero.
 *
 * Return: @buf.
 */
const char *gpumon_sparkline(char *buf, size_t len, const double *values, size_t n, size_t width,
			     double scale, bool utf8);

#endif /* GPUMON_USER_SPARKLINE_H */
