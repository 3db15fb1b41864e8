// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* perf-PID.map: files as runtimes write them, failures while they do, and files of other users. */
#include "lib/wait.h"
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/perf_map.h"
#include "capture/symbol.h"
#include "symbol_build.h"

static struct gpumon_perf_map *open_map(const char *folder)
{
	char path[512];
	struct gpumon_perf_map *map;

	snprintf(path, sizeof(path), "%s/perf-1.map", folder);
	map = gpumon_perf_map_new(path);
	assert_non_null(map);
	return map;
}

static void check(struct gpumon_perf_map *map, uint64_t address, const char *expected)
{
	size_t length = 0;
	const char *name = gpumon_perf_map_find(map, address, &length);

	if (!expected) {
		assert_null(name);
		return;
	}
	assert_non_null(name);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(name, expected, length);
}

static void write_map(const char *folder, const char *text)
{
	symbol_write(folder, "perf-1.map", text, strlen(text));
}

static void lines(void **state)
{
	struct gpumon_perf_map *map;

	write_map(*state, "7f0000001000 20 one\n"
			  "0x7f0000001020 0x10 void Foo::bar(int, char const*) [tier 2]\n"
			  "7F0000001030\t8   LazyCompile:~ main /srv/a b.js:1 \r\n"
			  "\n"
			  "7f0000002000 10 py::train:/srv/train.py\n"
			  "ffffffffffffff00 f0 top\n");
	map = open_map(*state);
	check(map, 0x7f0000000fff, NULL);
	check(map, 0x7f0000001000, "one");
	check(map, 0x7f000000101f, "one");
	check(map, 0x7f0000001020, "void Foo::bar(int, char const*) [tier 2]");
	check(map, 0x7f0000001037, "LazyCompile:~ main /srv/a b.js:1");
	check(map, 0x7f0000001038, NULL);
	check(map, 0x7f0000002000, "py::train:/srv/train.py");
	check(map, 0xffffffffffffff00, "top");
	check(map, UINT64_MAX, NULL);
	gpumon_perf_map_free(map);
}

static void bad_lines(void **state)
{
	struct gpumon_perf_map *map;

	write_map(*state, "7f0000001000 20\n"
			  "7f0000001000\n"
			  "7f0000001000 20 \t\n"
			  "zzz 20 name\n"
			  "1000 -4 name\n"
			  "1000 0 nothing\n"
			  "10000000000000000 1 too large\n"
			  "fffffffffffffff0 20 over the end\n"
			  "3000 10 good\n"
			  "# a comment\n"
			  "3010 10 cut off");
	map = open_map(*state);
	check(map, 0x3000, "good");
	check(map, 0x1000, NULL);
	check(map, 0x3010, NULL);
	check(map, 0, NULL);
	gpumon_perf_map_free(map);
}

/* New code replaces old code: the later line counts where it applies. */
static void over_another(void **state)
{
	struct gpumon_perf_map *map;

	write_map(*state, "1000 100 old\n"
			  "1040 20 middle\n"
			  "10f0 20 tail\n"
			  "2000 10 same\n"
			  "2000 10 same again\n"
			  "3000 10 inner\n"
			  "2ff0 40 outer\n");
	map = open_map(*state);
	check(map, 0x103f, "old");
	check(map, 0x1040, "middle");
	check(map, 0x1060, "old");
	check(map, 0x10f0, "tail");
	check(map, 0x110f, "tail");
	check(map, 0x1110, NULL);
	check(map, 0x2008, "same again");
	check(map, 0x3008, "outer");
	gpumon_perf_map_free(map);
}

/* Compared with a search through all lines, from the last one on. */
static void many(void **state)
{
	static struct {
		uint64_t start, size;
	} pieces[400];
	uint64_t seed = 11;

	for (int round = 0; round < 20; round++) {
		struct gpumon_perf_map *map;
		char *text = malloc(400 * 64), *at = text;

		assert_non_null(text);
		for (int i = 0; i < 400; i++) {
			pieces[i].start = test_random(&seed) % 2000;
			pieces[i].size = 1 + test_random(&seed) % (round % 2 ? 20 : 500);
			at += sprintf(at, "%llx %llx f%d\n", (unsigned long long)pieces[i].start,
				      (unsigned long long)pieces[i].size, i);
		}
		write_map(*state, text);
		free(text);
		map = open_map(*state);
		for (uint64_t address = 0; address < 2600; address++) {
			char expected[16] = "";

			for (int i = 399; i >= 0 && !*expected; i--) {
				if (address >= pieces[i].start &&
				    address < pieces[i].start + pieces[i].size)
					snprintf(expected, sizeof(expected), "f%d", i);
			}
			check(map, address, *expected ? expected : NULL);
		}
		gpumon_perf_map_free(map);
	}
}

