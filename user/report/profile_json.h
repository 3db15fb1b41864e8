/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* JSON objects for parts of a profile, and files of these that are never completely in memory. */
#ifndef GPUMON_REPORT_PROFILE_JSON_H
#define GPUMON_REPORT_PROFILE_JSON_H

#include <json.h>

#include "output.h"

/**
 * gpumon_json_member - write a member of an open object
 * @out: stream
 * @first: it is the first member
 * @key: its key, plain letters
 * @value: freed
 */
void gpumon_json_member(FILE *out, bool first, const char *key, struct json_object *value);

/* The same for an element of an array. */
void gpumon_json_element(FILE *out, bool first, struct json_object *value);

/* What was recorded, where and when. */
struct json_object *gpumon_json_recording(const struct gpumon_view *view);
/* Losses, matches, unmatched launches and damage by cause, including zeroes. */
struct json_object *gpumon_json_missing(const struct gpumon_view *view);

#endif /* GPUMON_REPORT_PROFILE_JSON_H */
