// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What verifying costs: the largest programs, also such as are made to be slow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common.h"

#include "assemble.h"
#include "insn.h"
#include "gpuprog/verify/verify.h"

/* With sanitizers, which make it some ten times slower. */
#define LIMIT_SECONDS 30

static struct gpumon_gpuprog_step *steps;
static struct gpumon_gpuprog_fact *facts;

static void set(uint32_t at, struct bpf_insn insn, uint32_t target)
{
	steps[at] = (struct gpumon_gpuprog_step){ .code = insn.code,
						  .dst = insn.dst_reg,
						  .src = insn.src_reg,
						  .off = insn.off,
						  .imm = insn.imm,
						  .target = target,
						  .origin = at };
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns whether it is accepted. */
static bool verify(const char *name, uint32_t n)
{
	struct gpumon_gpuprog program = {
		.name = "cost", .steps = steps, .steps_n = n, .maps = probe_maps, .maps_n = MAPS
	};
	struct gpumon_gpuprog_rules rules = { 0 };
	struct gpumon_error err = { .message = "accepted" };
	double begin = seconds(), took;
	bool accepted = !gpumon_gpuprog_verify(&program, &rules, facts, &err);

	took = seconds() - begin;
	printf("# %s: %u instructions, %.1f ms, %.0f a ms; %s\n", name, n, took * 1e3,
	       n / (took * 1e3), err.message);
	fflush(stdout);
	assert_true(took < LIMIT_SECONDS);
	return accepted;
}

static void end(uint32_t n)
{
	set(n - 2, MOV_K(0, 0), 0);
	set(n - 1, EXIT, 0);
}

static void test_straight(void **state)
{
	uint32_t n = GPUMON_GPUPROG_MAX_STEPS;

	(void)state;
	for (uint32_t at = 0; at < n; at++)
		set(at, at % 2 ? STX(DW, 10, -8 * (int)(at / 2 % 64 + 1), 1) : ALU64_K(ADD, 1, 3),
		    0);
	end(n);
	assert_true(verify("straight", n));
}

/* Each second one jumps over the next one. */
static void test_branches(void **state)
{
	uint32_t n = GPUMON_GPUPROG_MAX_STEPS;

	(void)state;
	set(0, CALL(14), 0);
	for (uint32_t at = 1; at < n; at++)
		set(at, at % 2 ? JMP_K(JSGT, 0, (int)at, 0) : ALU64_K(ADD, 0, 3), at + 2);
	end(n);
	assert_true(verify("branches", n));
}

/* The same with all of a stack, and as many frames as there are. */
static void test_full_states(void **state)
{
	uint32_t n = GPUMON_GPUPROG_MAX_STEPS, at = 0;

	(void)state;
	set(at++, CALL(14), 0);
	for (int depth = 0; depth < GPUMON_GPUPROG_MAX_DEPTH; depth++) {
		for (int slot = 1; slot <= 64; slot++) {
			set(at, ST(DW, 10, -8 * slot, slot), 0);
			steps[at++].depth = (uint8_t)depth;
		}
		if (depth == GPUMON_GPUPROG_MAX_DEPTH - 1)
			break;
		set(at, JA(0), at + 1);
		steps[at++].depth = (uint8_t)depth;
	}
	set(at, CALL(14), 0);
	steps[at++].depth = GPUMON_GPUPROG_MAX_DEPTH - 1;
	for (; at < n - 2; at++) {
		set(at, at % 2 ? JMP_K(JSGT, 0, (int)at, 0) : ALU64_K(ADD, 0, 3),
		    at + 2 < n ? at + 2 : n - 1);
		steps[at].depth = GPUMON_GPUPROG_MAX_DEPTH - 1;
	}
	end(n);
	/* It may need too much memory: then that is said. */
	verify("full states", n);
}

/* Loops inside each other, as deep as there are instructions. */
static void test_nested_loops(void **state)
{
	uint32_t n = GPUMON_GPUPROG_MAX_STEPS, half = n / 2 - 2;

	(void)state;
	set(0, CALL(14), 0);
	for (uint32_t at = 1; at < n; at++)
		set(at, at < half ? ALU64_K(ADD, 0, 1) : JMP_K(JNE, 0, (int)at, 0),
		    at < half ? 0 : n - 2 - at);
	end(n);
	verify("nested loops", n);
}

/* Each jumps back to a place that another register changed. */
static void test_jumps_back(void **state)
{
	uint32_t n = GPUMON_GPUPROG_MAX_STEPS;

	(void)state;
	for (uint8_t reg = 0; reg < 10; reg++)
		set(reg, MOV_K(reg, reg), 0);
	for (uint32_t at = 10; at < n; at++)
		set(at,
		    at % 3 ? ALU64_K(ADD, at % 10, (int)at) :
			     JMP_K(JSGT, (at * 7) % 10, (int)(at * 31 % 1000), 0),
		    at - at * 13 % (at - 5));
	end(n);
	verify("jumps back", n);
}

static int make_room(void **state)
{
	(void)state;
	steps = calloc(GPUMON_GPUPROG_MAX_STEPS, sizeof(*steps));
	facts = calloc(GPUMON_GPUPROG_MAX_STEPS, sizeof(*facts));
	return steps && facts ? 0 : -1;
}

static int free_room(void **state)
{
	(void)state;
	free(steps);
	free(facts);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_straight),    cmocka_unit_test(test_branches),
		cmocka_unit_test(test_full_states), cmocka_unit_test(test_nested_loops),
		cmocka_unit_test(test_jumps_back),
	};

	return cmocka_run_group_tests(tests, make_room, free_room);
}
