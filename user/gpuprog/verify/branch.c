// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "number_test.h"
#include "verifier.h"

/* Write what is known now to a register and to all that are equal to it. */
static void set_refined(struct gpumon_state *state, unsigned int depth, unsigned int number,
			const struct gpumon_cell *cell)
{
	if (cell->id)
		gpumon_state_refine(state, cell->id, cell);
	*gpumon_state_register(state, depth, number) = *cell;
}

static bool assume_numbers(const struct gpumon_probe_step *step, bool taken,
			   struct gpumon_state *state, struct gpumon_cell left,
			   struct gpumon_cell right)
{
	if (!gpumon_number_assume(step->code, taken, &left.number, &right.number))
		return false;
	set_refined(state, step->depth, step->dst, &left);
	if (BPF_SRC(step->code) == BPF_X)
		set_refined(state, step->depth, step->src, &right);
	return true;
}

/* An address that is compared with NULL: is it one? */
static bool assume_null(const struct gpumon_probe_step *step, bool null, unsigned int number,
			struct gpumon_state *state, struct gpumon_cell address)
{
	uint32_t id = address.id;

	if (!address.maybe_null)
		return !null;
	address.maybe_null = false;
	if (null)
		address = gpumon_cell_number(gpumon_number_constant(0));
	if (id)
		gpumon_state_refine(state, id, &address);
	*gpumon_state_register(state, step->depth, number) = address;
	return true;
}

/* @number: register with @address */
static int compare_with_null(struct gpumon_verifier *verifier, struct gpumon_state *taken,
			     unsigned int number, const struct gpumon_cell *address, bool *runs_on,
			     bool *jumps)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	bool equal = BPF_OP(step->code) == BPF_JEQ;

	/* So far away from its object, an address may be any number. */
	if (address->number.smin < INT32_MIN || address->number.smax > INT32_MAX)
		return 0;
	if (number == 10) {
		*jumps = !equal;
		*runs_on = equal;
		return 0;
	}
	*jumps = assume_null(step, equal, number, taken, *address);
	*runs_on = assume_null(step, !equal, number, verifier->state, *address);
	return 0;
}

static int compare_addresses(struct gpumon_verifier *verifier, const struct gpumon_cell *left,
			     const struct gpumon_cell *right)
{
	if (left->maybe_null || right->maybe_null)
		return GPUMON_REFUSE(verifier,
				     "it compares an address that may be NULL with another one: "
				     "compare it with NULL first");
	if (left->kind != right->kind || left->maps != right->maps || left->depth != right->depth ||
	    BPF_OP(gpumon_verifier_step(verifier)->code) == BPF_JSET)
		return GPUMON_REFUSE(verifier,
				     "it compares %s with %s: only compare addresses in the same "
				     "value or stack",
				     gpumon_verifier_kind_text(left),
				     gpumon_verifier_kind_text(right));
	return 0;
}

int gpumon_verifier_branch(struct gpumon_verifier *verifier, struct gpumon_state *taken,
			   bool *runs_on, bool *jumps)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	bool wide = BPF_CLASS(step->code) == BPF_JMP, registers = BPF_SRC(step->code) == BPF_X;
	bool equality = BPF_OP(step->code) == BPF_JEQ || BPF_OP(step->code) == BPF_JNE;
	struct gpumon_cell left, right;

	if (gpumon_verifier_read(verifier, step->dst, &left))
		return -1;
	right = gpumon_cell_number(gpumon_number_constant((uint64_t)(int64_t)step->imm));
	if (registers && gpumon_verifier_read(verifier, step->src, &right))
		return -1;
	gpumon_state_copy(taken, verifier->state);
	*runs_on = true;
	*jumps = true;
	if (left.kind == GPUMON_PROBE_NUMBER && right.kind == GPUMON_PROBE_NUMBER) {
		/* Two copies of one number would be narrowed as if they were two numbers. */
		if (registers && step->dst == step->src)
			return 0;
		*jumps = assume_numbers(step, true, taken, left, right);
		*runs_on = assume_numbers(step, false, verifier->state, left, right);
		return 0;
	}
	if (wide && equality && gpumon_cell_is_constant(&right, 0))
		return compare_with_null(verifier, taken, step->dst, &left, runs_on, jumps);
	if (wide && equality && gpumon_cell_is_constant(&left, 0))
		return compare_with_null(verifier, taken, step->src, &right, runs_on, jumps);
	if (wide && gpumon_cell_is_address(&left) && gpumon_cell_is_address(&right))
		return compare_addresses(verifier, &left, &right);
	return GPUMON_REFUSE(verifier,
			     "it compares %s with %s: an address can be compared with NULL and "
			     "with one of the same kind",
			     gpumon_verifier_kind_text(&left), gpumon_verifier_kind_text(&right));
}
