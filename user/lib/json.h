/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * JSON through json-c. Keys carry units, unknown is null, numbers are numbers. Without memory the
 * program ends: memory.h.
 */
#ifndef GPUMON_LIB_JSON_H
#define GPUMON_LIB_JSON_H

#include <json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"
#include "value.h"

struct json_object *gpumon_json_object(void) __attribute__((returns_nonnull));
struct json_object *gpumon_json_array(void) __attribute__((returns_nonnull));

/* Add to an object. */
void gpumon_json_add(struct json_object *object, const char *key, struct json_object *value);
void gpumon_json_add_u64(struct json_object *object, const char *key, uint64_t value);
void gpumon_json_add_i64(struct json_object *object, const char *key, int64_t value);
void gpumon_json_add_value(struct json_object *object, const char *key, struct gpumon_value value);
void gpumon_json_add_bool(struct json_object *object, const char *key, bool value);
void gpumon_json_add_null(struct json_object *object, const char *key);
/* Bytes that are not UTF-8 become U+FFFD. */
struct json_object *gpumon_json_string(const char *value) __attribute__((returns_nonnull));
/* The same, but NULL becomes null. */
void gpumon_json_add_string(struct json_object *object, const char *key, const char *value);

/* An array of such texts. */
struct json_object *gpumon_json_strings(const char *const *texts, size_t n)
	__attribute__((returns_nonnull));

/* Append to an array. */
void gpumon_json_append(struct json_object *array, struct json_object *value);

/* {"error":{"code":…,"message":…}} */
struct json_object *gpumon_json_error(const struct gpumon_error *err);

/* Print a document, on one line or indented, flush, and release @object. 0, or -1 on failure. */
int gpumon_json_print(struct json_object *object, bool one_line, FILE *stream);

#endif /* GPUMON_LIB_JSON_H */
