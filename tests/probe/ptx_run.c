// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The scheduler. Lanes at the same instruction run it together. With @random, at each step any warp
 * and any part of the lanes at one place may be next, as since sm_70; an instruction with .sync waits
 * for all lanes of its mask.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_lane.h"

#define LOCAL_BASE 0x10000 /* address of a lane's local memory */

int ptx_fail(struct ptx_machine *machine, const struct ptx_instruction *instruction,
	     const char *why)
{
	snprintf(machine->error, sizeof(machine->error), "line %u: %s: %s", instruction->line,
		 instruction->name, why);
	return -1;
}

struct ptx_value ptx_read(const struct ptx_machine *machine, const struct ptx_lane *lane,
			  const struct ptx_operand *operand)
{
	struct ptx_value value = { .set = true };

	switch (operand->kind) {
	case PTX_WIDE:
		return lane->wides[operand->reg];
	case PTX_WORD:
		return lane->words[operand->reg];
	case PTX_PREDICATE:
		return lane->predicates[operand->reg];
	case PTX_PAIR:
		value.set = lane->words[operand->reg].set && lane->words[operand->other].set;
		value.bits = lane->words[operand->reg].bits | lane->words[operand->other].bits
								      << 32;
		break;
	case PTX_SPECIAL:
		value.bits = lane->special[operand->reg];
		break;
	case PTX_SYMBOL:
		value.bits = LOCAL_BASE + machine->block->locals[operand->reg].offset;
		break;
	default:
		value.bits = operand->value;
	}
	return value;
}

int ptx_write(struct ptx_machine *machine, struct ptx_lane *lane,
	      const struct ptx_instruction *instruction, const struct ptx_operand *operand,
	      struct ptx_value value)
{
	switch (operand->kind) {
	case PTX_WIDE:
		lane->wides[operand->reg] = value;
		return 0;
	case PTX_WORD:
		value.bits = (uint32_t)value.bits;
		lane->words[operand->reg] = value;
		return 0;
	case PTX_PREDICATE:
		value.bits &= 1;
		lane->predicates[operand->reg] = value;
		return 0;
	case PTX_PAIR:
		lane->words[operand->reg] = (struct ptx_value){ (uint32_t)value.bits, value.set };
		lane->words[operand->other] = (struct ptx_value){ value.bits >> 32, value.set };
		return 0;
	case PTX_SPECIAL:
		if (operand->reg < PTX_KEPT || !value.set)
			return ptx_fail(machine, instruction, "this register is not written");
		lane->special[operand->reg] = value.bits;
		return 0;
	default:
		return ptx_fail(machine, instruction, "the result is no register");
	}
}

/* The address of a memory operand, or an error. */
static int find_address(struct ptx_machine *machine, struct ptx_lane *lane,
			const struct ptx_instruction *instruction,
			const struct ptx_operand *operand, uint64_t *address)
{
	struct ptx_operand base = { .kind = operand->base, .reg = operand->reg };
	struct ptx_value value = ptx_read(machine, lane, &base);

	if (operand->kind != PTX_MEMORY)
		return ptx_fail(machine, instruction, "no memory operand");
	if (!value.set)
		return ptx_fail(machine, instruction, "an address was never set");
	*address = value.bits + operand->value;
	if (*address % instruction->op->size)
		return ptx_fail(machine, instruction, "a misaligned address");
	return 0;
}

static uint8_t *local_memory(struct ptx_machine *machine, struct ptx_lane *lane,
			     const struct ptx_instruction *instruction, uint64_t address,
			     bool **set)
{
	const struct ptx_block *block = machine->block;
	uint32_t i, size = instruction->op->size;
	uint64_t offset;

	for (i = 0; i < block->locals_n; i++) {
		offset = address - LOCAL_BASE;
		if (offset >= block->locals[i].offset &&
		    offset + size <= block->locals[i].offset + block->locals[i].size) {
			*set = lane->local_set + offset;
			return lane->local + offset;
		}
	}
	ptx_fail(machine, instruction, "outside of local memory");
	return NULL;
}

