// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "probe/verify/shape.h"
#include "probe/verify/walk.h"

int gpumon_probe_verify(const struct gpumon_probe_program *program,
			const struct gpumon_probe_rules *rules, struct gpumon_probe_fact *facts,
			struct gpumon_error *err)
{
	struct gpumon_verifier verifier = {
		.program = program, .rules = rules, .facts = facts, .err = err
	};

	if (gpumon_shape_check(program, err))
		return -1;
	memset(facts, 0, program->steps_n * sizeof(*facts));
	return gpumon_walk(&verifier);
}
