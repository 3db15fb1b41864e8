// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "gpuprog/object/instruction.h"
#include "bounds.h"
#include "verifier.h"

const char *gpumon_verifier_map_name(const struct gpumon_verifier *verifier, uint32_t map)
{
	const char *name = verifier->program->maps[map].name;

	return name ? name : "";
}

const char *gpumon_verifier_kind_text(const struct gpumon_reg_state *reg)
{
	switch (reg->kind) {
	case GPUMON_GPUPROG_SCALAR:
		return "a number";
	case GPUMON_GPUPROG_STACK:
		return "an address of the stack";
	case GPUMON_GPUPROG_VALUE:
		return reg->maybe_null ? "an address of a map's value or NULL" :
					 "an address of a map's value";
	case GPUMON_GPUPROG_CONTEXT:
		return "the address of the context";
	case GPUMON_GPUPROG_MAP:
		return "a map";
	default:
		return "nothing";
	}
}

static const char *why_text(const struct gpumon_reg_state *reg)
{
	switch (reg->why) {
	case GPUMON_NOT_INIT_CALLED:
		return "was lost in a call: keep it in r6 to r9 or on the stack";
	case GPUMON_NOT_INIT_RETURNED:
		return "points into the stack of a function that has returned: return the value itself";
	case GPUMON_NOT_INIT_MIXED:
		return "is something else on another path: use a variable of its own for each";
	default:
		return "is not set on each path that leads here: set it first";
	}
}

int gpumon_verifier_read(struct gpumon_verifier *verifier, unsigned int number,
			 struct gpumon_reg_state *reg)
{
	if (number == 10) {
		*reg = (struct gpumon_reg_state){ .kind = GPUMON_GPUPROG_STACK,
						  .depth = gpumon_verifier_step(verifier)->depth,
						  .bounds = gpumon_bounds_constant(0) };
		return 0;
	}
	*reg = *gpumon_verifier_register(verifier, number);
	if (reg->kind == GPUMON_GPUPROG_NOT_INIT)
		return GPUMON_REFUSE(verifier, "r%u %s", number, why_text(reg));
	return 0;
}

int gpumon_verifier_read_scalar(struct gpumon_verifier *verifier, unsigned int number,
				const char *why, struct gpumon_reg_state *reg)
{
	if (gpumon_verifier_read(verifier, number, reg))
		return -1;
	if (reg->kind != GPUMON_GPUPROG_SCALAR)
		return GPUMON_REFUSE(verifier, "%s in r%u is %s: it must be a number", why, number,
				     gpumon_verifier_kind_text(reg));
	return 0;
}

void gpumon_access_describe(const struct gpumon_reg_state *reg,
			    struct gpumon_gpuprog_operand *operand)
{
	bool constant = gpumon_bounds_is_constant(&reg->bounds);

	*operand = (struct gpumon_gpuprog_operand){ .kind = reg->kind };
	/* A value that may be NULL is no address yet. */
	if (reg->maybe_null)
		operand->kind = GPUMON_GPUPROG_NOT_INIT;
	switch (operand->kind) {
	case GPUMON_GPUPROG_SCALAR:
		operand->constant = constant;
		operand->value = constant ? reg->bounds.tnum.value : 0;
		break;
	case GPUMON_GPUPROG_STACK:
	case GPUMON_GPUPROG_VALUE:
	case GPUMON_GPUPROG_CONTEXT:
		operand->depth = reg->depth;
		operand->map = gpumon_reg_map(reg);
		operand->maps = reg->maps;
		operand->align = (uint8_t)gpumon_bounds_alignment(&reg->bounds);
		operand->constant = constant && reg->bounds.smin >= INT32_MIN &&
				    reg->bounds.smax <= INT32_MAX;
		operand->offset = operand->constant ? (int32_t)reg->bounds.smin : 0;
		break;
	case GPUMON_GPUPROG_MAP:
		operand->map = gpumon_reg_map(reg);
		operand->maps = reg->maps;
		break;
	default:
		break;
	}
}

static int check_kind(struct gpumon_verifier *verifier, const struct gpumon_access *access)
{
	const struct gpumon_reg_state *address = &access->address;

	if (gpumon_reg_is_constant(address, 0))
		return GPUMON_REFUSE(verifier,
				     "%s is NULL here: use a value only where it was found; only "
				     "programs for memory, atomics and barriers have a context",
				     access->name);
	if (address->kind == GPUMON_GPUPROG_SCALAR)
		return GPUMON_REFUSE(
			verifier,
			"%s is a number, not an address: only the stack, values of "
			"maps and the context can be accessed, not memory of the kernel",
			access->name);
	if (address->kind == GPUMON_GPUPROG_MAP)
		return GPUMON_REFUSE(verifier,
				     "%s is map %s itself: call bpf_map_lookup_elem() and use "
				     "what it returns",
				     access->name,
				     gpumon_verifier_map_name(verifier, gpumon_reg_map(address)));
	if (address->maybe_null)
		return GPUMON_REFUSE(verifier,
				     "%s, a value of map %s, may be NULL: return if it is",
				     access->name,
				     gpumon_verifier_map_name(verifier, gpumon_reg_map(address)));
	return 0;
}

