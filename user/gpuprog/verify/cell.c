// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "cell.h"

struct gpumon_cell gpumon_cell_nothing(enum gpumon_cell_why why)
{
	return (struct gpumon_cell){ .kind = GPUMON_PROBE_NOTHING, .why = (uint8_t)why };
}

struct gpumon_cell gpumon_cell_number(struct gpumon_number number)
{
	return (struct gpumon_cell){ .kind = GPUMON_PROBE_NUMBER, .number = number };
}

struct gpumon_cell gpumon_cell_any_number(void)
{
	return gpumon_cell_number(gpumon_number_any());
}

bool gpumon_cell_is_address(const struct gpumon_cell *cell)
{
	return cell->kind != GPUMON_PROBE_NOTHING && cell->kind != GPUMON_PROBE_NUMBER;
}

uint32_t gpumon_cell_map(const struct gpumon_cell *cell)
{
	return cell->maps ? (uint32_t)__builtin_ctzll(cell->maps) : 0;
}

bool gpumon_cell_has_maps(const struct gpumon_cell *cell)
{
	return cell->maps & (cell->maps - 1);
}

bool gpumon_cell_is_any(const struct gpumon_cell *cell)
{
	struct gpumon_number any = gpumon_number_any();

	return cell->kind == GPUMON_PROBE_NUMBER && !memcmp(&cell->number, &any, sizeof(any));
}

bool gpumon_cell_is_constant(const struct gpumon_cell *cell, uint64_t value)
{
	return cell->kind == GPUMON_PROBE_NUMBER && gpumon_number_is_constant(&cell->number) &&
	       cell->number.bits == value;
}

static struct gpumon_cell join_kinds(const struct gpumon_cell *a, const struct gpumon_cell *b)
{
	struct gpumon_cell joined;

	if (a->kind == GPUMON_PROBE_VALUE && gpumon_cell_is_constant(b, 0))
		joined = *a;
	else if (b->kind == GPUMON_PROBE_VALUE && gpumon_cell_is_constant(a, 0))
		joined = *b;
	else if (a->kind == GPUMON_PROBE_NOTHING)
		return gpumon_cell_nothing(a->why);
	else
		return gpumon_cell_nothing(b->kind == GPUMON_PROBE_NOTHING ? b->why :
									     GPUMON_CELL_MIXED);
	joined.maybe_null = true;
	joined.id = 0;
	return joined;
}

struct gpumon_cell gpumon_cell_join(const struct gpumon_cell *a, const struct gpumon_cell *b,
				    const struct gpumon_widening *widening)
{
	struct gpumon_cell joined = *a;

	if (a->kind != b->kind)
		return join_kinds(a, b);
	joined.id = 0;
	if (a->kind == GPUMON_PROBE_NOTHING)
		return joined;
	if (a->depth != b->depth)
		return gpumon_cell_nothing(GPUMON_CELL_MIXED);
	joined.maps |= b->maps;
	joined.maybe_null = a->maybe_null || b->maybe_null;
	joined.number = gpumon_number_join(&a->number, &b->number);
	if (widening->on)
		joined.number = gpumon_number_widen(&a->number, &joined.number, widening->marks);
	return joined;
}

bool gpumon_cell_equal(const struct gpumon_cell *a, const struct gpumon_cell *b)
{
	if (a->kind != b->kind)
		return false;
	return a->kind == GPUMON_PROBE_NOTHING ||
	       (a->depth == b->depth && a->maybe_null == b->maybe_null && a->maps == b->maps &&
		a->id == b->id && !memcmp(&a->number, &b->number, sizeof(a->number)));
}
