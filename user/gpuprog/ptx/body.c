// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "lib/array.h"
#include "body.h"
#include "point.h"

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

void gpumon_ptx_write_text(struct gpumon_ptx_writer *writer, size_t from, size_t to)
{
	fwrite(writer->inner->text.at + from, 1, to - from, writer->out);
}

void gpumon_ptx_write_name(struct gpumon_ptx_writer *writer, size_t function)
{
	const struct gpumon_edit_function *is = &writer->inner->functions[function];

	fprintf(writer->out, "%.*s__gpumon_%zu", (int)is->size, is->name, writer->copies);
}

static size_t begin_of(const struct body *body)
{
	return (size_t)(body->statement.whole.at - body->writer->inner->text.at);
}

void gpumon_ptx_copy_to(struct gpumon_ptx_writer *writer, size_t offset)
{
	gpumon_ptx_write_text(writer, writer->copied, offset);
	writer->copied = offset;
}

static const char *block_of(const struct gpumon_edit_plan *plan, enum gpumon_probe_point point)
{
	return plan ? plan->blocks[point] : NULL;
}

uint64_t gpumon_ptx_number_source(struct gpumon_ptx_writer *writer, uint32_t kernel,
				  uint64_t source)
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

	if (!line)
		return 0;
	*line = (struct gpumon_ptx_shared_line){ body->function, body->source };
	return writer->lines_n;
}

/* The number of the current source line or its place in the table, or 0; -1 without memory. */
static int64_t line_number(struct body *body)
{
	struct gpumon_ptx_writer *writer = body->writer;
	uint64_t number;

	if (!body->source)
		return 0;
	number = gpumon_map_get(&writer->line_numbers, body->source);
	if (number)
		return (int64_t)number;
	if (body->by_table && writer->lines_n >= writer->lines_max)
		return 0;
	number = body->by_table ?
			 place_line(body) :
			 gpumon_ptx_number_source(writer, body->kernel_plan->number, body->source);
	if (!number || gpumon_map_set(&writer->line_numbers, body->source, number))
		return -1;
	return (int64_t)number;
}

/* One more block of a point: its text, or the function that has it. */
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
			enum gpumon_probe_point kind, const struct gpumon_ptx_statement *statement)
{
	const char *block = block_of(plan, kind);
	struct gpumon_ptx_point point = {
		.out = body->writer->out,
		.by_table = body->by_table && plan == body->kernel_plan,
		.statement = statement,
	};

	if (!block)
		return;
	if (kind == GPUMON_PROBE_EXIT && body->in_function && plan->keeps) {
		plan->counts->left[GPUMON_EDIT_KEPT]++;
		return;
	}
	point.kernel = plan->number;
	add_block(body, &point, plan, block);
	gpumon_ptx_write_point(&point, &body->registers);
	plan->counts->points[kind]++;
}

/* Before an access or a barrier. */
static int write_access(struct body *body, const struct gpumon_ptx_access *access, uint32_t points)
{
	struct gpumon_ptx_point point = {
		.out = body->writer->out,
		.by_table = body->by_table,
		.statement = &body->statement,
		.access = access,
	};
	enum gpumon_probe_point kinds[2];
	int64_t line;

	for (int kind = GPUMON_PROBE_MEMORY; kind <= GPUMON_PROBE_BARRIER; kind++) {
		const char *block = block_of(body->kernel_plan, (enum gpumon_probe_point)kind);

		if (!(points & 1u << kind) || !block)
			continue;
		kinds[point.blocks_n] = (enum gpumon_probe_point)kind;
		add_block(body, &point, body->kernel_plan, block);
	}
	if (!point.blocks_n)
		return 0;
	if (body->in_function && body->kernel_plan->keeps) {
		body->kernel_plan->counts->left[GPUMON_EDIT_KEPT]++;
		return 0;
	}
	point.kernel = body->kernel_plan->number;
	line = line_number(body);
	if (line < 0)
		return gpumon_error_memory(body->writer->err);
	point.line = (uint64_t)line;
	gpumon_ptx_copy_to(body->writer, body->pragma ? body->pragma : begin_of(body));
	if (!gpumon_ptx_write_point(&point, &body->registers)) {
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
	gpumon_ptx_copy_to(body->writer, begin_of(body));
	if (body->in_function)
		write_plain(body, body->own, GPUMON_PROBE_FUNCTION_EXIT, statement);
	if (of_thread || !body->in_function)
		write_plain(body, body->kernel_plan, GPUMON_PROBE_EXIT, statement);
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
		gpumon_ptx_copy_to(writer, (size_t)(operand.at + operand.size - 1 - text));
		fputs(is_empty(operand) ? "%gpumon_of" : ", %gpumon_of", writer->out);
		return;
	}
	gpumon_ptx_copy_to(writer, name_end);
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
		gpumon_ptx_copy_to(writer, at);
		gpumon_ptx_write_name(writer, (size_t)to);
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
		if (block_of(body->kernel_plan, GPUMON_PROBE_MEMORY))
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
	gpumon_ptx_copy_to(body->writer, begin_of(body) + 1);
	if (body->by_table)
		fputs("\n.reg .b64 %gpumon_of;\nld.param.b64 %gpumon_of, [gpumon_of];\n",
		      writer->out);
	else if (writer->request->compact && writer->has_copies && !body->in_function)
		fprintf(writer->out,
			"\n.reg .b64 %%gpumon_of;\nmov.b64 %%gpumon_of, " GPUMON_PTX_TABLE ";\n",
			writer->kernel);
	if ((body->kernel_plan && !body->in_function && body->kernel_plan->keeps) ||
	    (body->own && body->own->keeps))
		gpumon_ptx_write_kept(body->writer->out);
	if (body->in_function)
		write_plain(body, body->own, GPUMON_PROBE_FUNCTION_ENTRY, NULL);
	else
		write_plain(body, body->kernel_plan, GPUMON_PROBE_ENTRY, NULL);
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
	/* Some are about the very next instruction: blocks come before them. */
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
	gpumon_ptx_copy_to(body->writer, body->writer->inner->places[function].end);
	return 0;
}

int gpumon_ptx_write_body(struct gpumon_ptx_writer *writer, size_t function,
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