/* A runtime writes while we read: an incomplete line is not used yet. */
static void grows(void **state)
{
	struct gpumon_perf_map *map = NULL;
	uint64_t begin;
	bool found;

	/* At most once a second. On a busy machine the first second may already be over. */
	do {
		gpumon_perf_map_free(map);
		write_map(*state, "1000 10 first\n2000 10 sec");
		begin = gpumon_monotonic_ns();
		map = open_map(*state);
		check(map, 0x1000, "first");
		check(map, 0x2000, NULL);
		write_map(*state, "1000 10 first\n2000 10 second\n3000 10 third\n");
		found = gpumon_perf_map_find(map, 0x3000, &(size_t){ 0 });
	} while (gpumon_monotonic_ns() - begin >= 1000000000);
	assert_false(found);
	usleep(1100 * 1000);
	check(map, 0x3000, "third");
	check(map, 0x2000, "second");
	check(map, 0x1000, "first");
	gpumon_perf_map_free(map);
}

static void traps(void **state)
{
	struct gpumon_perf_map *map = open_map(*state);
	char path[512];

	snprintf(path, sizeof(path), "%s/perf-1.map", (char *)*state);
	check(map, 0x1000, NULL);
	gpumon_perf_map_free(map);

	symbol_write(*state, "target", "1000 10 secret\n", 15);
	assert_int_equal(symlink("target", path), 0);
	map = open_map(*state);
	check(map, 0x1000, NULL);
	gpumon_perf_map_free(map);
	unlink(path);

	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(300);
	map = open_map(*state);
	check(map, 0x1000, NULL);
	gpumon_perf_map_free(map);
	alarm(0);
	unlink(path);

	assert_int_equal(mkdir(path, 0700), 0);
	map = open_map(*state);
	check(map, 0x1000, NULL);
	gpumon_perf_map_free(map);
	rmdir(path);

	write_map(*state, "1000 10 first\n");
	assert_int_equal(truncate(path, (off_t)1 << 40), 0);
	map = open_map(*state);
	check(map, 0x1000, "first");
	gpumon_perf_map_free(map);
}

static void long_name(void **state)
{
	struct gpumon_perf_map *map;
	char *text = malloc(200100), name[4097];
	size_t length;

	assert_non_null(text);
	memcpy(text, "1000 10 ", 8);
	memset(text + 8, 'x', 200000);
	strcpy(text + 200008, "\n2000 10 y\n");
	write_map(*state, text);
	free(text);
	memset(name, 'x', 4096);
	map = open_map(*state);
	check(map, 0x2000, "y");
	assert_memory_equal(gpumon_perf_map_find(map, 0x1000, &length), name, 4096);
	assert_int_equal(length, 4096);
	gpumon_perf_map_free(map);
}

static int make_path(void *path)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int copy_map(const char *root, unsigned int pid, const char *to)
{
	int from = gpumon_perf_map_open(root, pid, NULL), ret;

	if (from < 0)
		return from;
	/* Another process may use the same descriptor now. */
	assert_int_equal(lseek(from, 5, SEEK_SET), 5);
	ret = gpumon_perf_map_write(from, make_path, (void *)(uintptr_t)to);
	assert_int_equal(lseek(from, 0, SEEK_CUR), 5);
	close(from);
	return ret;
}

