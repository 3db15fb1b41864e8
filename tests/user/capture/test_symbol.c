// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Functions, lines and inlined calls of files that the test builds. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "capture/elf_find.h"
#include "capture/symbol.h"
#include "symbol_build.h"

#define AT 0x7f0000000000u

/* The test checks line numbers, so keep them. */
static const char source[] = "int shared(int x); volatile int knob;\n"
			     "static __attribute__((noinline)) int hidden(int x)\n"
			     "{\n"
			     "	return x * x + 3;\n"
			     "}\n"
			     "static inline __attribute__((always_inline)) int deep(int x)\n"
			     "{\n"
			     "	return x + knob;\n"
			     "}\n"
			     "static inline __attribute__((always_inline)) int middle(int x)\n"
			     "{\n"
			     "	return deep(x) * knob;\n"
			     "}\n"
			     "int shared(int x)\n"
			     "{\n"
			     "	int y = middle(x);\n"
			     "\n"
			     "	return hidden(y) / 7;\n"
			     "}\n"
			     "__attribute__((noreturn)) void end(void);\n"
			     "void last(void);\n"
			     "void last(void)\n"
			     "{\n"
			     "	end();\n"
			     "}\n"
			     "int main(void)\n"
			     "{\n"
			     "	return shared(2);\n"
			     "}\n"
			     "void end(void)\n"
			     "{\n"
			     "	for (;;)\n"
			     "		;\n"
			     "}\n";

static void write_source(const char *folder)
{
	symbol_write(folder, "code.c", source, strlen(source));
}

static struct gpumon_symbols *new_symbols(void)
{
	struct gpumon_symbols *symbols = gpumon_symbols_new("", NULL);

	assert_non_null(symbols);
	return symbols;
}

/* All addresses of shared(): deep() is inlined into middle(), and that into shared(). */
static unsigned int check_inlined(const char *folder, const char *library)
{
	struct gpumon_symbols *symbols = new_symbols();
	uint64_t bias = symbol_load(symbols, folder, library, AT, 1), size;
	uint64_t start = symbol_address(folder, library, "shared", &size);
	unsigned int seen = 0;

	for (uint64_t address = start; address < start + size; address++) {
		struct gpumon_symbol found[8];
		unsigned int count = gpumon_symbols_find(symbols, bias + address, 1, found, 8);

		assert_string_equal(found[count - 1].function, "shared");
		assert_string_equal(found[count - 1].module, library);
		assert_non_null(strstr(found[count - 1].file, "code.c"));
		for (unsigned int i = 0; i < count; i++)
			assert_int_equal(found[i].inlined, i + 1 < count);
		if (count == 3) {
			assert_string_equal(found[0].function, "deep");
			assert_string_equal(found[1].function, "middle");
			assert_int_equal(found[1].line, 12);
			assert_int_equal(found[2].line, 16);
			seen++;
		} else if (count == 2) {
			assert_string_equal(found[0].function, "middle");
			assert_int_equal(found[1].line, 16);
		}
	}
	gpumon_symbols_free(symbols);
	return seen;
}

static void inlined_calls(void **state)
{
	static const char *const flags[] = {
		"-gdwarf-4",
		"-gdwarf-5",
		"-g -gz",
		"-g -fdebug-types-section",
		"-g1",
		"-g -ffunction-sections",
		"-g -gsplit-dwarf",
	};

	write_source(*state);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		symbol_run(*state, "gcc -O2 -shared -fPIC %s -o lib%zu.so code.c", flags[i], i);
		char name[32];

		snprintf(name, sizeof(name), "lib%zu.so", i);
		if (!check_inlined(*state, name))
			fail_msg("no address of deep() with %s", flags[i]);
	}
	/* It writes no .debug_aranges. */
	if (symbol_has("clang")) {
		symbol_run(*state, "clang -g -O2 -shared -fPIC -o clang.so code.c");
		assert_true(check_inlined(*state, "clang.so") > 0);
	}
}

