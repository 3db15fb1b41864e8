// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "gpuprog/ptx/translate.h"
#include "ptx.h"

#define SHARDS 256
#define FUEL   65536

int gpumon_probe_print_ptx(const struct gpumon_probe_check *check, uint32_t i, uint32_t sm,
			   FILE *out, struct gpumon_error *err)
{
	const struct gpumon_probe_program *program = &check->object.programs[i];
	const struct gpumon_probe_target target = {
		.isa = gpumon_probe_isa(sm), .sm = sm, .shards = SHARDS, .fuel = FUEL
	};

	fprintf(out, "// %s, %s\n", program->name, program->section);
	return gpumon_probe_translate(program, check->verdicts[i].facts, &target, out, err);
}
