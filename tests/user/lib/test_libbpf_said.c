// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What is kept of libbpf's messages, with the real libbpf. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/bpf.h"

__attribute__((format(printf, 2, 3))) static void say(enum libbpf_print_level level,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	gpumon_libbpf_print(level, format, args);
	va_end(args);
}

static void the_first_warning_is_kept(void **state)
{
	(void)state;
	gpumon_libbpf_forget();
	assert_string_equal(gpumon_libbpf_said(), "");
	say(LIBBPF_INFO, "loading %s\n", "it");
	say(LIBBPF_WARN, "prog '%s': BPF program load failed: %d\nmore\n", "enter", -22);
	say(LIBBPF_WARN, "failed to load object 'uprobe_bpf'\n");
	assert_string_equal(gpumon_libbpf_said(), "prog 'enter': BPF program load failed: -22");
	gpumon_libbpf_forget();
	say(LIBBPF_WARN, "another");
	assert_string_equal(gpumon_libbpf_said(), "another");
}

static void libbpf_calls_it(void **state)
{
	libbpf_print_fn_t before = libbpf_set_print(gpumon_libbpf_print);

	(void)state;
	gpumon_libbpf_forget();
	assert_null(bpf_object__open_file("/nonexistent/object.o", NULL));
	libbpf_set_print(before);
	assert_non_null(strstr(gpumon_libbpf_said(), "/nonexistent/object.o"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_warning_is_kept),
		cmocka_unit_test(libbpf_calls_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
