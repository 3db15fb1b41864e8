// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Follows all paths of a program until nothing new is learnt.
 *
 * States are kept where a jump leads to. What arrives there is joined, and if that says more than
 * before, the steps from there on are gone through again, the first such step first. Numbers at the
 * head of a loop are widened after some rounds: so it ends.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "gpuprog/object/instruction.h"
#include "bounds.h"
#include "state.h"
#include "verifier.h"
#include "verify.h"

#define REMEDY "compile it again"
#define LDDW   (BPF_LD | BPF_IMM | BPF_DW)

static bool writes_register(const struct gpumon_gpuprog_step *step)
{
	uint8_t class = BPF_CLASS(step->code);

	return class == BPF_ALU || class == BPF_ALU64 || class == BPF_LD || class == BPF_LDX;
}

static bool fetches(const struct gpumon_gpuprog_step *step)
{
	return BPF_CLASS(step->code) == BPF_STX && BPF_MODE(step->code) == BPF_ATOMIC &&
	       (step->imm & BPF_FETCH) && step->imm != BPF_CMPXCHG;
}

static int check_map(const struct gpumon_gpuprog_map *map, uint32_t number, const char *program,
		     struct gpumon_error *err)
{
	const char *name = map->name ? map->name : "";
	bool looked_up = map->kind == GPUMON_GPUPROG_MAP_ARRAY ||
			 map->kind == GPUMON_GPUPROG_MAP_SM_ARRAY ||
			 map->kind == GPUMON_GPUPROG_MAP_THREAD_ARRAY ||
			 map->kind == GPUMON_GPUPROG_MAP_HASH;

	if ((unsigned int)map->kind > GPUMON_GPUPROG_MAP_DATA)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: map %u, %s, is of an unknown kind: " REMEDY, program,
					number, name);
	if (map->value_size > gpumon_gpuprog_value_max(map) || (looked_up && !map->value_size))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: values of map %u, %s, have %u bytes, 1 to %u are "
					"possible: change the map",
					program, number, name, map->value_size,
					gpumon_gpuprog_value_max(map));
	if (looked_up && (!map->key_size || map->key_size > GPUMON_GPUPROG_MAX_KEY_SIZE))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: keys of map %u, %s, have %u bytes, 1 to %d are "
					"possible: change the map",
					program, number, name, map->key_size,
					GPUMON_GPUPROG_MAX_KEY_SIZE);
	return 0;
}

static int check_program(const struct gpumon_gpuprog *program, struct gpumon_error *err)
{
	if (!program->steps_n || program->steps_n > GPUMON_GPUPROG_MAX_STEPS)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: it has %u instructions, 1 to %d are possible: make it "
					"shorter",
					program->name, program->steps_n, GPUMON_GPUPROG_MAX_STEPS);
	if (program->maps_n > GPUMON_GPUPROG_MAX_MAPS)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: it has %u maps, at most %d are possible: use fewer",
					program->name, program->maps_n, GPUMON_GPUPROG_MAX_MAPS);
	if ((unsigned int)program->point >= GPUMON_GPUPROG_POINTS)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
					"%s: it is for an unknown place: " REMEDY, program->name);
	for (uint32_t i = 0; i < program->maps_n; i++)
		if (check_map(&program->maps[i], i, program->name, err))
			return -1;
	return 0;
}

static int check_wide_constant(const struct gpumon_gpuprog *program,
			       const struct gpumon_gpuprog_step *step, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_map *map;

	if (!step->src)
		return 0;
	if (step->map >= program->maps_n)
		return gpumon_gpuprog_refuse(program, step->origin, err,
					     "map %u does not exist, there are %u: " REMEDY,
					     step->map, program->maps_n);
	map = &program->maps[step->map];
	if (step->src == BPF_PSEUDO_MAP_IDX_VALUE &&
	    (map->kind != GPUMON_GPUPROG_MAP_DATA || step->value >= map->value_size))
		return gpumon_gpuprog_refuse(
			program, step->origin, err,
			"it takes the address of byte %llu of map %s, which has no "
			"such byte: keep addresses within their variable",
			(unsigned long long)step->value, map->name ? map->name : "");
	return 0;
}

