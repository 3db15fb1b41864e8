/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Reads the kernels of a PTX text into steps: its own instructions, of which there are few kinds and no
 * branches, and points with the blocks of programs that user/gpuprog/ptx has put there.
 */
#ifndef PROBE_CUDA_KERNEL_H
#define PROBE_CUDA_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "../ptx.h"

#define KERNEL_NAME    8192
#define KERNELS_MAX    16
#define PARAMETERS_MAX 4
#define REGISTERS_MAX  32
#define STEPS_MAX      128
#define BLOCKS_MAX     8
#define OPERANDS_MAX   4

enum operand_kind {
	NO_OPERAND,
	REGISTER,
	SPECIAL,
	NUMBER,
	PARAMETER
};

/* A register, %tid.x and so on by enum ptx_special, a number, a parameter; @offset: [%rd1+8] */
struct operand {
	enum operand_kind kind;
	uint32_t index;
	int64_t value;
	int64_t offset;
};

/**
 * struct step - an instruction, or a point
 * @op: name of the instruction; "": it is a point
 * @guard: register of its predicate, or -1
 * @guard_not: the predicate has to be false
 * @operands: of the instruction
 * @number: of the kernel, as the point says it
 * @has_context: the point says what is accessed
 * @address: what it says
 * @size: what it says
 * @flags: what it says
 * @line: what it says
 * @blocks: programs
 * @blocks_n: how many
 * @patched: it was put there by the stand-in for the sanitizer: programs run by the data of the function
 * @bits: of @patched: of each program
 * @atomics: of @patched: the program is for atomic operations only
 * @sample: of @patched: 1 of so many blocks runs them
 */
struct step {
	char op[24];
	int guard;
	bool guard_not;
	struct operand operands[OPERANDS_MAX];
	uint32_t operands_n;
	uint32_t number;
	bool has_context;
	struct operand address;
	uint32_t size;
	uint32_t flags;
	uint64_t line;
	struct ptx_block *blocks[BLOCKS_MAX];
	uint32_t blocks_n;
	bool patched;
	uint32_t bits[BLOCKS_MAX];
	bool atomics[BLOCKS_MAX];
	uint32_t sample;
};

/**
 * struct kernel - one kernel
 * @parameters: their names
 * @sizes: their bytes
 * @registers: their names
 * @has_programs: there is a point in it
 */
struct kernel {
	char name[KERNEL_NAME];
	char parameters[PARAMETERS_MAX][16];
	uint32_t sizes[PARAMETERS_MAX];
	uint32_t parameters_n;
	char registers[REGISTERS_MAX][16];
	uint32_t registers_n;
	struct step *steps;
	uint32_t steps_n;
	bool has_programs;
};

/**
 * struct kernels - a text
 * @table_n: entries of the table of addresses; 0: there is none
 */
struct kernels {
	struct kernel kernels[KERNELS_MAX];
	uint32_t kernels_n;
	uint32_t table_n;
};

/* The names of those that kernels may use themselves, as %tid.x; NULL: not this one. */
extern const char *const kernel_specials[PTX_SPECIALS];

/**
 * kernels_read - read a text
 * @text: PTX with a NUL; changed
 * @kernels: out, to be cleared in both cases
 * @why: what is wrong with it
 *
 * Return: false: a driver would not load it.
 */
bool kernels_read(char *text, struct kernels *kernels, char why[256]);
void kernels_clear(struct kernels *kernels);

/* The kernel of this name, or -1. */
int kernels_find(const struct kernels *kernels, const char *name);

#endif /* PROBE_CUDA_KERNEL_H */
