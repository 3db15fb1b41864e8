// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "exchange.h"
#include "number.h"
#include "probe/fatbin/fatbin.h"
#include "probe/translate/translate.h"

/* A table of addresses that modules linked together share. */
#define TABLE ".weak .const .align 8 .b64 " GPUMON_PROBE_TABLE "[%u];"

static int no_memory(struct gpumon_error *err)
{
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOMEM, GPUMON_ERROR_MEMORY,
				"no memory to edit an image");
}

/* A kernel that is to be left alone: gpumon-user was told so. */
static bool is_left(const struct gpumon_probe_run *run, const char *name)
{
	uint32_t number = gpumon_probe_run_find(run, name);

	return number != GPUMON_PROBE_NO_KERNEL &&
	       (run->kernels[number].way == GPUMON_PROBE_WAY_TOO_LARGE ||
		run->kernels[number].way == GPUMON_PROBE_WAY_NOT_LOADED);
}

/* Sets what became of a kernel, unless it is better in another image. */
static void set_way(struct gpumon_probe_run *run, const char *name, enum gpumon_probe_way way,
		    const char *why)
{
	uint32_t number = gpumon_probe_run_kernel(run, name);

	if (number == GPUMON_PROBE_NO_KERNEL || run->kernels[number].way <= way)
		return;
	run->kernels[number].way = way;
	run->kernels[number].why = gpumon_pool_text(&run->pool, why);
	if (!run->kernels[number].why)
		run->kernels[number].why = "";
}

/**
 * struct text_edit - one PTX text that is being edited
 * @order: what to put into it
 * @run: gets names and lines
 * @blocks: programs for its target
 * @edited: kernels of it with a plan
 */
struct text_edit {
	const struct gpumon_probe_order *order;
	struct gpumon_probe_run *run;
	struct gpumon_probe_blocks blocks;
	uint64_t edited;
};

/* The function's name with its NUL, from the run's pool; NULL without memory. */
static const char *name_of(struct gpumon_probe_run *run,
			   const struct gpumon_edit_function *function)
{
	return gpumon_pool_part(&run->pool, function->name, function->size);
}

static const struct gpumon_edit_plan *make_plan(void *data,
						const struct gpumon_edit_function *function)
{
	struct text_edit *edit = data;
	const char *name = name_of(edit->run, function);
	const struct gpumon_edit_plan *plan;
	uint32_t number;

	if (!name || !gpumon_probe_is_wanted(edit->order, name, function->kernel) ||
	    is_left(edit->run, name))
		return NULL;
	number = gpumon_probe_run_kernel(edit->run, name);
	if (number == GPUMON_PROBE_NO_KERNEL)
		return NULL;
	plan = gpumon_probe_blocks_plan(&edit->blocks, name, function->kernel, number);
	edit->edited += plan != NULL;
	return plan;
}

static bool has_wanted(const struct gpumon_probe_order *order, struct gpumon_probe_run *run,
		       const struct gpumon_edit_module *module)
{
	for (size_t i = 0; i < module->functions_n; i++) {
		const char *name = name_of(run, &module->functions[i]);

		if (name && gpumon_probe_is_wanted(order, name, module->functions[i].kernel) &&
		    !is_left(run, name))
			return true;
	}
	return false;
}

/* Why none of a text's kernels gets programs. */
static void refuse_all(const struct gpumon_probe_order *order, struct gpumon_probe_run *run,
		       const struct gpumon_edit_module *module, const char *why)
{
	for (size_t i = 0; i < module->functions_n; i++) {
		const char *name = name_of(run, &module->functions[i]);

		if (name && gpumon_probe_is_wanted(order, name, module->functions[i].kernel))
			set_way(run, name, GPUMON_PROBE_WAY_REFUSED, why);
	}
}

static int add_lines(struct gpumon_probe_run *run, const struct gpumon_edit_report *report)
{
	for (size_t i = 0; i < report->lines_n; i++) {
		const struct gpumon_edit_line *line = &report->lines[i];
		struct gpumon_probe_line_of *added =
			GPUMON_ARRAY_ADD(run->lines, run->lines_n, run->lines_room);

		if (!added)
			return -1;
		added->kernel = line->kernel;
		added->line = line->line;
		added->file = gpumon_pool_part(&run->pool, line->file, line->file_size);
		if (!added->file)
			return -1;
	}
	return 0;
}

