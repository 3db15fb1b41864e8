// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "memory.h"
#include "number_alu.h"

void gpumon_memory_describe(const struct gpumon_cell *cell, struct gpumon_probe_operand *operand)
{
	bool constant = gpumon_number_is_constant(&cell->number);

	*operand = (struct gpumon_probe_operand){ .kind = cell->kind };
	/* What may be NULL is no address. */
	if (cell->maybe_null)
		operand->kind = GPUMON_PROBE_NOTHING;
	switch (operand->kind) {
	case GPUMON_PROBE_NUMBER:
		operand->constant = constant;
		operand->value = constant ? cell->number.bits : 0;
		break;
	case GPUMON_PROBE_STACK:
	case GPUMON_PROBE_VALUE:
	case GPUMON_PROBE_CONTEXT:
		operand->depth = cell->depth;
		operand->map = gpumon_cell_map(cell);
		operand->maps = cell->maps;
		operand->align = (uint8_t)gpumon_number_alignment(&cell->number);
		operand->constant = constant && cell->number.smin >= INT32_MIN &&
				    cell->number.smax <= INT32_MAX;
		operand->offset = operand->constant ? (int32_t)cell->number.smin : 0;
		break;
	case GPUMON_PROBE_MAP:
		operand->map = gpumon_cell_map(cell);
		operand->maps = cell->maps;
		break;
	default:
		break;
	}
}

static int check_kind(struct gpumon_verifier *verifier, const struct gpumon_access *access)
{
	const struct gpumon_cell *address = &access->address;

	if (gpumon_cell_is_constant(address, 0))
		return GPUMON_REFUSE(verifier,
				     "%s is NULL here: use a value only where it was found; only "
				     "programs for memory, atomics and barriers have a context",
				     access->name);
	if (address->kind == GPUMON_PROBE_NUMBER)
		return GPUMON_REFUSE(
			verifier,
			"%s is a number, not an address: only the stack, values of "
			"maps and the context can be accessed, not memory of the kernel",
			access->name);
	if (address->kind == GPUMON_PROBE_MAP)
		return GPUMON_REFUSE(verifier,
				     "%s is map %s itself: call bpf_map_lookup_elem() and use "
				     "what it returns",
				     access->name,
				     gpumon_verifier_map_name(verifier, gpumon_cell_map(address)));
	if (address->maybe_null)
		return GPUMON_REFUSE(verifier,
				     "%s, a value of map %s, may be NULL: return if it is",
				     access->name,
				     gpumon_verifier_map_name(verifier, gpumon_cell_map(address)));
	return 0;
}

/* The map that an address may lead into whose values are the smallest. */
static uint32_t smallest_map(const struct gpumon_verifier *verifier,
			     const struct gpumon_cell *address)
{
	const struct gpumon_probe_map *maps = verifier->program->maps;
	uint32_t map = gpumon_cell_map(address), other;

	for (uint64_t left = address->maps; left; left &= left - 1) {
		other = (uint32_t)__builtin_ctzll(left);
		if (maps[other].value_size < maps[map].value_size)
			map = other;
	}
	return map;
}

bool gpumon_memory_read_only(const struct gpumon_verifier *verifier,
			     const struct gpumon_cell *address, uint32_t *map)
{
	if (address->kind != GPUMON_PROBE_VALUE)
		return false;
	for (uint64_t left = address->maps; left; left &= left - 1) {
		*map = (uint32_t)__builtin_ctzll(left);
		if (verifier->program->maps[*map].read_only)
			return true;
	}
	return false;
}

static int refuse_outside(struct gpumon_verifier *verifier, const struct gpumon_access *access)
{
	const struct gpumon_cell *address = &access->address;
	const char *plural = access->size == 1 ? "" : "s";
	long long offset = access->number.smin;
	uint32_t map = smallest_map(verifier, address);

	if (address->kind == GPUMON_PROBE_STACK)
		return GPUMON_REFUSE(
			verifier,
			"%u byte%s at r10%+lld: outside of the stack, which has %d bytes "
			"below r10: correct the index",
			access->size, plural, offset, GPUMON_PROBE_MAX_STACK);
	return GPUMON_REFUSE(verifier,
			     "%u byte%s at %lld: outside of the value of map %s, which has %u "
			     "bytes: correct the index or make the value larger",
			     access->size, plural, offset, gpumon_verifier_map_name(verifier, map),
			     verifier->program->maps[map].value_size);
}

