// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "insn.h"
#include "gpuprog/object/flatten.h"

#define JUMP (BPF_JMP | BPF_JA)

static const struct gpumon_gpuprog_map maps[] = {
	{ .name = "counts",
	  .kind = GPUMON_GPUPROG_MAP_ARRAY,
	  .type = 2,
	  .key_size = 4,
	  .value_size = 8 },
	{ .name = ".rodata", .kind = GPUMON_GPUPROG_MAP_DATA, .type = 2, .value_size = 16 },
};

static const struct gpumon_gpuprog_line lines[] = {
	{ .instruction = 1, .line = 7, .file = "a/b/probe.bpf.c", .text = "\tif (x)" },
	{ .instruction = 3, .line = 9, .file = "probe.bpf.c", .text = "" },
};

static struct gpumon_pool pool;
static struct gpumon_error err;

static int flatten(struct gpumon_gpuprog *program, const struct bpf_insn *code, size_t n)
{
	*program = (struct gpumon_gpuprog){ .name = "cuda__test",
					    .maps = maps,
					    .maps_n = COUNT(maps),
					    .lines = lines,
					    .lines_n = COUNT(lines) };
	memset(&err, 0, sizeof(err));
	return gpumon_gpuprog_flatten(program, code, (uint32_t)n, &pool, &err);
}

static void check_refused(const struct bpf_insn *code, size_t n, const char *reason)
{
	struct gpumon_gpuprog program;

	assert_int_equal(flatten(&program, code, n), -1);
	assert_int_equal(err.code, GPUMON_ERROR_REFUSED);
	if (!strstr(err.message, reason))
		fail_msg("\"%s\" does not say \"%s\"", err.message, reason);
}

#define CHECK_REFUSED(reason, ...)                               \
	do {                                                     \
		const struct bpf_insn code_[] = { __VA_ARGS__ }; \
		check_refused(code_, COUNT(code_), reason);      \
	} while (0)

#define FLATTEN(program, ...)                                    \
	do {                                                     \
		const struct bpf_insn code_[] = { __VA_ARGS__ }; \
		if (flatten(program, code_, COUNT(code_)))       \
			fail_msg("refused: %s", err.message);    \
	} while (0)

static int clear_pool(void **state)
{
	(void)state;
	gpumon_pool_clear(&pool);
	return 0;
}

static void constants_become_one_step(void **state)
{
	struct gpumon_gpuprog program;

	(void)state;
	FLATTEN(&program, LD_64(1, 0xfedcba9876543210ull), LD_MAP(2, 0), LD_DATA(3, 1, 15),
		MOV_K(0, -1), EXIT);
	assert_int_equal(program.steps_n, 5);
	assert_int_equal(program.steps[0].value, 0xfedcba9876543210ull);
	assert_int_equal(program.steps[0].src, 0);
	assert_int_equal(program.steps[1].src, BPF_PSEUDO_MAP_IDX);
	assert_int_equal(program.steps[1].map, 0);
	assert_int_equal(program.steps[2].src, BPF_PSEUDO_MAP_IDX_VALUE);
	assert_int_equal(program.steps[2].map, 1);
	assert_int_equal(program.steps[2].value, 15);
	assert_int_equal(program.steps[3].imm, -1);
	assert_int_equal(program.steps[3].origin, 6);
	assert_int_equal(program.steps[4].code, BPF_JMP | BPF_EXIT);
}

static void jumps_lead_to_steps(void **state)
{
	struct gpumon_gpuprog program;

	(void)state;
	FLATTEN(&program, LD_64(1, 1), JMP_K(JEQ, 1, 5, 3), LD_64(2, 2), GOTOL(-4),
		JMP32_X(JSLT, 1, 2, -5), MOV_K(0, 0), EXIT);
	assert_int_equal(program.steps_n, 7);
	assert_int_equal(program.steps[1].target, 4);
	assert_int_equal(program.steps[1].off, 0);
	assert_int_equal(program.steps[1].imm, 5);
	assert_int_equal(program.steps[3].code, JUMP);
	assert_int_equal(program.steps[3].imm, 0);
	assert_int_equal(program.steps[3].target, 1);
	assert_int_equal(program.steps[4].target, 1);
}

