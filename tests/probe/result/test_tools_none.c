// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Tools by their names, in a build without clang: names are known, objects are not there. */
#include "common.h"

#include <json.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprog/server/load.h"
#include "gpuprog/server/inspect.h"

static void tools_are_not_built(void **state)
{
	static const struct gpumon_gpuprog_rules rules;
	const struct gpumon_gpuprog_tool *tool;
	struct gpumon_gpuprog_check check;
	struct gpumon_error err;

	(void)state;
	assert_true(gpumon_gpuprog_is_tool("threadhist"));
	assert_int_equal(gpumon_gpuprog_tool_find("threadhist", &tool, &err), -1);
	assert_int_equal(err.status, GPUMON_EXIT_IMPOSSIBLE);
	assert_int_equal(err.code, GPUMON_ERROR_NOT_BUILT);
	assert_int_equal(gpumon_gpuprog_check("threadhist", &rules, &check, &err), -1);
	assert_int_equal(err.code, GPUMON_ERROR_NOT_BUILT);
	gpumon_gpuprog_check_clear(&check);
	/* A name that is wrong is still said to be wrong. */
	assert_int_equal(gpumon_gpuprog_tool_find("treadhist", &tool, &err), -1);
	assert_int_equal(err.code, GPUMON_ERROR_USAGE);
	assert_non_null(strstr(err.message, "did you mean threadhist?"));
}

static void tools_are_listed(void **state)
{
	struct json_object *document = gpumon_gpuprog_tools_json(), *tools, *built;
	struct gpumon_term term = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_true(json_object_object_get_ex(document, "tools", &tools));
	assert_true(json_object_array_length(tools) >= 7);
	for (size_t i = 0; i < json_object_array_length(tools); i++) {
		assert_true(json_object_object_get_ex(json_object_array_get_idx(tools, i), "built",
						      &built));
		assert_false(json_object_get_boolean(built));
	}
	json_object_put(document);
	assert_int_equal(gpumon_gpuprog_show_tools(&term, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "\nthreadhist     how often each thread of the grid runs\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tools_are_not_built),
		cmocka_unit_test(tools_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
