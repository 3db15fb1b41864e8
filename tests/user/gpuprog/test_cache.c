// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Files of the cache: of each one that is damaged nothing is read. tests/probe/cuda tries folders and other users. */
#include "common.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpuprog/server/patches.h"

static const char key[] = "the input", data[] = "what was made of it";
static char folder[] = "/tmp/gpumon-cache-XXXXXX";
/* The only file, and what is in it. */
static char path[512], content[512];
static size_t size;

static void write_file(const char *bytes, size_t n)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	fclose(file);
}

/* NULL: nothing is read. */
static void expect(const void *input, size_t n, const char *wanted)
{
	size_t found_size = 0;
	char *found = gpumon_cache_read("kind", input, n, &found_size);

	if (!wanted) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_int_equal(found_size, sizeof(data));
	assert_memory_equal(found, wanted, sizeof(data));
	free(found);
}

static int setup(void **state)
{
	struct dirent *entry;
	DIR *entries;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(folder));
	setenv("XDG_CACHE_HOME", folder, 1);
	expect(key, sizeof(key), NULL);
	gpumon_cache_write("kind", key, sizeof(key), data, sizeof(data));
	snprintf(path, sizeof(path), "%s/gpumon/kind", folder);
	entries = opendir(path);
	assert_non_null(entries);
	while ((entry = readdir(entries)) && entry->d_name[0] == '.')
		;
	assert_non_null(entry);
	snprintf(path, sizeof(path), "%s/gpumon/kind/%s", folder, entry->d_name);
	closedir(entries);
	file = fopen(path, "re");
	assert_non_null(file);
	size = fread(content, 1, sizeof(content), file);
	fclose(file);
	assert_in_range(size, sizeof(key) + sizeof(data), sizeof(content) - 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	for (int i = 0; i < 3; i++) {
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
	return 0;
}

static void test_whole(void **state)
{
	(void)state;
	expect(key, sizeof(key), data);
	expect(key, sizeof(key) - 1, NULL);
	expect("THE INPUT", sizeof(key), NULL);
}

static void test_cut_off(void **state)
{
	(void)state;
	for (size_t i = 0; i < size; i++) {
		write_file(content, i);
		expect(key, sizeof(key), NULL);
	}
	write_file(content, size + 1);
	expect(key, sizeof(key), NULL);
	write_file(content, size);
	expect(key, sizeof(key), data);
}

static void test_each_bit(void **state)
{
	(void)state;
	for (size_t i = 0; i < size * 8; i++) {
		content[i / 8] ^= (char)(1 << i % 8);
		write_file(content, size);
		content[i / 8] ^= (char)(1 << i % 8);
		expect(key, sizeof(key), NULL);
	}
	gpumon_cache_write("kind", key, sizeof(key), data, sizeof(data));
	expect(key, sizeof(key), data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_each_bit),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
