// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Random programs: the translated text does what the instructions mean. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "insn.h"
#include "gpuprog/object/map_memory.h"
#include "random_code.h"
#include "reference.h"
#include "sample.h"

#define PROGRAMS 10000

static const struct gpumon_gpuprog_target targets[] = {
	{ .isa = 90, .sm = 90, .shards = 4, .fuel = 4096 },
	{ .isa = 50, .sm = 52, .shards = 1, .fuel = 4096 },
	{ .isa = 90, .sm = 90, .shards = 4, .fuel = 4096, .patch = true },
};

static void compare(const struct sample *sample, const struct reference *reference, uint64_t seed)
{
	uint8_t value[RANDOM_DATA_BYTES];
	uint32_t i;

	for (i = 0; i < 2; i++) {
		gpumon_gpuprog_read_value(&random_maps[i], sample->target.shards, sample->images[i],
					  0, value);
		if (memcmp(value, reference->maps[i].values, random_maps[i].value_size) != 0) {
			puts(sample->text);
			fail_msg("seed %llu: map %s differs", (unsigned long long)seed,
				 random_maps[i].name);
		}
	}
}

static void run_program(struct random_code *program, uint64_t seed)
{
	struct reference reference;
	struct sample sample;

	random_code_make(program, seed);
	if (sample_make(&sample, program->code, program->code_n, random_maps, 2,
			GPUMON_GPUPROG_ENTRY, &targets[seed % COUNT(targets)]))
		fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, sample.error,
			 sample.text ? sample.text : "");
	reference_init(&reference, &sample.program);
	if (reference_run(&reference))
		fail_msg("seed %llu: %s", (unsigned long long)seed, reference.error);
	if (sample_run(&sample, 1, 0))
		fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, sample.error, sample.text);
	compare(&sample, &reference, seed);
	reference_clear(&reference);
	sample_clear(&sample);
}

static void test_random_programs(void **state)
{
	const char *given = getenv("GPUMON_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * PROGRAMS, i;
	struct random_code *program = calloc(1, sizeof(*program));

	(void)state;
	print_message("GPUMON_SEED=%llu\n", (unsigned long long)seed);
	for (i = 0; i < (given ? 1 : PROGRAMS); i++)
		run_program(program, seed + i);
	free(program);
}

/*
 * No number gets to the third comparison, and its jump leads where nothing else does. The second one does
 * not know that yet.
 */
static void test_no_way_on(void **state)
{
	static const struct bpf_insn code[] = {
		CALL(511),	     MOV_X(1, 0),
		ALU64_K(AND, 1, -4), ALU64_K(OR, 1, 2),
		JMP_K(JLT, 1, 7, 4), JMP_K(JGT, 1, 8, 3),
		JMP_K(JGT, 1, 7, 1), MOV_K(0, 1),
		MOV_K(0, 2),	     EXIT,
	};
	struct sample sample;

	(void)state;
	if (sample_make(&sample, code, COUNT(code), NULL, 0, GPUMON_GPUPROG_ENTRY, &targets[0]) ||
	    sample_run(&sample, 32, 0))
		fail_msg("%s\n%s", sample.error, sample.text ? sample.text : "");
	sample_clear(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_way_on),
		cmocka_unit_test(test_random_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
