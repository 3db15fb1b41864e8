// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Steps that load, store, or operate on memory. */
#include <string.h>

#include "gpuprog/object/instruction.h"
#include "gpuprog/object/opcode.h"
#include "memory.h"
#include "number_alu.h"

static int resolve(struct gpumon_verifier *verifier, unsigned int number,
		   struct gpumon_access *access)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);

	*access = (struct gpumon_access){ .name = { 'r', (char)('0' + number) },
					  .off = step->off,
					  .size = gpumon_probe_access_size(step->code),
					  .operand = &verifier->facts[verifier->at].address };
	if (number == 10)
		memcpy(access->name, "r10", 4);
	if (gpumon_verifier_read(verifier, number, &access->address) ||
	    gpumon_memory_resolve(verifier, access))
		return -1;
	/* So that a slot of the stack can be a register on the GPU. */
	if (access->address.kind == GPUMON_PROBE_STACK && access->operand->align < access->size)
		return GPUMON_REFUSE(verifier,
				     "%u bytes of the stack are accessed through %s at an address "
				     "that need not be a multiple of %u: align the variable",
				     access->size, access->name, access->size);
	return 0;
}

/* What a load of a number gives. */
static struct gpumon_cell loaded(uint8_t code)
{
	unsigned int size = gpumon_probe_access_size(code);
	struct gpumon_number any = gpumon_number_any();

	if (size == 8)
		return gpumon_cell_any_number();
	if (BPF_MODE(code) == BPF_MEMSX)
		return gpumon_cell_number(gpumon_number_move(BPF_ALU64, (int)size * 8, &any));
	return gpumon_cell_number(gpumon_number_byte_order(false, (int)size * 8, &any));
}

static int load_stack(struct gpumon_verifier *verifier, const struct gpumon_access *access,
		      struct gpumon_cell *cell)
{
	struct gpumon_frame *frame = &verifier->state->frames[access->address.depth];
	struct gpumon_place place = gpumon_memory_place(access);
	struct gpumon_cell *slot = access->operand->check ? NULL : gpumon_stack_slot(frame, &place);

	if (!slot)
		return gpumon_memory_check_numbers(verifier, access);
	*cell = gpumon_state_share(verifier->state, slot, gpumon_verifier_id(verifier));
	return 0;
}

/* Content of .rodata: such maps never change. */
static void load_value(const struct gpumon_verifier *verifier, const struct gpumon_access *access,
		       struct gpumon_cell *cell)
{
	const struct gpumon_probe_map *map =
		&verifier->program->maps[gpumon_cell_map(&access->address)];
	uint8_t code = gpumon_verifier_step(verifier)->code;
	struct gpumon_number number;
	uint64_t value = 0;

	if (gpumon_cell_has_maps(&access->address) || !map->read_only ||
	    map->kind != GPUMON_PROBE_MAP_DATA || !map->data || !access->operand->constant ||
	    access->operand->check)
		return;
	for (unsigned int i = access->size; i; i--)
		value = value << 8 | map->data[access->operand->offset + (int32_t)i - 1];
	number = gpumon_number_constant(value);
	if (BPF_MODE(code) == BPF_MEMSX)
		number = gpumon_number_move(BPF_ALU64, (int)access->size * 8, &number);
	*cell = gpumon_cell_number(number);
}

/* Each field is a register: an access must stay within one. */
static int check_context(struct gpumon_verifier *verifier, const struct gpumon_access *access)
{
	static const struct {
		uint32_t offset, size;
	} fields[] = {
		{ offsetof(struct gpumon_probe_context, address), 8 },
		{ offsetof(struct gpumon_probe_context, line), 8 },
		{ offsetof(struct gpumon_probe_context, size), 4 },
		{ offsetof(struct gpumon_probe_context, flags), 4 },
	};
	int64_t offset = access->number.smin;

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
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	struct gpumon_cell cell = loaded(step->code);
	struct gpumon_access access;

	if (resolve(verifier, step->src, &access))
		return -1;
	if (access.address.kind == GPUMON_PROBE_CONTEXT && check_context(verifier, &access))
		return -1;
	if (access.address.kind == GPUMON_PROBE_STACK && load_stack(verifier, &access, &cell))
		return -1;
	if (access.address.kind == GPUMON_PROBE_VALUE)
		load_value(verifier, &access, &cell);
	*gpumon_verifier_register(verifier, step->dst) = cell;
	return 0;
}