static int check_step(const struct gpumon_gpuprog *program, uint32_t at, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_step *step = &program->steps[at];
	/* A register above 15 does not fit. */
	struct bpf_insn insn = { .code = step->code,
				 .dst_reg = step->dst & 0xf,
				 .src_reg = step->src & 0xf,
				 .off = step->off,
				 .imm = step->imm };
	const char *why;

	if (step->dst > 10 || step->src > 10 || step->depth >= GPUMON_GPUPROG_MAX_DEPTH)
		return gpumon_gpuprog_refuse(
			program, step->origin, err,
			"register r%u or r%u at depth %u does not exist: " REMEDY, step->dst,
			step->src, step->depth);
	why = gpumon_gpuprog_instruction_refusal(&insn);
	if (why)
		return gpumon_gpuprog_refuse(program, step->origin, err, "opcode 0x%02x: %s",
					     step->code, why);
	if ((writes_register(step) && step->dst == 10) || (fetches(step) && step->src == 10))
		return gpumon_gpuprog_refuse(program, step->origin, err,
					     "it changes r10, the address of the stack: copy it to "
					     "another register and change that");
	if (gpumon_gpuprog_is_jump(step->code) && step->target >= program->steps_n)
		return gpumon_gpuprog_refuse(program, step->origin, err,
					     "it jumps to step %u, of %u: " REMEDY, step->target,
					     program->steps_n);
	if (step->code == (BPF_JMP | BPF_CALL) && step->src)
		return gpumon_gpuprog_refuse(
			program, step->origin, err,
			"it calls a function, which should be part of the program: "
			"" REMEDY);
	if (step->code == LDDW)
		return check_wide_constant(program, step, err);
	return 0;
}

/**
 * check_well_formed - check all fields of a program
 * @program: program; nothing in it is trusted
 * @err: the refusal
 *
 * After it registers, depths, maps, targets and opcodes are in range, and the last step does not run
 * on.
 *
 * Return: 0, or -1 with the refusal.
 */
static int check_well_formed(const struct gpumon_gpuprog *program, struct gpumon_error *err)
{
	const struct gpumon_gpuprog_step *last;

	if (check_program(program, err))
		return -1;
	for (uint32_t at = 0; at < program->steps_n; at++)
		if (check_step(program, at, err))
			return -1;
	last = &program->steps[program->steps_n - 1];
	if (gpumon_gpuprog_falls_through(last->code))
		return gpumon_gpuprog_refuse(
			program, last->origin, err,
			"the program runs on over its end: end it with a return, "
			"without __builtin_unreachable()");
	return 0;
}

/* The right operand: a register or the constant. */
static int read_right(struct gpumon_verifier *verifier, struct gpumon_reg_state *right)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);

	if (BPF_SRC(step->code) == BPF_X)
		return gpumon_verifier_read(verifier, step->src, right);
	*right = gpumon_reg_scalar(gpumon_bounds_constant((uint64_t)(int64_t)step->imm));
	return 0;
}

static void set_scalar(struct gpumon_verifier *verifier, struct gpumon_bounds number)
{
	*gpumon_verifier_register(verifier, gpumon_verifier_step(verifier)->dst) =
		gpumon_reg_scalar(number);
}

static int move_register(struct gpumon_verifier *verifier, const struct gpumon_reg_state *from)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	struct gpumon_reg_state *to = gpumon_verifier_register(verifier, step->dst);
	bool whole = BPF_CLASS(step->code) == BPF_ALU64 && !step->off;

	if (!whole && gpumon_reg_is_address(from))
		return GPUMON_REFUSE(
			verifier, "it takes part of r%u, %s: an address can only be copied whole",
			step->src, gpumon_verifier_kind_text(from));
	/* A number of 32 bits stays the same in the lower half. */
	if (whole ||
	    (BPF_CLASS(step->code) == BPF_ALU && !step->off && from->bounds.umax <= UINT32_MAX)) {
		if (step->src == 10)
			*to = *from;
		else
			*to = gpumon_state_share(verifier->state,
						 gpumon_verifier_register(verifier, step->src),
						 gpumon_verifier_id(verifier));
		return 0;
	}
	set_scalar(verifier, gpumon_bounds_move(step->code, step->off, &from->bounds));
	return 0;
}

