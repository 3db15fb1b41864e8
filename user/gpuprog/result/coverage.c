// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "coverage.h"
#include "maps.h"

void gpumon_gpuprog_show_own_kernels(struct gpumon_sheet *sheet,
				     const struct gpumon_gpuprog_result *result)
{
	if (!result->ran_n)
		return;
	gpumon_sheet_table(sheet, "ran", "Kernels of their own");
	gpumon_sheet_column(sheet, "PROGRAM", "program", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, "BLOCKS", "blocks", GPUMON_SHEET_COUNT);
	gpumon_sheet_column(sheet, "THREADS", "threads", GPUMON_SHEET_COUNT);
	gpumon_sheet_column(sheet, "TIMES", "times", GPUMON_SHEET_COUNT);
	gpumon_sheet_column(sheet, "SHORTEST", "shortest_ns", GPUMON_SHEET_NS);
	gpumon_sheet_column(sheet, "MEDIAN", "median_ns", GPUMON_SHEET_NS);
	gpumon_sheet_column(sheet, "LONGEST", "longest_ns", GPUMON_SHEET_NS);
	for (uint32_t i = 0; i < result->ran_n; i++) {
		const struct gpumon_gpuprog_ran *ran = &result->ran[i];

		gpumon_sheet_text(sheet, ran->program);
		gpumon_sheet_number(sheet, ran->blocks);
		gpumon_sheet_number(sheet, ran->threads);
		gpumon_sheet_number(sheet, ran->times);
		gpumon_sheet_number(sheet, ran->shortest_ns);
		gpumon_sheet_number(sheet, ran->median_ns);
		gpumon_sheet_number(sheet, ran->longest_ns);
	}
}

uint32_t gpumon_gpuprog_modules_add(struct gpumon_gpuprog_modules *modules,
				    const struct gpumon_gpuprog_module *module)
{
	struct gpumon_gpuprog_modules_sum *sum = module->edited ? &modules->edited :
								  &modules->patched;
	uint32_t number = gpumon_gpuprog_modules_n(modules);

	if (number < GPUMON_GPUPROG_MAX_MODULES)
		modules->kept[number] = *module;
	sum->edit_ns += module->edit_ns;
	sum->n++;
	return number;
}

void gpumon_gpuprog_modules_loaded(struct gpumon_gpuprog_modules *modules, uint32_t module,
				   uint32_t process, bool patched, uint64_t took_ns)
{
	struct gpumon_gpuprog_modules_sum *sum = patched ? &modules->patched : &modules->edited;
	struct gpumon_gpuprog_module *kept =
		module < GPUMON_GPUPROG_MAX_MODULES ? &modules->kept[module] : NULL;

	if (module >= gpumon_gpuprog_modules_n(modules) || sum->loaded >= sum->n ||
	    (kept && (kept->process != process || kept->load_ns.known || patched != !kept->edited)))
		return;
	if (kept)
		kept->load_ns = gpumon_value_of(took_ns);
	sum->load_ns += took_ns;
	sum->loaded++;
}

