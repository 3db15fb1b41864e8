// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Functions of files by offset, for uprobes. */
#include "common.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/elf_find.h"
#include "symbol_build.h"

struct list {
	struct {
		char name[64], version[32];
		struct gpumon_elf_function function;
	} items[512];
	size_t count;
	int stop;
};

static int add(void *data, const struct gpumon_elf_function *function)
{
	struct list *list = data;

	if (list->count == 512)
		return 0;
	snprintf(list->items[list->count].name, 64, "%s", function->name);
	snprintf(list->items[list->count].version, 32, "%s",
		 function->version ? function->version : "");
	list->items[list->count++].function = *function;
	return list->stop;
}

static int open_file(const char *folder, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = gpumon_elf_open("", path, NULL);
	assert_true(fd >= 0);
	return fd;
}

static void read_list(struct list *list, const char *folder, const char *name)
{
	const char *why = NULL;
	int fd = open_file(folder, name);

	memset(list, 0, sizeof(*list));
	assert_int_equal(gpumon_elf_functions(fd, add, list, &why), 0);
	close(fd);
}

static const struct gpumon_elf_function *find(const struct list *list, const char *name,
					      const char *version)
{
	const struct gpumon_elf_function *found = NULL;

	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i].name, name) || strcmp(list->items[i].version, version))
			continue;
		/* Each function once. */
		assert_null(found);
		found = &list->items[i].function;
	}
	return found;
}

/* Each function begins with unique bytes, which must be at the reported offset. */
static void places(void **state)
{
	static const char *const flags[] = {
		"-shared -fPIC",
		"-no-pie",
		"-pie -fPIE",
		"-shared -fPIC -Wl,-z,noseparate-code",
		"-pie -fPIE -Wl,-Ttext-segment=0x10000000",
		"-shared -fPIC -ffunction-sections -Wl,-z,max-page-size=0x200000"
	};
	static const char source[] =
		"#define F(name, n) __asm__(\".text\\n.globl \" #name \"\\n.type \" #name \",@function\\n\" \\\n"
		"#name \":\\n.quad 0x1122334455667700 + \" #n \"\\n.size \" #name \", 8\\n\")\n"
		"F(first, 1); F(second, 2); F(third, 3);\n"
		"int main(void) { return 0; }\n";
	static const char *const names[] = { "first", "second", "third" };
	static struct list list;

	symbol_write(*state, "code.c", source, strlen(source));
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		size_t size;
		char *bytes;

		symbol_run(*state, "gcc %s -o file code.c", flags[i]);
		read_list(&list, *state, "file");
		bytes = symbol_read(*state, "file", &size);
		for (uint64_t n = 1; n <= 3; n++) {
			const struct gpumon_elf_function *f = find(&list, names[n - 1], "");
			uint64_t expected = 0x1122334455667700 + n;

			assert_non_null(f);
			assert_true(f->offset + 8 <= size);
			assert_memory_equal(bytes + f->offset, &expected, 8);
			assert_int_equal(f->size, 8);
			assert_int_equal(f->binding, STB_GLOBAL);
			assert_int_equal(f->address,
					 symbol_address(*state, "file", names[n - 1], NULL));
			assert_int_equal(f->dynamic, i == 0 || i == 3 || i == 5);
		}
		free(bytes);
	}
}

static void versions(void **state)
{
	static const char source[] =
		"int launch_old(void) { return 1; }\n"
		"int launch_new(void) { return 2; }\n"
		"int plain(void) { return 3; }\n"
		"static int chosen(void) { return 4; }\n"
		"static __attribute__((noinline)) int local(void) { return 5; }\n"
		"int user(void) { return local(); }\n"
		"static void *choose(void) { return chosen; }\n"
		"int indirect(void) __attribute__((ifunc(\"choose\")));\n"
		"__asm__(\".symver launch_old,launch@V_11\\n\"\n"
		"\".symver launch_new,launch@@V_12\");\n";
	static const char map[] = "V_11 { global: launch; local: launch_*; };\n"
				  "V_12 { global: launch; plain; user; indirect; } V_11;\n";
	static struct list list;
	const struct gpumon_elf_function *f, *g;

	symbol_write(*state, "code.c", source, strlen(source));
	symbol_write(*state, "map", map, strlen(map));
	symbol_run(*state,
		   "gcc -O1 -shared -fPIC -nostdlib -Wl,--version-script=map -o lib.so code.c");
	read_list(&list, *state, "lib.so");

	f = find(&list, "launch", "V_11");
	g = find(&list, "launch", "V_12");
	assert_non_null(f);
	assert_non_null(g);
	assert_false(f->default_version);
	assert_true(g->default_version);
	assert_true(f->dynamic && g->dynamic);
	assert_int_not_equal(f->offset, g->offset);
	assert_int_equal(f->address, symbol_address(*state, "lib.so", "launch_old", NULL));
	assert_int_equal(g->address, symbol_address(*state, "lib.so", "launch_new", NULL));

	f = find(&list, "indirect", "V_12");
	assert_non_null(f);
	assert_true(f->ifunc);
	assert_int_equal(f->address, symbol_address(*state, "lib.so", "choose", NULL));
	/* The functions that the resolver selects from are listed, too. */
	f = find(&list, "chosen", "");
	assert_non_null(f);
	assert_false(f->ifunc || f->dynamic);
	assert_int_equal(f->binding, STB_LOCAL);
	assert_non_null(find(&list, "local", ""));
	f = find(&list, "plain", "V_12");
	assert_non_null(f);

	symbol_run(*state, "strip lib.so");
	read_list(&list, *state, "lib.so");
	assert_null(find(&list, "local", ""));
	assert_non_null(find(&list, "launch", "V_11"));
	assert_non_null(find(&list, "user", "V_12"));
}

