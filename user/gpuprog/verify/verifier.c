// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "verifier.h"

const char *gpumon_verifier_map_name(const struct gpumon_verifier *verifier, uint32_t map)
{
	const char *name = verifier->program->maps[map].name;

	return name ? name : "";
}

const char *gpumon_verifier_kind_text(const struct gpumon_cell *cell)
{
	switch (cell->kind) {
	case GPUMON_PROBE_NUMBER:
		return "a number";
	case GPUMON_PROBE_STACK:
		return "an address of the stack";
	case GPUMON_PROBE_VALUE:
		return cell->maybe_null ? "an address of a map's value or NULL" :
					  "an address of a map's value";
	case GPUMON_PROBE_CONTEXT:
		return "the address of the context";
	case GPUMON_PROBE_MAP:
		return "a map";
	default:
		return "nothing";
	}
}

static const char *why_text(const struct gpumon_cell *cell)
{
	switch (cell->why) {
	case GPUMON_CELL_CALLED:
		return "was lost in a call: keep it in r6 to r9 or on the stack";
	case GPUMON_CELL_RETURNED:
		return "points into the stack of a function that has returned: return the value itself";
	case GPUMON_CELL_MIXED:
		return "is something else on another path: use a variable of its own for each";
	default:
		return "is not set on each path that leads here: set it first";
	}
}

int gpumon_verifier_read(struct gpumon_verifier *verifier, unsigned int number,
			 struct gpumon_cell *cell)
{
	if (number == 10) {
		*cell = (struct gpumon_cell){ .kind = GPUMON_PROBE_STACK,
					      .depth = gpumon_verifier_step(verifier)->depth,
					      .number = gpumon_number_constant(0) };
		return 0;
	}
	*cell = *gpumon_verifier_register(verifier, number);
	if (cell->kind == GPUMON_PROBE_NOTHING)
		return GPUMON_REFUSE(verifier, "r%u %s", number, why_text(cell));
	return 0;
}

int gpumon_verifier_read_number(struct gpumon_verifier *verifier, unsigned int number,
				const char *why, struct gpumon_cell *cell)
{
	if (gpumon_verifier_read(verifier, number, cell))
		return -1;
	if (cell->kind != GPUMON_PROBE_NUMBER)
		return GPUMON_REFUSE(verifier, "%s in r%u is %s: it must be a number", why, number,
				     gpumon_verifier_kind_text(cell));
	return 0;
}
