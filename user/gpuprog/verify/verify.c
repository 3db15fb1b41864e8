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

#include "join.h"
#include "gpuprog/object/instruction.h"
#include "shape.h"
#include "verifier.h"

#define JOINS	    3  /* of a loop, before bounds are widened */
#define MARKED	    12 /* and before they are widened as far as possible */
#define FIRST_IDS   (GPUMON_PROBE_MAX_STEPS + 1u) /* below are those of gpumon_verifier_id() */
#define BITS	    64
#define WORDS(bits) (((bits) + BITS - 1) / BITS)

/* Steps that are gone through at most: so many for each, and some more. */
#define VISITS	   64
#define MORE	   65536
#define MAX_MEMORY (128ul << 20) /* bytes of states at most */

/**
 * struct head - a step that a jump leads to
 * @state: what is known there; NULL: not reached yet
 * @size: bytes of @state
 * @joins: how often something arrived
 * @is_head: a jump leads here
 * @is_loop: so does a jump backwards
 */
struct head {
	struct gpumon_packed_state *state;
	size_t size;
	uint32_t joins;
	bool is_head;
	bool is_loop;
};

/**
 * struct walk - a walk
 * @verifier: verifier
 * @heads: one for each step
 * @pending: heads to go on from, a bit each
 * @first: no word of @pending below has one
 * @arrived: scratch: state at a head
 * @taken: scratch: state of a jump
 * @marks: constants that are compared with
 * @left: steps that may still be gone through
 * @memory: bytes of all states
 */
struct walk {
	struct gpumon_verifier *verifier;
	struct head *heads;
	uint64_t *pending;
	uint32_t first;
	struct gpumon_state *arrived;
	struct gpumon_state *taken;
	struct gpumon_number_marks marks;
	uint64_t left;
	size_t memory;
};

static int refuse_complex(const struct gpumon_verifier *verifier)
{
	return GPUMON_REFUSE(verifier, "too much has to be followed to verify the program: make it "
				       "shorter, with fewer loops inside each other");
}

static void find_heads(struct walk *walk)
{
	const struct gpumon_probe_program *program = walk->verifier->program;

	for (uint32_t at = 0; at < program->steps_n; at++) {
		const struct gpumon_probe_step *step = &program->steps[at];

		if (!gpumon_probe_is_jump(step->code))
			continue;
		walk->heads[step->target].is_head = true;
		if (step->target <= at)
			walk->heads[step->target].is_loop = true;
		if (BPF_OP(step->code) != BPF_JA && BPF_SRC(step->code) == BPF_K)
			for (int64_t near = -1; near <= 1; near++)
				gpumon_number_mark(&walk->marks, step->imm + near);
	}
}

static struct gpumon_widening widening_of(const struct walk *walk, const struct head *head)
{
	return (struct gpumon_widening){ .on = head->is_loop && head->joins > JOINS,
					 .marks = head->joins > MARKED ? NULL : &walk->marks };
}

/* A state of step @from leads to head @to. The state may be changed. */
static int arrive_at_head(struct walk *walk, struct gpumon_state *state, uint32_t to)
{
	const struct gpumon_probe_step *steps = walk->verifier->program->steps;
	struct head *head = &walk->heads[to];
	struct gpumon_widening widening;
	size_t size = head->size;

	gpumon_state_change_depth(state, steps[walk->verifier->at].depth, steps[to].depth);
	if (head->state) {
		head->joins++;
		widening = widening_of(walk, head);
		gpumon_state_unpack(head->state, walk->arrived);
		if (!gpumon_state_join(walk->arrived, state, &widening,
				       FIRST_IDS + to * GPUMON_STATE_CELLS))
			return 0;
		state = walk->arrived;
	}
	if (gpumon_state_pack(state, &head->state, &head->size))
		return gpumon_error_memory(walk->verifier->err);
	walk->memory += head->size - size;
	if (walk->memory > MAX_MEMORY)
		return refuse_complex(walk->verifier);
	walk->pending[to / BITS] |= 1ull << to % BITS;
	if (walk->first > to / BITS)
		walk->first = to / BITS;
	return 0;
}