static void lines(void **state)
{
	struct gpumon_symbols *symbols = new_symbols();
	struct gpumon_symbol found[8];
	uint64_t bias;

	write_source(*state);
	symbol_run(*state, "gcc -O0 -g -shared -fPIC -o lines.so code.c");
	bias = symbol_load(symbols, *state, "lines.so", AT, 1);
	assert_int_equal(gpumon_symbols_find(
				 symbols, bias + symbol_address(*state, "lines.so", "hidden", NULL),
				 1, found, 8),
			 1);
	assert_string_equal(found[0].function, "hidden");
	assert_int_equal(found[0].line, 3);
	assert_false(found[0].inlined);
	gpumon_symbols_free(symbols);
}

/* A call of a noreturn function comes last, so its return address is in the next function. */
static void end_of_a_function(void **state)
{
	struct gpumon_symbols *symbols = new_symbols();
	uint64_t bias, start, size;

	write_source(*state);
	/* Without -falign-functions there is padding that belongs to no function. */
	symbol_run(*state, "gcc -O1 -falign-functions=1 -shared -fPIC -o end.so code.c");
	bias = symbol_load(symbols, *state, "end.so", AT, 1);
	start = symbol_address(*state, "end.so", "last", &size);
	assert_string_equal(symbol_name(symbols, bias + start + size - 1), "last");
	assert_string_not_equal(symbol_name(symbols, bias + start + size), "last");
	gpumon_symbols_free(symbols);
}

/* No address takes the name of the function before it. */
static void stripped(void **state)
{
	struct gpumon_symbols *symbols = new_symbols();
	uint64_t bias, hidden, shared;
	struct gpumon_symbol found[2];
	char expected[64];

	write_source(*state);
	symbol_run(*state, "gcc -O1 -shared -fPIC -Wl,--build-id -o full.so code.c; "
			   "strip -o stripped.so full.so");
	hidden = symbol_address(*state, "full.so", "hidden", NULL);
	shared = symbol_address(*state, "full.so", "shared", NULL);
	bias = symbol_load(symbols, *state, "stripped.so", AT, 1);
	assert_string_equal(symbol_name(symbols, bias + shared), "shared");
	snprintf(expected, sizeof(expected), "stripped.so+0x%llx", (unsigned long long)hidden);
	assert_int_equal(gpumon_symbols_find(symbols, bias + hidden, 1, found, 2), 1);
	assert_string_equal(found[0].function, expected);
	assert_string_equal(found[0].module, "stripped.so");
	assert_string_equal(found[0].file, "");
	assert_int_equal(found[0].line, 0);
	gpumon_symbols_free(symbols);
}

/* As in Fedora: a compressed file in a section has the names of static functions. */
static void mini_debug_info(void **state)
{
	struct gpumon_symbols *symbols = new_symbols();
	uint64_t bias, hidden;

	if (!symbol_has("xz")) {
		print_message("no xz here\n");
		skip();
	}
	write_source(*state);
	symbol_run(*state, "gcc -O1 -shared -fPIC -Wl,--build-id -o full.so code.c; "
			   "objcopy --only-keep-debug full.so mini; "
			   "objcopy -S --remove-section .comment --keep-symbol hidden mini mini2; "
			   "xz -k mini2 && strip -o mini.so full.so; "
			   "objcopy --add-section .gnu_debugdata=mini2.xz mini.so");
	hidden = symbol_address(*state, "full.so", "hidden", NULL);
	bias = symbol_load(symbols, *state, "mini.so", AT, 1);
	assert_string_equal(symbol_name(symbols, bias + hidden), "hidden");
	assert_string_equal(symbol_name(symbols,
					bias + symbol_address(*state, "full.so", "shared", NULL)),
			    "shared");
	gpumon_symbols_free(symbols);
}

