// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "access.h"
#include "module.h"

#define READ_AND_WRITE (GPUMON_GPUPROG_READ | GPUMON_GPUPROG_WRITE)

uint32_t gpumon_ptx_type_size(struct gpumon_ptx_slice type)
{
	static const struct {
		const char *name;
		uint32_t size;
	} odd[] = { { "b128", 16 },  { "f16x2", 4 },  { "bf16x2", 4 }, { "bf16", 2 },
		    { "tf32", 4 },   { "e4m3", 1 },   { "e5m2", 1 },   { "e4m3x2", 2 },
		    { "e5m2x2", 2 }, { "e4m3x4", 4 }, { "e5m2x4", 4 }, { "s32x2", 8 },
		    { "u16x2", 4 },  { "s16x2", 4 },  { "f32x2", 8 } };
	static const struct {
		const char *digits;
		uint32_t size;
	} plain[] = { { "8", 1 }, { "16", 2 }, { "32", 4 }, { "64", 8 } };

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (gpumon_ptx_same(type, odd[i].name))
			return odd[i].size;
	if (type.size < 2 || !strchr("busf", *type.at))
		return 0;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (gpumon_ptx_same((struct gpumon_ptx_slice){ type.at + 1, type.size - 1 },
				    plain[i].digits))
			return plain[i].size;
	return 0;
}

/* The last type says what is in memory: ".acc::f32.bf16x2", ".add.noftz.f16". */
static uint32_t bytes_of(const struct gpumon_ptx_statement *statement)
{
	uint32_t size = 0, vector = 1;

	for (uint32_t i = 0; i < statement->modifiers_n; i++) {
		struct gpumon_ptx_slice modifier = statement->modifiers[i];
		uint32_t is = gpumon_ptx_type_size(modifier);

		if (is)
			size = is;
		else if (gpumon_ptx_same(modifier, "v2"))
			vector = 2;
		else if (gpumon_ptx_same(modifier, "v4"))
			vector = 4;
		else if (gpumon_ptx_same(modifier, "v8"))
			vector = 8;
	}
	return size * vector;
}

/* The state space of a load, store or atomic operation; false: no memory of interest. */
static bool find_space(const struct gpumon_ptx_statement *statement, uint32_t *flags)
{
	for (uint32_t i = 0; i < statement->modifiers_n; i++) {
		struct gpumon_ptx_slice modifier = statement->modifiers[i];

		if (gpumon_ptx_begins(modifier, "param") || gpumon_ptx_same(modifier, "const"))
			return false;
		if (gpumon_ptx_begins(modifier, "shared"))
			*flags |= GPUMON_GPUPROG_SHARED;
		else if (gpumon_ptx_same(modifier, "local"))
			*flags |= GPUMON_GPUPROG_LOCAL;
		else if (!gpumon_ptx_same(modifier, "global"))
			continue;
		break;
	}
	return true;
}

/* The first operand in brackets; "g[4]" of a variable only begins with its name. */
static struct gpumon_ptx_slice find_address(const struct gpumon_ptx_statement *statement)
{
	for (uint32_t i = 0; i < statement->operands_n; i++)
		if (*statement->operands[i].at == '[')
			return statement->operands[i];
	for (uint32_t i = 0; i < statement->operands_n; i++)
		if (*statement->operands[i].at != '{' &&
		    statement->operands[i].at[statement->operands[i].size - 1] == ']')
			return statement->operands[i];
	return (struct gpumon_ptx_slice){ NULL, 0 };
}

static void leave(struct gpumon_ptx_access *access, enum gpumon_edit_cause cause)
{
	access->effect = GPUMON_PTX_LEFT;
	access->cause = cause;
}

static void set_access(struct gpumon_ptx_access *access, uint32_t flags,
		       struct gpumon_ptx_slice address, uint32_t size)
{
	access->effect = GPUMON_PTX_ACCESS;
	access->flags |= flags;
	access->address = address;
	access->size = size;
	if (!address.size || (!size && !access->size_operand.size))
		leave(access, GPUMON_EDIT_FORM);
}

/* @access has the effect already. */
static void ordinary_access(const struct gpumon_ptx_statement *statement,
			    struct gpumon_ptx_access *access)
{
	uint32_t flags = 0;

	if (!find_space(statement, &flags))
		return;
	if (gpumon_ptx_has_modifier(statement, "async")) {
		flags |= GPUMON_GPUPROG_ASYNC;
		if (!gpumon_ptx_has_modifier(statement, "global"))
			flags |= GPUMON_GPUPROG_SHARED;
	}
	/* st.bulk [address], bytes, 0 */
	if (gpumon_ptx_has_modifier(statement, "bulk") && statement->operands_n > 1)
		access->size_operand = statement->operands[1];
	set_access(access, flags, find_address(statement), bytes_of(statement));
}

