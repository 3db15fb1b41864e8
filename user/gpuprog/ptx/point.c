// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>

#include "point.h"
#include "translate.h"

#define PRINTED(slice) (int)(slice).size, (slice).at

/**
 * struct address - an operand "[base+offset]"
 * @base: register or variable, or empty
 * @base_width: bits of the register; 0: a variable
 * @offset: constant expression, or empty
 */
struct address {
	struct gpumon_ptx_slice base;
	uint32_t base_width;
	struct gpumon_ptx_slice offset;
};

/* [register], [variable+4], [register+-16], [64], variable[4] */
static bool read_address(struct gpumon_ptx_slice operand, struct address *address)
{
	struct gpumon_ptx_lexer lexer = { .at = operand.at, .end = operand.at + operand.size - 1 };
	struct gpumon_error err;

	*address = (struct address){ .base_width = 0 };
	if (*lexer.end != ']' || gpumon_ptx_next(&lexer, &err))
		return false;
	if (gpumon_ptx_is_sign(&lexer, '[') && gpumon_ptx_next(&lexer, &err))
		return false;
	if (lexer.kind == GPUMON_PTX_WORD) {
		address->base = lexer.token;
		if (gpumon_ptx_next(&lexer, &err))
			return false;
		if (lexer.kind == GPUMON_PTX_END)
			return true;
		if (!gpumon_ptx_is_sign(&lexer, '+') && !gpumon_ptx_is_sign(&lexer, '['))
			return false;
		if (gpumon_ptx_next(&lexer, &err))
			return false;
	}
	if (lexer.kind == GPUMON_PTX_END)
		return false;
	address->offset.at = lexer.token.at;
	address->offset.size = (size_t)(lexer.end - lexer.token.at);
	while (lexer.kind != GPUMON_PTX_END) {
		/* No second register, no coordinates. */
		if (gpumon_ptx_is_sign(&lexer, ',') || gpumon_ptx_is_sign(&lexer, '[') ||
		    gpumon_ptx_is_sign(&lexer, ']') || gpumon_ptx_next(&lexer, &err))
			return false;
	}
	return true;
}

static bool address_is_known(const struct gpumon_ptx_access *access,
			     const struct gpumon_ptx_registers *registers, struct address *address)
{
	uint32_t narrow = access->flags & (GPUMON_PROBE_SHARED | GPUMON_PROBE_LOCAL);

	if (!read_address(access->address, address))
		return false;
	if (!address->base.size)
		return true;
	address->base_width = gpumon_ptx_register_width(registers, address->base);
	return address->base_width == 64 || (address->base_width == 32 && narrow) ||
	       (!address->base_width && *address->base.at != '%');
}

static void write_address(FILE *out, const struct address *address)
{
	if (!address->base.size) {
		fprintf(out, "mov.b64 %%gpumon_address, %.*s;\n", PRINTED(address->offset));
		return;
	}
	fprintf(out, "%s %%gpumon_address, %.*s;\n",
		address->base_width == 32 ? "cvt.u64.u32" : "mov.b64", PRINTED(address->base));
	if (address->offset.size)
		fprintf(out, "add.s64 %%gpumon_address, %%gpumon_address, %.*s;\n",
			PRINTED(address->offset));
}

static void write_size(FILE *out, const struct gpumon_ptx_access *access,
		       const struct gpumon_ptx_registers *registers)
{
	struct gpumon_ptx_slice from = access->ignores.size ? access->ignores :
							      access->size_operand;
	uint32_t width = from.size ? gpumon_ptx_register_width(registers, from) : 0;

	if (access->ignores.size && width == GPUMON_PTX_PREDICATE) {
		char number[16];
		struct gpumon_ptx_slice size = access->size_operand;

		if (!size.size)
			size = (struct gpumon_ptx_slice){
				number, (size_t)snprintf(number, sizeof(number), "%u", access->size)
			};
		if (access->ignores_not)
			fprintf(out, "selp.b32 %%gpumon_size, %.*s, 0, %.*s;\n", PRINTED(size),
				PRINTED(from));
		else
			fprintf(out, "selp.b32 %%gpumon_size, 0, %.*s, %.*s;\n", PRINTED(size),
				PRINTED(from));
		return;
	}
	if (from.size)
		fprintf(out, "%s %%gpumon_size, %.*s;\n", width == 64 ? "cvt.u32.u64" : "mov.b32",
			PRINTED(from));
	else
		fprintf(out, "mov.b32 %%gpumon_size, %u;\n", access->size);
}