static int alu_move(struct gpumon_verifier *verifier)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	struct gpumon_reg_state right;

	if (read_right(verifier, &right))
		return -1;
	if (BPF_SRC(step->code) == BPF_X)
		return move_register(verifier, &right);
	set_scalar(verifier, gpumon_bounds_move(step->code, 0, &right.bounds));
	return 0;
}

static int alu_unary(struct gpumon_verifier *verifier)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	struct gpumon_bounds zero = gpumon_bounds_constant(0);
	uint8_t class = BPF_CLASS(step->code);
	struct gpumon_reg_state reg;

	if (gpumon_verifier_read_scalar(verifier, step->dst, "the operand", &reg))
		return -1;
	if (BPF_OP(step->code) == BPF_NEG)
		set_scalar(verifier, gpumon_bounds_alu(class | BPF_SUB, false, &zero, &reg.bounds));
	else
		set_scalar(verifier, gpumon_bounds_byte_order(
					     class == BPF_ALU64 || BPF_SRC(step->code) == BPF_TO_BE,
					     step->imm, &reg.bounds));
	return 0;
}

static bool same_object(const struct gpumon_reg_state *a, const struct gpumon_reg_state *b)
{
	return a->kind == b->kind && a->depth == b->depth && a->maps == b->maps;
}

/* An address and a number, or the distance of two addresses. */
static int alu_address(struct gpumon_verifier *verifier, const struct gpumon_reg_state *left,
		       const struct gpumon_reg_state *right)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	bool both = gpumon_reg_is_address(left) && gpumon_reg_is_address(right);
	const struct gpumon_reg_state *address = gpumon_reg_is_address(left) ? left : right;
	const struct gpumon_reg_state *number = address == left ? right : left;
	uint8_t op = BPF_OP(step->code);
	struct gpumon_reg_state moved;

	if (left->maybe_null || right->maybe_null)
		return GPUMON_REFUSE(verifier,
				     "it calculates with an address that may be NULL: compare it "
				     "with NULL first");
	if (address->kind == GPUMON_GPUPROG_MAP)
		return GPUMON_REFUSE(
			verifier, "it calculates with map %s itself: look up a value and use that",
			gpumon_verifier_map_name(verifier, gpumon_reg_map(address)));
	if (BPF_CLASS(step->code) == BPF_ALU64 && op == BPF_SUB && both &&
	    same_object(left, right)) {
		/* The two addresses may lead into different values of one map. */
		set_scalar(verifier, gpumon_bounds_any());
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
	moved.bounds = gpumon_bounds_alu(step->code, false, &address->bounds, &number->bounds);
	*gpumon_verifier_register(verifier, step->dst) = moved;
	return 0;
}

int gpumon_verifier_alu(struct gpumon_verifier *verifier)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	struct gpumon_reg_state left, right;

	if (BPF_OP(step->code) == BPF_MOV)
		return alu_move(verifier);
	if (BPF_OP(step->code) == BPF_NEG || BPF_OP(step->code) == BPF_END)
		return alu_unary(verifier);
	if (gpumon_verifier_read(verifier, step->dst, &left) || read_right(verifier, &right))
		return -1;
	if (gpumon_reg_is_address(&left) || gpumon_reg_is_address(&right))
		return alu_address(verifier, &left, &right);
	set_scalar(verifier,
		   gpumon_bounds_alu(step->code, step->off == 1, &left.bounds, &right.bounds));
	return 0;
}

/* Write what is known now to a register and to all that are equal to it. */
static void set_refined(struct gpumon_state *state, unsigned int depth, unsigned int number,
			const struct gpumon_reg_state *reg)
{
	if (reg->id)
		gpumon_state_refine(state, reg->id, reg);
	*gpumon_state_register(state, depth, number) = *reg;
}

static bool assume_numbers(const struct gpumon_gpuprog_step *step, bool taken,
			   struct gpumon_state *state, struct gpumon_reg_state left,
			   struct gpumon_reg_state right)
{
	if (!gpumon_bounds_assume(step->code, taken, &left.bounds, &right.bounds))
		return false;
	set_refined(state, step->depth, step->dst, &left);
	if (BPF_SRC(step->code) == BPF_X)
		set_refined(state, step->depth, step->src, &right);
	return true;
}

/* An address that is compared with NULL: is it one? */
static bool assume_null(const struct gpumon_gpuprog_step *step, bool null, unsigned int number,
			struct gpumon_state *state, struct gpumon_reg_state address)
{
	uint32_t id = address.id;

