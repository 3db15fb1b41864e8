// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "lib/format.h"
#include "report/protobuf.h"
#include "lib/map.h"

static void characters(void **state)
{
	static const struct {
		const char *text;
		uint32_t code;
		size_t bytes;
	} cases[] = {
		{ "", 0, 0 },
		{ "a", 'a', 1 },
		{ "é", 0xe9, 2 },
		{ "核", 0x6838, 3 },
		{ "🚀", 0x1f680, 4 },
		/* Incomplete, an invalid first byte, overlong, a surrogate, beyond Unicode. */
		{ "\xe6\xa0", '?', 1 },
		{ "\x80", '?', 1 },
		{ "\xc0\xaf", '?', 1 },
		{ "\xed\xa0\x80", '?', 3 },
		{ "\xf7\xbf\xbf\xbf", '?', 4 },
		/* Control characters, characters that XML forbids, and changes of direction. */
		{ "\n", '?', 1 },
		{ "\x7f", '?', 1 },
		{ "\xc2\x9b", '?', 2 },
		{ "\xef\xbf\xbf", '?', 3 },
		{ "\u202e", '?', 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *at = cases[i].text;

		assert_int_equal(gpumon_text_next(&at), cases[i].code);
		assert_int_equal(at - cases[i].text, cases[i].bytes);
	}
	assert_int_equal(gpumon_text_columns("aé核🚀e\u0301"), 1 + 1 + 2 + 2 + 1);
}

static char *written(void (*write)(FILE *, const char *), const char *text)
{
	char *data = NULL;
	size_t size;
	FILE *out = open_memstream(&data, &size);

	write(out, text);
	fclose(out);
	return data;
}

static void check_written(void (*write)(FILE *, const char *), const char *text, const char *want)
{
	char *got = written(write, text);

	assert_string_equal(got, want);
	free(got);
}

static void escapes(void **state)
{
	(void)state;
	check_written(gpumon_text_xml, "a<b>&\"'\x01ü", "a&lt;b&gt;&amp;&quot;&#39;?ü");
	check_written(gpumon_text_json, "\"\\/\n\xff", "\\\"\\\\/??");
	check_written(gpumon_text_folded, "a;b\nc d", "a:b?c d");
	check_written(gpumon_text_plain, "\x1b[31m", "?[31m");
}

static void cuts(void **state)
{
	static const struct {
		const char *text;
		unsigned int columns;
		const char *want;
	} cases[] = {
		{ "abcdef", 0, "abcdef" },     { "abcdef", 6, "abcdef" },
		{ "abcdef", 5, "abcd…" },      { "abcdef", 1, "…" },
		{ "核心核心", 8, "核心核心" }, { "核心核心", 7, "核心核…" },
		{ "核心核心", 6, "核心…" },    { "", 3, "" },
	};
	char small[8];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char buf[64];

		assert_string_equal(gpumon_text_cut(buf, sizeof(buf), cases[i].text,
						    cases[i].columns),
				    cases[i].want);
	}
	/* Cut at the buffer's end, but never within a character. */
	assert_string_equal(gpumon_text_cut(small, sizeof(small), "abcdefgh", 0), "abcd…");
	assert_string_equal(gpumon_text_cut(small, sizeof(small), "核心核", 0), "核…");
	assert_string_equal(gpumon_text_cut(small, 1, "abc", 0), "");
}

