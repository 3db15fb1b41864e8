// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Puts a changed text together: the parts that stay, kernels with blocks, copies of functions. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "body.h"
#include "point.h"

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

	for (int i = GPUMON_PROBE_EXIT; i <= GPUMON_PROBE_BARRIER; i++)
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
		gpumon_ptx_write_text(writer, name_end, place->body);
	} else if (!place->parameters_end) {
		fputs(" (.param .b64 gpumon_of) ", writer->out);
		gpumon_ptx_write_text(writer, name_end, place->body);
	} else {
		gpumon_ptx_write_text(writer, name_end, place->parameters_end);
		fprintf(writer->out, "%s.param .b64 gpumon_of", place->has_parameters ? ", " : "");
		gpumon_ptx_write_text(writer, place->parameters_end, place->body);
	}
}

/* The copy of a device function for the current kernel: its head only, or all of it. */
static int write_copy(struct edit *edit, size_t function, bool all)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	const struct gpumon_ptx_place *place = &writer->inner->places[function];

	gpumon_ptx_write_text(writer, place->directive, place->name);
	gpumon_ptx_write_name(writer, function);
	write_parameters(edit, function);
	if (all && gpumon_ptx_write_body(writer, function, edit->plans[function]))
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
	for (int i = GPUMON_PROBE_EXIT; i <= GPUMON_PROBE_BARRIER; i++)
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
static int write_table(struct edit *edit, size_t kernel)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	struct gpumon_ptx_calls *calls = writer->calls;
	const struct gpumon_edit_plan *plan = edit->plans[kernel];
	size_t n = gpumon_ptx_calls_reach(calls, (uint32_t)kernel, writer->points, 0);

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct gpumon_edit_counts *counts = &edit->shared[calls->stack[i]];

		for (int j = 0; j < GPUMON_PROBE_POINTS; j++)
			plan->counts->points[j] += counts->points[j];
		for (int j = 0; j < GPUMON_EDIT_CAUSES_N; j++)
			plan->counts->left[j] += counts->left[j];
	}
	fprintf(writer->out, ".global .align 4 .b32 " GPUMON_PTX_TABLE "[%zu] = {%u", kernel,
		writer->lines_n + 1, plan->number);
	for (size_t i = 0; i < writer->lines_n; i++) {
		const struct gpumon_ptx_shared_line *line = &writer->lines[i];
		uint64_t number = 0;

		if (calls->reached[line->function] == calls->look) {
			number = gpumon_ptx_number_source(writer, plan->number, line->source);
			if (!number)
				return gpumon_error_memory(writer->err);
		}
		fprintf(writer->out, ", %" PRIu64, number);
	}
	fprintf(writer->out, "};\n");
	return 0;
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
			result = write_table(edit, i);
	return result;
}

/* They may call each other, so that all are declared first. */
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

/* What is left out in functions that a kernel calls. */
static void count_left(struct edit *edit, size_t kernel, const struct gpumon_edit_plan *plan)
{
	struct gpumon_ptx_calls *calls = edit->writer.calls;
	size_t n = gpumon_ptx_calls_reach(calls, (uint32_t)kernel, points_of(plan), 0);
	uint64_t *left = &plan->counts->left[GPUMON_EDIT_FUNCTION];

	for (size_t i = 0; i < n; i++) {
		const uint32_t *own = calls->own[calls->stack[i]];

		/* Atomic operations are accesses, too. */
		for (int j = GPUMON_PROBE_EXIT; j <= GPUMON_PROBE_BARRIER; j++)
			if (plan->blocks[j] &&
			    (j != GPUMON_PROBE_ATOMIC || !plan->blocks[GPUMON_PROBE_MEMORY]))
				*left += own[j];
	}
}

/* Each block as a function of its own. */
static int write_called(struct edit *edit)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	uint32_t n = 0;

	for (size_t i = 0; i < writer->inner->functions_n; i++) {
		const struct gpumon_edit_plan *plan = edit->plans[i];

		for (int j = 0; plan && !plan->keeps && j < GPUMON_PROBE_POINTS; j++) {
			bool context = gpumon_probe_has_context((enum gpumon_probe_point)j);
			uint64_t key = gpumon_ptx_called_key(plan->blocks[j], context);

			if (!plan->blocks[j] || gpumon_map_get(&writer->called, key))
				continue;
			gpumon_ptx_write_called(writer->out, n, context, plan->blocks[j]);
			if (gpumon_map_set(&writer->called, key, ++n))
				return gpumon_error_memory(writer->err);
		}
	}
	return 0;
}

/* What all of the changed functions use. */
static int write_head(struct edit *edit)
{
	if (edit->table)
		fprintf(edit->writer.out, "%s\n", edit->table);
	edit->table = NULL;
	if (edit->writer.request->compact && !edit->writer.called.used)
		return write_called(edit);
	return 0;
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
	int result;

	gpumon_ptx_copy_to(writer, place->begin);
	writer->kernel = function;
	writer->kernel_plan = NULL;
	writer->points = 0;
	writer->has_copies = false;
	result = write_head(edit);
	if (!result && kernel)
		result = write_kernel(edit, function, plan);
	gpumon_ptx_write_text(writer, place->begin, place->body);
	if (!result)
		result = gpumon_ptx_write_body(writer, function, kernel ? NULL : plan);
	gpumon_map_clear(&writer->line_numbers);
	return result;
}

/* Everything; copies of functions stand behind the last of the others. */
static int write_module(struct edit *edit)
{
	const struct gpumon_edit_inner *inner = edit->writer.inner;
	char *tail = NULL;
	size_t size;
	int result = 0;

	edit->tail = open_memstream(&tail, &size);
	if (!edit->tail)
		return gpumon_error_memory(edit->writer.err);
	for (size_t i = 0; !result && i < inner->functions_n; i++)
		if (edit->plans[i])
			result = write_function(edit, i);
	if (fclose(edit->tail) && !result)
		result = gpumon_error_memory(edit->writer.err);
	if (!result && size) {
		gpumon_ptx_copy_to(&edit->writer, inner->places[inner->functions_n - 1].end);
		fputc('\n', edit->writer.out);
		fwrite(tail, 1, size, edit->writer.out);
	}
	free(tail);
	if (result)
		return result;
	gpumon_ptx_copy_to(&edit->writer, inner->text.size);
	if (fflush(edit->writer.out) || ferror(edit->writer.out))
		return gpumon_error_set(edit->writer.err, GPUMON_EXIT_FAILED, -errno,
					GPUMON_ERROR_IO, "the changed PTX cannot be written: %s",
					strerror(errno));
	return 0;
}

static int ask_for_plans(struct edit *edit)
{
	const struct gpumon_edit_inner *inner = edit->writer.inner;

	edit->plans = calloc(inner->functions_n + 1, sizeof(*edit->plans));
	if (!edit->plans)
		return gpumon_error_memory(edit->writer.err);
	for (size_t i = 0; i < inner->functions_n; i++)
		edit->plans[i] = edit->writer.request->plan(edit->writer.request->data,
							    &inner->functions[i]);
	return 0;
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
	int result;

	if (module->probed)
		return GPUMON_PTX_REFUSE(err, 1, "this text has been probed before");
	result = ask_for_plans(&edit);
	if (!result && !wants_nothing(&edit))
		result = gpumon_ptx_calls_open(module->inner, edit.plans, &calls, err);
	if (!result && request->compact) {
		edit.shared = calloc(module->inner->functions_n + 1, sizeof(*edit.shared));
		if (!edit.shared)
			result = gpumon_error_memory(err);
	}
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