/* cp.async.ca.shared.global [to], [from], BYTES[, bytes or predicate][, cache policy] */
static void copy_async(const struct gpumon_ptx_statement *statement,
		       struct gpumon_ptx_access *access)
{
	uint32_t policy = gpumon_ptx_has_modifier(statement, "L2::cache_hint"), size = 0;

	if (gpumon_ptx_has_modifier(statement, "commit_group") ||
	    gpumon_ptx_has_modifier(statement, "wait_group") ||
	    gpumon_ptx_has_modifier(statement, "wait_all") ||
	    gpumon_ptx_has_modifier(statement, "mbarrier"))
		return;
	if (statement->operands_n < 3) {
		leave(access, GPUMON_EDIT_FORM);
		return;
	}
	/* A constant expression. */
	if (!gpumon_ptx_number(statement->operands[2], &size))
		access->size_operand = statement->operands[2];
	if (statement->operands_n == 4 + policy) {
		access->ignores = statement->operands[3];
		access->ignores_not = *access->ignores.at == '!';
	}
	while (access->ignores.size && strchr("! \t\r\n", *access->ignores.at)) {
		access->ignores.at++;
		access->ignores.size--;
	}
	set_access(access, GPUMON_GPUPROG_READ | GPUMON_GPUPROG_ASYNC, statement->operands[1],
		   size);
}

/*
 * cp.async.bulk.TO.FROM [to], [from], bytes, ... and cp.reduce.async.bulk. The side in global memory
 * is what counts.
 */
static void copy_bulk(const struct gpumon_ptx_statement *statement,
		      struct gpumon_ptx_access *access)
{
	bool reduce = gpumon_ptx_has_modifier(statement, "reduce");
	uint32_t global = 0, spaces = 0;

	if (gpumon_ptx_has_modifier(statement, "commit_group") ||
	    gpumon_ptx_has_modifier(statement, "wait_group") ||
	    gpumon_ptx_has_modifier(statement, "prefetch"))
		return;
	if (gpumon_ptx_has_modifier(statement, "tensor")) {
		leave(access, GPUMON_EDIT_TENSOR);
		return;
	}
	for (uint32_t i = 0; i < statement->modifiers_n && spaces < 2; i++) {
		if (gpumon_ptx_same(statement->modifiers[i], "global"))
			global = ++spaces;
		else if (gpumon_ptx_begins(statement->modifiers[i], "shared"))
			spaces++;
	}
	if (statement->operands_n < 3 || spaces < 2) {
		leave(access, GPUMON_EDIT_FORM);
		return;
	}
	access->size_operand = statement->operands[2];
	set_access(access,
		   GPUMON_GPUPROG_ASYNC | (global ? 0u : GPUMON_GPUPROG_SHARED) |
			   (reduce	? GPUMON_GPUPROG_READ | GPUMON_GPUPROG_WRITE :
			    global == 2 ? GPUMON_GPUPROG_READ :
					  GPUMON_GPUPROG_WRITE),
		   statement->operands[global == 2], 0);
}

static void barrier(const struct gpumon_ptx_statement *statement, struct gpumon_ptx_access *access)
{
	/* bar.red has a result and a predicate, too. */
	uint32_t first = gpumon_ptx_has_modifier(statement, "red"),
		 operands = statement->operands_n - first;

	if (gpumon_ptx_has_modifier(statement, "warp") ||
	    gpumon_ptx_has_modifier(statement, "cluster"))
		return;
	access->effect = GPUMON_PTX_BARRIER;
	if (statement->operands_n <= first)
		return;
	access->address = statement->operands[first];
	if (operands > (first ? 2 : 1))
		access->size_operand = statement->operands[first + 1];
}

static void multimem(const struct gpumon_ptx_statement *statement, struct gpumon_ptx_access *access)
{
	access->flags = gpumon_ptx_has_modifier(statement, "ld_reduce") ? GPUMON_GPUPROG_READ :
			gpumon_ptx_has_modifier(statement, "st")	? GPUMON_GPUPROG_WRITE :
									  READ_AND_WRITE;
	if (gpumon_ptx_has_modifier(statement, "cp"))
		leave(access, GPUMON_EDIT_FORM);
	else
		ordinary_access(statement, access);
}

static void copy(const struct gpumon_ptx_statement *statement, struct gpumon_ptx_access *access)
{
	if (gpumon_ptx_has_modifier(statement, "bulk"))
		copy_bulk(statement, access);
	else
		copy_async(statement, access);
}

static void matrix(const struct gpumon_ptx_statement *statement, struct gpumon_ptx_access *access)
{
	if (gpumon_ptx_has_modifier(statement, "load") ||
	    gpumon_ptx_has_modifier(statement, "store"))
		leave(access, GPUMON_EDIT_MATRIX);
}

