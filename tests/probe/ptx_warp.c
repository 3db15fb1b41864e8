// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Instructions that say which lanes go on, and those of which lanes see each other. */
#include "ptx_lane.h"

int ptx_run_bra(PTX_ARGUMENTS)
{
	uint32_t i;

	(void)machine;
	PTX_EACH_LANE(i) warp->lanes[i].pc = instruction->operands[0].reg;
	return 0;
}

int ptx_run_exit(PTX_ARGUMENTS)
{
	uint32_t i;

	(void)machine;
	(void)instruction;
	PTX_EACH_LANE(i)
	{
		warp->lanes[i].live = false;
		warp->lanes[i].exited = true;
	}
	return 0;
}

int ptx_run_nothing(PTX_ARGUMENTS)
{
	(void)machine;
	(void)warp;
	(void)group;
	(void)instruction;
	return 0;
}

static int write_each(PTX_ARGUMENTS, const struct ptx_value *results)
{
	uint32_t i;

	PTX_EACH_LANE(i)
	{
		if (ptx_write(machine, &warp->lanes[i], instruction, &instruction->operands[0],
			      results[i]))
			return -1;
	}
	return 0;
}

static int write_same(PTX_ARGUMENTS, struct ptx_value result)
{
	struct ptx_value results[PTX_LANES];

	for (uint32_t i = 0; i < PTX_LANES; i++)
		results[i] = result;
	return write_each(machine, warp, group, instruction, results);
}

int ptx_run_activemask(PTX_ARGUMENTS)
{
	return write_same(machine, warp, group, instruction, (struct ptx_value){ group, true });
}

int ptx_run_ballot(PTX_ARGUMENTS)
{
	struct ptx_value in, result = { 0, true };
	uint32_t i;

	PTX_EACH_LANE(i)
	{
		in = ptx_read(machine, &warp->lanes[i], &instruction->operands[1]);
		result.bits |= in.bits << i;
		result.set &= in.set;
	}
	return write_same(machine, warp, group, instruction, result);
}

int ptx_run_shfl(PTX_ARGUMENTS)
{
	struct ptx_value results[PTX_LANES], from;
	uint32_t i;

	PTX_EACH_LANE(i)
	{
		from = ptx_read(machine, &warp->lanes[i], &instruction->operands[2]);
		if (!from.set || from.bits >= PTX_LANES || !(group & 1u << from.bits))
			return ptx_fail(machine, instruction, "a lane that does not take part");
		results[i] = ptx_read(machine, &warp->lanes[from.bits], &instruction->operands[1]);
	}
	return write_each(machine, warp, group, instruction, results);
}

int ptx_run_match(PTX_ARGUMENTS)
{
	struct ptx_value results[PTX_LANES], mine, other;
	uint32_t i, j;

	PTX_EACH_LANE(i)
	{
		results[i] = (struct ptx_value){ 0, true };
		mine = ptx_read(machine, &warp->lanes[i], &instruction->operands[1]);
		PTX_EACH_LANE(j)
		{
			other = ptx_read(machine, &warp->lanes[j], &instruction->operands[1]);
			results[i].set &= mine.set & other.set;
			results[i].bits |= (uint64_t)(mine.bits == other.bits) << j;
		}
	}
	return write_each(machine, warp, group, instruction, results);
}

int ptx_run_match_all(PTX_ARGUMENTS)
{
	struct ptx_value result = { 1, true }, first = { 0 }, mine;
	bool begun = false;
	uint32_t i;

	PTX_EACH_LANE(i)
	{
		mine = ptx_read(machine, &warp->lanes[i], &instruction->operands[1]);
		if (!begun)
			first = mine;
		begun = true;
		result.bits &= mine.bits == first.bits;
		result.set &= mine.set;
	}
	return write_same(machine, warp, group, instruction, result);
}
