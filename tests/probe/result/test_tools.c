// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Tools by their names, in a build with clang. */
#include "common.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "gpuprog/server/load.h"

static const struct gpumon_gpuprog_rules rules;

/* Each is found, and is a program that may run. */
static void all_tools_are_accepted(void **state)
{
	const struct gpumon_gpuprog_tool *found;
	struct gpumon_gpuprog_check check;
	struct gpumon_error err;
	size_t n;
	const struct gpumon_gpuprog_tool *tools = gpumon_gpuprog_tools(&n);

	(void)state;
	assert_true(n >= 7);
	for (size_t i = 0; i < n; i++) {
		assert_true(gpumon_gpuprog_is_tool(tools[i].name));
		assert_int_equal(gpumon_gpuprog_tool_find(tools[i].name, &found, &err), 0);
		assert_ptr_equal(found, &tools[i]);
		assert_memory_equal(found->object, "\177ELF", 4);
		if (gpumon_gpuprog_check(tools[i].name, &rules, &check, &err))
			fail_msg("%s", err.message);
		for (uint32_t j = 0; j < check.object.programs_n; j++)
			if (!check.verdicts[j].facts)
				fail_msg("%s", check.verdicts[j].refusal.message);
		assert_true(check.object.programs_n > 0);
		gpumon_gpuprog_check_clear(&check);
	}
}

/* No source in bpf/gpu is without a name, and none is there twice. */
static void all_sources_are_tools(void **state)
{
	DIR *folder = opendir(TOOLS);
	struct dirent *entry;
	size_t n, sources = 0;
	char name[256];
	char *end;

	(void)state;
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		snprintf(name, sizeof(name), "%s", entry->d_name);
		end = strstr(name, ".bpf.c");
		if (!end)
			continue;
		*end = '\0';
		sources++;
		if (!gpumon_gpuprog_is_tool(name))
			fail_msg("%s is not in the list of tools", entry->d_name);
	}
	closedir(folder);
	gpumon_gpuprog_tools(&n);
	assert_int_equal(n, sources);
}

static void check_message(const char *name, const char *text)
{
	const struct gpumon_gpuprog_tool *tool;
	struct gpumon_gpuprog_check check;
	struct gpumon_error err;

	assert_false(gpumon_gpuprog_is_tool(name));
	assert_int_equal(gpumon_gpuprog_tool_find(name, &tool, &err), -1);
	if (!strstr(err.message, text))
		fail_msg("no \"%s\" in \"%s\"", text, err.message);
	/* The same where a file is possible. */
	assert_int_equal(gpumon_gpuprog_check(name, &rules, &check, &err), -1);
	gpumon_gpuprog_check_clear(&check);
	assert_int_equal(err.status, GPUMON_EXIT_USAGE);
	if (!strstr(err.message, text))
		fail_msg("no \"%s\" in \"%s\"", text, err.message);
}

static void near_names_are_offered(void **state)
{
	char longest[300];

	(void)state;
	check_message("treadhist", "did you mean threadhist? There are cuda-counter, ");
	check_message("threadhists", "did you mean threadhist?");
	check_message("cuda_counter", "did you mean cuda-counter?");
	check_message("mem_trace", "did you mean memtrace?");
	check_message("warp", "did you mean warpimbalance?");
	check_message("x",
		      "x is no tool and no file: name an object file, or one of cuda-counter, ");
	check_message("", "name an object file, or one of ");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	check_message(longest, "name an object file, or one of ");
}

/* What looks like a path is one. */
static void files_are_files(void **state)
{
	struct gpumon_gpuprog_check check;
	struct gpumon_error err;

	(void)state;
	assert_int_equal(gpumon_gpuprog_check("./threadhist", &rules, &check, &err), -1);
	assert_string_equal(err.message, "./threadhist: No such file or directory");
	gpumon_gpuprog_check_clear(&check);
	assert_int_equal(gpumon_gpuprog_check("treadhist.bpf.o", &rules, &check, &err), -1);
	assert_string_equal(err.message, "treadhist.bpf.o: No such file or directory");
	gpumon_gpuprog_check_clear(&check);
	assert_int_equal(
		gpumon_gpuprog_check(OBJECTS "/bpf/gpu/threadhist.bpf.o", &rules, &check, &err), 0);
	assert_int_equal(check.refused, 0);
	gpumon_gpuprog_check_clear(&check);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_tools_are_accepted),
		cmocka_unit_test(all_sources_are_tools),
		cmocka_unit_test(near_names_are_offered),
		cmocka_unit_test(files_are_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
