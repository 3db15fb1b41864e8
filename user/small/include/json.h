/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * As much of json-c's interface as the commands of the small build use, in json.c. What is printed is the
 * same, byte for byte.
 */
#ifndef GPUMON_SMALL_JSON_H
#define GPUMON_SMALL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type {
	json_type_null,
	json_type_boolean,
	json_type_double,
	json_type_int,
	json_type_object,
	json_type_array,
	json_type_string,
};

#define JSON_C_TO_STRING_PLAIN	       0
#define JSON_C_TO_STRING_SPACED	       (1 << 0)
#define JSON_C_TO_STRING_PRETTY	       (1 << 1)
#define JSON_C_TO_STRING_NOSLASHESCAPE (1 << 4)

struct json_object;

struct json_object *json_object_new_object(void);
struct json_object *json_object_new_array(void);
struct json_object *json_object_new_boolean(int value);
struct json_object *json_object_new_int64(int64_t value);
struct json_object *json_object_new_uint64(uint64_t value);
struct json_object *json_object_new_double(double value);
struct json_object *json_object_new_string(const char *value);

/* 0. The value becomes that of the object or array; a value of that key before is released. */
int json_object_object_add(struct json_object *object, const char *key, struct json_object *value);
int json_object_array_add(struct json_object *array, struct json_object *value);

/* NULL is null. */
int json_object_is_type(const struct json_object *value, enum json_type type);
int json_object_object_get_ex(const struct json_object *object, const char *key,
			      struct json_object **value);
size_t json_object_array_length(const struct json_object *array);
struct json_object *json_object_array_get_idx(const struct json_object *array, size_t i);
const char *json_object_get_string(struct json_object *value);
uint64_t json_object_get_uint64(const struct json_object *value);

/* Released with the value, or by the next call. */
const char *json_object_to_json_string_ext(struct json_object *value, int flags);

/* The first value of a text, as the standard has it. NULL: it is none, or null. */
struct json_object *json_tokener_parse(const char *text);

/* 1, or 0 for NULL. */
int json_object_put(struct json_object *value);

#endif /* GPUMON_SMALL_JSON_H */