static int check_bounds(struct gpumon_verifier *verifier, struct gpumon_access *access)
{
	const struct gpumon_cell *address = &access->address;
	const struct gpumon_number *number = &access->number;
	int64_t low = 0, high;
	uint32_t map;

	if (address->kind == GPUMON_PROBE_STACK) {
		low = -GPUMON_PROBE_MAX_STACK;
		high = -(int64_t)access->size;
	} else {
		map = smallest_map(verifier, address);
		high = (int64_t)verifier->program->maps[map].value_size - access->size;
	}
	if (high < low || number->smin > high || number->smax < low)
		return refuse_outside(verifier, access);
	access->operand->check = number->smin < low || number->smax > high;
	if (access->operand->check && gpumon_cell_has_maps(address))
		return GPUMON_REFUSE(verifier,
				     "%s leads into one of several maps, perhaps outside of its "
				     "value: bound the index with if or &, or access each map by "
				     "itself",
				     access->name);
	return 0;
}

int gpumon_memory_resolve(struct gpumon_verifier *verifier, struct gpumon_access *access)
{
	struct gpumon_number off = gpumon_number_constant((uint64_t)(int64_t)access->off);
	struct gpumon_cell moved = access->address;

	if (check_kind(verifier, access))
		return -1;
	moved.number = gpumon_number_alu(BPF_ALU64 | BPF_ADD, false, &moved.number, &off);
	access->number = moved.number;
	gpumon_memory_describe(&moved, access->operand);
	if (moved.kind == GPUMON_PROBE_CONTEXT)
		return 0;
	if (check_bounds(verifier, access))
		return -1;
	if (moved.kind == GPUMON_PROBE_STACK && !access->operand->constant) {
		struct gpumon_place place = gpumon_memory_place(access);

		access->operand->offset = (int32_t)place.first - GPUMON_PROBE_MAX_STACK;
		access->operand->last = (int32_t)place.last - GPUMON_PROBE_MAX_STACK;
	}
	return 0;
}

struct gpumon_place gpumon_memory_place(const struct gpumon_access *access)
{
	int64_t first = access->number.smin, last = access->number.smax;

	if (first < -GPUMON_PROBE_MAX_STACK)
		first = -GPUMON_PROBE_MAX_STACK;
	if (last > -(int64_t)access->size)
		last = -(int64_t)access->size;
	return (struct gpumon_place){ .first = (unsigned int)(first + GPUMON_PROBE_MAX_STACK),
				      .last = (unsigned int)(last + GPUMON_PROBE_MAX_STACK),
				      .size = access->size };
}

int gpumon_memory_check_numbers(struct gpumon_verifier *verifier,
				const struct gpumon_access *access)
{
	const struct gpumon_frame *frame = &verifier->state->frames[access->address.depth];
	struct gpumon_place place = gpumon_memory_place(access);
	int from = (int)place.first - GPUMON_PROBE_MAX_STACK;
	int to = (int)(place.last + place.size) - GPUMON_PROBE_MAX_STACK - 1;

	switch (gpumon_stack_content(frame, &place)) {
	case GPUMON_STACK_UNSET:
		return GPUMON_REFUSE(
			verifier,
			"bytes from r10%+d to r10%+d, read through %s, are not all set: "
			"set the whole variable first, or bound the index",
			from, to, access->name);
	case GPUMON_STACK_ADDRESS:
		return GPUMON_REFUSE(
			verifier,
			"bytes from r10%+d to r10%+d, read through %s, are part of an "
			"address: addresses can only be read whole, and not be passed on",
			from, to, access->name);
	default:
		return 0;
	}
}