	if (!address.maybe_null)
		return !null;
	address.maybe_null = false;
	if (null)
		address = gpumon_reg_scalar(gpumon_bounds_constant(0));
	if (id)
		gpumon_state_refine(state, id, &address);
	*gpumon_state_register(state, step->depth, number) = address;
	return true;
}

/* @number: register with @address */
static int compare_with_null(struct gpumon_verifier *verifier, struct gpumon_state *taken,
			     unsigned int number, const struct gpumon_reg_state *address,
			     bool *falls_through, bool *jumps)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	bool equal = BPF_OP(step->code) == BPF_JEQ;

	/* An address so far away from its object may be any number. */
	if (address->bounds.smin < INT32_MIN || address->bounds.smax > INT32_MAX)
		return 0;
	if (number == 10) {
		*jumps = !equal;
		*falls_through = equal;
		return 0;
	}
	*jumps = assume_null(step, equal, number, taken, *address);
	*falls_through = assume_null(step, !equal, number, verifier->state, *address);
	return 0;
}

static int compare_addresses(struct gpumon_verifier *verifier, const struct gpumon_reg_state *left,
			     const struct gpumon_reg_state *right)
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
			   bool *falls_through, bool *jumps)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	bool wide = BPF_CLASS(step->code) == BPF_JMP, registers = BPF_SRC(step->code) == BPF_X;
	bool equality = BPF_OP(step->code) == BPF_JEQ || BPF_OP(step->code) == BPF_JNE;
	struct gpumon_reg_state left, right;

	if (gpumon_verifier_read(verifier, step->dst, &left))
		return -1;
	right = gpumon_reg_scalar(gpumon_bounds_constant((uint64_t)(int64_t)step->imm));
	if (registers && gpumon_verifier_read(verifier, step->src, &right))
		return -1;
	gpumon_state_copy(taken, verifier->state);
	*falls_through = true;
	*jumps = true;
	if (left.kind == GPUMON_GPUPROG_SCALAR && right.kind == GPUMON_GPUPROG_SCALAR) {
		/* Two copies of one number would be narrowed as if they were two numbers. */
		if (registers && step->dst == step->src)
			return 0;
		*jumps = assume_numbers(step, true, taken, left, right);
		*falls_through = assume_numbers(step, false, verifier->state, left, right);
		return 0;
	}
	if (wide && equality && gpumon_reg_is_constant(&right, 0))
		return compare_with_null(verifier, taken, step->dst, &left, falls_through, jumps);
	if (wide && equality && gpumon_reg_is_constant(&left, 0))
		return compare_with_null(verifier, taken, step->src, &right, falls_through, jumps);
	if (wide && gpumon_reg_is_address(&left) && gpumon_reg_is_address(&right))
		return compare_addresses(verifier, &left, &right);
	return GPUMON_REFUSE(verifier,
			     "it compares %s with %s: an address can be compared with NULL and "
			     "with one of the same kind",
			     gpumon_verifier_kind_text(&left), gpumon_verifier_kind_text(&right));
}

#define JOINS_EXACT	    3  /* of a loop, before bounds are widened */
#define JOINS_TO_THRESHOLDS 12 /* and before they are widened as far as possible */
#define FIRST_IDS	    (GPUMON_GPUPROG_MAX_STEPS + 1u) /* below are those of gpumon_verifier_id() */
#define BITS		    64
#define WORDS(bits)	    (((bits) + BITS - 1) / BITS)

/* Steps that are gone through at most: so many for each, and some more. */
#define VISITS	   64
#define MORE	   65536
#define MAX_MEMORY (128ul << 20) /* bytes of states at most */

/**
 * struct join_point - a step that a jump leads to
 * @state: what is known there; NULL: not reached yet
 * @size: bytes of @state
 * @joins: how often something arrived
 * @is_target: a jump leads here
 * @is_loop_head: a jump backwards leads here
 */
struct join_point {
	struct gpumon_packed_state *state;
	size_t size;
	uint32_t joins;
	bool is_target;
	bool is_loop_head;
};

/**
 * struct walk - a walk
 * @verifier: verifier
 * @join_points: one for each step
 * @pending: join points to go on from, a bit each
 * @first: no word of @pending below has one
 * @arrived: scratch: state at a join point
 * @taken: scratch: state of a jump
 * @thresholds: constants that are compared with
 * @left: steps that may still be gone through
 * @memory: bytes of all states
 */
