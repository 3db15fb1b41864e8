// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Function names stored in a capture: they are read as written, whatever happens to the file. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/stored_names.h"

static const struct gpumon_symbol plain[] = {
	{ .function = "main", .module = "train", .file = "train.c", .line = 7 },
};
static const struct gpumon_symbol inlined[] = {
	{ .function = "inner\twith a tab", .module = "lib\\back.so", .file = "", .inlined = true },
	{ .function = "std::function<void (int)>",
	  .module = "lib\\back.so",
	  .file = "new\nline.h",
	  .line = 4000000000u,
	  .inlined = true },
	{ .function = "outer", .module = "lib\\back.so", .file = "a \\n b", .line = 1 },
};
static const struct gpumon_symbol later[] = {
	{ .function = "another", .module = "plugin.so", .file = "" },
};

static char path[64];

static void write_all(void)
{
	int fd;
	FILE *out;

	strcpy(path, "/tmp/gpumon-kept-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	out = fdopen(fd, "w");
	assert_non_null(out);
	gpumon_stored_names_write(out, 0x401000, 0, plain, 1);
	gpumon_stored_names_write(out, UINT64_MAX, 0, inlined, 3);
	gpumon_stored_names_write(out, 0x401000, 3, later, 1);
	assert_int_equal(ferror(out), 0);
	assert_int_equal(fclose(out), 0);
}

static void check(const struct gpumon_stored_names *kept, uint64_t address, uint32_t epoch,
		  const struct gpumon_symbol *expected, unsigned int count)
{
	struct gpumon_symbol found[8];

	assert_int_equal(gpumon_stored_names_find(kept, address, epoch, found, 8), count);
	for (unsigned int i = 0; i < count; i++) {
		assert_string_equal(found[i].function, expected[i].function);
		assert_string_equal(found[i].module, expected[i].module);
		assert_string_equal(found[i].file, expected[i].file);
		assert_int_equal(found[i].line, expected[i].line);
		assert_int_equal(found[i].inlined, expected[i].inlined);
	}
}

static void round_trip(void **state)
{
	struct gpumon_symbol found[2];
	struct gpumon_stored_names *kept;

	(void)state;
	write_all();
	kept = gpumon_stored_names_read(path);
	assert_non_null(kept);
	check(kept, 0x401000, 0, plain, 1);
	check(kept, UINT64_MAX, 0, inlined, 3);
	check(kept, 0x401000, 3, later, 1);
	check(kept, 0x401000, 1, NULL, 0);
	check(kept, 0x401001, 0, NULL, 0);
	check(kept, 0, 0, NULL, 0);
	check(NULL, 0x401000, 0, NULL, 0);
	assert_int_equal(gpumon_stored_names_find(kept, UINT64_MAX, 0, found, 2), 2);
	gpumon_stored_names_free(kept);
	gpumon_stored_names_free(NULL);
	unlink(path);
}

/* Found functions are those that were written, or the first ones of them. */
static void cut_off_anywhere(void **state)
{
	struct gpumon_symbol found[8];
	struct gpumon_stored_names *kept;

	(void)state;
	write_all();
	for (off_t size = 250; size >= 0; size--) {
		unsigned int n;

		assert_int_equal(truncate(path, size), 0);
		kept = gpumon_stored_names_read(path);
		n = kept ? gpumon_stored_names_find(kept, UINT64_MAX, 0, found, 8) : 0;
		for (unsigned int i = 0; i < n; i++)
			assert_string_equal(found[i].function, inlined[i].function);
		n = kept ? gpumon_stored_names_find(kept, 0x401000, 0, found, 8) : 0;
		assert_true(n <= 1);
		if (n)
			assert_string_equal(found[0].function, "main");
		gpumon_stored_names_free(kept);
	}
	unlink(path);
}

static void nonsense(void **state)
{
	static const char *const texts[] = {
		"@1 0\n=a\tb\t1\tc\n",			      /* nothing before it */
		"@ 0\n=a\tb\t1\tc\n@1\n=a\tb\t1\tc\n",	      /* no address, no epoch */
		"@1 -1\n=a\tb\t1\tc\n@1 4294967296\n=a\tb\n", /* no epochs */
		"@2 0\n=a\tb\t1\n+\n=\n?\n\n\\\n=\\\n",	      /* no functions */
		"@3 0\n=a\tb\tmany\tc\n@3 0\n=x\ty\t1\tz\n",  /* twice: the first counts */
	};
	struct gpumon_symbol found[8];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct gpumon_stored_names *kept;
		FILE *out;

		write_all();
		out = fopen(path, "w");
		assert_non_null(out);
		fprintf(out, "%s%s", i ? "gpumon-symbols 1\n" : "", texts[i]);
		assert_int_equal(fclose(out), 0);
		kept = gpumon_stored_names_read(path);
		assert_int_equal(kept != NULL, i > 0);
		assert_int_equal(gpumon_stored_names_find(kept, 1, 0, found, 8), 0);
		assert_int_equal(gpumon_stored_names_find(kept, 2, 0, found, 8), 0);
		if (i == 4) {
			assert_int_equal(gpumon_stored_names_find(kept, 3, 0, found, 8), 1);
			assert_string_equal(found[0].function, "a");
			assert_int_equal(found[0].line, 0);
		}
		gpumon_stored_names_free(kept);
		unlink(path);
	}
	assert_null(gpumon_stored_names_read("/proc/self/nothing"));
	assert_null(gpumon_stored_names_read("/tmp"));
	assert_null(gpumon_stored_names_read("/dev/zero"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(cut_off_anywhere),
		cmocka_unit_test(nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
