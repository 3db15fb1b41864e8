// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "common.h"

#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/format.h"

static const struct gpumon_value unknown;

#define CHECK(function, value, want)                                            \
	do {                                                                    \
		char text[GPUMON_FORMAT_LEN];                                   \
		assert_string_equal(function(text, sizeof(text), value), want); \
	} while (0)

static void format_ns(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0ns" },
		{ 850, "850ns" },
		{ 999, "999ns" },
		{ 1000, "1.00us" },
		{ 12345, "12.3us" },
		{ 99949, "99.9us" },
		{ 99950, "100us" },
		{ 999499, "999us" },
		{ 999500, "1.00ms" },
		{ 1200000, "1.20ms" },
		{ 999499999, "999ms" },
		{ 999500000, "1.00s" },
		{ 3450000000, "3.45s" },
		{ 59900000000, "59.9s" },
		{ 59960000000, "1m00s" },
		{ 125000000000, "2m05s" },
		{ 11045000000000, "3h04m" },
		{ UINT64_MAX, "5124095h34m" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(gpumon_format_ns, gpumon_value_of(cases[i].ns), cases[i].text);
	CHECK(gpumon_format_ns, unknown, "-");
}

static void format_numbers(void **state)
{
	(void)state;
	CHECK(gpumon_format_count, gpumon_value_of(UINT64_MAX), "18446744073709551615");
	CHECK(gpumon_format_count, unknown, "-");
	CHECK(gpumon_format_short, gpumon_value_of(999), "999");
	CHECK(gpumon_format_short, gpumon_value_of(1234), "1.23k");
	CHECK(gpumon_format_short, gpumon_value_of(999499), "999k");
	CHECK(gpumon_format_short, gpumon_value_of(999500), "1.00M");
	CHECK(gpumon_format_short, gpumon_value_of(UINT64_MAX), "18.4E");
	CHECK(gpumon_format_short, unknown, "-");
	CHECK(gpumon_format_bytes, gpumon_value_of(512), "512B");
	CHECK(gpumon_format_bytes, gpumon_value_of(1536), "1.50KiB");
	CHECK(gpumon_format_bytes, gpumon_value_of(3 << 20), "3.00MiB");
	CHECK(gpumon_format_bytes, unknown, "-");
}

static void format_rate(void **state)
{
	char text[GPUMON_FORMAT_LEN];

	(void)state;
#define RATE(count, ns, want) \
	assert_string_equal(gpumon_format_rate(text, sizeof(text), count, ns), want)
	RATE(gpumon_value_of(0), 1000000000, "0");
	RATE(gpumon_value_of(1), 4000000000, "0.25");
	RATE(gpumon_value_of(25), 2000000000, "12.5");
	RATE(gpumon_value_of(123), 1000000000, "123");
	RATE(gpumon_value_of(1234), 1000000000, "1.23k");
	RATE(gpumon_value_of(1), 0, "-");
	RATE(unknown, 1000000000, "-");
#undef RATE
}

static void format_time(void **state)
{
	char text[GPUMON_FORMAT_LEN];

	(void)state;
	assert_string_equal(gpumon_format_time(text, sizeof(text), 12000000345), "12.000000345");
	assert_string_equal(gpumon_format_time(text, sizeof(text), UINT64_MAX),
			    "18446744073.709551615");
}

static void format_name_is_safe(void **state)
{
	char text[64], small[4];

	(void)state;
#define NAME(name, want) assert_string_equal(gpumon_format_name(text, sizeof(text), name), want)
	NAME("gfx_0.0.0", "gfx_0.0.0");
	NAME(NULL, "-");
	NAME("", "");
	NAME("a\033[31mb\n", "a?[31mb?");
	NAME("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	NAME("cut\xc3", "cut?");
	NAME("\xc2\x9b[31m", "?[31m"); /* the one-byte escape, as UTF-8 */
	NAME("\xc0\xaf", "??");	       /* overlong */
	NAME("\xed\xa0\x80", "?");     /* surrogate */
	NAME("\xf4\x90\x80\x80", "?"); /* beyond Unicode */
	NAME("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80");
	/* It would be shown as if it ended in "gpj". */
	NAME("jpg\xe2\x80\xaetxt", "jpg?txt");
#undef NAME
	/* Never an incomplete character, and never too long. */
	assert_string_equal(gpumon_format_name(small, sizeof(small), "ab\xc3\xbc"), "ab");
	assert_string_equal(gpumon_format_name(small, sizeof(small), "abcdef"), "abc");
}

static void format_into_little_room(void **state)
{
	char text[3];

	(void)state;
	assert_string_equal(gpumon_format_ns(text, sizeof(text), gpumon_value_of(850)), "85");
	assert_string_equal(gpumon_format_count(text, sizeof(text), gpumon_value_of(12345)), "12");
}

static void term_of_a_stream(void **state)
{
	struct gpumon_term term;
	size_t len;
	char *text;
	FILE *stream = open_memstream(&text, &len);

	(void)state;
	unsetenv("COLUMNS");
	gpumon_term_get(&term, stream);
	assert_false(term.tty);
	assert_false(term.colour);
	assert_int_equal(term.columns, 0);
	assert_string_equal(gpumon_term_red(&term), "");
	assert_string_equal(gpumon_term_reset(&term), "");

	setenv("COLUMNS", "57", 1);
	gpumon_term_get(&term, stream);
	assert_int_equal(term.columns, 57);
	setenv("COLUMNS", "-5", 1);
	gpumon_term_get(&term, stream);
	assert_int_equal(term.columns, 0);
	unsetenv("COLUMNS");

	term.colour = true;
	assert_string_equal(gpumon_term_red(&term), "\033[31m");
	fclose(stream);
	free(text);
}

/* Kinds of terminals, and what a size is good for. */
static void term_of_a_terminal(void **state)
{
	static const struct {
		const char *kind, *no_color;
		bool cursor, colour;
	} cases[] = {
		{ "xterm", NULL, true, true }, { "xterm", "1", true, false },
		{ "vt100", "", true, true },   { "dumb", NULL, false, false },
		{ "", NULL, false, false },    { NULL, NULL, false, false },
	};
	struct winsize size = { .ws_row = 65535, .ws_col = 80 };
	struct gpumon_term term;
	int ours, theirs;
	FILE *stream;

	(void)state;
	assert_int_equal(openpty(&ours, &theirs, NULL, NULL, &size), 0);
	stream = fdopen(theirs, "w");
	assert_non_null(stream);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsetenv("TERM");
		unsetenv("NO_COLOR");
		if (cases[i].kind)
			setenv("TERM", cases[i].kind, 1);
		if (cases[i].no_color)
			setenv("NO_COLOR", cases[i].no_color, 1);
		gpumon_term_get(&term, stream);
		assert_true(term.tty);
		assert_int_equal(term.cursor, cases[i].cursor);
		assert_int_equal(term.colour, cases[i].colour);
		assert_int_equal(term.columns, 80);
		assert_in_range(term.rows, 1000, 10000);
	}
	fclose(stream);
	close(ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(format_ns),	       cmocka_unit_test(format_numbers),
		cmocka_unit_test(format_rate),	       cmocka_unit_test(format_time),
		cmocka_unit_test(format_name_is_safe), cmocka_unit_test(format_into_little_room),
		cmocka_unit_test(term_of_a_stream),    cmocka_unit_test(term_of_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