/* The map that an address may lead into whose values are the smallest. */
static uint32_t smallest_map(const struct gpumon_verifier *verifier,
			     const struct gpumon_reg_state *address)
{
	const struct gpumon_gpuprog_map *maps = verifier->program->maps;
	uint32_t map = gpumon_reg_map(address), other;

	for (uint64_t left = address->maps; left; left &= left - 1) {
		other = (uint32_t)__builtin_ctzll(left);
		if (maps[other].value_size < maps[map].value_size)
			map = other;
	}
	return map;
}

bool gpumon_access_read_only(const struct gpumon_verifier *verifier,
			     const struct gpumon_reg_state *address, uint32_t *map)
{
	if (address->kind != GPUMON_GPUPROG_VALUE)
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
	const struct gpumon_reg_state *address = &access->address;
	const char *plural = access->size == 1 ? "" : "s";
	long long offset = access->bounds.smin;
	uint32_t map = smallest_map(verifier, address);

	if (address->kind == GPUMON_GPUPROG_STACK)
		return GPUMON_REFUSE(
			verifier,
			"%u byte%s at r10%+lld: outside of the stack, which has %d bytes "
			"below r10: correct the index",
			access->size, plural, offset, GPUMON_GPUPROG_MAX_STACK);
	return GPUMON_REFUSE(verifier,
			     "%u byte%s at %lld: outside of the value of map %s, which has %u "
			     "bytes: correct the index or make the value larger",
			     access->size, plural, offset, gpumon_verifier_map_name(verifier, map),
			     verifier->program->maps[map].value_size);
}

static int check_bounds(struct gpumon_verifier *verifier, struct gpumon_access *access)
{
	const struct gpumon_reg_state *address = &access->address;
	const struct gpumon_bounds *number = &access->bounds;
	int64_t low = 0, high;
	uint32_t map;

	if (address->kind == GPUMON_GPUPROG_STACK) {
		low = -GPUMON_GPUPROG_MAX_STACK;
		high = -(int64_t)access->size;
	} else {
		map = smallest_map(verifier, address);
		high = (int64_t)verifier->program->maps[map].value_size - access->size;
	}
	if (high < low || number->smin > high || number->smax < low)
		return refuse_outside(verifier, access);
	access->operand->check = number->smin < low || number->smax > high;
	if (access->operand->check && gpumon_reg_has_maps(address))
		return GPUMON_REFUSE(verifier,
				     "%s leads into one of several maps, perhaps outside of its "
				     "value: bound the index with if or &, or access each map by "
				     "itself",
				     access->name);
	return 0;
}

/* Bytes of the stack that an access of the stack may touch. */
static struct gpumon_stack_range stack_range_of(const struct gpumon_access *access)
{
	int64_t first = access->bounds.smin, last = access->bounds.smax;

	if (first < -GPUMON_GPUPROG_MAX_STACK)
		first = -GPUMON_GPUPROG_MAX_STACK;
	if (last > -(int64_t)access->size)
		last = -(int64_t)access->size;
	return (struct gpumon_stack_range){ .first = (unsigned int)(first +
								    GPUMON_GPUPROG_MAX_STACK),
					    .last = (unsigned int)(last + GPUMON_GPUPROG_MAX_STACK),
					    .size = access->size };
}

int gpumon_access_resolve(struct gpumon_verifier *verifier, struct gpumon_access *access)
{
	struct gpumon_bounds off = gpumon_bounds_constant((uint64_t)(int64_t)access->off);
	struct gpumon_reg_state moved = access->address;

	if (check_kind(verifier, access))
		return -1;
	moved.bounds = gpumon_bounds_alu(BPF_ALU64 | BPF_ADD, false, &moved.bounds, &off);
	access->bounds = moved.bounds;
	gpumon_access_describe(&moved, access->operand);
	if (moved.kind == GPUMON_GPUPROG_CONTEXT)
		return 0;
	if (check_bounds(verifier, access))
		return -1;
	if (moved.kind == GPUMON_GPUPROG_STACK && !access->operand->constant) {
		struct gpumon_stack_range range = stack_range_of(access);

		access->operand->offset = (int32_t)range.first - GPUMON_GPUPROG_MAX_STACK;
		access->operand->last = (int32_t)range.last - GPUMON_GPUPROG_MAX_STACK;
	}
	return 0;
}