uint8_t *ptx_memory(struct ptx_machine *machine, struct ptx_lane *lane,
		    const struct ptx_instruction *instruction, const struct ptx_operand *operand,
		    bool local, bool write, bool **set)
{
	const struct ptx_region *region;
	uint64_t address = 0;
	uint32_t i;

	if (find_address(machine, lane, instruction, operand, &address))
		return NULL;
	if (local)
		return local_memory(machine, lane, instruction, address, set);
	for (i = 0; i < machine->regions_n; i++) {
		region = &machine->regions[i];
		if (address < region->address || address - region->address > region->size ||
		    region->size - (address - region->address) < instruction->op->size)
			continue;
		if (write && region->read_only) {
			ptx_fail(machine, instruction, "a write to read-only memory");
			return NULL;
		}
		return region->bytes + (address - region->address);
	}
	ptx_fail(machine, instruction, "outside of memory");
	return NULL;
}

void ptx_warp_init(struct ptx_warp *warp, const struct ptx_block *block)
{
	uint32_t i;

	for (i = 0; i < PTX_LANES; i++) {
		struct ptx_lane *lane = &warp->lanes[i];

		lane->wides = calloc(block->wides + 1, sizeof(*lane->wides));
		lane->words = calloc(block->words + 1, sizeof(*lane->words));
		lane->predicates = calloc(block->predicates + 1, sizeof(*lane->predicates));
		lane->local = calloc(block->local_bytes + 1, 1);
		lane->local_set = calloc(block->local_bytes + 1, sizeof(*lane->local_set));
		lane->pc = 0;
		lane->special[PTX_LANEID] = i;
		lane->special[PTX_LANEMASK_LT] = (1u << i) - 1;
	}
}

void ptx_warp_clear(struct ptx_warp *warp)
{
	uint32_t i;

	for (i = 0; i < PTX_LANES; i++) {
		free(warp->lanes[i].wides);
		free(warp->lanes[i].words);
		free(warp->lanes[i].predicates);
		free(warp->lanes[i].local);
		free(warp->lanes[i].local_set);
	}
}

static uint32_t next_random(struct ptx_machine *machine)
{
	machine->random = machine->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return machine->random >> 33;
}

/* The lanes of a warp at one instruction, as a mask. */
static uint32_t lanes_at(const struct ptx_warp *warp, uint32_t pc)
{
	uint32_t mask = 0, i;

	for (i = 0; i < PTX_LANES; i++)
		if (warp->lanes[i].live && warp->lanes[i].pc == pc)
			mask |= 1u << i;
	return mask;
}

/* A lane that can be next, or -1: the lowest place, or any one from a random lane on. */
static int choose_lane(struct ptx_machine *machine, const struct ptx_warp *warp, uint32_t refused)
{
	uint32_t start = 0, i;
	int best = -1;
	bool any = machine->random && next_random(machine) % 4 == 0;

	if (any)
		start = next_random(machine) % PTX_LANES;
	for (i = 0; i < PTX_LANES; i++) {
		uint32_t lane = (start + i) % PTX_LANES;

		if (!warp->lanes[lane].live || (refused & 1u << lane))
			continue;
		if (any)
			return (int)lane;
		if (best < 0 || warp->lanes[lane].pc < warp->lanes[best].pc)
			best = (int)lane;
	}
	return best;
}

/* Split the group now and then, unless they wait for each other. */
static uint32_t split(struct ptx_machine *machine, uint32_t group, int lane)
{
	uint32_t part;

	if (!machine->random || next_random(machine) % 4)
		return group;
	part = group & (next_random(machine) << 16 ^ next_random(machine));
	return part | 1u << lane;
}

