// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Truncated or broken files: results are correct where they exist, and nothing crashes or hangs.
 * tests/fuzz/symbol goes further.
 */
#include "common.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/elf_find.h"
#include "capture/symbol.h"
#include "symbol_build.h"

#define AT 0x10000

static void build(const char *folder, const char *flags)
{
	symbol_run(
		folder,
		"printf 'volatile int knob;\\n"
		"static __attribute__((noinline)) int hidden(int x) { return x * knob; }\\n"
		"static inline __attribute__((always_inline)) int deep(int x) { return x + knob; }\\n"
		"int shared(int x) { return hidden(deep(x)) / 7; }\\n' >code.c; "
		"gcc -O2 -shared -fPIC -nostdlib %s -Wl,-z,noseparate-code -o whole.so code.c",
		flags);
}

static int count_function(void *data, const struct gpumon_elf_function *function)
{
	assert_true(strlen(function->name) > 0);
	++*(unsigned int *)data;
	return 0;
}

/* Look up addresses all over the file; alarm() limits the time. */
static void look(const char *folder, const char *name, size_t size)
{
	struct gpumon_symbols *symbols = gpumon_symbols_new("", NULL);
	struct gpumon_record_mapping mapping = { .start = AT, .end = AT + size, .time_ns = 1 };
	struct gpumon_symbol found[64];
	unsigned int functions = 0;
	const char *why = NULL;
	char path[512];
	int fd;

	assert_non_null(symbols);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(gpumon_symbols_map(symbols, &mapping, path), 0);
	for (size_t at = 0; at < size; at += size / 100 + 1) {
		unsigned int count = gpumon_symbols_find(symbols, AT + at, 1, found, 64);

		assert_true(count >= 1 && count <= 64);
		for (unsigned int i = 0; i < count; i++) {
			assert_true(strlen(found[i].function) > 0);
			assert_non_null(found[i].file);
		}
	}
	gpumon_symbols_free(symbols);
	fd = gpumon_elf_open("", path, NULL);
	assert_true(fd >= 0);
	gpumon_elf_functions(fd, count_function, &functions, &why);
	close(fd);
}

static void cut_off(void **state)
{
	size_t size;
	char *data;

	build(*state, "-g");
	data = symbol_read(*state, "whole.so", &size);
	alarm(100);
	for (size_t n = 0; n < size; n += n < 1200 ? 9 : 61) {
		symbol_write(*state, "cut.so", data, n);
		look(*state, "cut.so", n ? n : 1);
	}
	alarm(0);
	free(data);
}

static void changed(void **state)
{
	static const char *const flags[] = { "-gdwarf-4", "-gdwarf-5", "-g -gz", "-g0" };
	static const uint32_t numbers[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
	uint64_t seed = 9;

	alarm(100);
	for (size_t f = 0; f < sizeof(flags) / sizeof(*flags); f++) {
		char *data, *copy;
		size_t size;

		build(*state, flags[f]);
		data = symbol_read(*state, "whole.so", &size);
		copy = malloc(size);
		assert_non_null(copy);
		for (int round = 0; round < 150; round++) {
			memcpy(copy, data, size);
			for (unsigned int n = test_random(&seed) % 6 + 1; n; n--) {
				size_t at = test_random(&seed) % (size - 4);

				if (test_random(&seed) % 2)
					copy[at] ^= (char)(1 << test_random(&seed) % 8);
				else
					memcpy(copy + at, &numbers[test_random(&seed) % 5], 4);
			}
			symbol_write(*state, "changed.so", copy, size);
			look(*state, "changed.so", size);
		}
		free(copy);
		free(data);
	}
	alarm(0);
}

/* Broken symbol tables: sizes beyond the end, thousands of nested functions. */
static void strange_tables(void **state)
{
	struct gpumon_symbols *symbols;
	uint64_t bias, address;
	char *text, *at;

	text = malloc(200000);
	assert_non_null(text);
	at = text + sprintf(text, ".text\n.globl base\n.type base,@function\nbase:\n");
	for (int i = 0; i < 1000; i++)
		at += sprintf(at, ".type in%d,@function\n.size in%d,%d\nin%d: nop\n", i, i,
			      2000 - 2 * i, i);
	at += sprintf(at, ".size base, 0x7fffffffffffffff\n.type huge,@function\n"
			  ".size huge, 0xffffffffffffffff\nhuge: nop\nlabel: nop\nnop\n");
	symbol_write(*state, "code.s", text, (size_t)(at - text));
	free(text);
	symbol_run(*state, "gcc -shared -nostdlib -o strange.so code.s");
	symbols = gpumon_symbols_new("", NULL);
	assert_non_null(symbols);
	bias = symbol_load(symbols, *state, "strange.so", AT, 1);
	address = symbol_address(*state, "strange.so", "in500", NULL);
	assert_string_equal(symbol_name(symbols, bias + address), "in500");
	address = symbol_address(*state, "strange.so", "label", NULL);
	assert_string_equal(symbol_name(symbols, bias + address), "label");
	assert_string_equal(symbol_name(symbols, bias + address + 1), "label");
	gpumon_symbols_free(symbols);
}

/* A function within another one: after the inner one, the outer one continues. */
static void functions_in_functions(void **state)
{
	static const char code[] =
		".text\n.globl outer\n.type outer,@function\nouter:\n.skip 16\n"
		".type inner,@function\ninner:\n.skip 8\n.size inner, . - inner\n"
		".skip 8\n.size outer, . - outer\n.skip 16\n"
		".type later,@function\nlater:\n.skip 4\n.size later, . - later\n";
	struct gpumon_symbols *symbols = gpumon_symbols_new("", NULL);
	uint64_t at;

	assert_non_null(symbols);
	symbol_write(*state, "code.s", code, strlen(code));
	symbol_run(*state, "gcc -shared -nostdlib -o nested.so code.s");
	at = symbol_load(symbols, *state, "nested.so", AT, 1) +
	     symbol_address(*state, "nested.so", "outer", NULL);
	assert_string_equal(symbol_name(symbols, at + 15), "outer");
	assert_string_equal(symbol_name(symbols, at + 16), "inner");
	assert_string_equal(symbol_name(symbols, at + 23), "inner");
	assert_string_equal(symbol_name(symbols, at + 24), "outer");
	assert_string_equal(symbol_name(symbols, at + 31), "outer");
	/* Between two functions there is none. */
	assert_non_null(strstr(symbol_name(symbols, at + 32), "nested.so+0x"));
	assert_non_null(strstr(symbol_name(symbols, at + 47), "nested.so+0x"));
	assert_string_equal(symbol_name(symbols, at + 48), "later");
	gpumon_symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cut_off, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(changed, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(strange_tables, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(functions_in_functions, symbol_setup,
						symbol_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