static void functions(void **state)
{
	static const struct {
		const char *name;
		const char *want;
	} cases[] = {
		{ "main", "main" },
		{ "void fill<float>(int, float*)", "fill<float>" },
		{ "at::native::(anonymous namespace)::norm<float, float>(int, float const*)",
		  "at::native::(anonymous namespace)::norm<float, float>" },
		{ "f(int)::{lambda()#1}::operator()() const", "f(int)::{lambda()#1}::operator()" },
		{ "A::operator<<(int)", "A::operator<<" },
		{ "bool operator< <int>(A<int>, A<int>)", "operator< <int>" },
		{ "std::function<void (int)>::operator()(int) const",
		  "std::function<void (int)>::operator()" },
		{ "<module>", "<module>" },
		{ "[kernel without stack]", "[kernel without stack]" },
		{ "libfoo.so+0x123", "libfoo.so+0x123" },
		{ "A::operator bool() const", "A::operator bool" },
		{ "broken<(", "broken<(" },
		{ "(", "(" },
		{ "", "" },
		{ "operator", "operator" },
		{ "a(b", "a(b" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char buf[128];

		assert_string_equal(gpumon_text_function(buf, sizeof(buf), cases[i].name),
				    cases[i].want);
	}
}

static void fits(void **state)
{
	static const char name[] =
		"void at::native::elementwise<4, at::native::Add<float>, std::array<char*, 3ul>>(int)";
	char buf[128];

	(void)state;
	assert_string_equal(gpumon_text_fit(buf, sizeof(buf), name, 0), name);
	assert_string_equal(
		gpumon_text_fit(buf, sizeof(buf), name, 75),
		"at::native::elementwise<4, at::native::Add<float>, std::array<char*, 3ul>>");
	assert_string_equal(gpumon_text_fit(buf, sizeof(buf), name, 60),
			    "at::native::elementwise<4, Add<float>, array<char*, 3ul>>");
	assert_string_equal(gpumon_text_fit(buf, sizeof(buf), name, 50),
			    "elementwise<4, Add<float>, array<char*, 3ul>>");
	assert_string_equal(gpumon_text_fit(buf, sizeof(buf), name, 20), "elementwise<4, Add<…");
	assert_string_equal(gpumon_text_fit(buf, sizeof(buf), "at::_ops::mm::call(int)", 15),
			    "_ops::mm::call");
	assert_string_equal(gpumon_text_fit(buf, sizeof(buf), "at::_ops::mm::call(int)", 9),
			    "mm::call");
	/* "call" alone could be any operator. */
	assert_string_equal(gpumon_text_fit(buf, sizeof(buf), "at::_ops::mm::call(int)", 6),
			    "mm::c…");
	assert_string_equal(
		gpumon_text_fit(
			buf, sizeof(buf),
			"at::(anonymous namespace)::f(int)::{lambda()#1}::operator()() const", 32),
		"f(int)::{lambda()#1}::operator()");
	/* Any text fits any width. */
	for (unsigned int columns = 1; columns < 100; columns++)
		assert_true(gpumon_text_columns(gpumon_text_fit(buf, sizeof(buf), name, columns)) <=
			    columns);
}

static void expect_squeezed(const char *text, unsigned int columns, const size_t *marks,
			    size_t count, const char *want)
{
	char *got = gpumon_text_squeeze(text, columns, marks, count);

	assert_non_null(got);
	assert_string_equal(got, want);
	free(got);
}

static void squeezes(void **state)
{
	static const size_t digit[] = { 17 }, two[] = { 2, 17 }, end[] = { 20 };

	(void)state;
	expect_squeezed("gemm_tn_tilesize_64x64", 22, NULL, 0, "gemm_tn_tilesize_64x64");
	expect_squeezed("gemm_tn_tilesize_64x64", 12, NULL, 0, "gemm_tn_til…");
	/* The difference stays, with its word. */
	expect_squeezed("gemm_tn_tilesize_64x64", 12, digit, 1, "gemm_t…64x64");
	expect_squeezed("ab_cdefghijklmnop_q_rs", 8, two, 2, "ab_c…_q…");
	expect_squeezed("gemm_tn_tilesize_64x", 12, end, 1, "gemm_tn_…64x");
	/* The end of a template stays, too, since it has the arguments. */
	expect_squeezed("fill<float, array<char*, 3ul>>", 16, NULL, 0, "fill<float…3ul>>");
	/* Small gaps are closed. */
	expect_squeezed("核心核心核心", 9, NULL, 0, "核心核心…");
	expect_squeezed("", 3, NULL, 0, "");
	expect_squeezed("abc", 1, digit, 1, "…");
}

static void check_rows(const char *const *names, size_t count, unsigned int columns,
		       const char *const *want)
{
	char *texts[8];

	gpumon_text_squeeze_rows(names, count, columns, true, texts);
	for (size_t i = 0; i < count; i++) {
		assert_true(gpumon_text_columns(texts[i]) <= columns);
		assert_string_equal(texts[i], want[i]);
		free(texts[i]);
	}
}

/* What is no function keeps its parentheses, and what comes before a blank. */
static void squeezed_phrases(void **state)
{
	static const char *const names[] = { "OpenCL GPU0 Intel(R) UHD Graphics 770",
					     "OpenCL GPU1 Intel(R) UHD Graphics 770",
					     "Vulkan GPU2 Intel(R) UHD Graphics 770",
					     "HIP GPU3 AMD Radeon(TM) Graphics 780M" };
	static const char *const want[] = { "OpenCL GPU0 Intel(R) UH…", "OpenCL GPU1 Intel(R) UH…",
					    "Vulkan GPU2 Intel(R) UH…",
					    "HIP GPU3 AMD Radeon(TM)…" };
	char *texts[4];

	(void)state;
	gpumon_text_squeeze_rows(names, 4, 24, false, texts);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(texts[i], want[i]);
		free(texts[i]);
	}
}

