// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/array.h"
#include "access.h"
#include "edit.h"
#include "module.h"
#include "translate.h"

/**
 * struct gpumon_ptx_point - what comes before an instruction
 * @out: stream
 * @kernel: number of the kernel
 * @by_table: the numbers of kernel and line are in the table at %gpumon_of: its first word, and that at @line
 * @blocks: texts
 * @called: instead of a text: 1 + number of the function that is to be called, or 0
 * @blocks_n: 1 or 2
 * @statement: instruction that the blocks stand before: they run if it does. NULL: always
 * @access: what it does, for points with a context. NULL: no context
 * @line: number of the source line for the context, or its place in the table; 0: there is none
 */
struct gpumon_ptx_point {
	FILE *out;
	uint32_t kernel;
	bool by_table;
	const char *blocks[2];
	uint32_t called[2];
	uint32_t blocks_n;
	const struct gpumon_ptx_statement *statement;
	const struct gpumon_ptx_access *access;
	uint64_t line;
};

/* A source line in a copy of a device function that several kernels share. */
struct gpumon_ptx_shared_line {
	size_t function;
	uint64_t source; /* file << 32 | line */
};

/**
 * struct gpumon_ptx_writer - what is being written
 * @inner: scanned text
 * @request: what is wanted
 * @calls: calls
 * @out: stream
 * @err: error
 * @kernel: index of the kernel that is written
 * @copies: the kernel whose copies it calls: this one, or the first of those that share them
 * @kernel_plan: its plan, or NULL
 * @points: calls of functions with one of these become calls of copies
 * @has_copies: there are some; in a compact text %gpumon_of is passed to them
 * @put: bytes of blocks so far
 * @full: there was not enough room
 * @copied: offset of what is not written yet
 * @line_numbers: of file << 32 | line: number, for this kernel; or place in the table, for this copy
 * @called: of a block in a compact text: 1 + number of its function
 * @lines: of the copies that kernels share: places in their tables, from 1
 * @lines_n: how many
 * @lines_max: lines behind that have no number
 */
struct gpumon_ptx_writer {
	const struct gpumon_edit_inner *inner;
	const struct gpumon_edit_request *request;
	struct gpumon_ptx_calls *calls;
	FILE *out;
	struct gpumon_error *err;
	size_t kernel;
	size_t copies;
	const struct gpumon_edit_plan *kernel_plan;
	uint32_t points;
	bool has_copies;
	size_t put;
	bool full;
	size_t copied;
	struct gpumon_map line_numbers;
	struct gpumon_map called;
	struct gpumon_ptx_shared_line *lines;
	size_t lines_n;
	size_t lines_max;
};

/* The key of a block in @called: with a context its parameters differ. */
static inline uint64_t gpumon_ptx_called_key(const char *block, bool context)
{
	return (uint64_t)(uintptr_t)block << 1 | context;
}

/* The name of the table with a kernel's numbers. */
#define GPUMON_PTX_TABLE "gpumon_of_%zu"

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
	uint32_t narrow = access->flags & (GPUMON_GPUPROG_SHARED | GPUMON_GPUPROG_LOCAL);

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
	fprintf(out, ".reg .b32 %s;\n", GPUMON_GPUPROG_KERNEL_REG);
	if (context)
		fprintf(out, ".reg .b64 %%gpumon_address, %%gpumon_line;\n"
			     ".reg .b32 %%gpumon_size, %%gpumon_flags;\n");
}

/**
 * ptx_write_called - write a block as the function that points call
 * @out: stream
 * @number: of the function
 * @context: it is for points with a context
 * @block: text
 */
static void ptx_write_called(FILE *out, uint32_t number, bool context, const char *block)
{
	fprintf(out, ".func gpumon_block_%" PRIu32 "(.param .b32 gpumon_kernel%s)\n{\n", number,
		context ? ", .param .b64 gpumon_address, .param .b64 gpumon_line, "
			  ".param .b32 gpumon_size, .param .b32 gpumon_flags" :
			  "");
	declare(out, context);
	fprintf(out, "ld.param.b32 %s, [gpumon_kernel];\n", GPUMON_GPUPROG_KERNEL_REG);
	if (context)
		fputs("ld.param.b64 %gpumon_address, [gpumon_address];\n"
		      "ld.param.b64 %gpumon_line, [gpumon_line];\n"
		      "ld.param.b32 %gpumon_size, [gpumon_size];\n"
		      "ld.param.b32 %gpumon_flags, [gpumon_flags];\n",
		      out);
	fprintf(out, "%s\nret;\n}\n", block);
}

