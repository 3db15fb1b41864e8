// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "number_alu.h"
#include "verifier.h"

/* The right operand: a register or the constant. */
static int read_right(struct gpumon_verifier *verifier, struct gpumon_cell *right)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);

	if (BPF_SRC(step->code) == BPF_X)
		return gpumon_verifier_read(verifier, step->src, right);
	*right = gpumon_cell_number(gpumon_number_constant((uint64_t)(int64_t)step->imm));
	return 0;
}

static void set_number(struct gpumon_verifier *verifier, struct gpumon_number number)
{
	*gpumon_verifier_register(verifier, gpumon_verifier_step(verifier)->dst) =
		gpumon_cell_number(number);
}

static int move_register(struct gpumon_verifier *verifier, const struct gpumon_cell *from)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	struct gpumon_cell *to = gpumon_verifier_register(verifier, step->dst);
	bool whole = BPF_CLASS(step->code) == BPF_ALU64 && !step->off;

	if (!whole && gpumon_cell_is_address(from))
		return GPUMON_REFUSE(
			verifier, "it takes part of r%u, %s: an address can only be copied whole",
			step->src, gpumon_verifier_kind_text(from));
	/* A number of 32 bits stays the same in the lower half. */
	if (whole ||
	    (BPF_CLASS(step->code) == BPF_ALU && !step->off && from->number.umax <= UINT32_MAX)) {
		if (step->src == 10)
			*to = *from;
		else
			*to = gpumon_state_share(verifier->state,
						 gpumon_verifier_register(verifier, step->src),
						 gpumon_verifier_id(verifier));
		return 0;
	}
	set_number(verifier, gpumon_number_move(step->code, step->off, &from->number));
	return 0;
}

static int alu_move(struct gpumon_verifier *verifier)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	struct gpumon_cell right;

	if (read_right(verifier, &right))
		return -1;
	if (BPF_SRC(step->code) == BPF_X)
		return move_register(verifier, &right);
	set_number(verifier, gpumon_number_move(step->code, 0, &right.number));
	return 0;
}

static int alu_unary(struct gpumon_verifier *verifier)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	struct gpumon_number zero = gpumon_number_constant(0);
	uint8_t class = BPF_CLASS(step->code);
	struct gpumon_cell cell;

	if (gpumon_verifier_read_number(verifier, step->dst, "the operand", &cell))
		return -1;
	if (BPF_OP(step->code) == BPF_NEG)
		set_number(verifier,
			   gpumon_number_alu(class | BPF_SUB, false, &zero, &cell.number));
	else
		set_number(verifier, gpumon_number_byte_order(
					     class == BPF_ALU64 || BPF_SRC(step->code) == BPF_TO_BE,
					     step->imm, &cell.number));
	return 0;
}

static bool same_object(const struct gpumon_cell *a, const struct gpumon_cell *b)
{
	return a->kind == b->kind && a->depth == b->depth && a->maps == b->maps;
}

/* An address and a number, or the distance of two addresses. */
static int alu_address(struct gpumon_verifier *verifier, const struct gpumon_cell *left,
		       const struct gpumon_cell *right)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	bool both = gpumon_cell_is_address(left) && gpumon_cell_is_address(right);
	const struct gpumon_cell *address = gpumon_cell_is_address(left) ? left : right;
	const struct gpumon_cell *number = address == left ? right : left;
	uint8_t op = BPF_OP(step->code);
	struct gpumon_cell moved;

	if (left->maybe_null || right->maybe_null)
		return GPUMON_REFUSE(verifier,
				     "it calculates with an address that may be NULL: compare it "
				     "with NULL first");
	if (address->kind == GPUMON_PROBE_MAP)
		return GPUMON_REFUSE(
			verifier, "it calculates with map %s itself: look up a value and use that",
			gpumon_verifier_map_name(verifier, gpumon_cell_map(address)));
	if (BPF_CLASS(step->code) == BPF_ALU64 && op == BPF_SUB && both &&
	    same_object(left, right)) {
		/* They may be different values of one map. */
		set_number(verifier, gpumon_number_any());
		return 0;
	}
	if (BPF_CLASS(step->code) != BPF_ALU64 || both ||
	    (op != BPF_ADD && (op != BPF_SUB || address == right)))
		return GPUMON_REFUSE(verifier,
				     "it makes a useless number of %s: only add a number to an "
				     "address, or subtract one",
				     gpumon_verifier_kind_text(address));
	moved = *address;
	moved.id = 0;
	moved.number = gpumon_number_alu(step->code, false, &address->number, &number->number);
	*gpumon_verifier_register(verifier, step->dst) = moved;
	return 0;
}

int gpumon_verifier_alu(struct gpumon_verifier *verifier)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	struct gpumon_cell left, right;

	if (BPF_OP(step->code) == BPF_MOV)
		return alu_move(verifier);
	if (BPF_OP(step->code) == BPF_NEG || BPF_OP(step->code) == BPF_END)
		return alu_unary(verifier);
	if (gpumon_verifier_read(verifier, step->dst, &left) || read_right(verifier, &right))
		return -1;
	if (gpumon_cell_is_address(&left) || gpumon_cell_is_address(&right))
		return alu_address(verifier, &left, &right);
	set_number(verifier,
		   gpumon_number_alu(step->code, step->off == 1, &left.number, &right.number));
	return 0;
}
