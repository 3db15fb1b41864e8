// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Which file counts as the mapped one: by build id, in which root, and when. */
#include "common.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/elf_find.h"
#include "capture/symbol.h"
#include "symbol_build.h"

#define AT 0x7f0000000000u

/* A library with one function, which other libraries have at another address. */
static void build(const char *folder, const char *library, const char *function, const char *flags)
{
	symbol_run(folder,
		   "printf 'int %s(int x);\\nint %s(int x)\\n{\\n\\treturn x * 3;\\n}\\n' >code.c; "
		   "gcc -O1 -shared -fPIC -nostdlib %s -o %s code.c",
		   function, function, flags, library);
}

static struct gpumon_symbols *new_symbols(const char *root)
{
	struct gpumon_symbols *symbols = gpumon_symbols_new(root, NULL);

	assert_non_null(symbols);
	return symbols;
}

static void two_at_one_address(void **state)
{
	struct gpumon_symbols *symbols = new_symbols("");
	struct gpumon_record_unmapping unmapping = { .start = AT, .end = AT + 0x10000 };
	uint64_t bias, address;
	struct gpumon_symbol found;

	build(*state, "one.so", "first", "");
	build(*state, "two.so", "second", "");
	address = symbol_address(*state, "one.so", "first", NULL);
	assert_int_equal(symbol_address(*state, "two.so", "second", NULL), address);
	/* Seen late, and reported in the wrong order. */
	bias = symbol_load(symbols, *state, "two.so", AT, 3000);
	symbol_load(symbols, *state, "one.so", AT, 1000);
	unmapping.time_ns = 2000;
	gpumon_symbols_unmap(symbols, &unmapping);

	static const struct {
		uint64_t time_ns;
		const char *function;
	} cases[] = {
		{ 900, "first" },   { 1000, "first" },	{ 1999, "first" },
		{ 2500, "second" }, { 3000, "second" }, { 9999, "second" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		gpumon_symbols_find(symbols, bias + address, cases[i].time_ns, &found, 1);
		assert_string_equal(found.function, cases[i].function);
	}
	/* Without a time it is ambiguous. */
	gpumon_symbols_find(symbols, bias + address, 0, &found, 1);
	assert_string_equal(found.module, "[unknown]");
	gpumon_symbols_free(symbols);
}

static void another_build_id(void **state)
{
	struct gpumon_symbols *symbols = new_symbols("");
	struct gpumon_record_mapping mapping;
	uint64_t bias, address;
	char path[256], expected[64];

	snprintf(path, sizeof(path), "%s/lib.so", (char *)*state);
	build(*state, "lib.so", "before", "-Wl,--build-id");
	address = symbol_address(*state, "lib.so", "before", NULL);
	bias = symbol_mapping(&mapping, *state, "lib.so", AT, 1);
	assert_int_equal(mapping.build_id_size, 20);
	build(*state, "lib.so", "after", "-Wl,--build-id");
	assert_int_equal(gpumon_symbols_map(symbols, &mapping, path), 0);
	snprintf(expected, sizeof(expected), "lib.so+0x%llx", (unsigned long long)address);
	assert_string_equal(symbol_name(symbols, bias + address), expected);
	gpumon_symbols_free(symbols);

	/* Without a recorded build id, the inode is compared. */
	symbols = new_symbols("");
	mapping.build_id_size = 0;
	mapping.inode++;
	assert_int_equal(gpumon_symbols_map(symbols, &mapping, path), 0);
	assert_string_equal(symbol_name(symbols, bias + address), expected);
	gpumon_symbols_free(symbols);
}

static void not_there(void **state)
{
	static const struct {
		const char *path, *module;
	} cases[] = {
		{ "/nowhere/lib.so", "lib.so+0x" },
		{ "/nowhere/lib.so (deleted)", "lib.so+0x" },
		{ "/etc/passwd", "passwd+0x" },
		{ "/", "/+0x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gpumon_record_mapping mapping = { .time_ns = 1,
							 .start = AT,
							 .end = AT + 4096 };
		struct gpumon_symbols *symbols = new_symbols("");
		const char *name;

		assert_int_equal(gpumon_symbols_map(symbols, &mapping, cases[i].path), 0);
		name = symbol_name(symbols, AT + 64);
		if (strncmp(name, cases[i].module, strlen(cases[i].module)) &&
		    strncmp(name, "[unknown]", 9))
			fail_msg("%s is %s", cases[i].path, name);
		gpumon_symbols_free(symbols);
	}
}

/* A pipe without a writer: opening it would block for ever. */
static void a_pipe(void **state)
{
	struct gpumon_record_mapping mapping = { .time_ns = 1, .start = AT, .end = AT + 4096 };
	struct gpumon_symbols *symbols = new_symbols("");
	char path[256];

	snprintf(path, sizeof(path), "%s/pipe.so", (char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(gpumon_symbols_map(symbols, &mapping, path), 0);
	alarm(300);
	assert_non_null(strstr(symbol_name(symbols, AT), "pipe.so+0x"));
	gpumon_symbols_free(symbols);

	/* The same instead of a debug file. */
	symbols = new_symbols("");
	build(*state, "lib.so", "named", "-g -Wl,--build-id");
	symbol_run(*state, "objcopy --only-keep-debug lib.so lib.debug && strip lib.so; "
			   "objcopy --add-gnu-debuglink=lib.debug lib.so && rm lib.debug; "
			   "mkfifo lib.debug && mkdir .debug && mkfifo .debug/lib.debug");
	uint64_t bias = symbol_load(symbols, *state, "lib.so", AT, 1);

	assert_string_equal(symbol_name(symbols,
					bias + symbol_address(*state, "lib.so", "named", NULL)),
			    "named");
	alarm(0);
	gpumon_symbols_free(symbols);
}

static void containers(void **state)
{
	struct gpumon_symbols *symbols;
	struct gpumon_record_mapping mapping;
	uint64_t bias, address;
	char root[256];

	build(*state, "lib.so", "inside", "");
	symbol_run(*state, "mkdir -p root/opt root/etc && mv lib.so root/opt/lib.so; "
			   "ln -s /opt/lib.so root/etc/absolute.so; "
			   "ln -s ../../../../../../../../../../../opt/lib.so root/etc/upwards.so; "
			   "ln -s /proc/self/root/opt/lib.so root/etc/magic.so");
	snprintf(root, sizeof(root), "%s/root", (char *)*state);
	address = symbol_address(root, "opt/lib.so", "inside", NULL);
	bias = symbol_mapping(&mapping, root, "opt/lib.so", AT, 1);
	for (const char *const *path = (const char *const[]){ "/opt/lib.so", "/etc/absolute.so",
							      "/etc/upwards.so", NULL };
	     *path; path++) {
		symbols = new_symbols(root);
		assert_int_equal(gpumon_symbols_map(symbols, &mapping, *path), 0);
		assert_string_equal(symbol_name(symbols, bias + address), "inside");
		gpumon_symbols_free(symbols);
	}
	/* Links in the root cannot lead to our own files. */
	symbol_run(root, "ln -sf %s/out.so etc/out.so && cp opt/lib.so ../out.so", (char *)*state);
	mapping.inode = 0;
	symbols = new_symbols(root);
	assert_int_equal(gpumon_symbols_map(symbols, &mapping, "/etc/out.so"), 0);
	assert_non_null(strstr(symbol_name(symbols, bias + address), "out.so+0x"));
	gpumon_symbols_free(symbols);
}

/* Every way to find a file with debug information. A wrong file is never used. */
static void debug_files(void **state)
{
	static const struct {
		const char *build, *put, *line;
	} cases[] = {
		{ "-Wl,--build-id=none", ":", "code.c" },
		{ "-Wl,--build-id=none", "mkdir .debug && mv lib.debug .debug/", "code.c" },
		{ "-Wl,--build-id=none",
		  "mkdir -p usr/lib/debug/opt && mv lib.debug usr/lib/debug/opt", "code.c" },
		{ "-Wl,--build-id=0xabcdef0123456789abcdef0123456789abcdef01",
		  "mkdir -p usr/lib/debug/.build-id/ab && mv lib.debug usr/lib/debug/.build-id/ab/cdef0123456789abcdef0123456789abcdef01.debug",
		  "code.c" },
		{ "-Wl,--build-id=0xabcdef01", ":", "code.c" },
		/* Not the file that the link refers to. */
		{ "-Wl,--build-id=none", "printf x >>lib.debug", "" },
		{ "-Wl,--build-id=none", "truncate -s 100 lib.debug", "" },
		{ "-Wl,--build-id=0xabcdef01", "objcopy -R .note.gnu.build-id lib.debug", "" },
	};
	char root[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gpumon_symbols *symbols;
		struct gpumon_record_mapping mapping;
		struct gpumon_symbol found;
		uint64_t bias, hidden;

		symbol_run(*state, "rm -rf r && mkdir -p r/opt");
		snprintf(root, sizeof(root), "%s/r", (char *)*state);
		symbol_run(
			root,
			"printf 'static __attribute__((noinline)) int hidden(int x)\\n"
			"{\\n\\treturn x * x;\\n}\\nint f(int x) { return hidden(x) + 1; }' >code.c; "
			"gcc -g -O1 -shared -fPIC -nostdlib %s -o full.so code.c; "
			"objcopy --only-keep-debug full.so lib.debug && strip -o opt/lib.so full.so; "
			"objcopy --add-gnu-debuglink=lib.debug opt/lib.so",
			cases[i].build);
		/* In the folder of the library, or below the root. */
		if (strncmp(cases[i].put, "mkdir -p usr", 12))
			symbol_run(root, "mv lib.debug opt && cd opt && %s", cases[i].put);
		else
			symbol_run(root, "%s", cases[i].put);
		hidden = symbol_address(root, "full.so", "hidden", NULL);
		bias = symbol_mapping(&mapping, root, "opt/lib.so", AT, 1);
		symbols = new_symbols(root);
		assert_int_equal(gpumon_symbols_map(symbols, &mapping, "/opt/lib.so"), 0);
		assert_int_equal(gpumon_symbols_find(symbols, bias + hidden, 1, &found, 1), 1);
		if (*cases[i].line) {
			assert_string_equal(found.function, "hidden");
			assert_non_null(strstr(found.file, cases[i].line));
			assert_int_equal(found.line, 3);
		} else if (!strcmp(found.function, "hidden")) {
			fail_msg("case %zu took a wrong file", i);
		}
		gpumon_symbols_free(symbols);
	}
}

/* A distribution that keeps a link at each file's build id. */
static void replaced_but_kept(void **state)
{
	struct gpumon_record_mapping mapping;
	struct gpumon_symbols *symbols;
	uint64_t bias, address;
	char root[256];

	symbol_run(*state, "mkdir -p r/opt r/usr/lib/.build-id/ab");
	snprintf(root, sizeof(root), "%s/r", (char *)*state);
	build(root, "opt/lib.so", "before", "-Wl,--build-id=0xabcdef01");
	address = symbol_address(root, "opt/lib.so", "before", NULL);
	bias = symbol_mapping(&mapping, root, "opt/lib.so", AT, 1);
	symbol_run(root, "mv opt/lib.so opt/old.so; "
			 "ln -s ../../../../opt/old.so usr/lib/.build-id/ab/cdef01");
	build(root, "opt/lib.so", "after", "-Wl,--build-id=0xabcdef02");
	symbols = new_symbols(root);
	assert_int_equal(gpumon_symbols_map(symbols, &mapping, "/opt/lib.so"), 0);
	assert_string_equal(symbol_name(symbols, bias + address), "before");
	gpumon_symbols_free(symbols);
}

/* While the process lives, its mapping leads to a deleted file. */
static void deleted_of_a_live_process(void **state)
{
	struct gpumon_record_mapping mapping = { .time_ns = 1 };
	struct gpumon_symbols *symbols;
	uint64_t address;
	char path[256], root[64];
	unsigned long start = 0, end, offset;
	char line[512];
	FILE *maps;
	void *base;
	int fd;

	build(*state, "lib.so", "gone", "-Wl,--build-id -Wl,-z,noseparate-code");
	address = symbol_address(*state, "lib.so", "gone", NULL);
	snprintf(path, sizeof(path), "%s/lib.so", (char *)*state);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	mapping.build_id_size = (uint8_t)gpumon_elf_build_id(fd, mapping.build_id);
	base = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(base, MAP_FAILED);
	close(fd);
	unlink(path);

	maps = fopen("/proc/self/maps", "re");
	while (fgets(line, sizeof(line), maps)) {
		if (strstr(line, "lib.so (deleted)"))
			assert_int_equal(sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset), 3);
	}
	fclose(maps);
	assert_true(start);
	mapping.start = start;
	mapping.end = end;
	mapping.offset = offset;
	snprintf(line, sizeof(line), "/proc/self/map_files/%lx-%lx", start, end);
	fd = open(line, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		munmap(base, 4096);
		print_message("map_files may not be read here\n");
		skip();
	}
	close(fd);
	snprintf(root, sizeof(root), "/proc/%d/root", getpid());
	strcat(path, " (deleted)");
	symbols = new_symbols(root);
	assert_int_equal(gpumon_symbols_map(symbols, &mapping, path), 0);
	assert_string_equal(symbol_name(symbols, mapping.start + address), "gone");
	gpumon_symbols_free(symbols);
	munmap(base, 4096);
}

static unsigned int count_descriptors(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 2000; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* More files than descriptors: all have names when looked up in turns. */
static void many_files(void **state)
{
	struct gpumon_symbols *symbols = new_symbols("");
	struct gpumon_record_mapping mapping;
	unsigned int before = count_descriptors();
	struct rlimit limit;
	uint64_t bias, address;
	char path[256];

	build(*state, "lib0.so", "one_of_many", "");
	address = symbol_address(*state, "lib0.so", "one_of_many", NULL);
	symbol_run(*state, "for i in $(seq 1 599); do ln lib0.so lib$i.so; done");
	for (unsigned int i = 0; i < 600; i++) {
		char name[32];

		snprintf(name, sizeof(name), "lib%u.so", i);
		snprintf(path, sizeof(path), "%s/%s", (char *)*state, name);
		bias = symbol_mapping(&mapping, *state, name, AT + ((uint64_t)i << 20), 1);
		assert_int_equal(gpumon_symbols_map(symbols, &mapping, path), 0);
	}
	bias = symbol_mapping(&mapping, *state, "lib0.so", AT, 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (unsigned int turn = 0; turn < 2; turn++) {
		/* A user's limit can be lower than our default. */
		struct rlimit lower = { turn ? 64 : limit.rlim_cur, limit.rlim_max };

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &lower), 0);
		for (unsigned int i = 0; i < 600; i++) {
			uint64_t at = bias + address + ((uint64_t)i << 20) + turn;

			assert_string_equal(symbol_name(symbols, at), "one_of_many");
		}
		assert_true(count_descriptors() - before < 600);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	gpumon_symbols_free(symbols);
	assert_int_equal(count_descriptors(), before);
}

/* The processes of a job have the same files: they are open once, as long as one needs them. */
static void many_processes(void **state)
{
	struct gpumon_symbols *symbols[50];
	unsigned int before = count_descriptors(), one = 0;
	uint64_t bias = 0, address;

	build(*state, "lib.so", "shared_by_all", "-g");
	address = symbol_address(*state, "lib.so", "shared_by_all", NULL);
	for (size_t i = 0; i < 50; i++) {
		symbols[i] = new_symbols("");
		bias = symbol_load(symbols[i], *state, "lib.so", AT, 1);
		assert_string_equal(symbol_name(symbols[i], bias + address), "shared_by_all");
		if (!i)
			one = count_descriptors();
		assert_int_equal(count_descriptors(), one);
	}
	for (size_t i = 0; i < 50; i++) {
		gpumon_symbols_free(symbols[i]);
		if (i < 49)
			assert_string_equal(symbol_name(symbols[49], bias + address + i % 3),
					    "shared_by_all");
	}
	assert_int_equal(count_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(two_at_one_address, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(another_build_id, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(not_there, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(a_pipe, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(containers, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(debug_files, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(replaced_but_kept, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(deleted_of_a_live_process, symbol_setup,
						symbol_teardown),
		cmocka_unit_test_setup_teardown(many_files, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(many_processes, symbol_setup, symbol_teardown),
	};

	unsetenv("DEBUGINFOD_URLS");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