static int walk_jump(struct walk *walk, bool *runs_on)
{
	struct gpumon_verifier *verifier = walk->verifier;
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	struct gpumon_probe_fact *fact = &verifier->facts[verifier->at];

	fact->back_edge = step->target <= verifier->at;
	if (BPF_OP(step->code) == BPF_JA) {
		*runs_on = false;
		return arrive_at_head(walk, verifier->state, step->target);
	}
	if (gpumon_verifier_branch(verifier, walk->taken, &fact->runs_on, &fact->jumps))
		return -1;
	*runs_on = fact->runs_on;
	return fact->jumps ? arrive_at_head(walk, walk->taken, step->target) : 0;
}

static void load_wide_constant(struct gpumon_verifier *verifier)
{
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);
	struct gpumon_cell cell = gpumon_cell_number(gpumon_number_constant(step->value));

	if (step->src)
		cell.maps = 1ull << step->map;
	if (step->src == BPF_PSEUDO_MAP_IDX)
		cell.kind = GPUMON_PROBE_MAP;
	else if (step->src == BPF_PSEUDO_MAP_IDX_VALUE)
		cell.kind = GPUMON_PROBE_VALUE;
	if (cell.kind == GPUMON_PROBE_MAP)
		cell.number = gpumon_number_constant(0);
	*gpumon_verifier_register(verifier, step->dst) = cell;
}

static int walk_step(struct walk *walk, bool *runs_on)
{
	struct gpumon_verifier *verifier = walk->verifier;
	const struct gpumon_probe_step *step = gpumon_verifier_step(verifier);

	*runs_on = true;
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
		if (gpumon_probe_is_jump(step->code))
			return walk_jump(walk, runs_on);
		*runs_on = gpumon_probe_runs_on(step->code);
		return *runs_on ? gpumon_verifier_call(verifier) : 0;
	}
}

/* From a head to the next one, or to where it ends. */
static int walk_from(struct walk *walk, uint32_t from)
{
	struct gpumon_verifier *verifier = walk->verifier;
	const struct gpumon_probe_step *steps = verifier->program->steps;
	bool runs_on = true;

	for (verifier->at = from; runs_on; verifier->at++) {
		uint32_t at = verifier->at;

		if (!walk->left--)
			return refuse_complex(verifier);
		verifier->facts[at] = (struct gpumon_probe_fact){ .reached = true };
		if (walk_step(walk, &runs_on))
			return -1;
		if (runs_on && walk->heads[at + 1].is_head)
			return arrive_at_head(walk, verifier->state, at + 1);
		if (runs_on)
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

	find_heads(walk);
	/* The entry is a head even if no jump leads there. */
	gpumon_state_begin(verifier->state, verifier->program);
	verifier->at = 0;
	if (arrive_at_head(walk, verifier->state, 0))
		return -1;
	while (take_pending(walk, &at)) {
		gpumon_state_unpack(walk->heads[at].state, verifier->state);
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
		.heads = calloc(steps_n, sizeof(*walk.heads)),
		.pending = calloc(WORDS(steps_n), sizeof(*walk.pending)),
		.arrived = calloc(1, sizeof(*walk.arrived)),
		.taken = calloc(1, sizeof(*walk.taken)),
		.left = (uint64_t)steps_n * VISITS + MORE,
	};
	int failed;

	verifier->state = calloc(1, sizeof(*verifier->state));
	if (walk.heads && walk.pending && walk.arrived && walk.taken && verifier->state)
		failed = walk_all(&walk);
	else
		failed = gpumon_error_memory(verifier->err);
	for (uint32_t at = 0; walk.heads && at < steps_n; at++)
		free(walk.heads[at].state);
	free(walk.heads);
	free(walk.pending);
	free(walk.arrived);
	free(walk.taken);
	free(verifier->state);
	return failed;
}

int gpumon_probe_verify(const struct gpumon_probe_program *program,
			const struct gpumon_probe_rules *rules, struct gpumon_probe_fact *facts,
			struct gpumon_error *err)
{
	struct gpumon_verifier verifier = {
		.program = program, .rules = rules, .facts = facts, .err = err
	};

	if (gpumon_shape_check(program, err))
		return -1;
	memset(facts, 0, program->steps_n * sizeof(*facts));
	return walk_program(&verifier);
}