static void write_block_call(FILE *out, uint32_t number, bool context)
{
	fprintf(out, "call gpumon_block_%" PRIu32 ", (%s%s);\n", number, GPUMON_GPUPROG_KERNEL_REG,
		context ? ", %gpumon_address, %gpumon_line, %gpumon_size, %gpumon_flags" : "");
}

/**
 * write_point - write blocks with what they need
 * @point: what to write
 * @registers: registers that are declared there
 *
 * Return: false if nothing was written, as the address has an unknown form.
 */
static bool write_point(const struct gpumon_ptx_point *point,
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
		fprintf(out, "ld.global.b32 %s, [%%gpumon_of];\n", GPUMON_GPUPROG_KERNEL_REG);
	else
		fprintf(out, "mov.b32 %s, %u;\n", GPUMON_GPUPROG_KERNEL_REG, point->kernel);
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
			write_block_call(out, point->called[i] - 1, point->access);
		else
			fprintf(out, "%s\n", point->blocks[i]);
	}
	fprintf(out, "%s}\n", guarded ? "$gpumon_over:\n" : "");
	return true;
}

/* Registers for values that the blocks of a body keep. */
static void write_kept(FILE *out)
{
	fprintf(out, "\n.reg .b64 %s<%d>;\n", GPUMON_GPUPROG_KEPT_REG, GPUMON_GPUPROG_MAX_KEPT);
	for (int i = 0; i < GPUMON_GPUPROG_MAX_KEPT; i++)
		fprintf(out, "mov.b64 %s%d, 0;\n", GPUMON_GPUPROG_KEPT_REG, i);
}

/**
 * struct body - place in a body
 * @writer: writer
 * @kernel_plan: plan for the kernel's points, or NULL
 * @own: plan for those of the device function itself, or NULL
 * @function: index of the kernel or device function
 * @in_function: it is a device function
 * @by_table: it is a copy that kernels share
 * @registers: those that are declared
 * @statement: current statement
 * @pragma: offset of a .pragma just before the statement, or 0
 * @source: file << 32 | line of the last .loc, or 0
 * @depth: open braces
 * @reachable: the end of the last statement can be reached
 */
struct body {
	struct gpumon_ptx_writer *writer;
	const struct gpumon_edit_plan *kernel_plan;
	const struct gpumon_edit_plan *own;
	size_t function;
	bool in_function;
	bool by_table;
	struct gpumon_ptx_registers registers;
	struct gpumon_ptx_statement statement;
	size_t pragma;
	uint64_t source;
	size_t depth;
	bool reachable;
};
/* A part of the text, from one offset to another. */
static void write_text(struct gpumon_ptx_writer *writer, size_t from, size_t to)
{
	fwrite(writer->inner->text.at + from, 1, to - from, writer->out);
}

/* The name of a kernel's copy of a device function. */
static void write_name(struct gpumon_ptx_writer *writer, size_t function)
{
	const struct gpumon_edit_function *is = &writer->inner->functions[function];

	fprintf(writer->out, "%.*s__gpumon_%zu", (int)is->size, is->name, writer->copies);
}

static size_t begin_of(const struct body *body)
{
	return (size_t)(body->statement.whole.at - body->writer->inner->text.at);
}

/* The text up to here. */
static void copy_to(struct gpumon_ptx_writer *writer, size_t offset)
{
	write_text(writer, writer->copied, offset);
	writer->copied = offset;
}

static const char *block_of(const struct gpumon_edit_plan *plan, enum gpumon_gpuprog_point point)
{
	return plan ? plan->blocks[point] : NULL;
}

/**
 * number_source - the number of a source line of a kernel
 * @writer: writer
 * @kernel: number of the kernel
 * @source: file << 32 | line
 *
 * Return: the number.
 */