struct walk {
	struct gpumon_verifier *verifier;
	struct join_point *join_points;
	uint64_t *pending;
	uint32_t first;
	struct gpumon_state *arrived;
	struct gpumon_state *taken;
	struct gpumon_thresholds thresholds;
	uint64_t left;
	size_t memory;
};

static int refuse_complex(const struct gpumon_verifier *verifier)
{
	return GPUMON_REFUSE(verifier, "too much has to be followed to verify the program: make it "
				       "shorter, with fewer loops inside each other");
}

static void find_join_points(struct walk *walk)
{
	const struct gpumon_gpuprog *program = walk->verifier->program;

	for (uint32_t at = 0; at < program->steps_n; at++) {
		const struct gpumon_gpuprog_step *step = &program->steps[at];

		if (!gpumon_gpuprog_is_jump(step->code))
			continue;
		walk->join_points[step->target].is_target = true;
		if (step->target <= at)
			walk->join_points[step->target].is_loop_head = true;
		if (BPF_OP(step->code) != BPF_JA && BPF_SRC(step->code) == BPF_K)
			for (int64_t near = -1; near <= 1; near++)
				gpumon_thresholds_add(&walk->thresholds, step->imm + near);
	}
}

static struct gpumon_widening widening_of(const struct walk *walk, const struct join_point *point)
{
	return (struct gpumon_widening){ .on = point->is_loop_head && point->joins > JOINS_EXACT,
					 .thresholds = point->joins > JOINS_TO_THRESHOLDS ?
							       NULL :
							       &walk->thresholds };
}

/* A state of the current step leads to join point @to. The state may be changed. */
static int join_at(struct walk *walk, struct gpumon_state *state, uint32_t to)
{
	const struct gpumon_gpuprog_step *steps = walk->verifier->program->steps;
	struct join_point *point = &walk->join_points[to];
	struct gpumon_widening widening;
	size_t size = point->size;

	gpumon_state_change_depth(state, steps[walk->verifier->at].depth, steps[to].depth);
	if (point->state) {
		point->joins++;
		widening = widening_of(walk, point);
		gpumon_state_unpack(point->state, walk->arrived);
		if (!gpumon_state_join(walk->arrived, state, &widening,
				       FIRST_IDS + to * GPUMON_STATE_REGISTERS_AND_SLOTS))
			return 0;
		state = walk->arrived;
	}
	gpumon_state_pack(state, &point->state, &point->size);
	walk->memory += point->size - size;
	if (walk->memory > MAX_MEMORY)
		return refuse_complex(walk->verifier);
	walk->pending[to / BITS] |= 1ull << to % BITS;
	if (walk->first > to / BITS)
		walk->first = to / BITS;
	return 0;
}

static int walk_jump(struct walk *walk, bool *falls_through)
{
	struct gpumon_verifier *verifier = walk->verifier;
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	struct gpumon_gpuprog_fact *fact = &verifier->facts[verifier->at];

	fact->back_edge = step->target <= verifier->at;
	if (BPF_OP(step->code) == BPF_JA) {
		*falls_through = false;
		return join_at(walk, verifier->state, step->target);
	}
	if (gpumon_verifier_branch(verifier, walk->taken, &fact->falls_through, &fact->jumps))
		return -1;
	*falls_through = fact->falls_through;
	return fact->jumps ? join_at(walk, walk->taken, step->target) : 0;
}

static void load_wide_constant(struct gpumon_verifier *verifier)
{
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);
	struct gpumon_reg_state reg = gpumon_reg_scalar(gpumon_bounds_constant(step->value));

	if (step->src)
		reg.maps = 1ull << step->map;
	if (step->src == BPF_PSEUDO_MAP_IDX)
		reg.kind = GPUMON_GPUPROG_MAP;
	else if (step->src == BPF_PSEUDO_MAP_IDX_VALUE)
		reg.kind = GPUMON_GPUPROG_VALUE;
	if (reg.kind == GPUMON_GPUPROG_MAP)
		reg.bounds = gpumon_bounds_constant(0);
	*gpumon_verifier_register(verifier, step->dst) = reg;
}