/* Points by kernel are not known: the report is of the whole text, so it is that of each. */
static void add_points(struct text_edit *edit, const struct gpumon_edit_module *module,
		       const struct gpumon_edit_report *report)
{
	for (size_t i = 0; i < module->functions_n; i++) {
		const char *name = name_of(edit->run, &module->functions[i]);
		uint32_t number;

		if (!name ||
		    !gpumon_probe_is_wanted(edit->order, name, module->functions[i].kernel) ||
		    is_left(edit->run, name))
			continue;
		set_way(edit->run, name, GPUMON_PROBE_WAY_PTX, "");
		number = gpumon_probe_run_find(edit->run, name);
		for (int j = 0; number != GPUMON_PROBE_NO_KERNEL && j < GPUMON_PROBE_POINTS; j++)
			edit->run->kernels[number].points[j] += report->points[j];
		for (int j = 0; number != GPUMON_PROBE_NO_KERNEL && j < GPUMON_EDIT_CAUSES_N; j++)
			edit->run->kernels[number].left[j] += report->left[j];
	}
}

/* Writes the text with programs into @out. Sets @outcome. */
static int edit_module(struct text_edit *edit, const struct gpumon_edit_module *module, FILE *out,
		       enum gpumon_probe_outcome *outcome, struct gpumon_error *err)
{
	struct gpumon_edit_report report = { 0 };
	char table[sizeof(TABLE) + 16];
	const struct gpumon_edit_request request = {
		.table = table,
		.first_line = edit->run->lines_n + 1,
		.plan = make_plan,
		.data = edit,
	};
	struct gpumon_error why;
	int ret = 0;

	snprintf(table, sizeof(table), TABLE, 1 + edit->order->object->maps_n);
	if (gpumon_edit_write(module, &request, out, &report, &why)) {
		refuse_all(edit->order, edit->run, module, why.message);
		return 0;
	}
	if (edit->edited) {
		add_points(edit, module, &report);
		ret = add_lines(edit->run, &report) ? no_memory(err) : 0;
		*outcome = GPUMON_PROBE_EXCHANGED;
	}
	gpumon_edit_report_release(&report);
	return ret;
}

static int exchange_text(const struct gpumon_probe_order *order, const char *text, size_t size,
			 struct gpumon_probe_run *run, FILE *out,
			 enum gpumon_probe_outcome *outcome, struct gpumon_error *err)
{
	struct text_edit edit = { .order = order, .run = run };
	struct gpumon_edit_module module;
	struct gpumon_error why;
	int ret = 0;

	*outcome = GPUMON_PROBE_UNTOUCHED;
	if (gpumon_edit_open(text, size, &module, &why))
		return 0; /* no PTX, or a text that CUDA will refuse */
	if (!module.probed && has_wanted(order, run, &module)) {
		if (gpumon_probe_blocks_make(&edit.blocks, order, module.isa, module.sm))
			refuse_all(order, run, &module, edit.blocks.why.message);
		else
			ret = edit_module(&edit, &module, out, outcome, err);
		gpumon_probe_blocks_clear(&edit.blocks);
	}
	gpumon_edit_close(&module);
	return ret;
}

/**
 * struct cubin - kernels of a cubin that is looked at
 * @order: what is wanted
 * @run: names
 * @note: wanted kernels are noted as without PTX
 */
struct cubin {
	const struct gpumon_probe_order *order;
	struct gpumon_probe_run *run;
	bool note;
};

/* 1 for a kernel that has programs in its PTX. */
static int look_at_kernel(void *context, const char *name)
{
	const struct cubin *cubin = context;
	uint32_t number;

	if (!gpumon_probe_is_wanted(cubin->order, name, true))
		return 0;
	if (cubin->note)
		set_way(cubin->run, name, GPUMON_PROBE_WAY_NO_PTX, "");
	number = gpumon_probe_run_find(cubin->run, name);
	return !cubin->note && number != GPUMON_PROBE_NO_KERNEL &&
	       cubin->run->kernels[number].way == GPUMON_PROBE_WAY_PTX;
}

static bool look_at_cubin(const struct gpumon_probe_order *order, struct gpumon_probe_run *run,
			  const void *data, size_t size, bool note)
{
	struct cubin cubin = { .order = order, .run = run, .note = note };
	struct gpumon_error ignored;

	return gpumon_fatbin_elf_kernels(data, size, look_at_kernel, &cubin, &ignored) == 1;
}

