/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Columns of the tables that describe themselves as text: the end of their name is the unit. */
#ifndef GPUMON_USER_STATISTICS_FORMAT_H
#define GPUMON_USER_STATISTICS_FORMAT_H

#include "format.h"

#define GPUMON_TITLE_LEN 64

/*
 * "queue_ns": time; "bytes", "moved_bytes": bytes; "refresh_millihertz": millihertz, shown as Hz; else
 * plain. All write GPUMON_FORMAT_LEN and return buf.
 */
const char *gpumon_format_by_name(char *buf, const char *name, struct gpumon_value value);
/* The same of a level, which may be below 0. */
const char *gpumon_format_level(char *buf, const char *name, struct gpumon_level level);
/* The same a second. */
const char *gpumon_format_rate_by_name(char *buf, const char *name, struct gpumon_value count,
				       uint64_t interval_ns);

/**
 * gpumon_format_title() - heading of a column
 * @buf: GPUMON_TITLE_LEN bytes
 * @name: "refresh_interval_ns"
 * @ending: "-P99", "/s"
 *
 * Units that the values carry are left out, but for "_bytes": there is often a count beside it
 * that is called the same but for that.
 *
 * Return: @buf, "REFRESH-INTERVAL-P99".
 */
const char *gpumon_format_title(char *buf, const char *name, const char *ending);

#endif /* GPUMON_USER_STATISTICS_FORMAT_H */
