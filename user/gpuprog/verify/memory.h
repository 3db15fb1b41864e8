/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Where an address leads. */
#ifndef GPUMON_GPUPROG_VERIFY_MEMORY_H
#define GPUMON_GPUPROG_VERIFY_MEMORY_H

#include "stack.h"
#include "verifier.h"

/**
 * struct gpumon_access - an access to memory
 * @name: "r1", for messages
 * @address: what the register has
 * @off: is added to it
 * @size: bytes, at least 1
 * @operand: out: what the translator is to know
 * @number: out: the offset, with @off
 */
struct gpumon_access {
	char name[4];
	struct gpumon_cell address;
	int16_t off;
	uint32_t size;
	struct gpumon_probe_operand *operand;
	struct gpumon_number number;
};

/* Write down what a cell is, without bounds. */
void gpumon_memory_describe(const struct gpumon_cell *cell, struct gpumon_probe_operand *operand);

/**
 * gpumon_memory_resolve - find out where an access leads
 * @verifier: verifier
 * @access: access; its outputs are set
 *
 * It must lead into a stack, the value of a map, or the context. Of stack and value it may need a
 * check when it runs: operand.check.
 *
 * Return: 0, or -1 with the refusal.
 */
int gpumon_memory_resolve(struct gpumon_verifier *verifier, struct gpumon_access *access);

/* Whether a map that an address may lead into can only be read. @map: out: it. */
bool gpumon_memory_read_only(const struct gpumon_verifier *verifier,
			     const struct gpumon_cell *address, uint32_t *map);

/* Bytes of the stack that an access of the stack may touch. */
struct gpumon_place gpumon_memory_place(const struct gpumon_access *access);

/* All bytes of an access of the stack must be numbers. */
int gpumon_memory_check_numbers(struct gpumon_verifier *verifier,
				const struct gpumon_access *access);

#endif /* GPUMON_GPUPROG_VERIFY_MEMORY_H */
