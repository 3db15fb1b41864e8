// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The words of events of tables of statistics, as text and in JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "driver/trace_words.h"

static void check(unsigned int type, uint64_t context, const char *text, const char *json)
{
	struct gpumon_event event = { .event = (uint16_t)type, .context = context };
	struct json_object *object = json_object_new_object();
	char *printed = NULL;
	size_t size;
	FILE *out = open_memstream(&printed, &size);

	gpumon_trace_print_words(out, &event);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(printed, text);
	free(printed);
	gpumon_trace_json_words(object, &event);
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), json);
	json_object_put(object);
}

static void results(void **state)
{
	(void)state;
	check(GPUMON_EVENT_OPEN, 0, "result 0", "{\"result\":0}");
	check(GPUMON_EVENT_OPEN, (uint64_t)-5, "result -5", "{\"result\":-5}");
	/* -EPERM has all bits set, and is known. */
	check(GPUMON_EVENT_OPEN, UINT64_MAX, "result -1", "{\"result\":-1}");
	check(GPUMON_EVENT_RESUME, 65535, "result 65535  duration 0ns",
	      "{\"result\":65535,\"duration_ns\":0}");
	/* What a function returns that the compiler has changed is not known. */
	check(GPUMON_EVENT_RESUME, UINT64_MAX, "result -  duration 0ns",
	      "{\"result\":null,\"duration_ns\":0}");
	check(GPUMON_EVENT_SUSPEND, UINT64_MAX, "result -  duration 0ns",
	      "{\"result\":null,\"duration_ns\":0}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results),
	};

	return cmocka_run_group_tests_name("event words", tests, NULL, NULL);
}