static uint64_t number_source(struct gpumon_ptx_writer *writer, uint32_t kernel, uint64_t source)
{
	const struct gpumon_edit_inner *inner = writer->inner;
	uint64_t file = gpumon_map_get(&inner->files, source >> 32);
	struct gpumon_edit_line line = {
		.kernel = kernel,
		.line = (uint32_t)source,
		.file = file ? inner->file_names[file - 1].at : "",
		.file_size = file ? inner->file_names[file - 1].size : 0,
	};

	return writer->request->line(writer->request->data, &line);
}

/* The place of the current source line in the tables of the kernels that share this copy. */
static uint64_t place_line(struct body *body)
{
	struct gpumon_ptx_writer *writer = body->writer;
	struct gpumon_ptx_shared_line *line = GPUMON_GROW(writer->lines, writer->lines_n);

	*line = (struct gpumon_ptx_shared_line){ body->function, body->source };
	return writer->lines_n;
}

/* The number of the current source line or its place in the table, or 0. */
static uint64_t line_number(struct body *body)
{
	struct gpumon_ptx_writer *writer = body->writer;
	uint64_t number;

	if (!body->source)
		return 0;
	number = gpumon_map_get(&writer->line_numbers, body->source);
	if (number)
		return number;
	if (body->by_table && writer->lines_n >= writer->lines_max)
		return 0;
	number = body->by_table ? place_line(body) :
				  number_source(writer, body->kernel_plan->number, body->source);
	gpumon_map_set(&writer->line_numbers, body->source, number);
	return number;
}

/* Adds a block to a point: its text, or a call of the function that has it. */
static void add_block(struct body *body, struct gpumon_ptx_point *point,
		      const struct gpumon_edit_plan *plan, const char *block)
{
	const struct gpumon_ptx_writer *writer = body->writer;
	uint64_t called = 0;

	if (!plan->keeps && !(writer->calls->points[body->function] & GPUMON_PTX_NO_CALLS))
		called = gpumon_map_get(&writer->called,
					gpumon_ptx_called_key(block, point->access));
	if (!called)
		body->writer->put += strlen(block);
	point->called[point->blocks_n] = (uint32_t)called;
	point->blocks[point->blocks_n++] = block;
}

/* A block without a context: at an entry or an exit. */
static void write_plain(struct body *body, const struct gpumon_edit_plan *plan,
			enum gpumon_gpuprog_point kind,
			const struct gpumon_ptx_statement *statement)
{
	const char *block = block_of(plan, kind);
	struct gpumon_ptx_point point = {
		.out = body->writer->out,
		.by_table = body->by_table && plan == body->kernel_plan,
		.statement = statement,
	};

	if (!block)
		return;
	if (kind == GPUMON_GPUPROG_EXIT && body->in_function && plan->keeps) {
		plan->counts->left[GPUMON_EDIT_KEPT]++;
		return;
	}
	point.kernel = plan->number;
	add_block(body, &point, plan, block);
	write_point(&point, &body->registers);
	plan->counts->points[kind]++;
}

/* Puts blocks before an access or a barrier. */
static int write_access(struct body *body, const struct gpumon_ptx_access *access, uint32_t points)
{
	struct gpumon_ptx_point point = {
		.out = body->writer->out,
		.by_table = body->by_table,
		.statement = &body->statement,
		.access = access,
	};
	enum gpumon_gpuprog_point kinds[2];

	for (int kind = GPUMON_GPUPROG_MEMORY; kind <= GPUMON_GPUPROG_BARRIER; kind++) {
		const char *block = block_of(body->kernel_plan, (enum gpumon_gpuprog_point)kind);

		if (!(points & 1u << kind) || !block)
			continue;
		kinds[point.blocks_n] = (enum gpumon_gpuprog_point)kind;
		add_block(body, &point, body->kernel_plan, block);
	}
	if (!point.blocks_n)
		return 0;
	if (body->in_function && body->kernel_plan->keeps) {
		body->kernel_plan->counts->left[GPUMON_EDIT_KEPT]++;
		return 0;
	}
	point.kernel = body->kernel_plan->number;
	point.line = line_number(body);
	copy_to(body->writer, body->pragma ? body->pragma : begin_of(body));
	if (!write_point(&point, &body->registers)) {
		body->kernel_plan->counts->left[GPUMON_EDIT_FORM]++;
		return 0;
	}
	for (uint32_t i = 0; i < point.blocks_n; i++)
		body->kernel_plan->counts->points[kinds[i]]++;
	return 0;
}