/* A barrier's number and its threads. */
static void write_barrier(FILE *out, const struct gpumon_ptx_access *access,
			  const struct gpumon_ptx_registers *registers)
{
	if (!access->address.size)
		fprintf(out, "mov.b64 %%gpumon_address, 0;\n");
	else
		fprintf(out, "%s %%gpumon_address, %.*s;\n",
			gpumon_ptx_register_width(registers, access->address) ? "cvt.u64.u32" :
										"mov.b64",
			PRINTED(access->address));
	write_size(out, access, registers);
}

/* Registers around a block. */
static void declare(FILE *out, bool context)
{
	fprintf(out, ".reg .b32 %s;\n", GPUMON_PROBE_KERNEL_REG);
	if (context)
		fprintf(out, ".reg .b64 %%gpumon_address, %%gpumon_line;\n"
			     ".reg .b32 %%gpumon_size, %%gpumon_flags;\n");
}

void gpumon_ptx_write_called(FILE *out, uint32_t number, bool context, const char *block)
{
	fprintf(out, ".func gpumon_block_%" PRIu32 "(.param .b32 gpumon_kernel%s)\n{\n", number,
		context ? ", .param .b64 gpumon_address, .param .b64 gpumon_line, "
			  ".param .b32 gpumon_size, .param .b32 gpumon_flags" :
			  "");
	declare(out, context);
	fprintf(out, "ld.param.b32 %s, [gpumon_kernel];\n", GPUMON_PROBE_KERNEL_REG);
	if (context)
		fputs("ld.param.b64 %gpumon_address, [gpumon_address];\n"
		      "ld.param.b64 %gpumon_line, [gpumon_line];\n"
		      "ld.param.b32 %gpumon_size, [gpumon_size];\n"
		      "ld.param.b32 %gpumon_flags, [gpumon_flags];\n",
		      out);
	fprintf(out, "%s\nret;\n}\n", block);
}

static void write_call(FILE *out, uint32_t number, bool context)
{
	fprintf(out, "call gpumon_block_%" PRIu32 ", (%s%s);\n", number, GPUMON_PROBE_KERNEL_REG,
		context ? ", %gpumon_address, %gpumon_line, %gpumon_size, %gpumon_flags" : "");
}

bool gpumon_ptx_write_point(const struct gpumon_ptx_point *point,
			    const struct gpumon_ptx_registers *registers)
{
	const struct gpumon_ptx_statement *statement = point->statement;
	bool guarded = statement && statement->predicate.size;
	FILE *out = point->out;
	struct address address;

	if (point->access && point->access->effect == GPUMON_PTX_ACCESS &&
	    !address_is_known(point->access, registers, &address))
		return false;
	fputs("\n{\n", out);
	declare(out, point->access);
	if (guarded)
		fprintf(out, "@%s%.*s bra $gpumon_over;\n", statement->negated ? "" : "!",
			PRINTED(statement->predicate));
	if (point->by_table)
		fprintf(out, "ld.global.b32 %s, [%%gpumon_of];\n", GPUMON_PROBE_KERNEL_REG);
	else
		fprintf(out, "mov.b32 %s, %u;\n", GPUMON_PROBE_KERNEL_REG, point->kernel);
	if (point->access) {
		if (point->access->effect == GPUMON_PTX_ACCESS) {
			write_address(out, &address);
			write_size(out, point->access, registers);
		} else {
			write_barrier(out, point->access, registers);
		}
		fprintf(out, "mov.b32 %%gpumon_flags, %u;\n", point->access->flags);
		if (point->by_table && point->line)
			/* A wider register gets zeroes above. */
			fprintf(out, "ld.global.u32 %%gpumon_line, [%%gpumon_of+%" PRIu64 "];\n",
				4 * point->line);
		else
			fprintf(out, "mov.b64 %%gpumon_line, %" PRIu64 ";\n", point->line);
	}
	for (uint32_t i = 0; i < point->blocks_n; i++) {
		if (point->called[i])
			write_call(out, point->called[i] - 1, point->access);
		else
			fprintf(out, "%s\n", point->blocks[i]);
	}
	fprintf(out, "%s}\n", guarded ? "$gpumon_over:\n" : "");
	return true;
}

void gpumon_ptx_write_kept(FILE *out)
{
	fprintf(out, "\n.reg .b64 %s<%d>;\n", GPUMON_PROBE_KEPT_REG, GPUMON_PROBE_MAX_KEPT);
	for (int i = 0; i < GPUMON_PROBE_MAX_KEPT; i++)
		fprintf(out, "mov.b64 %s%d, 0;\n", GPUMON_PROBE_KEPT_REG, i);
}