static void calls_get_a_copy_each(void **state)
{
	struct gpumon_gpuprog program;

	(void)state;
	/* The function is 4 instructions: it returns early if r1 is 0. */
	FLATTEN(&program, CALL_FUNCTION(3), CALL_FUNCTION(2), MOV_K(0, 0), EXIT,
		JMP_K(JEQ, 1, 0, 1), EXIT, MOV_K(0, 1), EXIT);
	assert_int_equal(program.steps_n, 12);
	for (uint32_t call = 0; call < 10; call += 5) {
		const struct gpumon_gpuprog_step *step = &program.steps[call];

		assert_int_equal(step[0].code, JUMP);
		assert_int_equal(step[0].depth, 0);
		assert_int_equal(step[0].target, call + 1);
		assert_int_equal(step[0].src, 0);
		assert_int_equal(step[1].depth, 1);
		assert_int_equal(step[1].target, call + 3);
		assert_int_equal(step[1].origin, 4);
		assert_int_equal(step[2].code, JUMP);
		assert_int_equal(step[2].target, call + 5);
		assert_int_equal(step[2].depth, 1);
		assert_int_equal(step[4].code, JUMP);
		assert_int_equal(step[4].target, call + 5);
	}
	assert_int_equal(program.steps[11].code, BPF_JMP | BPF_EXIT);
	assert_int_equal(program.steps[11].depth, 0);
}

static void calls_nest(void **state)
{
	struct gpumon_gpuprog program;

	(void)state;
	/* main calls f and g, f calls g. */
	FLATTEN(&program, CALL_FUNCTION(2), CALL_FUNCTION(3), EXIT, CALL_FUNCTION(1), EXIT,
		MOV_K(0, 3), EXIT);
	assert_int_equal(program.steps_n, 1 + (1 + 2 + 1) + 1 + 2 + 1);
	assert_int_equal(program.steps[1].depth, 1);
	assert_int_equal(program.steps[1].target, 2);
	assert_int_equal(program.steps[2].depth, 2);
	assert_int_equal(program.steps[2].imm, 3);
	/* g returns to the end of f, f to the second call. */
	assert_int_equal(program.steps[3].depth, 2);
	assert_int_equal(program.steps[3].target, 4);
	assert_int_equal(program.steps[4].depth, 1);
	assert_int_equal(program.steps[4].target, 5);
	assert_int_equal(program.steps[5].depth, 0);
	assert_int_equal(program.steps[6].depth, 1);
	assert_int_equal(program.steps[7].target, 8);
}

static void eight_frames_are_possible(void **state)
{
	struct bpf_insn code[2 * 9];
	struct gpumon_gpuprog program;

	(void)state;
	for (size_t i = 0; i < COUNT(code); i += 2) {
		code[i] = CALL_FUNCTION(1);
		code[i + 1] = EXIT;
	}
	code[2 * 8] = MOV_K(0, 0);
	check_refused(code, 2 * 9, "more than 8 deep");
	code[2 * 7] = MOV_K(0, 0);
	assert_int_equal(flatten(&program, code, 2 * 8), 0);
	assert_int_equal(program.steps[7].depth, 7);
	/* A function that was counted already is found to be too deep by its own frames. */
	code[2 * 7] = CALL_FUNCTION(-2 * 7 + 3 * 2 - 1);
	check_refused(code, 2 * 8, "recursion");
}

static void calls_that_multiply_are_refused_at_once(void **state)
{
	/* Each function calls the next one 30 times: 30^7 copies. */
	struct bpf_insn code[8 * 31];

	(void)state;
	for (size_t i = 0; i < COUNT(code); i++) {
		size_t function = i / 31, next = (function + 1) * 31;

		code[i] = i % 31 == 30	? EXIT :
			  function == 7 ? MOV_K(0, 0) :
					  CALL_FUNCTION((int)(next - i - 1));
	}
	check_refused(code, COUNT(code), "more than 65536 instructions");
}