/* Names of a table: different names never look alike. */
static void squeezed_rows(void **state)
{
	static const char *const gemm[] = { "sgemm_f32f32_f32_tn_n_tilesize32x32_cublas",
					    "sgemm_f32f32_f32_tn_n_tilesize64x64_cublas",
					    "sgemm_f32f32_f32_nn_n_tilesize32x32_cublas",
					    "sgemm_f32f32_f32_tn_n_tilesize32x32_cublas",
					    "reduce" };
	static const char *const gemm_26[] = { "sgemm_f32f3…tilesize32x32…",
					       "sgemm_f32f3…tilesize64x64…",
					       "sgemm_f32f32_f32_nn_n_til…",
					       "sgemm_f32f3…tilesize32x32…", "reduce" };
	/* Separating two names makes them look like a third one, which is handled, too. */
	static const char *const gemm_16[] = { "s…tn…esize32x32…", "s…tn…esize64x64…",
					       "sgemm_f32f32…nn…", "s…tn…esize32x32…", "reduce" };
	/* Parameters or the namespace are shown if they are the difference. */
	static const char *const overloads[] = { "void a::fill<float>(int, int, int)",
						 "void a::fill<float>(int, int, long)",
						 "void b::fill<float>(int, int, long)" };
	static const char *const overloads_20[] = { "void a::fi…int, int)", "void a::f…int, long)",
						    "b::fill<float>" };

	(void)state;
	check_rows(gemm, 5, 26, gemm_26);
	check_rows(gemm, 5, 16, gemm_16);
	check_rows(overloads, 3, 20, overloads_20);
	check_rows(gemm, 0, 26, gemm_26);
}

#define MANY 50000

/* Many names, some of them twice, of which nothing that differs fits: it takes seconds, not minutes. */
static void many_squeezed_rows(void **state)
{
	const char **names = calloc(MANY, sizeof(*names));
	char **texts = calloc(MANY, sizeof(*texts));

	(void)state;
	assert_non_null(names);
	assert_non_null(texts);
	for (size_t i = 0; i < MANY; i++) {
		char *name = malloc(32);

		snprintf(name, 32, "some_kernel_%06zu_of_many", i / 2 * 7919 % MANY);
		names[i] = name;
	}
	gpumon_text_squeeze_rows(names, MANY, 3, true, texts);
	for (size_t i = 0; i < MANY; i++) {
		assert_true(gpumon_text_columns(texts[i]) <= 3);
		if (i % 2)
			assert_string_equal(texts[i], texts[i - 1]);
	}
	for (size_t i = 0; i < MANY; i++) {
		free((void *)names[i]);
		free(texts[i]);
	}
	free(names);
	free(texts);
}

