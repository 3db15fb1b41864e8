// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "probe/translate/translate.h"
#include "ptx.h"

/* The first PTX that has all that is used here, for architectures that it knows; and later ones. */
#define ISA	62
#define ISA_NEW 90
#define SM_NEW	72

#define SHARDS 256
#define FUEL   65536

int gpumon_probe_print_ptx(const struct gpumon_probe_check *check, uint32_t i, uint32_t sm,
			   FILE *out, struct gpumon_error *err)
{
	const struct gpumon_probe_program *program = &check->object.programs[i];
	const struct gpumon_probe_target target = {
		.isa = sm > SM_NEW ? ISA_NEW : ISA, .sm = sm, .shards = SHARDS, .fuel = FUEL
	};

	fprintf(out, "// %s, %s\n", program->name, program->section);
	return gpumon_probe_translate(program, check->verdicts[i].facts, &target, out, err);
}
