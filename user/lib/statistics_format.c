// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "statistics_format.h"

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