static void numbers(void **state)
{
	char buf[GPUMON_TEXT_NUMBER];

	(void)state;
	assert_string_equal(gpumon_text_ns(buf, sizeof(buf), 850), "850\u00a0ns");
	assert_string_equal(gpumon_text_ns(buf, sizeof(buf), 12345), "12.3\u00a0µs");
	assert_string_equal(gpumon_text_ns(buf, sizeof(buf), 125000000000), "2m05s");
	assert_string_equal(gpumon_text_count(buf, sizeof(buf), 0), "0");
	assert_string_equal(gpumon_text_count(buf, sizeof(buf), 999), "999");
	assert_string_equal(gpumon_text_count(buf, sizeof(buf), 1000), "1,000");
	assert_string_equal(gpumon_text_count(buf, sizeof(buf), UINT64_MAX),
			    "18,446,744,073,709,551,615");
	assert_string_equal(gpumon_text_percent(buf, sizeof(buf), 1, 0), "-");
	assert_string_equal(gpumon_text_percent(buf, sizeof(buf), 0, 5), "0.00%");
	assert_string_equal(gpumon_text_percent(buf, sizeof(buf), 1, 1000000), "<0.01%");
	assert_string_equal(gpumon_text_percent(buf, sizeof(buf), 999, 10000), "9.99%");
	assert_string_equal(gpumon_text_percent(buf, sizeof(buf), 9996, 100000), "10.0%");
	assert_string_equal(gpumon_text_percent(buf, sizeof(buf), 5, 5), "100.0%");
	assert_int_equal(gpumon_add_saturated(UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(gpumon_add_saturated(2, 3), 5);
}

static void random_bytes(void **state)
{
	uint64_t seed = 7;

	(void)state;
	/* Any name: nothing is accessed beyond it, and the output is UTF-8. */
	for (unsigned int round = 0; round < 20000; round++) {
		static const char likely[] = "ab<>(){}:,& operator\xc3\xe6\x80";
		size_t size = test_random(&seed) % 40;
		char *name = malloc(size + 1), buf[48], *squeezed;
		unsigned int columns;
		size_t mark;
		const char *at = buf;
		uint32_t code;

		for (size_t i = 0; i < size; i++)
			name[i] = likely[test_random(&seed) % (sizeof(likely) - 1)];
		name[size] = '\0';
		gpumon_text_fit(buf, 1 + test_random(&seed) % sizeof(buf), name,
				(unsigned int)(test_random(&seed) % 30));
		while ((code = gpumon_text_next(&at)))
			assert_true(code >= 0x20);
		columns = (unsigned int)(1 + test_random(&seed) % 30);
		mark = test_random(&seed) % (size + 1);
		squeezed = gpumon_text_squeeze(name, columns, &mark, 1);
		assert_true(gpumon_text_columns(squeezed) <= columns);
		free(squeezed);
		free(name);
	}
}

static void protobuf(void **state)
{
	struct gpumon_protobuf message = { 0 };
	size_t outer, inner;
	char text[129];

	(void)state;
	gpumon_protobuf_uint(&message, 1, 150);
	outer = gpumon_protobuf_begin(&message, 2);
	inner = gpumon_protobuf_begin(&message, 3);
	gpumon_protobuf_end(&message, inner);
	memset(text, 'x', 127);
	text[127] = '\0';
	gpumon_protobuf_string(&message, 4, text);
	gpumon_protobuf_string(&message, 5, "");
	gpumon_protobuf_end(&message, outer);
	/* 3 {}, 4 "xxx", 5 "": 2 + 2 + 127 + 2 bytes; the length itself takes two. */
	assert_int_equal(message.size, 6 + 2 + 2 + 127 + 2);
	assert_memory_equal(message.data, "\x08\x96\x01\x12\x85\x01", 6);
	gpumon_protobuf_clear(&message);
	gpumon_protobuf_varint(&message, UINT64_MAX);
	assert_int_equal(message.size, 10);
	gpumon_protobuf_fixed64(&message, 47, 0x0102030405060708);
	assert_memory_equal(message.data + 10, "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01", 10);
	gpumon_protobuf_free(&message);
}

static void interned(void **state)
{
	struct gpumon_intern intern = { 0 };
	const char *const one[] = { "a", "bc" }, *const other[] = { "ab", "c" };
	char text[32];
	bool added;

	(void)state;
	for (unsigned int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			snprintf(text, sizeof(text), "name %u", i);
			assert_int_equal(gpumon_intern(&intern, text, &added), i + 1);
			assert_int_equal(added, round == 0);
		}
	}
	assert_string_equal(intern.texts[4999], "name 4999");
	assert_int_not_equal(gpumon_intern_parts(&intern, one, 2, NULL),
			     gpumon_intern_parts(&intern, other, 2, NULL));
	gpumon_intern_clear(&intern);
	assert_int_equal(gpumon_intern(&intern, "", NULL), 1);
	gpumon_intern_clear(&intern);
}

/* Nothing of a sentence is lost: what has no room in a line is in the next one. */
static void sentences(void **state)
{
	static const struct {
		unsigned int columns, taken, indent;
		const char *text, *want;
	} cases[] = {
		{ 20, 4, 2, "one two three four five six", "one two three\n  four five six\n" },
		{ 20, 18, 2, "one two", "\n  one two\n" },
		{ 20, 0, 2, "a-word-that-is-longer-than-a-line it", "a-word-that-is-lo…\n  it\n" },
		{ 200, 0, 0, "one two", "one two\n" },
		{ 20, 0, 2, "a share of all 1234 % of it", "a share of all\n  1234 % of it\n" },
		{ 20, 3, 0, "", "\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct gpumon_term term = { .columns = cases[i].columns };
		char *data = NULL;
		size_t size;
		FILE *out = open_memstream(&data, &size);

		gpumon_sentence_print(out, &term, "", cases[i].taken, cases[i].indent,
				      cases[i].text);
		fclose(out);
		assert_string_equal(data, cases[i].want);
		free(data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters),
		cmocka_unit_test(escapes),
		cmocka_unit_test(cuts),
		cmocka_unit_test(functions),
		cmocka_unit_test(fits),
		cmocka_unit_test(numbers),
		cmocka_unit_test(protobuf),
		cmocka_unit_test(interned),
		cmocka_unit_test(random_bytes),
		cmocka_unit_test(squeezes),
		cmocka_unit_test(squeezed_phrases),
		cmocka_unit_test(squeezed_rows),
		cmocka_unit_test(sentences),
		cmocka_unit_test(many_squeezed_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
