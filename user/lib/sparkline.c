// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "sparkline.h"

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