static void sizes_are_bounded(void **state)
{
	struct bpf_insn *code = calloc(GPUMON_GPUPROG_MAX_INSTRUCTIONS + 1, sizeof(*code));
	struct gpumon_gpuprog program;

	(void)state;
	assert_non_null(code);
	for (size_t i = 0; i < GPUMON_GPUPROG_MAX_INSTRUCTIONS; i++)
		code[i] = MOV_K(0, 0);
	code[GPUMON_GPUPROG_MAX_INSTRUCTIONS] = EXIT;
	check_refused(code, GPUMON_GPUPROG_MAX_INSTRUCTIONS + 1, "65537 instructions");
	check_refused(code, 0, "0 instructions");
	code[GPUMON_GPUPROG_MAX_INSTRUCTIONS - 1] = EXIT;
	assert_int_equal(flatten(&program, code, GPUMON_GPUPROG_MAX_INSTRUCTIONS), 0);
	/* A chain of as many functions as fit: no recursion of the reader's own. */
	for (size_t i = 0; i < GPUMON_GPUPROG_MAX_INSTRUCTIONS; i += 2) {
		code[i] = CALL_FUNCTION(1);
		code[i + 1] = EXIT;
	}
	code[GPUMON_GPUPROG_MAX_INSTRUCTIONS - 2] = MOV_K(0, 0);
	check_refused(code, GPUMON_GPUPROG_MAX_INSTRUCTIONS, "more than 8 deep");
	free(code);
}

static void broken_code_is_refused(void **state)
{
	(void)state;
	CHECK_REFUSED("damaged", INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 1));
	CHECK_REFUSED("second half", INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 1), EXIT);
	CHECK_REFUSED("map 2 does not exist, there are 2", LD_MAP(1, 2), EXIT);
	CHECK_REFUSED("map -1 does not exist", LD_MAP(1, -1), EXIT);
	CHECK_REFUSED("byte 16 of .rodata", LD_DATA(1, 1, 16), EXIT);
	CHECK_REFUSED("byte -1 of .rodata", LD_DATA(1, 1, -1), EXIT);
	CHECK_REFUSED("byte 0 of counts", LD_DATA(1, 0, 0), EXIT);
	CHECK_REFUSED("definition of map counts", LD_HALVES(1, BPF_PSEUDO_MAP_IDX, 0, 4), EXIT);
	CHECK_REFUSED("out of its function", JA(1), EXIT);
	CHECK_REFUSED("out of its function", JA(-2), EXIT);
	CHECK_REFUSED("out of its function", GOTOL(0x7fffffff), EXIT);
	CHECK_REFUSED("out of its function", GOTOL(-0x7fffffff - 1), EXIT);
	CHECK_REFUSED("out of its function", CALL_FUNCTION(2), JMP_K(JEQ, 0, 0, 1), EXIT,
		      MOV_K(0, 0), EXIT);
	CHECK_REFUSED("jumps into the middle", JA(1), LD_64(0, 0), EXIT);
	CHECK_REFUSED("call leads into the middle", CALL_FUNCTION(1), LD_64(0, 0), EXIT);
	CHECK_REFUSED("function outside", CALL_FUNCTION(1), EXIT);
	CHECK_REFUSED("function outside", CALL_FUNCTION(-0x7fffffff - 1), EXIT);
	CHECK_REFUSED("no return behind it", MOV_K(0, 0));
	CHECK_REFUSED("no return behind it", JMP_K(JEQ, 0, 0, -1));
	CHECK_REFUSED("no return behind it", CALL_FUNCTION(0), MOV_K(0, 0), EXIT);
	CHECK_REFUSED("recursion", CALL_FUNCTION(-1), EXIT);
	CHECK_REFUSED("recursion", CALL_FUNCTION(1), EXIT, CALL_FUNCTION(-3), EXIT);
}

