// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Programs that are refused, each with its message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#include "assemble.h"
#include "dice.h"
#include "gpuprog/verify/verify.h"
#include "refused_programs.h"

static struct assembled assembled;

static const char *refuse_program(const struct gpumon_gpuprog *program)
{
	static struct gpumon_error err;
	struct gpumon_gpuprog_rules rules = { 0 };
	struct gpumon_gpuprog_fact *facts = calloc(program->steps_n + 1, sizeof(*facts));

	err = (struct gpumon_error){ 0 };
	assert_non_null(facts);
	if (!gpumon_gpuprog_verify(program, &rules, facts, &err))
		strcpy(err.message, "it is accepted");
	else
		assert_int_equal(err.status, GPUMON_EXIT_FAILED);
	free(facts);
	return err.message;
}

static void test_corpus(void **state)
{
	unsigned int failed = 0;

	(void)state;
	assert_in_range(refused_programs_n, 60, 1000);
	for (size_t i = 0; i < refused_programs_n; i++) {
		const struct refused_program *refused = &refused_programs[i];
		const char *message;

		assemble(refused->text, refused->point, &assembled);
		message = refuse_program(&assembled.program);
		if (!strncmp(message, "test: ", 6) && !strcmp(message + 6, refused->message))
			continue;
		failed++;
		print_error("%s\n    %s\nbut should be\n    test: %s\n", refused->text, message,
			    refused->message);
	}
	assert_int_equal(failed, 0);
}

/* The source line, if it is known. */
static void test_lines(void **state)
{
	static const struct gpumon_gpuprog_line lines[] = {
		{ .instruction = 0, .line = 3, .file = "a/tool.bpf.c", .text = "int f(void)" },
		{ .instruction = 2, .line = 7, .file = "a/tool.bpf.c", .text = "\treturn *p;" },
		{ .instruction = 9, .line = 8, .file = "b.h", .text = "" },
	};

	(void)state;
	assemble("r1 = 0; r0 = 0; r0 = *(u64 *)(r1 + 8); exit", GPUMON_GPUPROG_ENTRY, &assembled);
	assembled.program.lines = lines;
	assembled.program.lines_n = COUNT(lines);
	assert_string_equal(
		refuse_program(&assembled.program),
		"test: instruction 2 (tool.bpf.c:7, \"return *p;\"): r1 is NULL here: use "
		"a value only where it was found; only programs for memory, atomics and "
		"barriers have a context");
	/* Of the object's instruction, not of the step. */
	assembled.steps[2].origin = 12;
	assert_string_equal(
		refuse_program(&assembled.program),
		"test: instruction 12 (b.h:8): r1 is NULL here: use a value only where it "
		"was found; only programs for memory, atomics and barriers have a context");
}

static const char *with_step(struct gpumon_gpuprog_step step)
{
	assemble("r0 = 0; r0 = 0; exit", GPUMON_GPUPROG_ENTRY, &assembled);
	assembled.steps[1] = step;
	return refuse_program(&assembled.program);
}