static void descriptor(const struct gpumon_ptx_statement *statement,
		       struct gpumon_ptx_access *access)
{
	if (gpumon_ptx_has_modifier(statement, "mma_async") ||
	    gpumon_ptx_has_modifier(statement, "mma") || gpumon_ptx_has_modifier(statement, "cp"))
		leave(access, GPUMON_EDIT_DESCRIPTOR);
}

void gpumon_ptx_access_of(const struct gpumon_ptx_statement *statement,
			  struct gpumon_ptx_access *access)
{
	static const struct {
		const char *name;
		void (*of)(const struct gpumon_ptx_statement *, struct gpumon_ptx_access *);
		struct gpumon_ptx_access is;
	} instructions[] = {
		{ "ld", ordinary_access, { .flags = GPUMON_GPUPROG_READ } },
		{ "ldu", ordinary_access, { .flags = GPUMON_GPUPROG_READ } },
		{ "st", ordinary_access, { .flags = GPUMON_GPUPROG_WRITE } },
		{ "atom", ordinary_access, { .flags = READ_AND_WRITE } },
		{ "red", ordinary_access, { .flags = READ_AND_WRITE } },
		{ "cp", copy, { .flags = 0 } },
		{ "multimem", multimem, { .flags = 0 } },
		{ "bar", barrier, { .flags = 0 } },
		{ "barrier", barrier, { .flags = 0 } },
		{ "tex", NULL, { .effect = GPUMON_PTX_LEFT, .cause = GPUMON_EDIT_TEXTURE } },
		{ "tld4", NULL, { .effect = GPUMON_PTX_LEFT, .cause = GPUMON_EDIT_TEXTURE } },
		{ "suld", NULL, { .effect = GPUMON_PTX_LEFT, .cause = GPUMON_EDIT_TEXTURE } },
		{ "sust", NULL, { .effect = GPUMON_PTX_LEFT, .cause = GPUMON_EDIT_TEXTURE } },
		{ "sured", NULL, { .effect = GPUMON_PTX_LEFT, .cause = GPUMON_EDIT_TEXTURE } },
		{ "ldmatrix", NULL, { .effect = GPUMON_PTX_LEFT, .cause = GPUMON_EDIT_MATRIX } },
		{ "stmatrix", NULL, { .effect = GPUMON_PTX_LEFT, .cause = GPUMON_EDIT_MATRIX } },
		{ "wmma", matrix, { .flags = 0 } },
		{ "wgmma", descriptor, { .flags = 0 } },
		{ "tcgen05", descriptor, { .flags = 0 } },
		{ "ret", NULL, { .effect = GPUMON_PTX_RET } },
		{ "exit", NULL, { .effect = GPUMON_PTX_EXIT } },
		{ "call", NULL, { .effect = GPUMON_PTX_CALL } },
		{ "bra", NULL, { .effect = GPUMON_PTX_GOES } },
		{ "brx", NULL, { .effect = GPUMON_PTX_GOES } },
		{ "trap", NULL, { .effect = GPUMON_PTX_GOES } },
	};

	memset(access, 0, sizeof(*access));
	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
		if (gpumon_ptx_same(statement->name, instructions[i].name)) {
			*access = instructions[i].is;
			if (instructions[i].of)
				instructions[i].of(statement, access);
			return;
		}
	}
}

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

static void set_width(struct gpumon_ptx_registers *registers, uint64_t key, uint64_t value,
		      bool keep_before)
{
	if (keep_before) {
		struct gpumon_map_slot *before =
			GPUMON_GROW(registers->before, registers->before_n);

		before->key = key;
		before->value = gpumon_map_get(&registers->widths, key);
		if (!before->value)
			before->value = 1;
	}
	gpumon_map_set(&registers->widths, key, value);
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
			set_width(registers, key, 1 + width, registers->scopes_n > 1);
		}
	}
	return 0;
}

static void open_scope(struct gpumon_ptx_registers *registers)
{
	size_t *scope = GPUMON_GROW(registers->scopes, registers->scopes_n);

	*scope = registers->before_n;
}

static void close_scope(struct gpumon_ptx_registers *registers)
{
	if (!registers->scopes_n)
		return;
	registers->scopes_n--;
	while (registers->before_n > registers->scopes[registers->scopes_n]) {
		const struct gpumon_map_slot *before = &registers->before[--registers->before_n];

		set_width(registers, before->key, before->value, false);
	}
}

int gpumon_ptx_registers_see(struct gpumon_ptx_registers *registers,
			     const struct gpumon_ptx_statement *statement, struct gpumon_error *err)
{
	if (statement->kind == GPUMON_PTX_OPEN)
		open_scope(registers);
	if (statement->kind == GPUMON_PTX_CLOSE)
		close_scope(registers);
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
