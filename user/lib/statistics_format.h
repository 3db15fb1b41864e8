/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Columns of the self-describing tables. The ending of a column's name is its unit. */
#ifndef GPUMON_LIB_STATISTICS_FORMAT_H
#define GPUMON_LIB_STATISTICS_FORMAT_H

#include "format.h"

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

#endif /* GPUMON_LIB_STATISTICS_FORMAT_H */