static void write_exit(struct body *body, bool of_thread,
		       const struct gpumon_ptx_statement *statement)
{
	copy_to(body->writer, begin_of(body));
	if (body->in_function)
		write_plain(body, body->own, GPUMON_GPUPROG_FUNCTION_EXIT, statement);
	if (of_thread || !body->in_function)
		write_plain(body, body->kernel_plan, GPUMON_GPUPROG_EXIT, statement);
}

/* "( )" */
static bool is_empty(struct gpumon_ptx_slice brackets)
{
	struct gpumon_ptx_lexer lexer = { .at = brackets.at + 1,
					  .end = brackets.at + brackets.size };
	struct gpumon_error err;

	return !gpumon_ptx_next(&lexer, &err) && gpumon_ptx_is_sign(&lexer, ')');
}

/* A copy that kernels share gets the table of its kernel behind the other arguments. */
static void pass_table(struct body *body, size_t name_end)
{
	struct gpumon_ptx_writer *writer = body->writer;
	const char *text = writer->inner->text.at;

	for (uint32_t i = 0; i < body->statement.operands_n; i++) {
		struct gpumon_ptx_slice operand = body->statement.operands[i];

		if (operand.at < text + name_end || *operand.at != '(')
			continue;
		copy_to(writer, (size_t)(operand.at + operand.size - 1 - text));
		fputs(is_empty(operand) ? "%gpumon_of" : ", %gpumon_of", writer->out);
		return;
	}
	copy_to(writer, name_end);
	fputs(", (%gpumon_of)", writer->out);
}

static void write_call(struct body *body)
{
	struct gpumon_ptx_writer *writer = body->writer;
	struct gpumon_ptx_slice name = gpumon_ptx_called(&body->statement);
	ssize_t to = gpumon_ptx_find_function(writer->inner, name);
	size_t at = (size_t)(name.at - writer->inner->text.at);

	if (!body->kernel_plan || !name.size)
		return;
	if (to < 0 && gpumon_ptx_register_width(&body->registers, name)) {
		body->kernel_plan->counts->left[GPUMON_EDIT_INDIRECT]++;
	} else if (to < 0) {
		body->kernel_plan->counts->left[GPUMON_EDIT_EXTERNAL]++;
	} else if (writer->calls->points[to] & writer->points &&
		   !writer->inner->functions[to].kernel) {
		copy_to(writer, at);
		write_name(writer, (size_t)to);
		writer->copied = at + name.size;
		if (writer->request->compact)
			pass_table(body, at + name.size);
	}
}

static int write_instruction(struct body *body)
{
	struct gpumon_ptx_access access;

	gpumon_ptx_access_of(&body->statement, &access);
	switch (access.effect) {
	case GPUMON_PTX_ACCESS:
	case GPUMON_PTX_BARRIER:
		if (write_access(body, &access, gpumon_ptx_points_of(&access)))
			return -1;
		break;
	case GPUMON_PTX_LEFT:
		if (block_of(body->kernel_plan, GPUMON_GPUPROG_MEMORY))
			body->kernel_plan->counts->left[access.cause]++;
		break;
	case GPUMON_PTX_RET:
	case GPUMON_PTX_EXIT:
		write_exit(body, access.effect == GPUMON_PTX_EXIT, &body->statement);
		break;
	case GPUMON_PTX_CALL:
		write_call(body);
		break;
	default:
		break;
	}
	if ((access.effect == GPUMON_PTX_RET || access.effect == GPUMON_PTX_EXIT ||
	     access.effect == GPUMON_PTX_GOES) &&
	    !body->statement.predicate.size)
		body->reachable = false;
	return 0;
}