static void executables(void **state)
{
	static const char *const flags[] = { "-no-pie", "-pie -fPIE", "-static",
					     "-no-pie -Wl,-z,noseparate-code",
					     "-pie -fPIE -Wl,-Ttext-segment=0x10000000" };

	write_source(*state);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		struct gpumon_symbols *symbols = new_symbols();
		uint64_t bias;
		char name[32];

		snprintf(name, sizeof(name), "program%zu", i);
		symbol_run(*state, "gcc -O1 -g %s -o %s code.c", flags[i], name);
		bias = symbol_load(symbols, *state, name, 0x400000, 1);
		for (const char *const *f =
			     (const char *const[]){ "main", "hidden", "shared", "_start", NULL };
		     *f; f++) {
			uint64_t address = symbol_address(*state, name, *f, NULL);
			struct gpumon_symbol found[8];
			unsigned int n = gpumon_symbols_find(symbols, bias + address, 1, found, 8);

			assert_string_equal(found[n - 1].function, *f);
		}
		gpumon_symbols_free(symbols);
	}
}

/* If DWARF only says "hidden", the enclosing scopes are added. */
static void cxx(void **state)
{
	static const char text[] =
		"volatile int knob;\n"
		"namespace outer {\n"
		"namespace {\n"
		"template <typename T> inline __attribute__((always_inline)) T twice(T x)\n"
		"{ return x * knob; }\n"
		"struct thing {\n"
		"	inline __attribute__((always_inline)) int get(int x) const\n"
		"	{ return x + knob; }\n"
		"};\n"
		"}\n"
		"int call(int x) { return twice(x) + thing().get(x); }\n"
		"}\n";
	struct gpumon_symbols *symbols;
	bool twice = false, get = false;
	uint64_t bias, start, size;

	if (!symbol_has("g++")) {
		print_message("no g++ here\n");
		skip();
	}
	symbols = new_symbols();
	symbol_write(*state, "names.cc", text, strlen(text));
	symbol_run(*state, "g++ -O2 -g -shared -fPIC -o names.so names.cc");
	bias = symbol_load(symbols, *state, "names.so", AT, 1);
	start = symbol_address(*state, "names.so", "_ZN5outer4callEi", &size);
	for (uint64_t address = start; address < start + size; address++) {
		struct gpumon_symbol found[8];
		unsigned int count = gpumon_symbols_find(symbols, bias + address, 1, found, 8);

		assert_string_equal(found[count - 1].function, "outer::call(int)");
		if (count < 2)
			continue;
		if (!strcmp(found[0].function, "outer::(anonymous namespace)::twice<int>"))
			twice = true;
		else if (!strcmp(found[0].function, "outer::(anonymous namespace)::thing::get"))
			get = true;
		else
			fail_msg("what is \"%s\"", found[0].function);
	}
	assert_true(twice && get);
	gpumon_symbols_free(symbols);
}

static void no_file(void **state)
{
	static const char *const paths[] = { "",
					     "[heap]",
					     "//anon",
					     "/dev/zero (deleted)",
					     "/memfd:x (deleted)",
					     "anon_inode:[io_uring]" };
	static const char *const modules[] = { "[unknown]", "[heap]",  "[unknown]",
					       "zero",	    "memfd:x", "anon_inode:[io_uring]" };
	struct gpumon_symbols *symbols = new_symbols();
	struct gpumon_record_mapping mapping = { .time_ns = 1 };
	struct gpumon_symbol found;
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		mapping.start = (i + 1) << 20;
		mapping.end = mapping.start + 4096;
		assert_int_equal(gpumon_symbols_map(symbols, &mapping, paths[i]), 0);
		assert_int_equal(gpumon_symbols_find(symbols, mapping.start + 16, 1, &found, 1), 1);
		assert_string_equal(found.module, modules[i]);
		assert_non_null(strstr(found.function, "+0x"));
		/* By the address, which tells two places without a name apart. */
		snprintf(name, sizeof(name), "[unknown]+%#lx", (unsigned long)mapping.start + 16);
		if (!strcmp(modules[i], "[unknown]"))
			assert_string_equal(found.function, name);
	}
	assert_int_equal(gpumon_symbols_find(symbols, 0x123, 1, &found, 1), 1);
	assert_string_equal(found.function, "[unknown]+0x123");
	assert_string_equal(found.module, "[unknown]");
	assert_int_equal(gpumon_symbols_find(symbols, UINT64_MAX, 1, &found, 1), 1);
	gpumon_symbols_free(symbols);
}