static int walk_step(struct walk *walk, bool *falls_through)
{
	struct gpumon_verifier *verifier = walk->verifier;
	const struct gpumon_gpuprog_step *step = gpumon_verifier_step(verifier);

	*falls_through = true;
	switch (BPF_CLASS(step->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return gpumon_verifier_alu(verifier);
	case BPF_LD:
		load_wide_constant(verifier);
		return 0;
	case BPF_LDX:
		return gpumon_verifier_load(verifier);
	case BPF_ST:
		return gpumon_verifier_store(verifier);
	case BPF_STX:
		return BPF_MODE(step->code) == BPF_ATOMIC ? gpumon_verifier_atomic(verifier) :
							    gpumon_verifier_store(verifier);
	default:
		if (gpumon_gpuprog_is_jump(step->code))
			return walk_jump(walk, falls_through);
		*falls_through = gpumon_gpuprog_falls_through(step->code);
		return *falls_through ? gpumon_verifier_call(verifier) : 0;
	}
}

/* Walks from a join point to the next one, or to the end of the path. */
static int walk_from(struct walk *walk, uint32_t from)
{
	struct gpumon_verifier *verifier = walk->verifier;
	const struct gpumon_gpuprog_step *steps = verifier->program->steps;
	bool falls_through = true;

	for (verifier->at = from; falls_through; verifier->at++) {
		uint32_t at = verifier->at;

		if (!walk->left--)
			return refuse_complex(verifier);
		verifier->facts[at] = (struct gpumon_gpuprog_fact){ .reached = true };
		if (walk_step(walk, &falls_through))
			return -1;
		if (falls_through && walk->join_points[at + 1].is_target)
			return join_at(walk, verifier->state, at + 1);
		if (falls_through)
			gpumon_state_change_depth(verifier->state, steps[at].depth,
						  steps[at + 1].depth);
	}
	return 0;
}

static bool take_pending(struct walk *walk, uint32_t *at)
{
	uint32_t words = WORDS(walk->verifier->program->steps_n);

	for (; walk->first < words; walk->first++) {
		uint64_t *word = &walk->pending[walk->first];

		if (!*word)
			continue;
		*at = walk->first * BITS + (uint32_t)__builtin_ctzll(*word);
		*word &= *word - 1;
		return true;
	}
	return false;
}

static int walk_all(struct walk *walk)
{
	struct gpumon_verifier *verifier = walk->verifier;
	uint32_t at;

	find_join_points(walk);
	/* The entry is a join point even if no jump leads there. */
	gpumon_state_begin(verifier->state, verifier->program);
	verifier->at = 0;
	if (join_at(walk, verifier->state, 0))
		return -1;
	while (take_pending(walk, &at)) {
		gpumon_state_unpack(walk->join_points[at].state, verifier->state);
		if (walk_from(walk, at))
			return -1;
	}
	return 0;
}

static int walk_program(struct gpumon_verifier *verifier)
{
	uint32_t steps_n = verifier->program->steps_n;
	struct walk walk = {
		.verifier = verifier,
		.join_points = gpumon_calloc(steps_n, sizeof(*walk.join_points)),
		.pending = gpumon_calloc(WORDS(steps_n), sizeof(*walk.pending)),
		.arrived = gpumon_calloc(1, sizeof(*walk.arrived)),
		.taken = gpumon_calloc(1, sizeof(*walk.taken)),
		.left = (uint64_t)steps_n * VISITS + MORE,
	};
	int ret;

	verifier->state = gpumon_calloc(1, sizeof(*verifier->state));
	ret = walk_all(&walk);
	for (uint32_t at = 0; at < steps_n; at++)
		free(walk.join_points[at].state);
	free(walk.join_points);
	free(walk.pending);
	free(walk.arrived);
	free(walk.taken);
	free(verifier->state);
	return ret;
}

int gpumon_gpuprog_verify(const struct gpumon_gpuprog *program,
			  const struct gpumon_gpuprog_rules *rules,
			  struct gpumon_gpuprog_fact *facts, struct gpumon_error *err)
{
	struct gpumon_verifier verifier = {
		.program = program, .rules = rules, .facts = facts, .err = err
	};

	if (check_well_formed(program, err))
		return -1;
	memset(facts, 0, program->steps_n * sizeof(*facts));
	return walk_program(&verifier);
}