/* In a container, by the pid there. Invalid lines are not copied. */
static void copies(void **state)
{
	struct gpumon_perf_map *map;
	char root[256], to[512];
	size_t size;
	char *text;

	snprintf(root, sizeof(root), "%s/root", (char *)*state);
	snprintf(to, sizeof(to), "%s/perf-1.map", (char *)*state);
	symbol_run(*state, "mkdir -p root/tmp");
	assert_int_equal(copy_map(root, 7, to), -ENOENT);
	symbol_run(
		*state,
		"printf '1000 10 one two\\nroot:secret:0\\n2000 10 three\\n' >root/tmp/perf-7.map");
	assert_int_equal(copy_map(root, 7, to), 1);
	text = symbol_read(*state, "perf-1.map", &size);
	assert_string_equal(text, "1000 10 one two\n2000 10 three\n");
	free(text);
	map = open_map(*state);
	check(map, 0x1000, "one two");
	gpumon_perf_map_free(map);

	/* Without a valid line there is no copy. A link cannot lead outside. */
	unlink(to);
	symbol_run(*state,
		   "echo secret >root/tmp/perf-7.map && echo '1000 10 outside' >outside; "
		   "ln -s \"$PWD/outside\" root/tmp/perf-8.map && mkfifo root/tmp/perf-9.map");
	assert_int_equal(copy_map(root, 7, to), 0);
	assert_int_equal(copy_map(root, 8, to), -ELOOP);
	alarm(300);
	assert_int_equal(copy_map(root, 9, to), -EINVAL);
	alarm(0);
	assert_int_not_equal(access(to, F_OK), 0);
	symbol_run(*state, "echo '1000 10 x' >root/tmp/perf-7.map");
	assert_int_equal(copy_map(root, 7, "/nowhere/map"), -ENOENT);
	assert_int_equal(copy_map(root, 7, "/dev/full"), -ENOSPC);
}

/* For memory without a file, and without a known mapping, and never instead of a file's names. */
static void with_symbols(void **state)
{
	struct gpumon_record_mapping mapping = { .time_ns = 1, .start = 0x10000, .end = 0x20000 };
	struct gpumon_record_mapping huge = mapping;
	struct gpumon_symbols *symbols;
	struct gpumon_symbol found;
	char path[512];
	uint64_t bias;

	write_map(
		*state,
		"10100 10 jit one\n30000 10 nowhere\n40100 10 large page\n7f0000000000 100000 over a file\n"
		"10200 10 _ZN4core3fmt5Write9write_fmt17h0123456789abcdefE\n");
	symbol_run(*state, "echo 'int f(void); int f(void) { return 4; }' >f.c; "
			   "gcc -shared -fPIC -nostdlib -o f.so f.c");
	snprintf(path, sizeof(path), "%s/perf-1.map", (char *)*state);
	symbols = gpumon_symbols_new("", path);
	assert_non_null(symbols);
	assert_int_equal(gpumon_symbols_map(symbols, &mapping, ""), 0);
	/* Java's code with -XX:+UseLargePages. */
	huge.start = 0x40000;
	huge.end = 0x50000;
	huge.inode = 1045350;
	assert_int_equal(gpumon_symbols_map(symbols, &huge, "/anon_hugepage (deleted)"), 0);
	bias = symbol_load(symbols, *state, "f.so", 0x7f0000000000, 1);

	assert_int_equal(gpumon_symbols_find(symbols, 0x10108, 1, &found, 1), 1);
	assert_string_equal(found.function, "jit one");
	assert_string_equal(found.module, "[jit]");
	assert_string_equal(symbol_name(symbols, 0x30000), "nowhere");
	assert_string_equal(symbol_name(symbols, 0x40108), "large page");
	assert_string_equal(symbol_name(symbols, 0x10200), "core::fmt::Write::write_fmt");
	assert_string_equal(symbol_name(symbols, 0x10300), "[unknown]+0x10300");
	assert_string_equal(symbol_name(symbols, bias + symbol_address(*state, "f.so", "f", NULL)),
			    "f");
	gpumon_symbols_free(symbols);
}

/* Random bytes, and lines of random bytes: no crash, and the valid line keeps its name. */
static void nonsense(void **state)
{
	static const char letters[] = "0123456789abcdefxX \t\n\r-+zZ\0\xff";
	uint64_t seed = 5;

	for (int round = 0; round < 300; round++) {
		struct gpumon_perf_map *map;
		char text[2000];
		size_t size = test_random(&seed) % 1900;

		for (size_t i = 0; i < size; i++)
			text[i] = letters[test_random(&seed) % (sizeof(letters) - 1)];
		memcpy(text + size, "\n1000 10 good\n", 14);
		symbol_write(*state, "perf-1.map", text, size + 14);
		map = open_map(*state);
		check(map, 0x1008, "good");
		for (uint64_t address = 0; address < 0x2000; address += 0x100) {
			size_t length;

			gpumon_perf_map_find(map, address, &length);
		}
		gpumon_perf_map_free(map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(bad_lines, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(over_another, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(many, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(grows, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(traps, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(long_name, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(copies, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(with_symbols, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(nonsense, symbol_setup, symbol_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
