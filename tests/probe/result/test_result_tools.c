// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Views of the tools: each has its own, and a tool whose maps were changed has none. */
#include "common.h"

#include "sample.h"

/* Of each tool: its own view, not one for any object, and no complaint if nothing was counted. */
static void tools_have_views(void **state)
{
	static const struct {
		const char *tool;
		const char *table; /* that only the tool's own view has */
	} tools[] = {
		{ "kernelretsnoop", "by_kernel" }, { "threadhist", "threads" },
		{ "launchlate", "distances" },	   { "cuda-counter", "by_kernel" },
		{ "memtrace", "lines" },	   { "directly-run", "sizes" },
		{ "warpimbalance", "by_kernel" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(tools); i++) {
		struct sample sample;
		struct json_object *document;
		const char *text;

		sample_begin(&sample, tools[i].tool);
		document = sample_json(&sample);
		sample_rows(document, tools[i].table);
		text = sample_print(&sample, true);
		assert_not_in(text, "stands out");
		assert_in(text, "Nothing was lost.\n");
		sample_clear(&sample);
	}
}

/* A tool whose maps were changed gets a table for each map. */
static void changed_tools_are_shown(void **state)
{
	struct sample sample;

	(void)state;
	sample_begin(&sample, "threadhist");
	sample.maps[0].name = "others";
	sample_add(&sample, 0, 0, 0, 5, 0, 17);
	assert_in(sample_print(&sample, false), "others\nTHREAD OTHERS\n     5     17\n");
	sample_clear(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tools_have_views),
		cmocka_unit_test(changed_tools_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