static void list_modules(struct gpumon_sheet *sheet, struct gpumon_gpuprog_names *names,
			 const struct gpumon_gpuprog_modules *modules)
{
	uint32_t n = gpumon_gpuprog_modules_n(modules);

	gpumon_sheet_table(sheet, "modules", NULL);
	gpumon_sheet_column(sheet, NULL, "process", GPUMON_SHEET_NUMBER);
	gpumon_sheet_column(sheet, NULL, "kernels", GPUMON_SHEET_COUNT);
	gpumon_sheet_column(sheet, NULL, "one_kernel", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "edit_ns", GPUMON_SHEET_NS);
	gpumon_sheet_column(sheet, NULL, "load_ns", GPUMON_SHEET_NS);
	gpumon_sheet_column(sheet, NULL, "size_bytes", GPUMON_SHEET_BYTES);
	gpumon_sheet_column(sheet, NULL, "edited_bytes", GPUMON_SHEET_BYTES);
	for (uint32_t i = 0; i < n && i < GPUMON_GPUPROG_MAX_MODULES; i++) {
		const struct gpumon_gpuprog_module *module = &modules->kept[i];

		gpumon_sheet_number(sheet, module->process);
		gpumon_sheet_number(sheet, module->kernels);
		gpumon_sheet_text(sheet, module->kernels ?
						 gpumon_gpuprog_kernel_name(names, module->kernel) :
						 NULL);
		gpumon_sheet_number(sheet, module->edit_ns);
		gpumon_sheet_value(sheet, module->load_ns);
		gpumon_sheet_number(sheet, module->size);
		gpumon_sheet_value(sheet, (struct gpumon_value){ .v = module->edited,
								 .known = module->edited > 0 });
	}
	if (n > GPUMON_GPUPROG_MAX_MODULES)
		gpumon_sheet_left_out(sheet, n - GPUMON_GPUPROG_MAX_MODULES);
}

static void list_assemblies(struct gpumon_sheet *sheet,
			    const struct gpumon_gpuprog_modules *modules)
{
	if (!modules->assemblies_n)
		return;
	gpumon_sheet_table(sheet, "patches", NULL);
	gpumon_sheet_column(sheet, NULL, "sm", GPUMON_SHEET_NUMBER);
	gpumon_sheet_column(sheet, NULL, "from", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "took_ns", GPUMON_SHEET_NS);
	gpumon_sheet_column(sheet, NULL, "size_bytes", GPUMON_SHEET_BYTES);
	for (uint32_t i = 0; i < modules->assemblies_n; i++) {
		const struct gpumon_gpuprog_assembly *assembly = &modules->assemblies[i];

		gpumon_sheet_number(sheet, assembly->sm);
		gpumon_sheet_text(sheet, assembly->cached ? "cache" : "ptxas");
		gpumon_sheet_number(sheet, assembly->took_ns);
		gpumon_sheet_number(sheet, assembly->size);
	}
}

