/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A row of small bars, one for each value. */
#ifndef GPUMON_LIB_SPARKLINE_H
#define GPUMON_LIB_SPARKLINE_H

#include <stdbool.h>
#include <stddef.h>

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

#endif /* GPUMON_LIB_SPARKLINE_H */
