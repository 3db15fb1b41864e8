// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "lib/array.h"
#include "registers.h"
#include "scan.h"

/* A number for a range has less digits: registers are 32-bit numbers. */
#define DIGITS 10

/* "%r<5>" declares %r0 to %r4: its key is that of "%r" and this. */
#define RANGE 0x52ull

static uint32_t width_of(struct gpumon_ptx_slice type)
{
	if (gpumon_ptx_same(type, ".pred"))
		return GPUMON_PTX_PREDICATE;
	return 8 * gpumon_ptx_type_size((struct gpumon_ptx_slice){ type.at + 1, type.size - 1 });
}

static int set_width(struct gpumon_ptx_registers *registers, uint64_t key, uint64_t value,
		     bool keep_before)
{
	if (keep_before) {
		struct gpumon_map_slot *before =
			GPUMON_GROW(registers->before, registers->before_n);

		if (!before)
			return -1;
		before->key = key;
		before->value = gpumon_map_get(&registers->widths, key);
		if (!before->value)
			before->value = 1;
	}
	return gpumon_map_set(&registers->widths, key, value);
}

/* .reg .b32 %a, %r<5>; the first operand has the types, too: ".v2 .f32 %a". */
static int declare(struct gpumon_ptx_registers *registers,
		   const struct gpumon_ptx_statement *statement, struct gpumon_error *err)
{
	struct gpumon_ptx_lexer lexer = {
		.at = statement->name.at + statement->name.size,
		.end = statement->whole.at + statement->whole.size,
		.line = statement->line,
	};
	uint32_t width = 0;

	if (gpumon_ptx_next(&lexer, err))
		return -1;
	while (lexer.kind != GPUMON_PTX_END) {
		struct gpumon_ptx_slice name = lexer.token;
		bool is_name = lexer.kind == GPUMON_PTX_WORD && *name.at != '.';

		if (lexer.kind == GPUMON_PTX_WORD && *name.at == '.')
			width = width_of(name);
		if (gpumon_ptx_next(&lexer, err))
			return -1;
		if (is_name) {
			uint64_t key = gpumon_hash_bytes(name.at, name.size);

			if (gpumon_ptx_is_sign(&lexer, '<'))
				key ^= RANGE;
			if (set_width(registers, key, 1 + width, registers->scopes_n > 1))
				return gpumon_error_memory(err);
		}
	}
	return 0;
}

static int open_scope(struct gpumon_ptx_registers *registers)
{
	size_t *scope = GPUMON_GROW(registers->scopes, registers->scopes_n);

	if (!scope)
		return -1;
	*scope = registers->before_n;
	return 0;
}

static int close_scope(struct gpumon_ptx_registers *registers)
{
	if (!registers->scopes_n)
		return 0;
	registers->scopes_n--;
	while (registers->before_n > registers->scopes[registers->scopes_n]) {
		const struct gpumon_map_slot *before = &registers->before[--registers->before_n];

		if (set_width(registers, before->key, before->value, false))
			return -1;
	}
	return 0;
}

int gpumon_ptx_registers_see(struct gpumon_ptx_registers *registers,
			     const struct gpumon_ptx_statement *statement, struct gpumon_error *err)
{
	if (statement->kind == GPUMON_PTX_OPEN && open_scope(registers))
		return gpumon_error_memory(err);
	if (statement->kind == GPUMON_PTX_CLOSE && close_scope(registers))
		return gpumon_error_memory(err);
	if (statement->kind == GPUMON_PTX_DIRECTIVE && gpumon_ptx_same(statement->name, ".reg"))
		return declare(registers, statement, err);
	return 0;
}

uint32_t gpumon_ptx_register_width(const struct gpumon_ptx_registers *registers,
				   struct gpumon_ptx_slice name)
{
	uint64_t found = gpumon_map_get(&registers->widths, gpumon_hash_bytes(name.at, name.size));

	for (int i = 0; i < DIGITS && found <= 1 && name.size; i++) {
		char last = name.at[--name.size];

		if (last < '0' || last > '9')
			break;
		found = gpumon_map_get(&registers->widths,
				       gpumon_hash_bytes(name.at, name.size) ^ RANGE);
	}
	return found ? (uint32_t)(found - 1) : 0;
}

void gpumon_ptx_registers_clear(struct gpumon_ptx_registers *registers)
{
	gpumon_map_clear(&registers->widths);
	free(registers->before);
	free(registers->scopes);
	memset(registers, 0, sizeof(*registers));
}
