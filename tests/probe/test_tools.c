// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon's own tools: each program is accepted, and --ptx prints text that can be read again. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/tool/ptx.h"
#include "ptx.h"

static const char *const tools[] = { "cuda-counter", "directly-run", "kernelretsnoop", "launchlate",
				     "memtrace",     "threadhist",   "warpimbalance" };

static void check_program(const struct gpumon_probe_check *check, uint32_t i, uint32_t sm)
{
	const struct gpumon_probe_program *program = &check->object.programs[i];
	char *text = NULL, first[256], error[256];
	struct gpumon_error err = { 0 };
	struct ptx_block *block;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	if (gpumon_probe_print_ptx(check, i, sm, out, &err))
		fail_msg("sm_%u: %s", sm, err.message);
	fclose(out);
	snprintf(first, sizeof(first), "// %s, %s\n{\n", program->name, program->section);
	assert_memory_equal(text, first, strlen(first));
	block = ptx_parse(strchr(text, '{'), error);
	if (!block)
		fail_msg("%s: %s\n%s", program->name, error, text);
	/* A translation of nothing would have none. */
	assert_true(block->code_n > 4);
	ptx_free(block);
	free(text);
}

static void test_tools(void **state)
{
	static const char *const versions[] = { "v3", "v4" };
	static const struct gpumon_probe_rules rules;
	struct gpumon_probe_check check;
	struct gpumon_error err = { 0 };
	char path[512];

	(void)state;
	for (size_t i = 0; i < COUNT(tools) * COUNT(versions); i++) {
		snprintf(path, sizeof(path), OBJECTS "/bpf/%s/%s.bpf.o", versions[i % 2],
			 tools[i / 2]);
		if (gpumon_probe_check(path, &rules, &check, &err))
			fail_msg("%s", err.message);
		assert_true(check.object.programs_n > 0);
		for (uint32_t j = 0; j < check.object.programs_n; j++) {
			if (!check.verdicts[j].facts)
				fail_msg("%s", check.verdicts[j].refusal.message);
			check_program(&check, j, 90);
			check_program(&check, j, 60);
		}
		gpumon_probe_check_clear(&check);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