static void write_entry(struct body *body)
{
	const struct gpumon_ptx_writer *writer = body->writer;

	body->reachable = true;
	copy_to(body->writer, begin_of(body) + 1);
	if (body->by_table)
		fputs("\n.reg .b64 %gpumon_of;\nld.param.b64 %gpumon_of, [gpumon_of];\n",
		      writer->out);
	else if (writer->request->compact && writer->has_copies && !body->in_function)
		fprintf(writer->out,
			"\n.reg .b64 %%gpumon_of;\nmov.b64 %%gpumon_of, " GPUMON_PTX_TABLE ";\n",
			writer->kernel);
	if ((body->kernel_plan && !body->in_function && body->kernel_plan->keeps) ||
	    (body->own && body->own->keeps))
		write_kept(body->writer->out);
	if (body->in_function)
		write_plain(body, body->own, GPUMON_GPUPROG_FUNCTION_ENTRY, NULL);
	else
		write_plain(body, body->kernel_plan, GPUMON_GPUPROG_ENTRY, NULL);
}

static int write_statement(struct body *body)
{
	struct gpumon_ptx_statement *statement = &body->statement;

	switch (statement->kind) {
	case GPUMON_PTX_OPEN:
		if (!body->depth++)
			write_entry(body);
		break;
	case GPUMON_PTX_CLOSE:
		if (!--body->depth && body->reachable)
			write_exit(body, false, NULL);
		break;
	case GPUMON_PTX_LABEL:
		body->reachable = true;
		break;
	case GPUMON_PTX_LOC:
		body->source = statement->source_line ?
				       (uint64_t)statement->file << 32 | statement->source_line :
				       0;
		break;
	case GPUMON_PTX_INSTRUCTION:
		if (write_instruction(body))
			return -1;
		break;
	case GPUMON_PTX_DIRECTIVE:
		break;
	}
	/*
	 * Some directives belong to the very next instruction: blocks come before the directives.
	 */
	body->pragma = statement->kind == GPUMON_PTX_DIRECTIVE &&
				       gpumon_ptx_same(statement->name, ".pragma") ?
			       begin_of(body) :
			       0;
	return gpumon_ptx_registers_see(&body->registers, statement, body->writer->err);
}

static int write_statements(struct body *body, size_t function)
{
	size_t room = body->writer->request->compact ? 0 : body->writer->request->room;
	struct gpumon_ptx_lexer lexer;

	if (gpumon_ptx_enter(body->writer->inner, function, &lexer, body->writer->err))
		return -1;
	while (lexer.kind != GPUMON_PTX_END) {
		if (gpumon_ptx_read_statement(&lexer, &body->statement, body->writer->err) ||
		    write_statement(body))
			return -1;
		if (room && body->writer->put > room) {
			body->writer->full = true;
			return -1;
		}
	}
	copy_to(body->writer, body->writer->inner->places[function].end);
	return 0;
}

/**
 * write_body - write a body, from "{" to "}"
 * @writer: writer
 * @function: index of the kernel or of a device function
 * @own: plan of the device function itself, or NULL
 *
 * Calls of functions that the kernel reaches become calls of its copies.
 *
 * Return: 0, or -1 with an error, or if @writer is full.
 */
static int write_body(struct gpumon_ptx_writer *writer, size_t function,
		      const struct gpumon_edit_plan *own)
{
	struct body body = {
		.writer = writer,
		.kernel_plan = writer->kernel_plan,
		.own = own,
		.function = function,
		.in_function = !writer->inner->functions[function].kernel,
	};
	int result;

	body.by_table = writer->request->compact && body.in_function && body.kernel_plan;
	writer->copied = writer->inner->places[function].body;
	result = write_statements(&body, function);
	gpumon_ptx_registers_clear(&body.registers);
	return result;
}

/* Puts a changed text together: the parts that stay, kernels with blocks, copies of functions. */

/* Numbers in the tables of all kernels that share copies: more lines are not told apart there. */
#define LINES_MAX 65536

/**
 * struct edit - state of gpumon_edit_write()
 * @writer: writer
 * @plans: of each function, or NULL
 * @table: still to be written, or NULL
 * @tail: copies of functions, which stand behind all others: they may call those, and use what is declared
 *        between them
 * @shared: of each function: counts of the copy that kernels share
 */
struct edit {
	struct gpumon_ptx_writer writer;
	const struct gpumon_edit_plan **plans;
	const char *table;
	FILE *tail;
	struct gpumon_edit_counts *shared;
};

const char *gpumon_edit_cause_text(enum gpumon_edit_cause cause)
{
	static const char *const texts[] = {
#define GPUMON_EDIT_TEXT(name, text) [GPUMON_EDIT_##name] = (text),
		GPUMON_EDIT_CAUSES(GPUMON_EDIT_TEXT)
#undef GPUMON_EDIT_TEXT
	};

	return texts[cause];
}