/* The lanes that run a synchronous instruction: those with the mask, if all are there; else 0. */
static uint32_t sync_group(struct ptx_machine *machine, struct ptx_warp *warp, uint32_t group,
			   int lane, const struct ptx_instruction *instruction)
{
	const struct ptx_operand *operand = &instruction->operands[instruction->operands_n - 1];
	struct ptx_value mask = ptx_read(machine, &warp->lanes[lane], operand);
	uint32_t i;

	if (!mask.set || !(mask.bits & 1u << lane)) {
		ptx_fail(machine, instruction, "a lane is not in its own mask");
		return 0;
	}
	if (instruction->guard >= 0)
		ptx_fail(machine, instruction, "a guarded instruction for several lanes");
	for (i = 0; i < PTX_LANES; i++) {
		if (!(mask.bits & 1u << i))
			continue;
		if (!warp->lanes[i].live)
			ptx_fail(machine, instruction, "a lane of the mask is gone");
		else if (group & 1u << i &&
			 ptx_read(machine, &warp->lanes[i], operand).bits != mask.bits)
			ptx_fail(machine, instruction, "lanes have different masks");
	}
	return (group & mask.bits) == mask.bits ? (uint32_t)mask.bits : 0;
}

static int run_group(struct ptx_machine *machine, struct ptx_warp *warp, uint32_t group,
		     const struct ptx_instruction *instruction)
{
	uint32_t active = group, i;

	for (i = 0; i < PTX_LANES; i++) {
		struct ptx_lane *lane = &warp->lanes[i];

		if (!(group & 1u << i))
			continue;
		lane->pc++;
		if (instruction->guard < 0)
			continue;
		if (!lane->predicates[instruction->guard].set)
			return ptx_fail(machine, instruction, "the guard was never set");
		if (lane->predicates[instruction->guard].bits == instruction->guard_not)
			active &= ~(1u << i);
	}
	if (active && instruction->op->run(machine, warp, active, instruction))
		return -1;
	for (i = 0; i < PTX_LANES; i++)
		if (group & 1u << i && warp->lanes[i].pc == machine->block->code_n)
			warp->lanes[i].live = false;
	return 0;
}

/* One instruction of a warp. Return: 1: done, 0: none can run, -1: an error. */
static int step_warp(struct ptx_machine *machine, struct ptx_warp *warp)
{
	const struct ptx_instruction *instruction;
	uint32_t refused = 0, group;
	int lane;

	while ((lane = choose_lane(machine, warp, refused)) >= 0) {
		instruction = &machine->block->code[warp->lanes[lane].pc];
		group = lanes_at(warp, warp->lanes[lane].pc);
		if (instruction->op->sync) {
			refused |= 1u << lane;
			group = sync_group(machine, warp, group, lane, instruction);
		} else {
			group = split(machine, group, lane);
		}
		if (machine->error[0])
			return -1;
		if (group)
			return run_group(machine, warp, group, instruction) ? -1 : 1;
	}
	return 0;
}

static bool any_live(const struct ptx_warp *warp)
{
	uint32_t i;

	for (i = 0; i < PTX_LANES; i++)
		if (warp->lanes[i].live)
			return true;
	return false;
}

int ptx_run(struct ptx_machine *machine)
{
	uint32_t warp = 0, tried;
	int result;

	machine->error[0] = '\0';
	while (machine->block->code_n) {
		if (machine->random)
			warp = next_random(machine) % machine->warps_n;
		for (tried = 0; tried < machine->warps_n; tried++)
			if (any_live(&machine->warps[(warp + tried) % machine->warps_n]))
				break;
		if (tried == machine->warps_n)
			return 0;
		warp = (warp + tried) % machine->warps_n;
		result = step_warp(machine, &machine->warps[warp]);
		if (result < 0)
			return -1;
		if (machine->watch)
			machine->watch(machine->watcher);
		if (!result) {
			snprintf(machine->error, sizeof(machine->error), "lanes wait for ever");
			return -1;
		}
		if (!machine->steps--) {
			snprintf(machine->error, sizeof(machine->error), "it does not end");
			return -1;
		}
	}
	return 0;
}