/* The vdso has a build id, and is in this process as well. */
static void vdso(void **state)
{
	struct gpumon_symbols *symbols = new_symbols();
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct gpumon_record_mapping mapping = { .time_ns = 1, .start = AT, .end = AT + 0x10000 };
	uint64_t address;
	long page = sysconf(_SC_PAGESIZE);

	if (!image) {
		print_message("no vdso here\n");
		skip();
	}
	symbol_write(*state, "vdso", image, (size_t)page * 2);
	mapping.build_id_size = 20;
	/* Find the build id independently: the note is in the first page. */
	for (const char *p = image; p < image + page - 36; p += 4) {
		if (!memcmp(p, "\4\0\0\0\24\0\0\0\3\0\0\0GNU", 16)) {
			memcpy(mapping.build_id, p + 16, 20);
			address = symbol_address(*state, "vdso", "clock_gettime", NULL);
			assert_int_equal(gpumon_symbols_map(symbols, &mapping, "[vdso]"), 0);
			assert_non_null(
				strstr(symbol_name(symbols, AT + address), "clock_gettime"));
			/* The loader's name, which old captures have. */
			mapping.start += 2 << 20;
			mapping.end += 2 << 20;
			assert_int_equal(gpumon_symbols_map(symbols, &mapping, "linux-vdso.so.1"),
					 0);
			assert_non_null(strstr(symbol_name(symbols, mapping.start + address),
					       "clock_gettime"));
			mapping.build_id[0] ^= 1;
			mapping.start += 1 << 20;
			mapping.end += 1 << 20;
			assert_int_equal(gpumon_symbols_map(symbols, &mapping, "[vdso]"), 0);
			assert_non_null(
				strstr(symbol_name(symbols, mapping.start + address), "[vdso]+0x"));
			gpumon_symbols_free(symbols);
			return;
		}
	}
	gpumon_symbols_free(symbols);
	print_message("the vdso has no build id here\n");
	skip();
}

/* The innermost first. Asking again returns the same pointers. */
static void room_and_again(void **state)
{
	struct gpumon_symbols *symbols = new_symbols();
	struct gpumon_symbol all[8], some[8];
	uint64_t bias, start, size, deep = 0;

	write_source(*state);
	symbol_run(*state, "gcc -O2 -g -shared -fPIC -o room.so code.c");
	bias = symbol_load(symbols, *state, "room.so", AT, 1);
	start = symbol_address(*state, "room.so", "shared", &size);
	for (uint64_t a = start; a < start + size && !deep; a++) {
		if (gpumon_symbols_find(symbols, bias + a, 1, all, 8) == 3)
			deep = bias + a;
	}
	assert_true(deep);
	for (unsigned int room = 1; room <= 8; room++) {
		unsigned int expected = room < 3 ? room : 3;

		memset(some, 0xff, sizeof(some));
		assert_int_equal(gpumon_symbols_find(symbols, deep, 1, some, room), expected);
		for (unsigned int i = 0; i < expected; i++) {
			assert_ptr_equal(some[i].function, all[i].function);
			assert_ptr_equal(some[i].file, all[i].file);
			assert_int_equal(some[i].line, all[i].line);
		}
	}
	gpumon_symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(inlined_calls, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(lines, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(end_of_a_function, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(stripped, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(mini_debug_info, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(executables, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(cxx, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(no_file, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(vdso, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(room_and_again, symbol_setup, symbol_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