static int check_writable(struct gpumon_verifier *verifier, const struct gpumon_access *access)
{
	const struct gpumon_cell *address = &access->address;
	uint32_t map;

	if (address->kind == GPUMON_PROBE_CONTEXT)
		return GPUMON_REFUSE(verifier, "it writes to the context, which can only be read: "
					       "use a variable of its own");
	if (gpumon_memory_read_only(verifier, address, &map))
		return GPUMON_REFUSE(verifier,
				     "it writes to %s, which can only be read: leave out the const",
				     gpumon_verifier_map_name(verifier, map));
	return 0;
}

static int store_stack(struct gpumon_verifier *verifier, const struct gpumon_access *access,
		       const struct gpumon_cell *cell)
{
	struct gpumon_frame *frame = &verifier->state->frames[access->address.depth];
	struct gpumon_place place = gpumon_memory_place(access);
	/* Left out if it turns out to be outside: so nothing is known for sure. */
	bool known = place.first == place.last && !access->operand->check;

	if (gpumon_cell_is_address(cell) && (!known || access->size != 8))
		return GPUMON_REFUSE(verifier,
				     "it stores %s on the stack at a place that varies, or part of "
				     "it: use a variable of its own",
				     gpumon_verifier_kind_text(cell));
	if (known)
		gpumon_stack_write(frame, &place, cell);
	else
		gpumon_stack_forget(frame, &place);
	return 0;
}

int gpumon_verifier_store(struct gpumon_verifier *verifier)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	struct gpumon_access access;
	struct gpumon_cell cell;

	if (resolve(verifier, step->dst, &access) || check_writable(verifier, &access))
		return -1;
	if (BPF_CLASS(step->code) == BPF_ST)
		cell = gpumon_cell_number(gpumon_number_constant((uint64_t)(int64_t)step->imm));
	else if (gpumon_verifier_read(verifier, step->src, &cell))
		return -1;
	if (access.address.kind == GPUMON_PROBE_STACK) {
		if (step->src != 10 && BPF_CLASS(step->code) == BPF_STX && access.size == 8)
			cell = gpumon_state_share(verifier->state,
						  gpumon_verifier_register(verifier, step->src),
						  gpumon_verifier_id(verifier));
		return store_stack(verifier, &access, &cell);
	}
	if (gpumon_cell_is_address(&cell))
		return GPUMON_REFUSE(
			verifier,
			"it stores %s in map %s: addresses stay in registers and on the "
			"stack",
			gpumon_verifier_kind_text(&cell),
			gpumon_verifier_map_name(verifier, gpumon_cell_map(&access.address)));
	return 0;
}

int gpumon_verifier_atomic(struct gpumon_verifier *verifier)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	struct gpumon_access access;
	struct gpumon_cell cell;

	if (resolve(verifier, step->dst, &access) || check_writable(verifier, &access) ||
	    gpumon_verifier_read_number(verifier, step->src, "the operand", &cell))
		return -1;
	if (access.address.kind != GPUMON_PROBE_VALUE)
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
	    gpumon_verifier_read_number(verifier, 0, "the value to compare with", &cell))
		return -1;
	if (step->imm == BPF_CMPXCHG)
		*gpumon_verifier_register(verifier, 0) = loaded(step->code);
	else if (step->imm & BPF_FETCH)
		*gpumon_verifier_register(verifier, step->src) = loaded(step->code);
	return 0;
}