/* The points of a kernel that may be in functions that it calls. */
static uint32_t points_of(const struct gpumon_edit_plan *plan)
{
	uint32_t points = 0;

	for (int i = GPUMON_GPUPROG_EXIT; i <= GPUMON_GPUPROG_BARRIER; i++)
		if (plan->blocks[i])
			points |= 1u << i;
	return points;
}

/* A copy that kernels share has one more parameter. */
static void write_parameters(struct edit *edit, size_t function)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	const struct gpumon_ptx_place *place = &writer->inner->places[function];
	size_t name_end = place->name + writer->inner->functions[function].size;

	if (!writer->request->compact) {
		write_text(writer, name_end, place->body);
	} else if (!place->parameters_end) {
		fputs(" (.param .b64 gpumon_of) ", writer->out);
		write_text(writer, name_end, place->body);
	} else {
		write_text(writer, name_end, place->parameters_end);
		fprintf(writer->out, "%s.param .b64 gpumon_of", place->has_parameters ? ", " : "");
		write_text(writer, place->parameters_end, place->body);
	}
}

/* The copy of a device function for the current kernel: its head only, or all of it. */
static int write_copy(struct edit *edit, size_t function, bool all)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	const struct gpumon_ptx_place *place = &writer->inner->places[function];

	write_text(writer, place->directive, place->name);
	write_name(writer, function);
	write_parameters(edit, function);
	if (all && write_body(writer, function, edit->plans[function]))
		return -1;
	fputs(all ? "\n" : ";\n", writer->out);
	return 0;
}

/* The bodies of copies go behind all other functions. */
static int write_bodies(struct edit *edit, const uint32_t *functions, size_t n)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	const struct gpumon_edit_plan *plan = writer->kernel_plan;
	struct gpumon_edit_plan shared = *plan;
	FILE *out = writer->out;
	size_t copied = writer->copied;
	int result = 0;

	writer->out = edit->tail;
	for (size_t i = 0; !result && i < n; i++) {
		if (writer->request->compact) {
			shared.counts = &edit->shared[functions[i]];
			memset(shared.counts, 0, sizeof(*shared.counts));
			writer->kernel_plan = &shared;
			gpumon_map_clear(&writer->line_numbers);
		}
		result = write_copy(edit, functions[i], true);
	}
	writer->kernel_plan = plan;
	writer->copied = copied;
	writer->out = out;
	return result;
}

/* Whether two kernels can share their copies of functions. */
static bool are_alike(const struct gpumon_edit_plan *one, const struct gpumon_edit_plan *other)
{
	for (int i = GPUMON_GPUPROG_EXIT; i <= GPUMON_GPUPROG_BARRIER; i++)
		if (one->blocks[i] != other->blocks[i])
			return false;
	return one->keeps == other->keeps;
}

static bool is_like(const struct edit *edit, size_t function, size_t kernel)
{
	return edit->writer.inner->functions[function].kernel && edit->plans[function] &&
	       are_alike(edit->plans[function], edit->plans[kernel]);
}

/* The numbers of a kernel in copies that it shares with others, and what was done there. */
static void write_table(struct edit *edit, size_t kernel)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	struct gpumon_ptx_calls *calls = writer->calls;
	const struct gpumon_edit_plan *plan = edit->plans[kernel];
	size_t n = gpumon_ptx_calls_reach(calls, (uint32_t)kernel, writer->points, 0);

	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct gpumon_edit_counts *counts = &edit->shared[calls->stack[i]];

		for (int j = 0; j < GPUMON_GPUPROG_POINTS; j++)
			plan->counts->points[j] += counts->points[j];
		for (int j = 0; j < GPUMON_EDIT_CAUSES_N; j++)
			plan->counts->left[j] += counts->left[j];
	}
	fprintf(writer->out, ".global .align 4 .b32 " GPUMON_PTX_TABLE "[%zu] = {%u", kernel,
		writer->lines_n + 1, plan->number);
	for (size_t i = 0; i < writer->lines_n; i++) {
		const struct gpumon_ptx_shared_line *line = &writer->lines[i];
		uint64_t number = 0;

		if (calls->reached[line->function] == calls->look)
			number = number_source(writer, plan->number, line->source);
		fprintf(writer->out, ", %" PRIu64, number);
	}
	fprintf(writer->out, "};\n");
}

