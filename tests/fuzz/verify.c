// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Steps of any content for the verifier of programs for the GPU. What it accepts is run, and all that
 * happens must agree with what it proved.
 */
#include <string.h>

#include "fuzz.h"
#include "gpuprog/object/instruction.h"
#include "gpuprog/verify/verify.h"

#include "assemble.h"
#include "run_steps.h"

#define RUNS 3
#define FUEL 300

/* Opcodes that are known come often, others now and then. */
static const uint8_t codes[] = {
	0x07, 0x0f, 0x17, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x47, 0x4f, 0x57, 0x5f, 0x67, 0x6f, 0x77,
	0x7f, 0x87, 0x97, 0x9f, 0xa7, 0xaf, 0xb7, 0xbf, 0xc7, 0xcf, 0xd7, 0x04, 0x0c, 0x14, 0x1c,
	0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x64, 0x6c, 0x74, 0x7c, 0x84, 0x94, 0x9c,
	0xa4, 0xac, 0xb4, 0xbc, 0xc4, 0xcc, 0xd4, 0xdc, 0x18, 0x61, 0x69, 0x71, 0x79, 0x81, 0x89,
	0x91, 0x62, 0x6a, 0x72, 0x7a, 0x63, 0x6b, 0x73, 0x7b, 0xc3, 0xdb, 0x05, 0x15, 0x1d, 0x25,
	0x2d, 0x35, 0x3d, 0x45, 0x4d, 0x55, 0x5d, 0x65, 0x6d, 0x75, 0x7d, 0xa5, 0xad, 0xb5, 0xbd,
	0xc5, 0xcd, 0xd5, 0xdd, 0x85, 0x95, 0x16, 0x1e, 0x26, 0x2e, 0x36, 0x3e, 0x46, 0x4e, 0x56,
	0x5e, 0x66, 0x6e, 0x76, 0x7e, 0xa6, 0xae, 0xb6, 0xbe, 0xc6, 0xce, 0xd6, 0xde,
};

static void take_step(struct fuzz_input *input, uint32_t at, struct gpumon_gpuprog_step *step)
{
	uint8_t code = fuzz_u8(input), registers = fuzz_u8(input), more = fuzz_u8(input);

	step->code = code < sizeof(codes) ? codes[code] : code;
	step->dst = registers & 15;
	step->src = registers >> 4;
	step->depth = more & 3;
	step->map = more >> 4;
	step->off = (int8_t)fuzz_u8(input);
	step->imm = more & 4 ? (int32_t)fuzz_u32(input) : (int8_t)fuzz_u8(input);
	step->value = more & 8 ? fuzz_u64(input) : (uint64_t)step->imm;
	step->target = at + (uint32_t)(int8_t)fuzz_u8(input);
	step->origin = at;
	/* The offset of a jump is never looked at, but has to be 0. */
	if (BPF_CLASS(step->code) == BPF_JMP || BPF_CLASS(step->code) == BPF_JMP32 ||
	    BPF_CLASS(step->code) == BPF_ALU || BPF_CLASS(step->code) == BPF_ALU64)
		step->off = step->off == 1 || step->off == 8 ? step->off : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gpumon_gpuprog_step steps[ASSEMBLE_MAX_STEPS];
	static struct gpumon_gpuprog_fact facts[ASSEMBLE_MAX_STEPS], again[ASSEMBLE_MAX_STEPS];
	struct fuzz_input input = { .data = data, .size = size };
	struct gpumon_gpuprog program = {
		.name = "fuzz", .section = "", .steps = steps, .maps = probe_maps, .maps_n = MAPS
	};
	struct gpumon_gpuprog_rules rules = { 0 };
	struct run_counts counts = { 0 };
	struct gpumon_error err = { 0 };
	struct dice dice;

	program.point = fuzz_u8(&input);
	rules.allow_exit = program.point & 16;
	program.point = program.point % 16;
	dice = dice_make(fuzz_u8(&input));
	memset(steps, 0, sizeof(steps));
	while (input.size && program.steps_n < ASSEMBLE_MAX_STEPS - 1) {
		take_step(&input, program.steps_n, &steps[program.steps_n]);
		program.steps_n++;
	}
	steps[program.steps_n++].code = BPF_JMP | BPF_EXIT;
	if (gpumon_gpuprog_verify(&program, &rules, facts, &err)) {
		MUST(err.status == GPUMON_EXIT_FAILED && strlen(err.message) > 10);
		return 0;
	}
	MUST(!gpumon_gpuprog_verify(&program, &rules, again, &err));
	MUST(!memcmp(facts, again, program.steps_n * sizeof(facts[0])));
	for (int run = 0; run < RUNS; run++) {
		const char *wrong = run_steps(&program, facts, &dice, FUEL, &counts);

		if (wrong)
			fprintf(stderr, "%s\n", wrong);
		MUST(!wrong);
	}
	return 0;
}