/* Functions defined in another file are not listed. */
static void undefined(void **state)
{
	static struct list list;

	symbol_run(
		*state,
		"echo 'int other(void); int mine(void); int mine(void) { return other(); }' >code.c; "
		"gcc -shared -fPIC -o lib.so code.c");
	read_list(&list, *state, "lib.so");
	assert_null(find(&list, "other", ""));
	assert_non_null(find(&list, "mine", ""));
	/* The callback can end the list. */
	memset(&list, 0, sizeof(list));
	list.stop = 7;
	const char *why;
	int fd = open_file(*state, "lib.so");

	assert_int_equal(gpumon_elf_functions(fd, add, &list, &why), 7);
	assert_int_equal(list.count, 1);
	close(fd);
}

static void build_ids(void **state)
{
	static const struct {
		const char *flag;
		size_t size;
		uint8_t first;
	} cases[] = {
		{ "--build-id=none", 0, 0 },
		{ "--build-id=0xabcdef01", 4, 0xab },
		{ "--build-id=0x0102030405060708091011121314151617181920", 20, 1 },
		/* Longer than a capture stores. */
		{ "--build-id=0x0102030405060708091011121314151617181920212223242526272829303132",
		  20, 1 },
	};
	uint8_t build_id[GPUMON_BUILD_ID_SIZE];

	symbol_run(*state, "echo 'int f(void); int f(void) { return 1; }' >code.c");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int fd;

		symbol_run(*state, "gcc -shared -fPIC -nostdlib -Wl,%s -o lib.so code.c",
			   cases[i].flag);
		fd = open_file(*state, "lib.so");
		assert_int_equal(gpumon_elf_build_id(fd, build_id), cases[i].size);
		if (cases[i].size)
			assert_int_equal(build_id[0], cases[i].first);
		close(fd);
	}
}

static void no_elf(void **state)
{
	static const char *const files[] = { "", "x", "#!/bin/sh\n", "\177ELF",
					     "\177ELF\2\1\1 and then no more of it" };
	uint8_t build_id[GPUMON_BUILD_ID_SIZE];
	static struct list list;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		const char *why = NULL;
		int fd;

		symbol_write(*state, "file", files[i], strlen(files[i]));
		fd = open_file(*state, "file");
		assert_int_equal(gpumon_elf_functions(fd, add, &list, &why), -1);
		assert_non_null(why);
		assert_int_equal(gpumon_elf_build_id(fd, build_id), 0);
		close(fd);
	}
	/* An object file has no code to run. */
	const char *why = NULL;

	symbol_run(*state, "echo 'int f(void) { return 1; }' >code.c && gcc -c -o file code.c");
	int fd = open_file(*state, "file");

	assert_int_equal(gpumon_elf_functions(fd, add, &list, &why), -1);
	assert_non_null(strstr(why, "executable"));
	close(fd);
}

static void opening(void **state)
{
	char path[512], root[512];
	struct stat st;
	int fd;

	assert_int_equal(gpumon_elf_open("", "/nowhere/file", NULL), -ENOENT);
	assert_int_equal(gpumon_elf_open("/nowhere", "/file", NULL), -ENOENT);
	assert_int_equal(gpumon_elf_open("", *state, NULL), -EINVAL);
	assert_int_equal(gpumon_elf_open("", "/dev/null", NULL), -EINVAL);
	snprintf(path, sizeof(path), "%s/pipe", (char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(300);
	assert_int_equal(gpumon_elf_open("", path, NULL), -EINVAL);
	assert_int_equal(gpumon_elf_open(*state, "/pipe", NULL), -EINVAL);
	alarm(0);

	/* Links are resolved within the root. */
	symbol_run(*state, "mkdir -p root/sub && echo in >root/file && echo out >file; "
			   "ln -s /file root/sub/absolute && ln -s ../../file root/sub/up");
	snprintf(root, sizeof(root), "%s/root", (char *)*state);
	for (const char *const *p = (const char *const[]){ "/file", "/sub/absolute", "/sub/up",
							   "/../file", "/sub/../../file", NULL };
	     *p; p++) {
		char text[8] = "";

		fd = gpumon_elf_open(root, *p, &st);
		assert_true(fd >= 0);
		assert_int_equal(st.st_size, 3);
		assert_int_equal(read(fd, text, sizeof(text) - 1), 3);
		assert_string_equal(text, "in\n");
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(places, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(versions, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(undefined, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(build_ids, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(no_elf, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(opening, symbol_setup, symbol_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