/* The first kernel that shares its copies with this one. */
static size_t first_like(const struct edit *edit, size_t kernel)
{
	size_t first = edit->writer.copies; /* mostly it is that of the last kernel */

	if (!edit->writer.request->compact)
		return kernel;
	if (is_like(edit, first, kernel))
		return first;
	for (first = 0; !is_like(edit, first, kernel); first++)
		;
	return first;
}

/* Copies for several kernels, from the first one on, and the tables of these. */
static int write_shared_copies(struct edit *edit, size_t first)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	size_t functions_n = writer->inner->functions_n, kernels = 0, n = 0;
	int result = 0;

	if (writer->copies != first)
		return 0;
	for (size_t i = first; i < functions_n; i++) {
		if (!is_like(edit, i, first))
			continue;
		n = gpumon_ptx_calls_reach(writer->calls, (uint32_t)i, writer->points, n);
		kernels++;
	}
	for (size_t i = 0; i < n; i++)
		write_copy(edit, writer->calls->stack[i], false);
	writer->lines_n = 0;
	writer->lines_max = LINES_MAX / kernels;
	result = write_bodies(edit, writer->calls->stack, n);
	gpumon_map_clear(&writer->line_numbers);
	for (size_t i = first; !result && i < functions_n; i++)
		if (is_like(edit, i, first))
			write_table(edit, i);
	return result;
}

/* Copies of functions may call each other, so all of them are declared first. */
static int write_copies(struct edit *edit, size_t kernel)
{
	struct gpumon_ptx_calls *calls = edit->writer.calls;
	size_t n;

	if (edit->writer.request->compact)
		return write_shared_copies(edit, kernel);
	n = gpumon_ptx_calls_reach(calls, (uint32_t)kernel, edit->writer.points, 0);
	for (size_t i = 0; i < n; i++)
		write_copy(edit, calls->stack[i], false);
	return write_bodies(edit, calls->stack, n);
}

/* Count the points in functions that a kernel calls, which get no blocks. */
static void count_left(struct edit *edit, size_t kernel, const struct gpumon_edit_plan *plan)
{
	struct gpumon_ptx_calls *calls = edit->writer.calls;
	size_t n = gpumon_ptx_calls_reach(calls, (uint32_t)kernel, points_of(plan), 0);
	uint64_t *left = &plan->counts->left[GPUMON_EDIT_FUNCTION];

	for (size_t i = 0; i < n; i++) {
		const uint32_t *own = calls->own[calls->stack[i]];

		/* Atomic operations are accesses, too. */
		for (int j = GPUMON_GPUPROG_EXIT; j <= GPUMON_GPUPROG_BARRIER; j++)
			if (plan->blocks[j] &&
			    (j != GPUMON_GPUPROG_ATOMIC || !plan->blocks[GPUMON_GPUPROG_MEMORY]))
				*left += own[j];
	}
}

/* Writes each block as a function of its own. */
static void write_called(struct edit *edit)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	uint32_t n = 0;

	for (size_t i = 0; i < writer->inner->functions_n; i++) {
		const struct gpumon_edit_plan *plan = edit->plans[i];

		for (int j = 0; plan && !plan->keeps && j < GPUMON_GPUPROG_POINTS; j++) {
			bool context = gpumon_gpuprog_has_context((enum gpumon_gpuprog_point)j);
			uint64_t key = gpumon_ptx_called_key(plan->blocks[j], context);

			if (!plan->blocks[j] || gpumon_map_get(&writer->called, key))
				continue;
			ptx_write_called(writer->out, n, context, plan->blocks[j]);
			gpumon_map_set(&writer->called, key, ++n);
		}
	}
}

/* Write what all changed functions use: the table, and blocks as functions. */
static void write_head(struct edit *edit)
{
	if (edit->table)
		fprintf(edit->writer.out, "%s\n", edit->table);
	edit->table = NULL;
	if (edit->writer.request->compact && !edit->writer.called.used)
		write_called(edit);
}