static void note_sum(struct gpumon_sheet *sheet, const struct gpumon_gpuprog_modules_sum *sum,
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

static void note_times(struct gpumon_sheet *sheet, const struct gpumon_gpuprog_modules *modules)
{
	char assembly[GPUMON_FORMAT_LEN];

	note_sum(sheet, &modules->edited, "Edited the images", "the driver compiled and loaded");
	note_sum(sheet, &modules->patched, "Looked up the kernels", "the sanitizer patched");
	for (uint32_t i = 0; i < modules->assemblies_n; i++) {
		const struct gpumon_gpuprog_assembly *is = &modules->assemblies[i];

		gpumon_format_ns(assembly, sizeof(assembly), gpumon_value_of(is->took_ns));
		gpumon_sheet_note(sheet, "%s the programs for sm_%" PRIu32 " in %s",
				  is->cached ? "Read from the cache" : "Assembled", is->sm,
				  assembly);
	}
}

void gpumon_gpuprog_show_modules(struct gpumon_sheet *sheet, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_modules *modules = names->result->modules;

	if (!modules || !gpumon_gpuprog_modules_n(modules))
		return;
	list_modules(sheet, names, modules);
	list_assemblies(sheet, modules);
	note_times(sheet, modules);
}

/* Advice for each cause. */
static const struct {
	const char *word;
	const char *remedy;
} losses[GPUMON_GPUPROG_LOSS_CAUSES] = {
	[GPUMON_GPUPROG_LOST_FUEL] = { "fuel",
				       "these runs did part of their work: shorten the loop" },
	[GPUMON_GPUPROG_LOST_OUTSIDE] = { "outside",
					  "these accesses read 0 and wrote nothing: compare the index with the size first" },
	[GPUMON_GPUPROG_LOST_HASH_FULL] = { "hash_full",
					    "raise max_entries of the hash, or name fewer kernels (--kernel)" },
	[GPUMON_GPUPROG_LOST_HASH_BUSY] = { "hash_busy",
					    "these updates are missing: make the keys differ by SM, or update less often" },
	[GPUMON_GPUPROG_LOST_RING_FULL] = { "ring_full",
					    "raise max_entries of the ring, or write fewer records; what is added up on the GPU is not affected" },
	[GPUMON_GPUPROG_LOST_THREADS] = { "threads",
					  "raise max_entries of the array, in threads, or name fewer kernels (--kernel)" },
	[GPUMON_GPUPROG_LOST_MOVED] = { "moved",
					"these runs did nothing more: the GPU had moved the thread, as when several programs share it" },
};

static uint64_t sum_of(const uint64_t *numbers, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += numbers[i];
	return sum;
}

/* In JSON all kernels. */
static void list_kernels(struct gpumon_sheet *sheet, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_run *run = names->result->run;

	gpumon_sheet_table(sheet, "kernels", NULL);
	gpumon_sheet_column(sheet, NULL, "kernel", GPUMON_SHEET_NUMBER);
	gpumon_sheet_column(sheet, NULL, "kernel_name", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "mangled", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "way", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "why", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "places", GPUMON_SHEET_COUNT);
	gpumon_sheet_column(sheet, NULL, "places_left_out", GPUMON_SHEET_COUNT);
	for (uint32_t i = 0; run && i < run->kernels_n; i++) {
		const struct gpumon_gpuprog_kernel *kernel = &run->kernels[i];

		gpumon_sheet_number(sheet, i);
		gpumon_sheet_text(sheet, gpumon_gpuprog_kernel_name(names, i));
		gpumon_sheet_text(sheet, kernel->name);
		gpumon_sheet_text(sheet, gpumon_gpuprog_way_word(kernel->way));
		gpumon_sheet_text(sheet, gpumon_gpuprog_kernel_why(kernel));
		/* The times of patched modules are not known. */
		gpumon_sheet_value(
			sheet,
			(struct gpumon_value){ .v = sum_of(kernel->points, GPUMON_GPUPROG_POINTS),
					       .known = kernel->way != GPUMON_GPUPROG_WAY_SASS });
		gpumon_sheet_number(sheet, sum_of(kernel->left, GPUMON_EDIT_CAUSES_N));
	}
}

static void show_kernels(struct gpumon_sheet *sheet, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_run *run = names->result->run;

	gpumon_sheet_table(sheet, NULL, "Kernels without programs");
	gpumon_sheet_limit(sheet, GPUMON_GPUPROG_SHOWN_ROWS);
	gpumon_sheet_column(sheet, "WHY", NULL, GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, "KERNEL", NULL, GPUMON_SHEET_NAME);
	for (uint32_t i = 0; run && i < run->kernels_n; i++) {
		const struct gpumon_gpuprog_kernel *kernel = &run->kernels[i];

		if (gpumon_gpuprog_way_is_in(kernel->way))
			continue;
		gpumon_sheet_text(sheet, gpumon_gpuprog_kernel_why(kernel));
		gpumon_sheet_text(sheet, gpumon_gpuprog_kernel_name(names, i));
	}
}

static void note_kernels(struct gpumon_sheet *sheet, const struct gpumon_gpuprog_run *run)
{
	uint64_t places = 0, kernels = 0, patched = 0;

	for (uint32_t i = 0; i < run->kernels_n; i++) {
		if (!gpumon_gpuprog_way_is_in(run->kernels[i].way))
			continue;
		places += sum_of(run->kernels[i].points, GPUMON_GPUPROG_POINTS);
		kernels++;
		patched += run->kernels[i].way == GPUMON_GPUPROG_WAY_SASS;
	}
	if (patched && patched < kernels)
		gpumon_sheet_note(sheet,
				  "%" PRIu64 " of %" PRIu32 " kernels have programs: %" PRIu64
				  " in their PTX, at %" PRIu64 " places, and %" PRIu64
				  " by patches of machine code, at how many places is not known",
				  kernels, run->kernels_n, kernels - patched, places, patched);
	else if (patched)
		gpumon_sheet_note(sheet,
				  "%" PRIu64 " of %" PRIu32
				  " kernels have programs, by patches of machine code: at how many "
				  "places is not known",
				  patched, run->kernels_n);
	else
		gpumon_sheet_note(sheet,
				  "%" PRIu64 " of %" PRIu32 " kernels have programs, at %" PRIu64
				  " places",
				  kernels, run->kernels_n, places);
}

void gpumon_gpuprog_note_kernels(struct gpumon_sheet *sheet,
				 const struct gpumon_gpuprog_names *names, uint32_t kernels)
{
	const struct gpumon_gpuprog_run *run = names->result->run;

	if (run && run->kernels_n > kernels)
		gpumon_sheet_note(
			sheet,
			"%s stands for %" PRIu32
			" kernels, which are counted together: name kernels (--kernel) to tell them apart",
			gpumon_gpuprog_kernel_mangled(names, kernels - 1),
			run->kernels_n - kernels + 1);
}

/* "12 places of 3 kernels have no program: texture or surface" */
static void note_places(struct gpumon_sheet *sheet, const struct gpumon_gpuprog_run *run)
{
	for (uint32_t cause = 0; run && cause < GPUMON_EDIT_CAUSES_N; cause++) {
		uint64_t places = 0, kernels = 0;

		for (uint32_t i = 0; i < run->kernels_n; i++) {
			places += run->kernels[i].left[cause];
			kernels += run->kernels[i].left[cause] > 0;
		}
		if (places)
			gpumon_sheet_note(sheet,
					  "%" PRIu64 " place%s of %" PRIu64
					  " kernel%s %s no program: %s",
					  places, places == 1 ? "" : "s", kernels,
					  kernels == 1 ? "" : "s", places == 1 ? "has" : "have",
					  gpumon_edit_cause_text(cause));
	}
}

static void show_losses(struct gpumon_sheet *sheet, const struct gpumon_gpuprog_result *result)
{
	uint64_t lost[GPUMON_GPUPROG_LOSS_CAUSES];

	gpumon_gpuprog_losses(result, lost);
	gpumon_sheet_table(sheet, "lost", NULL);
	gpumon_sheet_column(sheet, NULL, "cause", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "count", GPUMON_SHEET_COUNT);
	for (uint32_t i = 0; i < GPUMON_GPUPROG_LOSS_CAUSES; i++) {
		gpumon_sheet_text(sheet, losses[i].word);
		gpumon_sheet_number(sheet, lost[i]);
		if (lost[i])
			gpumon_sheet_note(sheet, "Lost: %" PRIu64 " %s: %s", lost[i],
					  gpumon_gpuprog_loss_text(i), losses[i].remedy);
	}
	if (!sum_of(lost, GPUMON_GPUPROG_LOSS_CAUSES))
		gpumon_sheet_note(sheet, "Nothing was lost");
}

void gpumon_gpuprog_coverage(struct gpumon_sheet *sheet, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_result *result = names->result;

	list_kernels(sheet, names);
	show_kernels(sheet, names);
	if (result->run && result->run->kernels_n && !result->ran_n)
		note_kernels(sheet, result->run);
	note_places(sheet, result->run);
	if (result->run && result->run->unread)
		gpumon_sheet_note(
			sheet,
			"%" PRIu32
			" images without PTX, or of NVIDIA's libraries, were not looked into: name kernels (--kernel) to reach those in them",
			result->run->unread);
	if (!result->devices_n)
		gpumon_sheet_note(sheet, "No kernel with a program has run");
	else
		show_losses(sheet, result);
}
