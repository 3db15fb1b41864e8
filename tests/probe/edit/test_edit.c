// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Damaged texts and LZ4 blocks: each is an error, or it is read. The sanitizers check the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpuprog/ptx/edit.h"
#include "gpuprog/image/fatbin.h"

static char text[1 << 16];
static size_t text_size;

static uint64_t number_line(void *data, const struct gpumon_edit_line *line)
{
	(void)data;
	return line->line;
}

static const struct gpumon_edit_plan *plan_all(void *data,
					       const struct gpumon_edit_function *function)
{
	static struct gpumon_edit_counts counts;
	static const struct gpumon_edit_plan plan = {
		.counts = &counts,
		.blocks = { "{}", "{}", "{}", "{}", "{}", "{}", "{}" },
	};

	(void)data;
	(void)function;
	return &plan;
}

/* The last text that was written. To be freed. */
static char *written;

/* Edit a text in a block of its exact size. Returns whether it was accepted. */
static bool edit_as(const char *from, size_t size, bool compact, struct gpumon_error *err)
{
	struct gpumon_edit_request request = { .plan = plan_all,
					       .line = number_line,
					       .compact = compact };
	struct gpumon_edit_module module;
	char *copy = malloc(size ? size : 1);
	size_t changed_size;
	FILE *out;
	bool done = false;

	free(written);
	written = NULL;
	out = open_memstream(&written, &changed_size);
	assert_true(copy && out);
	memcpy(copy, from, size);
	if (!gpumon_edit_open(copy, size, &module, err)) {
		done = !gpumon_edit_write(&module, &request, out, err);
		gpumon_edit_close(&module);
	}
	fclose(out);
	free(copy);
	return done;
}

/* In both forms, which have to agree; the last that is written is not compact. */
static bool edit(const char *from, size_t size, struct gpumon_error *err)
{
	bool compact = edit_as(from, size, true, err);

	assert_int_equal(edit_as(from, size, false, err), compact);
	return compact;
}

static void test_a_text_cut_off_at_each_byte(void **state)
{
	struct gpumon_error err;

	(void)state;
	assert_true(edit(text, text_size, &err));
	for (size_t size = 0; size < text_size; size += 3) {
		if (!edit(text, size, &err))
			assert_non_null(strstr(err.message, "PTX, line "));
	}
}

static void test_damaged_bytes(void **state)
{
	static const char signs[] = "{}[]();,:@\"/*%.x0\n";
	struct gpumon_error err;

	(void)state;
	for (size_t at = 0; at < text_size; at += 5) {
		char was = text[at];

		text[at] = signs[at % (sizeof(signs) - 1)];
		if (!edit(text, text_size, &err))
			assert_non_null(strstr(err.message, "PTX, line "));
		text[at] = was;
	}
}

static void test_errors_have_their_line(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "", "line 1: there is no .version" },
		{ ".version 7.0\n.target sm_75\n}", "line 3: a \"}\" without" },
		{ ".version 7.0\n.target sm_75\n.entry k {\nret",
		  "line 3: this \"{\" is never closed" },
		{ ".version 7.0\n.target sm_75\n.entry k {\nret\n}",
		  "line 5: \"}\" instead of a semicolon" },
		{ ".version 7.0\n.target sm_75\n/* x", "line 3: this comment has no end" },
		{ ".version 7.0\n.target sm_75\n.address_size 32", "line 3: only addresses of 64" },
		{ ".version 7.0\n.target sm_75\n#define x", "line 3: \"#\" is not expected" },
	};
	struct gpumon_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(edit(bad[i].text, strlen(bad[i].text), &err));
		if (!strstr(err.message, bad[i].message))
			fail_msg("%s instead of %s", err.message, bad[i].message);
	}
}

/* As in ptxas, "\" is an ordinary character. ptxas itself dies of such a name, with a time behind it. */
static void test_a_name_that_ends_with_a_backslash(void **state)
{
	static const char odd[] = ".version 7.0\n.target sm_75\n.file 1 \"C:\\odd\\\", 15, 77\n"
				  ".entry k {\n.pragma \"\\\";\nret;\n}";
	struct gpumon_error err;

	(void)state;
	assert_true(edit(odd, strlen(odd), &err));
}

