// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>

#include "modules.h"

uint32_t gpumon_probe_modules_add(struct gpumon_probe_modules *modules,
				  const struct gpumon_probe_module *module)
{
	struct gpumon_probe_modules_sum *sum = module->edited ? &modules->edited :
								&modules->patched;
	uint32_t number = gpumon_probe_modules_n(modules);

	if (number < GPUMON_PROBE_MAX_MODULES)
		modules->kept[number] = *module;
	sum->edit_ns += module->edit_ns;
	sum->n++;
	return number;
}

void gpumon_probe_modules_loaded(struct gpumon_probe_modules *modules, uint32_t module,
				 uint32_t process, bool patched, uint64_t took_ns)
{
	struct gpumon_probe_modules_sum *sum = patched ? &modules->patched : &modules->edited;
	struct gpumon_probe_module *kept =
		module < GPUMON_PROBE_MAX_MODULES ? &modules->kept[module] : NULL;

	if (module >= gpumon_probe_modules_n(modules) || sum->loaded >= sum->n ||
	    (kept && (kept->process != process || kept->load_ns.known || patched != !kept->edited)))
		return;
	if (kept)
		kept->load_ns = gpumon_value_of(took_ns);
	sum->load_ns += took_ns;
	sum->loaded++;
}

static void list_modules(struct gpumon_sheet *sheet, struct gpumon_probe_names *names,
			 const struct gpumon_probe_modules *modules)
{
	uint32_t n = gpumon_probe_modules_n(modules);

	gpumon_sheet_table(sheet, "modules", NULL);
	gpumon_sheet_column(sheet, NULL, "process", GPUMON_SHEET_NUMBER);
	gpumon_sheet_column(sheet, NULL, "kernels", GPUMON_SHEET_COUNT);
	gpumon_sheet_column(sheet, NULL, "one_kernel", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "edit_ns", GPUMON_SHEET_NS);
	gpumon_sheet_column(sheet, NULL, "load_ns", GPUMON_SHEET_NS);
	gpumon_sheet_column(sheet, NULL, "size_bytes", GPUMON_SHEET_BYTES);
	gpumon_sheet_column(sheet, NULL, "edited_bytes", GPUMON_SHEET_BYTES);
	for (uint32_t i = 0; i < n && i < GPUMON_PROBE_MAX_MODULES; i++) {
		const struct gpumon_probe_module *module = &modules->kept[i];

		gpumon_sheet_number(sheet, module->process);
		gpumon_sheet_number(sheet, module->kernels);
		gpumon_sheet_text(sheet, module->kernels ?
						 gpumon_probe_kernel_name(names, module->kernel) :
						 NULL);
		gpumon_sheet_number(sheet, module->edit_ns);
		gpumon_sheet_value(sheet, module->load_ns);
		gpumon_sheet_number(sheet, module->size);
		gpumon_sheet_value(sheet, (struct gpumon_value){ .v = module->edited,
								 .known = module->edited > 0 });
	}
	if (n > GPUMON_PROBE_MAX_MODULES)
		gpumon_sheet_left_out(sheet, n - GPUMON_PROBE_MAX_MODULES);
}

static void list_assemblies(struct gpumon_sheet *sheet, const struct gpumon_probe_modules *modules)
{
	if (!modules->assemblies_n)
		return;
	gpumon_sheet_table(sheet, "patches", NULL);
	gpumon_sheet_column(sheet, NULL, "sm", GPUMON_SHEET_NUMBER);
	gpumon_sheet_column(sheet, NULL, "from", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "took_ns", GPUMON_SHEET_NS);
	gpumon_sheet_column(sheet, NULL, "size_bytes", GPUMON_SHEET_BYTES);
	for (uint32_t i = 0; i < modules->assemblies_n; i++) {
		const struct gpumon_probe_assembly *assembly = &modules->assemblies[i];

		gpumon_sheet_number(sheet, assembly->sm);
		gpumon_sheet_text(sheet, assembly->cached ? "cache" : "ptxas");
		gpumon_sheet_number(sheet, assembly->took_ns);
		gpumon_sheet_number(sheet, assembly->size);
	}
}

static void note_sum(struct gpumon_sheet *sheet, const struct gpumon_probe_modules_sum *sum,
		     const char *edited, const char *loaded)
{
	char edit[GPUMON_FORMAT_LEN], load[GPUMON_FORMAT_LEN];

	if (!sum->n)
		return;
	gpumon_format_ns(edit, sizeof(edit), gpumon_value_of(sum->edit_ns));
	gpumon_format_ns(load, sizeof(load), gpumon_value_of(sum->load_ns));
	gpumon_sheet_note(sheet, "%s of %" PRIu32 " module%s in %s; %s %" PRIu32 " in %s", edited,
			  sum->n, sum->n == 1 ? "" : "s", edit, loaded, sum->loaded, load);
}

static void note_times(struct gpumon_sheet *sheet, const struct gpumon_probe_modules *modules)
{
	char assembly[GPUMON_FORMAT_LEN];

	note_sum(sheet, &modules->edited, "Edited the images", "the driver compiled and loaded");
	note_sum(sheet, &modules->patched, "Looked up the kernels", "the sanitizer patched");
	for (uint32_t i = 0; i < modules->assemblies_n; i++) {
		const struct gpumon_probe_assembly *is = &modules->assemblies[i];

		gpumon_format_ns(assembly, sizeof(assembly), gpumon_value_of(is->took_ns));
		gpumon_sheet_note(sheet, "%s the programs for sm_%" PRIu32 " in %s",
				  is->cached ? "Read from the cache" : "Assembled", is->sm,
				  assembly);
	}
}

void gpumon_probe_show_modules(struct gpumon_sheet *sheet, struct gpumon_probe_names *names)
{
	const struct gpumon_probe_modules *modules = names->result->modules;

	if (!modules || !gpumon_probe_modules_n(modules))
		return;
	list_modules(sheet, names, modules);
	list_assemblies(sheet, modules);
	note_times(sheet, modules);
}