static void instructions_are_refused_by_name(void **state)
{
	(void)state;
	CHECK_REFUSED("may_goto", INSN(BPF_JMP | BPF_JCOND, 0, 0, 0, 0), EXIT);
	CHECK_REFUSED("addr_space_cast", INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 1, 1, 1), EXIT);
	CHECK_REFUSED("kfunc", INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 8), EXIT);
	CHECK_REFUSED("tail call", CALL(12), EXIT);
	CHECK_REFUSED("callback", LD_HALVES(1, BPF_PSEUDO_FUNC, 1, 0), EXIT);
	CHECK_REFUSED("__ksym", LD_HALVES(1, BPF_PSEUDO_BTF_ID, 1, 0), EXIT);
	CHECK_REFUSED("file descriptor", LD_HALVES(1, BPF_PSEUDO_MAP_FD, 1, 0), EXIT);
	CHECK_REFUSED("file descriptor", LD_HALVES(1, BPF_PSEUDO_MAP_VALUE, 1, 0), EXIT);
	CHECK_REFUSED("opcode 0x18: no such instruction", LD_HALVES(1, 7, 1, 0), EXIT);
	CHECK_REFUSED("network packet", INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 4), EXIT);
	CHECK_REFUSED("by its address", INSN(BPF_JMP | BPF_CALL | BPF_X, 1, 0, 0, 0), EXIT);
	CHECK_REFUSED("address in a register", INSN(BPF_JMP | BPF_JA | BPF_X, 1, 0, 0, 0), EXIT);
	CHECK_REFUSED("acquire", ATOMIC(DW, BPF_LOAD_ACQ, 1, 0, 2), EXIT);
	CHECK_REFUSED("release", ATOMIC(DW, BPF_STORE_REL, 1, 0, 2), EXIT);
	CHECK_REFUSED("opcode 0xdb: no such instruction", ATOMIC(DW, BPF_SUB, 1, 0, 2), EXIT);
	CHECK_REFUSED("no such instruction", ATOMIC(H, BPF_ADD, 1, 0, 2), EXIT);
	CHECK_REFUSED("no such instruction", INSN(BPF_LDX | BPF_MEMSX | BPF_DW, 1, 2, 0, 0), EXIT);
	CHECK_REFUSED("no such instruction", INSN(BPF_ALU | BPF_MOV | BPF_X, 1, 2, 32, 0), EXIT);
	CHECK_REFUSED("no such instruction", INSN(BPF_ALU64 | BPF_DIV | BPF_X, 1, 2, 2, 0), EXIT);
	CHECK_REFUSED("no such instruction", INSN(BPF_ALU64 | BPF_END, 1, 0, 0, 8), EXIT);
	CHECK_REFUSED("no such instruction", INSN(BPF_ALU64 | 0xe0, 1, 0, 0, 8), EXIT);
	CHECK_REFUSED("divides by the constant 0", ALU64_K(DIV, 1, 0), EXIT);
	CHECK_REFUSED("divides by the constant 0", ALU32_K(MOD, 1, 0), EXIT);
	CHECK_REFUSED("shifts by more bits", ALU64_K(LSH, 1, 64), EXIT);
	CHECK_REFUSED("shifts by more bits", ALU32_K(ARSH, 1, 32), EXIT);
	CHECK_REFUSED("shifts by more bits", ALU32_K(RSH, 1, -1), EXIT);
	CHECK_REFUSED("register is above r10", MOV_K(11, 0), EXIT);
	CHECK_REFUSED("register is above r10", LDX(W, 1, 15, 0), EXIT);
	CHECK_REFUSED("field that it does not use", INSN(BPF_ALU64 | BPF_ADD | BPF_K, 1, 2, 0, 1),
		      EXIT);
	CHECK_REFUSED("field that it does not use", INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 1), EXIT);
}