int gpumon_access_check_scalars(struct gpumon_verifier *verifier,
				const struct gpumon_access *access)
{
	const struct gpumon_func_state *frame = &verifier->state->frames[access->address.depth];
	struct gpumon_stack_range range = stack_range_of(access);
	int from = (int)range.first - GPUMON_GPUPROG_MAX_STACK;
	int to = (int)(range.last + range.size) - GPUMON_GPUPROG_MAX_STACK - 1;

	switch (gpumon_stack_content(frame, &range)) {
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

/* Steps that load, store, or operate on memory. */

static int resolve(struct gpumon_verifier *verifier, unsigned int number,
		   struct gpumon_access *access)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);

	*access = (struct gpumon_access){ .name = { 'r', (char)('0' + number) },
					  .off = step->off,
					  .size = gpumon_gpuprog_access_size(step->code),
					  .operand = &verifier->facts[verifier->at].address };
	if (number == 10)
		memcpy(access->name, "r10", 4);
	if (gpumon_verifier_read(verifier, number, &access->address) ||
	    gpumon_access_resolve(verifier, access))
		return -1;
	/* Accesses are aligned, so that a slot of the stack can be a register on the GPU. */
	if (access->address.kind == GPUMON_GPUPROG_STACK && access->operand->align < access->size)
		return GPUMON_REFUSE(verifier,
				     "%u bytes of the stack are accessed through %s at an address "
				     "that need not be a multiple of %u: align the variable",
				     access->size, access->name, access->size);
	return 0;
}

/* The number that a load gives. */
static struct gpumon_reg_state loaded(uint8_t code)
{
	unsigned int size = gpumon_gpuprog_access_size(code);
	struct gpumon_bounds any = gpumon_bounds_any();

	if (size == 8)
		return gpumon_reg_any_scalar();
	if (BPF_MODE(code) == BPF_MEMSX)
		return gpumon_reg_scalar(gpumon_bounds_move(BPF_ALU64, (int)size * 8, &any));
	return gpumon_reg_scalar(gpumon_bounds_byte_order(false, (int)size * 8, &any));
}

static int load_stack(struct gpumon_verifier *verifier, const struct gpumon_access *access,
		      struct gpumon_reg_state *reg)
{
	struct gpumon_func_state *frame = &verifier->state->frames[access->address.depth];
	struct gpumon_stack_range range = stack_range_of(access);
	struct gpumon_reg_state *slot = access->operand->check ? NULL :
								 gpumon_stack_slot(frame, &range);

	if (!slot)
		return gpumon_access_check_scalars(verifier, access);
	*reg = gpumon_state_share(verifier->state, slot, gpumon_verifier_id(verifier));
	return 0;
}

/* Content of .rodata: such maps never change. */
static void load_value(const struct gpumon_verifier *verifier, const struct gpumon_access *access,
		       struct gpumon_reg_state *reg)
{
	const struct gpumon_gpuprog_map *map =
		&verifier->program->maps[gpumon_reg_map(&access->address)];
	uint8_t code = gpumon_verifier_step(verifier)->code;
	struct gpumon_bounds number;
	uint64_t value = 0;

	if (gpumon_reg_has_maps(&access->address) || !map->read_only ||
	    map->kind != GPUMON_GPUPROG_MAP_DATA || !map->data || !access->operand->constant ||
	    access->operand->check)
		return;
	for (unsigned int i = access->size; i; i--)
		value = value << 8 | map->data[access->operand->offset + (int32_t)i - 1];
	number = gpumon_bounds_constant(value);
	if (BPF_MODE(code) == BPF_MEMSX)
		number = gpumon_bounds_move(BPF_ALU64, (int)access->size * 8, &number);
	*reg = gpumon_reg_scalar(number);
}

/* Each field is a register: an access must stay within one field. */
static int check_context(struct gpumon_verifier *verifier, const struct gpumon_access *access)
{
	static const struct {
		uint32_t offset, size;
	} fields[] = {
		{ offsetof(struct gpumon_gpuprog_context, address), 8 },
		{ offsetof(struct gpumon_gpuprog_context, line), 8 },
		{ offsetof(struct gpumon_gpuprog_context, size), 4 },
		{ offsetof(struct gpumon_gpuprog_context, flags), 4 },
	};
	int64_t offset = access->bounds.smin;

	if (!access->operand->constant)
		return GPUMON_REFUSE(
			verifier,
			"the offset within the context is not a constant: name the field");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (offset >= fields[i].offset &&
		    offset + access->size <= fields[i].offset + fields[i].size &&
		    offset % access->size == 0)
			return 0;
	return GPUMON_REFUSE(verifier,
			     "%u byte%s at %lld: no field of the context, which has address, line, "
			     "size and flags: name one of them",
			     access->size, access->size == 1 ? "" : "s", (long long)offset);
}