/**
 * struct container - a container that is being edited
 * @changes: for each image
 * @texts: new texts of images, or NULL
 * @edited: how many images have one
 */
struct container {
	const struct gpumon_probe_order *order;
	struct gpumon_probe_run *run;
	struct gpumon_fatbin fatbin;
	struct gpumon_fatbin_change *changes;
	char **texts;
	size_t edited;
};

static int edit_image(struct container *container, size_t i, struct gpumon_error *err)
{
	enum gpumon_probe_outcome outcome = GPUMON_PROBE_UNTOUCHED;
	struct gpumon_error ignored;
	uint8_t *text;
	size_t size;
	FILE *out;
	int ret;

	if (gpumon_fatbin_unpack(&container->fatbin.images[i], &text, &size, &ignored))
		return 0;
	out = open_memstream(&container->texts[i], &container->changes[i].size);
	ret = out ? exchange_text(container->order, (const char *)text, size, container->run, out,
				  &outcome, err) :
		    no_memory(err);
	if (out && fclose(out) && !ret)
		ret = no_memory(err);
	free(text);
	if (!ret && outcome == GPUMON_PROBE_EXCHANGED) {
		container->changes[i].text = container->texts[i];
		container->edited++;
	}
	return ret;
}

/* Machine code of edited kernels is left out: the driver would prefer it. */
static void look_at_machine_code(struct container *container, size_t i)
{
	struct gpumon_error ignored;
	uint8_t *data;
	size_t size;

	if (gpumon_fatbin_unpack(&container->fatbin.images[i], &data, &size, &ignored))
		return;
	container->changes[i].leave_out = look_at_cubin(container->order, container->run, data,
							size, !container->edited);
	free(data);
}

static int exchange_images(struct container *container, FILE *out,
			   enum gpumon_probe_outcome *outcome, struct gpumon_error *err)
{
	const struct gpumon_fatbin *fatbin = &container->fatbin;

	for (size_t i = 0; i < fatbin->images_n; i++)
		if (fatbin->images[i].kind == GPUMON_FATBIN_PTX && edit_image(container, i, err))
			return -1;
	for (size_t i = 0; i < fatbin->images_n; i++)
		if (fatbin->images[i].kind == GPUMON_FATBIN_ELF)
			look_at_machine_code(container, i);
	if (!container->edited)
		return 0;
	*outcome = GPUMON_PROBE_EXCHANGED;
	return gpumon_fatbin_write(fatbin, container->changes, out, err);
}

static int exchange_container(const struct gpumon_probe_order *order, const void *image,
			      size_t size, struct gpumon_probe_run *run, FILE *out,
			      enum gpumon_probe_outcome *outcome, struct gpumon_error *err)
{
	struct container container = { .order = order, .run = run };
	struct gpumon_error ignored;
	int ret;

	if (gpumon_fatbin_open(image, size, &container.fatbin, &ignored))
		return 0;
	container.changes = calloc(container.fatbin.images_n + 1, sizeof(*container.changes));
	container.texts = calloc(container.fatbin.images_n + 1, sizeof(*container.texts));
	ret = container.changes && container.texts ?
		      exchange_images(&container, out, outcome, err) :
		      no_memory(err);
	for (size_t i = 0; container.texts && i < container.fatbin.images_n; i++)
		free(container.texts[i]);
	free(container.texts);
	free(container.changes);
	gpumon_fatbin_close(&container.fatbin);
	return ret;
}

int gpumon_probe_exchange(const struct gpumon_probe_order *order, const void *image, size_t size,
			  struct gpumon_probe_run *run, FILE *out,
			  enum gpumon_probe_outcome *outcome, struct gpumon_error *err)
{
	*outcome = GPUMON_PROBE_UNTOUCHED;
	if (size < 16)
		return 0;
	switch (gpumon_fatbin_form(image)) {
	case GPUMON_FATBIN_TEXT:
		return exchange_text(order, image, size, run, out, outcome, err);
	case GPUMON_FATBIN_ELF_FILE:
		look_at_cubin(order, run, image, size, true);
		return 0;
	case GPUMON_FATBIN_CONTAINER:
		return exchange_container(order, image, size, run, out, outcome, err);
	default:
		return 0;
	}
}
