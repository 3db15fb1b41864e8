// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Random programs that are accepted are run with random numbers, and all that happens must agree with
 * what was proved. GPUMON_ROUNDS: how many accepted programs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

#include "gpuprog/verify/verify.h"
#include "random_program.h"
#include "run_steps.h"

#define ROUNDS 10000
#define RUNS   4
#define FUEL   400

static void print_program(const struct gpumon_gpuprog *program)
{
	for (uint32_t i = 0; i < program->steps_n; i++)
		print_error("%3u %*s%s\n", i, program->steps[i].depth, "",
			    disassemble(&program->steps[i]));
}

static void test_random_programs(void **state)
{
	const char *given = getenv("GPUMON_ROUNDS");
	unsigned int rounds = given ? (unsigned int)atoi(given) : ROUNDS;
	struct random_kind kind = { .loops = true, .functions = true, .changes = true };
	struct gpumon_gpuprog_rules rules = { 0 };
	struct dice dice = dice_make(dice_seed());
	struct run_counts counts = { 0 };
	unsigned int made = 0, accepted = 0;

	(void)state;
	while (accepted < rounds) {
		static struct gpumon_gpuprog_fact facts[ASSEMBLE_MAX_STEPS];
		static struct assembled assembled;
		struct gpumon_error err;

		made++;
		assert_true(made < 20 * rounds + 100);
		random_program(&dice, &kind, &assembled);
		if (gpumon_gpuprog_verify(&assembled.program, &rules, facts, &err)) {
			if (getenv("GPUMON_WHY"))
				printf("# %s\n", err.message);
			continue;
		}
		accepted++;
		for (int run = 0; run < RUNS; run++) {
			const char *wrong =
				run_steps(&assembled.program, facts, &dice, FUEL, &counts);

			if (!wrong)
				continue;
			print_program(&assembled.program);
			fail_msg("program %u: %s", made, wrong);
		}
	}
	printf("# %u of %u programs accepted; %llu steps, %llu loads, %llu stores, %llu atomics, "
	       "%llu calls, %llu outside\n",
	       accepted, made, (unsigned long long)counts.steps, (unsigned long long)counts.loads,
	       (unsigned long long)counts.stores, (unsigned long long)counts.atomics,
	       (unsigned long long)counts.calls, (unsigned long long)counts.outside);
	/* Worth it only if much is done. */
	assert_true(counts.steps > 100ull * rounds && counts.loads > rounds &&
		    counts.stores > rounds && counts.atomics > rounds / 10 &&
		    counts.calls > rounds && counts.outside > rounds / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_programs) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