/* What a block finds at each form of a point. */
static void test_what_stands_around_a_block(void **state)
{
	static const char head[] = ".version 8.0\n.target sm_90\n.entry k(.param .u64 a) {\n"
				   ".shared .b8 tile[64]; .local .b8 depot[8]; .reg .pred %p;\n"
				   ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>;\n";
	static const struct {
		const char *instruction, *block;
	} cases[] = {
		{ "@%p ld.global.u32 %r1, [%rd1+4];",
		  "@!%p bra $gpumon_over;\nmov.b32 %gpumon_kernel, 0;\nmov.b64 %gpumon_address, %rd1;\n"
		  "add.s64 %gpumon_address, %gpumon_address, 4;\nmov.b32 %gpumon_size, 4;\n"
		  "mov.b32 %gpumon_flags, 1;\nmov.b64 %gpumon_line, 0;\n{}\n$gpumon_over:\n}\n@%p ld" },
		{ "@!%p st.shared.v4.f32 [%r2], {%f1, %f2, %f3, %f4};",
		  "@%p bra $gpumon_over;\nmov.b32 %gpumon_kernel, 0;\ncvt.u64.u32 %gpumon_address, %r2;\n"
		  "mov.b32 %gpumon_size, 16;\nmov.b32 %gpumon_flags, 18;" },
		{ "ld.global.nc.v2.b16 {%r1, %r2}, [%rd1+-8];",
		  "mov.b64 %gpumon_address, %rd1;\nadd.s64 %gpumon_address, %gpumon_address, -8;\n"
		  "mov.b32 %gpumon_size, 4;\nmov.b32 %gpumon_flags, 1;" },
		{ "st.local.u8 [depot+3], %r1;",
		  "mov.b64 %gpumon_address, depot;\nadd.s64 %gpumon_address, %gpumon_address, 3;\n"
		  "mov.b32 %gpumon_size, 1;\nmov.b32 %gpumon_flags, 34;" },
		{ "ld.shared.u64 %rd2, [%rd1];",
		  "mov.b64 %gpumon_address, %rd1;\nmov.b32 %gpumon_size, 8;\nmov.b32 %gpumon_flags, 17;" },
		{ "atom.global.add.u64 %rd2, [%rd1], 1;",
		  "mov.b64 %gpumon_address, %rd1;\nmov.b32 %gpumon_size, 8;\nmov.b32 %gpumon_flags, 3;\n"
		  "mov.b64 %gpumon_line, 0;\n{}\n{}\n}\natom" },
		{ "red.shared.max.u32 [tile+4], %r1;",
		  "add.s64 %gpumon_address, %gpumon_address, 4;\nmov.b32 %gpumon_size, 4;\n"
		  "mov.b32 %gpumon_flags, 19;" },
		{ "cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;",
		  "mov.b64 %gpumon_address, %rd1;\nmov.b32 %gpumon_size, %r2;\nmov.b32 %gpumon_flags, 65;" },
		{ "cp.async.ca.shared.global [%r1], [%rd1], 8, %p;",
		  "selp.b32 %gpumon_size, 0, 8, %p;\nmov.b32 %gpumon_flags, 65;" },
		{ "cp.async.ca.shared.global [%r1], [%rd1+0x10], 0x8;",
		  "add.s64 %gpumon_address, %gpumon_address, 0x10;\n" },
		{ "cp.async.cg.shared.global [%r1], [%rd1], 0X10;", "mov.b32 %gpumon_size, 16;" },
		{ "cp.async.ca.shared.global [%r1], [%rd1], 0b100U;", "mov.b32 %gpumon_size, 4;" },
		{ "cp.async.ca.shared.global [%r1], [%rd1], 8, ! %p;",
		  "selp.b32 %gpumon_size, 8, 0, %p;\nmov.b32 %gpumon_flags, 65;" },
		{ "cp.async.ca.shared.global [%r1], [%rd1], 010;", "mov.b32 %gpumon_size, 8;" },
		{ "cp.async.ca.shared.global [%r1], [%rd1], (2*0x4);",
		  "mov.b32 %gpumon_size, (2*0x4);" },
		{ "cp.async.ca.shared.global [%r1], [%rd1], 0x4+4, %p;",
		  "selp.b32 %gpumon_size, 0, 0x4+4, %p;" },
		{ "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;",
		  "mov.b64 %gpumon_address, %rd1;\nmov.b32 %gpumon_size, %r2;\nmov.b32 %gpumon_flags, 66;" },
		{ "bar.sync 1, 64;", "mov.b64 %gpumon_address, 1;\nmov.b32 %gpumon_size, 64;\n"
				     "mov.b32 %gpumon_flags, 0;" },
		{ ".loc 1 77 2\nbarrier.sync %r3;",
		  "cvt.u64.u32 %gpumon_address, %r3;\nmov.b32 %gpumon_size, 0;\n"
		  "mov.b32 %gpumon_flags, 0;\nmov.b64 %gpumon_line, 77;" },
		{ "{ .reg .b64 %r2; ld.shared.f32 %f1, [%r2]; }", "mov.b64 %gpumon_address, %r2;" },
		{ "{ .reg .b64 %r2; } ld.shared.f32 %f1, [%r2];",
		  "cvt.u64.u32 %gpumon_address, %r2;" },
		{ "@%p exit; ", "{\n.reg .b32 %gpumon_kernel;\n@!%p bra $gpumon_over;\n"
				"mov.b32 %gpumon_kernel, 0;\n{}\n$gpumon_over:\n}\n@%p exit;" },
		{ "bra L; L:",
		  "L:\n{\n.reg .b32 %gpumon_kernel;\nmov.b32 %gpumon_kernel, 0;\n{}\n}\n}" },
		{ ".pragma \"used_bytes_mask 15\";\nld.global.u32 %r1, [%rd1];",
		  "{}\n}\n.pragma \"used_bytes_mask 15\";\nld.global" },
	};
	struct gpumon_error err;
	char whole[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(whole, sizeof(whole), "%s%s}\n", head, cases[i].instruction);
		assert_true(edit(whole, strlen(whole), &err));
		if (!strstr(written, cases[i].block))
			fail_msg("%s: no %s in %s", cases[i].instruction, cases[i].block, written);
	}
}