static int write_kernel(struct edit *edit, size_t kernel, const struct gpumon_edit_plan *plan)
{
	struct gpumon_ptx_writer *writer = &edit->writer;

	writer->kernel_plan = plan;
	plan->counts->waits |= (writer->calls->points[kernel] & GPUMON_PTX_WAITS) != 0;
	if (writer->request->no_functions) {
		count_left(edit, kernel, plan);
		return 0;
	}
	writer->points = points_of(plan);
	writer->copies = first_like(edit, kernel);
	if (write_copies(edit, kernel))
		return -1;
	writer->has_copies =
		gpumon_ptx_calls_reach(writer->calls, (uint32_t)kernel, writer->points, 0);
	return 0;
}

static int write_function(struct edit *edit, size_t function)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	const struct gpumon_ptx_place *place = &writer->inner->places[function];
	const struct gpumon_edit_plan *plan = edit->plans[function];
	bool kernel = writer->inner->functions[function].kernel;
	int result = 0;

	copy_to(writer, place->begin);
	writer->kernel = function;
	writer->kernel_plan = NULL;
	writer->points = 0;
	writer->has_copies = false;
	write_head(edit);
	if (kernel)
		result = write_kernel(edit, function, plan);
	write_text(writer, place->begin, place->body);
	if (!result)
		result = write_body(writer, function, kernel ? NULL : plan);
	gpumon_map_clear(&writer->line_numbers);
	return result;
}

/* Everything; copies of functions stand behind the last of the others. */
static int write_module(struct edit *edit)
{
	const struct gpumon_edit_inner *inner = edit->writer.inner;
	char *tail;
	size_t size;
	int result = 0;

	edit->tail = gpumon_memstream_open(&tail, &size);
	for (size_t i = 0; !result && i < inner->functions_n; i++)
		if (edit->plans[i])
			result = write_function(edit, i);
	gpumon_memstream_close(edit->tail);
	if (!result && size) {
		copy_to(&edit->writer, inner->places[inner->functions_n - 1].end);
		fputc('\n', edit->writer.out);
		fwrite(tail, 1, size, edit->writer.out);
	}
	free(tail);
	if (result)
		return result;
	copy_to(&edit->writer, inner->text.size);
	if (fflush(edit->writer.out) || ferror(edit->writer.out))
		return gpumon_error_set(edit->writer.err, GPUMON_EXIT_FAILED, -errno,
					GPUMON_ERROR_IO, "the changed PTX cannot be written: %s",
					strerror(errno));
	return 0;
}

static void ask_for_plans(struct edit *edit)
{
	const struct gpumon_edit_inner *inner = edit->writer.inner;

	edit->plans = gpumon_calloc(inner->functions_n, sizeof(*edit->plans));
	for (size_t i = 0; i < inner->functions_n; i++)
		edit->plans[i] = edit->writer.request->plan(edit->writer.request->data,
							    &inner->functions[i]);
}

static bool wants_nothing(const struct edit *edit)
{
	for (size_t i = 0; i < edit->writer.inner->functions_n; i++)
		if (edit->plans[i])
			return false;
	return true;
}

int gpumon_edit_write(const struct gpumon_edit_module *module,
		      const struct gpumon_edit_request *request, FILE *out,
		      struct gpumon_error *err)
{
	struct gpumon_ptx_calls calls = { .calls = NULL };
	struct edit edit = {
		.writer = { .inner = module->inner,
			    .request = request,
			    .calls = &calls,
			    .out = out,
			    .err = err },
		.table = request->table,
	};
	int result = 0;

	if (module->probed)
		return GPUMON_PTX_REFUSE(err, 1, "this text has been probed before");
	ask_for_plans(&edit);
	if (!wants_nothing(&edit))
		result = gpumon_ptx_calls_open(module->inner, edit.plans, &calls, err);
	if (request->compact)
		edit.shared = gpumon_calloc(module->inner->functions_n, sizeof(*edit.shared));
	if (!result)
		result = write_module(&edit);
	gpumon_ptx_calls_close(&calls);
	gpumon_map_clear(&edit.writer.called);
	gpumon_map_clear(&edit.writer.line_numbers);
	free(edit.writer.lines);
	free(edit.shared);
	free(edit.plans);
	return edit.writer.full ? 1 : result;
}