/* Fields that no compiler writes: a damaged object, or a mistake of the reader. */
static void test_damaged_steps(void **state)
{
	static const struct {
		struct gpumon_gpuprog_step step;
		const char *message;
	} cases[] = {
		{ { .code = BPF_ALU64 | BPF_MOV | BPF_X, .src = 11 },
		  "register r0 or r11 at depth 0 does not exist: compile it again" },
		{ { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst = 16 },
		  "register r16 or r0 at depth 0 does not exist: compile it again" },
		{ { .code = BPF_ALU64 | BPF_MOV | BPF_K, .depth = 8 },
		  "register r0 or r0 at depth 8 does not exist: compile it again" },
		{ { .code = BPF_JMP | BPF_JA, .target = 3 },
		  "it jumps to step 3, of 3: compile it again" },
		{ { .code = BPF_JMP | BPF_JEQ | BPF_K, .target = UINT32_MAX },
		  "it jumps to step 4294967295, of 3: compile it again" },
		{ { .code = BPF_LD | BPF_IMM | BPF_DW, .src = BPF_PSEUDO_MAP_IDX, .map = MAPS },
		  "map 9 does not exist, there are 9: compile it again" },
		{ { .code = BPF_LD | BPF_IMM | BPF_DW,
		    .src = BPF_PSEUDO_MAP_IDX_VALUE,
		    .map = MAP_ARRAY },
		  "it takes the address of byte 0 of map array, which has no such byte: keep "
		  "addresses within their variable" },
		{ { .code = BPF_LD | BPF_IMM | BPF_DW,
		    .src = BPF_PSEUDO_MAP_IDX_VALUE,
		    .map = MAP_DATA,
		    .value = 1ull << 32 },
		  "it takes the address of byte 4294967296 of map .data, which has no such byte: "
		  "keep addresses within their variable" },
		{ { .code = BPF_JMP | BPF_CALL, .src = BPF_PSEUDO_CALL, .imm = 1 },
		  "it calls a function, which should be part of the program: compile it again" },
		{ { .code = BPF_JMP | BPF_CALL, .src = 2, .imm = 1 },
		  "opcode 0x85: it calls a function of the kernel (kfunc), which a GPU has not: use "
		  "a helper of gpumon_gpu.h" },
		{ { .code = 0xff },
		  "opcode 0xff: no such instruction is known: compile with clang "
		  "-target bpf -mcpu=v1 to v4" },
		{ { .code = BPF_ALU64 | BPF_LSH | BPF_K, .imm = 64 },
		  "opcode 0x67: it shifts by more bits than there are: correct the program" },
		{ { .code = BPF_ALU | BPF_MOD | BPF_K },
		  "opcode 0x94: it divides by the constant 0: correct the program" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char wanted[300];

		snprintf(wanted, sizeof(wanted), "test: instruction 0: %s", cases[i].message);
		assert_string_equal(with_step(cases[i].step), wanted);
	}
}

static void test_damaged_programs(void **state)
{
	struct gpumon_gpuprog *program = &assembled.program;
	struct gpumon_gpuprog_map map = probe_maps[MAP_HASH];

	(void)state;
	assemble("r0 = 0; exit", GPUMON_GPUPROG_ENTRY, &assembled);
	program->steps_n = 0;
	assert_string_equal(refuse_program(program), "test: it has 0 instructions, 1 to 65536 are "
						     "possible: make it shorter");
	program->steps_n = 65537;
	assert_string_equal(refuse_program(program), "test: it has 65537 instructions, 1 to 65536 "
						     "are possible: make it shorter");
	program->steps_n = 2;
	program->maps_n = 65;
	assert_string_equal(refuse_program(program),
			    "test: it has 65 maps, at most 64 are possible: use fewer");
	program->maps = &map;
	program->maps_n = 1;
	map.key_size = 65;
	assert_string_equal(
		refuse_program(program),
		"test: keys of map 0, hash, have 65 bytes, 1 to 64 are possible: change "
		"the map");
	map.key_size = 0;
	assert_string_equal(refuse_program(program),
			    "test: keys of map 0, hash, have 0 bytes, 1 to 64 are possible: change "
			    "the map");
	map.key_size = 8;
	map.value_size = 65537;
	assert_string_equal(
		refuse_program(program),
		"test: values of map 0, hash, have 65537 bytes, 1 to 65536 are possible: "
		"change the map");
	map.value_size = 0;
	assert_string_equal(refuse_program(program),
			    "test: values of map 0, hash, have 0 bytes, 1 to 65536 are possible: "
			    "change the map");
	map.kind = 99;
	assert_string_equal(refuse_program(program),
			    "test: map 0, hash, is of an unknown kind: compile it again");
	program->maps_n = 0;
	program->point = GPUMON_GPUPROG_POINTS;
	assert_string_equal(refuse_program(program),
			    "test: it is for an unknown place: compile it again");
}

static void test_exit_allowed(void **state)
{
	struct gpumon_gpuprog_rules rules = { .allow_exit = true };
	struct gpumon_gpuprog_fact facts[4];
	struct gpumon_error err;

	(void)state;
	assemble("call cuda_exit; exit", GPUMON_GPUPROG_ENTRY, &assembled);
	assert_int_equal(gpumon_gpuprog_verify(&assembled.program, &rules, facts, &err), 0);
}

/* Any bytes as steps: an answer, no crash; facts only of what is accepted. */
static void test_noise(void **state)
{
	struct dice dice = dice_make(dice_seed());

	(void)state;
	for (int i = 0; i < 10000; i++) {
		assemble("r1 = r10; r0 = 0; r2 = 1; r3 = map array; r6 = 2; r7 = 3; r8 = 4\n"
			 "r0 = 0; r0 = 0; r0 = 0; r0 = 0; r0 = 0; exit",
			 dice_below(&dice, GPUMON_GPUPROG_POINTS), &assembled);
		for (int changes = 0; changes < 3; changes++) {
			uint8_t *bytes = (uint8_t *)&assembled.steps[dice_below(&dice, 13)];

			bytes[dice_below(&dice, sizeof(assembled.steps[0]))] =
				(uint8_t)dice_any(&dice);
		}
		assert_true(strlen(refuse_program(&assembled.program)) > 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus),	      cmocka_unit_test(test_lines),
		cmocka_unit_test(test_damaged_steps), cmocka_unit_test(test_damaged_programs),
		cmocka_unit_test(test_exit_allowed),  cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