int gpumon_verifier_load(struct gpumon_verifier *verifier)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	struct gpumon_reg_state reg = loaded(step->code);
	struct gpumon_access access;

	if (resolve(verifier, step->src, &access))
		return -1;
	if (access.address.kind == GPUMON_GPUPROG_CONTEXT && check_context(verifier, &access))
		return -1;
	if (access.address.kind == GPUMON_GPUPROG_STACK && load_stack(verifier, &access, &reg))
		return -1;
	if (access.address.kind == GPUMON_GPUPROG_VALUE)
		load_value(verifier, &access, &reg);
	*gpumon_verifier_register(verifier, step->dst) = reg;
	return 0;
}

static int check_writable(struct gpumon_verifier *verifier, const struct gpumon_access *access)
{
	const struct gpumon_reg_state *address = &access->address;
	uint32_t map;

	if (address->kind == GPUMON_GPUPROG_CONTEXT)
		return GPUMON_REFUSE(verifier, "it writes to the context, which can only be read: "
					       "use a variable of its own");
	if (gpumon_access_read_only(verifier, address, &map))
		return GPUMON_REFUSE(verifier,
				     "it writes to %s, which can only be read: leave out the const",
				     gpumon_verifier_map_name(verifier, map));
	return 0;
}

static int store_stack(struct gpumon_verifier *verifier, const struct gpumon_access *access,
		       const struct gpumon_reg_state *reg)
{
	struct gpumon_func_state *frame = &verifier->state->frames[access->address.depth];
	struct gpumon_stack_range range = stack_range_of(access);
	/* Left out if it turns out to be outside: so nothing is known for sure. */
	bool known = range.first == range.last && !access->operand->check;

	if (gpumon_reg_is_address(reg) && (!known || access->size != 8))
		return GPUMON_REFUSE(verifier,
				     "it stores %s on the stack at a place that varies, or part of "
				     "it: use a variable of its own",
				     gpumon_verifier_kind_text(reg));
	if (known)
		gpumon_stack_write(frame, &range, reg);
	else
		gpumon_stack_forget(frame, &range);
	return 0;
}

int gpumon_verifier_store(struct gpumon_verifier *verifier)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	struct gpumon_access access;
	struct gpumon_reg_state reg;

	if (resolve(verifier, step->dst, &access) || check_writable(verifier, &access))
		return -1;
	if (BPF_CLASS(step->code) == BPF_ST)
		reg = gpumon_reg_scalar(gpumon_bounds_constant((uint64_t)(int64_t)step->imm));
	else if (gpumon_verifier_read(verifier, step->src, &reg))
		return -1;
	if (access.address.kind == GPUMON_GPUPROG_STACK) {
		if (step->src != 10 && BPF_CLASS(step->code) == BPF_STX && access.size == 8)
			reg = gpumon_state_share(verifier->state,
						 gpumon_verifier_register(verifier, step->src),
						 gpumon_verifier_id(verifier));
		return store_stack(verifier, &access, &reg);
	}
	if (gpumon_reg_is_address(&reg))
		return GPUMON_REFUSE(
			verifier,
			"it stores %s in map %s: addresses stay in registers and on the "
			"stack",
			gpumon_verifier_kind_text(&reg),
			gpumon_verifier_map_name(verifier, gpumon_reg_map(&access.address)));
	return 0;
}

int gpumon_verifier_atomic(struct gpumon_verifier *verifier)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	struct gpumon_access access;
	struct gpumon_reg_state reg;

	if (resolve(verifier, step->dst, &access) || check_writable(verifier, &access) ||
	    gpumon_verifier_read_scalar(verifier, step->src, "the operand", &reg))
		return -1;
	if (access.address.kind != GPUMON_GPUPROG_VALUE)
		return GPUMON_REFUSE(verifier,
				     "it is an atomic operation on %s: only values of maps are "
				     "shared, use plain arithmetic",
				     gpumon_verifier_kind_text(&access.address));
	if (access.operand->align < access.size)
		return GPUMON_REFUSE(
			verifier,
			"it is an atomic operation of %u bytes at an address that need "
			"not be a multiple of %u: align the variable",
			access.size, access.size);
	if (step->imm == BPF_CMPXCHG &&
	    gpumon_verifier_read_scalar(verifier, 0, "the value to compare with", &reg))
		return -1;
	if (step->imm == BPF_CMPXCHG)
		*gpumon_verifier_register(verifier, 0) = loaded(step->code);
	else if (step->imm & BPF_FETCH)
		*gpumon_verifier_register(verifier, step->src) = loaded(step->code);
	return 0;
}
