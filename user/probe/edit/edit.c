// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Puts a changed text together: the parts that stay, kernels with blocks, copies of functions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "body.h"

/**
 * struct edit - state of gpumon_edit_write()
 * @writer: writer
 * @plans: of each function, or NULL
 * @table: still to be written, or NULL
 */
struct edit {
	struct gpumon_ptx_writer writer;
	const struct gpumon_edit_plan **plans;
	const char *table;
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

/* The copy of a device function for the current kernel: its head only, or all of it. */
static int write_copy(struct edit *edit, size_t function, bool all)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	const struct gpumon_ptx_place *place = &writer->inner->places[function];

	gpumon_ptx_write_text(writer, place->directive, place->name);
	gpumon_ptx_write_name(writer, function);
	gpumon_ptx_write_text(writer, place->name + writer->inner->functions[function].size,
			      place->body);
	if (all && gpumon_ptx_write_body(writer, function, edit->plans[function]))
		return -1;
	fputs(all ? "\n" : ";\n", writer->out);
	return 0;
}

/* The copies may call each other, so that all are declared first. */
static int write_copies(struct edit *edit, const uint32_t *functions, size_t n)
{
	for (size_t i = 0; i < n; i++)
		write_copy(edit, functions[i], false);
	for (size_t i = 0; i < n; i++)
		if (write_copy(edit, functions[i], true))
			return -1;
	return 0;
}

static int write_function(struct edit *edit, size_t function)
{
	struct gpumon_ptx_writer *writer = &edit->writer;
	const struct gpumon_ptx_place *place = &writer->inner->places[function];
	const struct gpumon_edit_plan *plan = edit->plans[function];
	bool kernel = writer->inner->functions[function].kernel;
	int result = 0;

	gpumon_ptx_copy_to(writer, place->begin);
	if (edit->table)
		fprintf(writer->out, "%s\n", edit->table);
	edit->table = NULL;
	writer->kernel = function;
	writer->kernel_plan = kernel ? plan : NULL;
	if (kernel)
		result = write_copies(edit, writer->calls->stack,
				      gpumon_ptx_calls_reach(writer->calls, (uint32_t)function,
							     points_of(plan)));
	gpumon_ptx_write_text(writer, place->begin, place->body);
	if (!result)
		result = gpumon_ptx_write_body(writer, function, kernel ? NULL : plan);
	gpumon_map_clear(&writer->line_numbers);
	return result;
}

static int write_module(struct edit *edit)
{
	const struct gpumon_edit_inner *inner = edit->writer.inner;

	for (size_t i = 0; i < inner->functions_n; i++)
		if (edit->plans[i] && write_function(edit, i))
			return -1;
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
	if (!result)
		result = write_module(&edit);
	gpumon_ptx_calls_close(&calls);
	free(edit.plans);
	return result;
}
