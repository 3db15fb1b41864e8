// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>

#include "json.h"
#include "memory.h"
#include "utf8.h"

/* NULL would become JSON null. json-c returns it where it has no memory. */
static struct json_object *checked(struct json_object *object)
{
	if (!object)
		gpumon_memory_failed(0);
	return object;
}

struct json_object *gpumon_json_object(void)
{
	return checked(json_object_new_object());
}

struct json_object *gpumon_json_array(void)
{
	return checked(json_object_new_array());
}

void gpumon_json_add(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(checked(object), key, checked(value)))
		gpumon_memory_failed(0);
}

void gpumon_json_add_null(struct json_object *object, const char *key)
{
	if (json_object_object_add(checked(object), key, NULL))
		gpumon_memory_failed(0);
}

void gpumon_json_add_u64(struct json_object *object, const char *key, uint64_t value)
{
	gpumon_json_add(object, key, json_object_new_uint64(value));
}

void gpumon_json_add_i64(struct json_object *object, const char *key, int64_t value)
{
	gpumon_json_add(object, key, json_object_new_int64(value));
}

void gpumon_json_add_value(struct json_object *object, const char *key, struct gpumon_value value)
{
	if (value.known)
		gpumon_json_add_u64(object, key, value.v);
	else
		gpumon_json_add_null(object, key);
}

void gpumon_json_add_bool(struct json_object *object, const char *key, bool value)
{
	gpumon_json_add(object, key, json_object_new_boolean(value));
}

struct json_object *gpumon_json_string(const char *value)
{
	/*
	 * A process can have any name, and the kernel may cut a comm in the middle of a character.
	 */
	char *text = gpumon_utf8_copy(value);
	struct json_object *object = checked(json_object_new_string(text));

	free(text);
	return object;
}

void gpumon_json_add_string(struct json_object *object, const char *key, const char *value)
{
	if (value)
		gpumon_json_add(object, key, gpumon_json_string(value));
	else
		gpumon_json_add_null(object, key);
}

struct json_object *gpumon_json_strings(const char *const *texts, size_t n)
{
	struct json_object *array = gpumon_json_array();

	for (size_t i = 0; i < n; i++)
		gpumon_json_append(array, gpumon_json_string(texts[i]));
	return array;
}

void gpumon_json_append(struct json_object *array, struct json_object *value)
{
	if (json_object_array_add(checked(array), checked(value)))
		gpumon_memory_failed(0);
}

struct json_object *gpumon_json_error(const struct gpumon_error *err)
{
	struct json_object *document = gpumon_json_object(), *error = gpumon_json_object();

	gpumon_json_add_string(error, "code", gpumon_error_word(err->code));
	gpumon_json_add_string(error, "message", err->message);
	gpumon_json_add(document, "error", error);
	return document;
}

int gpumon_json_print(struct json_object *object, bool one_line, FILE *stream)
{
	const int flags = JSON_C_TO_STRING_NOSLASHESCAPE |
			  (one_line ? JSON_C_TO_STRING_PLAIN :
				      JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED);
	const char *text = object ? json_object_to_json_string_ext(object, flags) : NULL;
	int ret = -1, sys;

	/* Flush every line, so that the reader of a pipe gets each document at once. */
	if (text && fputs(text, stream) >= 0 && fputc('\n', stream) >= 0 && !fflush(stream) &&
	    !ferror(stream))
		ret = 0;
	sys = errno;
	json_object_put(object);
	errno = sys;
	return ret;
}
