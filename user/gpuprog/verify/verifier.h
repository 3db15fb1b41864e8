/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A program while it is verified, and where its addresses lead. */
#ifndef GPUMON_GPUPROG_VERIFY_VERIFIER_H
#define GPUMON_GPUPROG_VERIFY_VERIFIER_H

#include "gpuprog/object/program.h"
#include "state.h"
#include "verify.h"

/**
 * struct gpumon_verifier - a program while it is verified
 * @program: what gpumon_gpuprog_verify() was called with
 * @rules: likewise
 * @facts: likewise
 * @err: likewise
 * @at: current step
 * @state: what is known before it, changed to what is known after it
 */
struct gpumon_verifier {
	const struct gpumon_gpuprog *program;
	const struct gpumon_gpuprog_rules *rules;
	struct gpumon_gpuprog_fact *facts;
	struct gpumon_error *err;
	uint32_t at;
	struct gpumon_state *state;
};

/* Refuse the current step: -1. */
#define GPUMON_REFUSE(verifier, ...)                                                              \
	gpumon_gpuprog_refuse((verifier)->program,                                                \
			      (verifier)->program->steps[(verifier)->at].origin, (verifier)->err, \
			      __VA_ARGS__)

static inline const struct gpumon_gpuprog_step *
gpumon_verifier_step(const struct gpumon_verifier *verifier)
{
	return &verifier->program->steps[verifier->at];
}

/* R0 to R9 of the current step's frame. */
static inline struct gpumon_reg_state *gpumon_verifier_register(struct gpumon_verifier *verifier,
								unsigned int number)
{
	return gpumon_state_register(verifier->state, gpumon_verifier_step(verifier)->depth,
				     number);
}

/* An id for registers that this step makes equal. */
static inline uint32_t gpumon_verifier_id(const struct gpumon_verifier *verifier)
{
	return verifier->at + 1;
}

/* "" or the name of a map of the program. */
const char *gpumon_verifier_map_name(const struct gpumon_verifier *verifier, uint32_t map);
/* Kind of a register, for messages: "a number", "an address of the stack". */
const char *gpumon_verifier_kind_text(const struct gpumon_reg_state *reg);

/**
 * gpumon_verifier_read - content of a register, which must have one
 * @verifier: verifier
 * @number: R0 to R10
 * @reg: out
 *
 * Return: 0, or -1 with the refusal.
 */
int gpumon_verifier_read(struct gpumon_verifier *verifier, unsigned int number,
			 struct gpumon_reg_state *reg);
/* Read a register that has to be a number; @why: what it is needed for, "the divisor". */
int gpumon_verifier_read_scalar(struct gpumon_verifier *verifier, unsigned int number,
				const char *why, struct gpumon_reg_state *reg);

/* Parts of a step: 0, or -1 with the refusal. */
int gpumon_verifier_alu(struct gpumon_verifier *verifier);
int gpumon_verifier_load(struct gpumon_verifier *verifier);
int gpumon_verifier_store(struct gpumon_verifier *verifier);
int gpumon_verifier_atomic(struct gpumon_verifier *verifier);
int gpumon_verifier_call(struct gpumon_verifier *verifier);

/**
 * gpumon_verifier_branch - what both ways of a conditional jump know
 * @verifier: its state becomes that of the way on
 * @taken: out: state of the jump
 * @falls_through: out: the jump may be left out
 * @jumps: out: the jump may be taken
 *
 * Return: 0, or -1 with the refusal.
 */
int gpumon_verifier_branch(struct gpumon_verifier *verifier, struct gpumon_state *taken,
			   bool *falls_through, bool *jumps);

/**
 * struct gpumon_access - an access to memory
 * @name: "r1", for messages
 * @address: what the register has
 * @off: is added to it
 * @size: bytes, at least 1
 * @operand: out: what the translator is to know
 * @bounds: out: the offset, with @off
 */
struct gpumon_access {
	char name[4];
	struct gpumon_reg_state address;
	int16_t off;
	uint32_t size;
	struct gpumon_gpuprog_operand *operand;
	struct gpumon_bounds bounds;
};

/* Write down what a reg is, without bounds. */
void gpumon_access_describe(const struct gpumon_reg_state *reg,
			    struct gpumon_gpuprog_operand *operand);

/**
 * gpumon_access_resolve - find out where an access leads
 * @verifier: verifier
 * @access: access; its outputs are set
 *
 * It must lead into a stack, the value of a map, or the context. Of stack and value it may need a
 * check when it runs: operand.check.
 *
 * Return: 0, or -1 with the refusal.
 */
int gpumon_access_resolve(struct gpumon_verifier *verifier, struct gpumon_access *access);

/* Whether a map that an address may lead into can only be read. @map: out: it. */
bool gpumon_access_read_only(const struct gpumon_verifier *verifier,
			     const struct gpumon_reg_state *address, uint32_t *map);

/* Checks that all bytes of an access of the stack are numbers. */
int gpumon_access_check_scalars(struct gpumon_verifier *verifier,
				const struct gpumon_access *access);

#endif /* GPUMON_GPUPROG_VERIFY_VERIFIER_H */