/* Neither is an access: a load of a parameter, a jump, a barrier of a warp. */
static void test_what_gets_no_block(void **state)
{
	static const char *const instructions[] = {
		"ld.param.u64 %rd1, [a];",
		"bra L; L: ret;",
		"bar.warp.sync -1;",
		"ld.const.u32 %r1, [c];",
		"@%p trap;",
		"prefetch.global.L2 [%rd1];",
		"barrier.cluster.wait;",
		"mov.u64 %rd1, 5;",
		"cp.async.wait_all;",
		"tex.1d.v4.f32.s32 {a, b, c, d}, [t, {%r1}];",
	};
	struct gpumon_error err;
	char whole[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
		snprintf(whole, sizeof(whole), ".version 8.0\n.target sm_90\n.entry k {\n%s\n}\n",
			 instructions[i]);
		assert_true(edit(whole, strlen(whole), &err));
		assert_null(strstr(written, "%gpumon_address"));
	}
}

/* A kernel calls its own copy of a function with a point. The function itself stays. */
static void test_calls_of_copies(void **state)
{
	static const char text_with_calls[] =
		".version 7.0\n.target sm_75\n.func f { .reg .b64 %a; ld.global.u32 %r, [%a]; ret; }\n"
		".func g { ret; }\n.entry k { call f; @%p call.uni f; call g; ret; }\n";
	struct gpumon_error err;

	(void)state;
	assert_true(edit(text_with_calls, strlen(text_with_calls), &err));
	assert_non_null(strstr(written, ".func f__gpumon_2 ;"));
	assert_non_null(strstr(written, "call f__gpumon_2; @%p call.uni f__gpumon_2; call g;"));
}

static bool unpack(const uint8_t *block, size_t size, uint8_t *out, size_t out_size)
{
	bool whole;

	return gpumon_lz4_unpack(block, size, out, out_size, &whole) == out_size && whole;
}

static void test_lz4(void **state)
{
	/* "abcd", then 12 bytes from 4 before, then "xyzzy". */
	static const uint8_t block[] = { 0x48, 'a', 'b', 'c', 'd', 4,  0,
					 0x50, 'x', 'y', 'z', 'z', 'y' };
	uint8_t out[64], *cut;

	(void)state;
	assert_true(unpack(block, sizeof(block), out, 21));
	assert_memory_equal(out, "abcdabcdabcdabcdxyzzy", 21);
	assert_false(unpack(block, sizeof(block), out, 20));
	assert_false(unpack(block, sizeof(block), out, 22));
	for (size_t size = 0; size < sizeof(block); size++) {
		cut = malloc(size + 1);
		memcpy(cut, block, size);
		assert_false(unpack(cut, size, out, 21));
		free(cut);
	}
	for (size_t i = 0; i < sizeof(block); i++) {
		uint8_t damaged[sizeof(block)];

		memcpy(damaged, block, sizeof(block));
		damaged[i] ^= 0xf7;
		unpack(damaged, sizeof(damaged), out, 21);
	}
}

static int read_text(void **state)
{
	FILE *file = fopen("basic.ptx", "r");

	(void)state;
	if (!file)
		return -1;
	text_size = fread(text, 1, sizeof(text), file);
	fclose(file);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	free(written);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_text_cut_off_at_each_byte),
		cmocka_unit_test(test_damaged_bytes),
		cmocka_unit_test(test_errors_have_their_line),
		cmocka_unit_test(test_a_name_that_ends_with_a_backslash),
		cmocka_unit_test(test_what_stands_around_a_block),
		cmocka_unit_test(test_what_gets_no_block),
		cmocka_unit_test(test_calls_of_copies),
		cmocka_unit_test(test_lz4),
	};

	return cmocka_run_group_tests(tests, read_text, forget);
}
