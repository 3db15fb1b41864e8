// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Names of errnos are those of the C library, where it has them. */
#include "common.h"

#include <string.h>

#include "lib/errno_name.h"

static void test_same_as_the_library(void **state)
{
	(void)state;
	for (int error = -1; error < 5000; error++) {
		const char *name = gpumon_errno_name(error);
		const char *wanted = error > 0 ? strerrorname_np(error) : NULL;

		if (wanted)
			assert_string_equal(name, wanted);
		else
			assert_null(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_the_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