static void known_opcodes(void **state)
{
	static const struct bpf_insn known[] = {
		LDX(B, 1, 2, 1),
		LDX(H, 1, 2, -2),
		LDX(W, 1, 2, 4),
		LDX(DW, 1, 2, 8),
		INSN(BPF_LDX | BPF_MEMSX | BPF_B, 1, 2, 0, 0),
		INSN(BPF_LDX | BPF_MEMSX | BPF_H, 1, 2, 0, 0),
		INSN(BPF_LDX | BPF_MEMSX | BPF_W, 1, 2, 0, 0),
		ST(B, 1, 0, 5),
		ST(DW, 1, 0, -5),
		STX(H, 1, 0, 2),
		ATOMIC(W, BPF_ADD, 1, 0, 2),
		ATOMIC(DW, BPF_XOR | BPF_FETCH, 1, 0, 2),
		ATOMIC(DW, BPF_XCHG, 1, 0, 2),
		ATOMIC(W, BPF_CMPXCHG, 1, 0, 2),
		ALU64_K(ADD, 1, -1),
		ALU64_X(ARSH, 1, 2),
		ALU32_X(MOD, 1, 2),
		ALU32_K(MOV, 1, 1),
		INSN(BPF_ALU64 | BPF_DIV | BPF_X, 1, 2, 1, 0),
		INSN(BPF_ALU | BPF_MOD | BPF_K, 1, 0, 1, 3),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 2, 32, 0),
		INSN(BPF_ALU | BPF_MOV | BPF_X, 1, 2, 8, 0),
		INSN(BPF_ALU64 | BPF_NEG, 1, 0, 0, 0),
		INSN(BPF_ALU | BPF_END | BPF_TO_BE, 1, 0, 0, 16),
		INSN(BPF_ALU | BPF_END | BPF_TO_LE, 1, 0, 0, 64),
		INSN(BPF_ALU64 | BPF_END, 1, 0, 0, 32),
		JMP_K(JSET, 1, 5, 0),
		JMP32_X(JSLE, 1, 2, 0),
		CALL(1),
		CALL(509),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(known); i++) {
		struct gpumon_gpuprog program;

		FLATTEN(&program, known[i], EXIT);
		assert_int_equal(program.steps[0].code, known[i].code);
		assert_int_equal(program.steps[0].imm, known[i].imm);
	}
}

/* Each is refused with a reason or accepted. */
static void every_opcode_has_an_answer(void **state)
{
	unsigned int accepted = 0;

	(void)state;
	for (int code = 0; code < 256; code++) {
		const struct bpf_insn insns[] = { INSN((__u8)code, 0, 0, 0, 0), EXIT, EXIT };
		struct gpumon_gpuprog program;

		if (!flatten(&program, insns, COUNT(insns)))
			accepted++;
		else
			assert_non_null(strstr(err.message, "cuda__test: instruction 0: "));
	}
	/*
	 * LDX 4 + 3, ST 4, STX 4 + 2 atomic; ALU: 12 operations by register and 10 by constant (none
	 * by 0), and NEG, in two widths; JMP: JA, EXIT, helper 0, and 22; JMP32: JA and 22.
	 */
	assert_int_equal(accepted, 7 + 4 + 6 + 2 * (12 + 10 + 1) + 3 + 22 + 1 + 22);
}

static void refusals_name_the_line(void **state)
{
	struct gpumon_gpuprog program;
	const struct bpf_insn first[] = { CALL(12), EXIT };
	const struct bpf_insn second[] = { EXIT, EXIT, CALL(12), EXIT };
	const struct bpf_insn third[] = { EXIT, EXIT, EXIT, CALL(12), EXIT };

	(void)state;
	assert_int_equal(flatten(&program, first, COUNT(first)), -1);
	assert_string_equal(
		err.message,
		"cuda__test: instruction 0: opcode 0x85: it is a tail call: call a function instead");
	assert_int_equal(flatten(&program, second, COUNT(second)), -1);
	assert_non_null(strstr(err.message, "instruction 2 (probe.bpf.c:7, \"if (x)\"): opcode"));
	assert_int_equal(flatten(&program, third, COUNT(third)), -1);
	assert_non_null(strstr(err.message, "instruction 3 (probe.bpf.c:9): opcode"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(constants_become_one_step, clear_pool),
		cmocka_unit_test_teardown(jumps_lead_to_steps, clear_pool),
		cmocka_unit_test_teardown(calls_get_a_copy_each, clear_pool),
		cmocka_unit_test_teardown(calls_nest, clear_pool),
		cmocka_unit_test_teardown(eight_frames_are_possible, clear_pool),
		cmocka_unit_test_teardown(calls_that_multiply_are_refused_at_once, clear_pool),
		cmocka_unit_test_teardown(sizes_are_bounded, clear_pool),
		cmocka_unit_test_teardown(broken_code_is_refused, clear_pool),
		cmocka_unit_test_teardown(instructions_are_refused_by_name, clear_pool),
		cmocka_unit_test_teardown(known_opcodes, clear_pool),
		cmocka_unit_test_teardown(every_opcode_has_an_answer, clear_pool),
		cmocka_unit_test_teardown(refusals_name_the_line, clear_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
