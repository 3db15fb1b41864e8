// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "coverage.h"
#include "maps.h"

void gpumon_gpuprog_show_own_kernels(struct gpumon_findings *findings,
				     const struct gpumon_gpuprog_result *result)
{
	struct gpumon_table *table;

	if (!result->ran_n)
		return;
	table = gpumon_findings_table(findings, "ran", "Kernels of their own");
	gpumon_table_typed(table, "PROGRAM", "program", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, "BLOCKS", "blocks", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "THREADS", "threads", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "TIMES", "times", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, "SHORTEST", "shortest_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "MEDIAN", "median_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, "LONGEST", "longest_ns", GPUMON_CELL_NS);
	for (uint32_t i = 0; i < result->ran_n; i++) {
		const struct gpumon_gpuprog_ran *ran = &result->ran[i];

		gpumon_table_text(table, ran->program);
		gpumon_table_number(table, ran->blocks);
		gpumon_table_number(table, ran->threads);
		gpumon_table_number(table, ran->times);
		gpumon_table_number(table, ran->shortest_ns);
		gpumon_table_number(table, ran->median_ns);
		gpumon_table_number(table, ran->longest_ns);
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

static void list_modules(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names,
			 const struct gpumon_gpuprog_modules *modules)
{
	struct gpumon_table *table = gpumon_findings_table(findings, "modules", NULL);
	uint32_t n = gpumon_gpuprog_modules_n(modules);

	gpumon_table_typed(table, NULL, "process", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, NULL, "kernels", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, NULL, "one_kernel", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, NULL, "edit_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, NULL, "load_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, NULL, "size_bytes", GPUMON_CELL_BYTES);
	gpumon_table_typed(table, NULL, "edited_bytes", GPUMON_CELL_BYTES);
	for (uint32_t i = 0; i < n && i < GPUMON_GPUPROG_MAX_MODULES; i++) {
		const struct gpumon_gpuprog_module *module = &modules->kept[i];

		gpumon_table_number(table, module->process);
		gpumon_table_number(table, module->kernels);
		gpumon_table_text(table, module->kernels ?
						 gpumon_gpuprog_kernel_name(names, module->kernel) :
						 NULL);
		gpumon_table_number(table, module->edit_ns);
		gpumon_table_value(table, module->load_ns);
		gpumon_table_number(table, module->size);
		gpumon_table_value(table, (struct gpumon_value){ .v = module->edited,
								 .known = module->edited > 0 });
	}
	if (n > GPUMON_GPUPROG_MAX_MODULES)
		table->left_out = n - GPUMON_GPUPROG_MAX_MODULES;
}

static void list_assemblies(struct gpumon_findings *findings,
			    const struct gpumon_gpuprog_modules *modules)
{
	struct gpumon_table *table;

	if (!modules->assemblies_n)
		return;
	table = gpumon_findings_table(findings, "patches", NULL);
	gpumon_table_typed(table, NULL, "sm", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, NULL, "from", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, NULL, "took_ns", GPUMON_CELL_NS);
	gpumon_table_typed(table, NULL, "size_bytes", GPUMON_CELL_BYTES);
	for (uint32_t i = 0; i < modules->assemblies_n; i++) {
		const struct gpumon_gpuprog_assembly *assembly = &modules->assemblies[i];

		gpumon_table_number(table, assembly->sm);
		gpumon_table_text(table, assembly->cached ? "cache" : "ptxas");
		gpumon_table_number(table, assembly->took_ns);
		gpumon_table_number(table, assembly->size);
	}
}

static void note_sum(struct gpumon_findings *findings, const struct gpumon_gpuprog_modules_sum *sum,
		     const char *edited, const char *loaded)
{
	char edit[GPUMON_FORMAT_LEN], load[GPUMON_FORMAT_LEN];

	if (!sum->n)
		return;
	gpumon_format_ns(edit, sizeof(edit), gpumon_value_of(sum->edit_ns));
	gpumon_format_ns(load, sizeof(load), gpumon_value_of(sum->load_ns));
	gpumon_findings_note(findings, "%s of %" PRIu32 " module%s in %s; %s %" PRIu32 " in %s",
			     edited, sum->n, sum->n == 1 ? "" : "s", edit, loaded, sum->loaded,
			     load);
}

static void note_times(struct gpumon_findings *findings,
		       const struct gpumon_gpuprog_modules *modules)
{
	char assembly[GPUMON_FORMAT_LEN];

	note_sum(findings, &modules->edited, "Edited the images", "the driver compiled and loaded");
	note_sum(findings, &modules->patched, "Looked up the kernels", "the sanitizer patched");
	for (uint32_t i = 0; i < modules->assemblies_n; i++) {
		const struct gpumon_gpuprog_assembly *is = &modules->assemblies[i];

		gpumon_format_ns(assembly, sizeof(assembly), gpumon_value_of(is->took_ns));
		gpumon_findings_note(findings, "%s the programs for sm_%" PRIu32 " in %s",
				     is->cached ? "Read from the cache" : "Assembled", is->sm,
				     assembly);
	}
}

void gpumon_gpuprog_show_modules(struct gpumon_findings *findings,
				 struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_modules *modules = names->result->modules;

	if (!modules || !gpumon_gpuprog_modules_n(modules))
		return;
	list_modules(findings, names, modules);
	list_assemblies(findings, modules);
	note_times(findings, modules);
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

/* JSON has all kernels. */
static void list_kernels(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	struct gpumon_table *table = gpumon_findings_table(findings, "kernels", NULL);
	const struct gpumon_gpuprog_run *run = names->result->run;

	gpumon_table_typed(table, NULL, "kernel", GPUMON_CELL_NUMBER);
	gpumon_table_typed(table, NULL, "kernel_name", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, NULL, "mangled", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, NULL, "way", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, NULL, "why", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, NULL, "places", GPUMON_CELL_COUNT);
	gpumon_table_typed(table, NULL, "places_left_out", GPUMON_CELL_COUNT);
	for (uint32_t i = 0; run && i < run->kernels_n; i++) {
		const struct gpumon_gpuprog_kernel *kernel = &run->kernels[i];

		gpumon_table_number(table, i);
		gpumon_table_text(table, gpumon_gpuprog_kernel_name(names, i));
		gpumon_table_text(table, kernel->name);
		gpumon_table_text(table, gpumon_gpuprog_way_word(kernel->way));
		gpumon_table_text(table, gpumon_gpuprog_kernel_why(kernel));
		/* The times of patched modules are not known. */
		gpumon_table_value(
			table,
			(struct gpumon_value){ .v = sum_of(kernel->points, GPUMON_GPUPROG_POINTS),
					       .known = kernel->way != GPUMON_GPUPROG_WAY_SASS });
		gpumon_table_number(table, sum_of(kernel->left, GPUMON_EDIT_CAUSES_N));
	}
}

static void show_kernels(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	struct gpumon_table *table =
		gpumon_findings_table(findings, NULL, "Kernels without programs");
	const struct gpumon_gpuprog_run *run = names->result->run;

	table->limit = GPUMON_GPUPROG_SHOWN_ROWS;
	gpumon_table_typed(table, "WHY", NULL, GPUMON_CELL_TEXT);
	gpumon_table_typed(table, "KERNEL", NULL, GPUMON_CELL_NAME);
	for (uint32_t i = 0; run && i < run->kernels_n; i++) {
		const struct gpumon_gpuprog_kernel *kernel = &run->kernels[i];

		if (gpumon_gpuprog_way_is_in(kernel->way))
			continue;
		gpumon_table_text(table, gpumon_gpuprog_kernel_why(kernel));
		gpumon_table_text(table, gpumon_gpuprog_kernel_name(names, i));
	}
}

static void note_kernels(struct gpumon_findings *findings, const struct gpumon_gpuprog_run *run)
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
		gpumon_findings_note(findings,
				     "%" PRIu64 " of %" PRIu32 " kernels have programs: %" PRIu64
				     " in their PTX, at %" PRIu64 " places, and %" PRIu64
				     " by patches of machine code, at how many places is not known",
				     kernels, run->kernels_n, kernels - patched, places, patched);
	else if (patched)
		gpumon_findings_note(
			findings,
			"%" PRIu64 " of %" PRIu32
			" kernels have programs, by patches of machine code: at how many "
			"places is not known",
			patched, run->kernels_n);
	else
		gpumon_findings_note(findings,
				     "%" PRIu64 " of %" PRIu32 " kernels have programs, at %" PRIu64
				     " places",
				     kernels, run->kernels_n, places);
}

void gpumon_gpuprog_note_kernels(struct gpumon_findings *findings,
				 const struct gpumon_gpuprog_names *names, uint32_t kernels)
{
	const struct gpumon_gpuprog_run *run = names->result->run;

	if (run && run->kernels_n > kernels)
		gpumon_findings_note(
			findings,
			"%s stands for %" PRIu32
			" kernels, which are counted together: name kernels (--kernel) to tell them apart",
			gpumon_gpuprog_kernel_mangled(names, kernels - 1),
			run->kernels_n - kernels + 1);
}

/* "12 places of 3 kernels have no program: texture or surface" */
static void note_places(struct gpumon_findings *findings, const struct gpumon_gpuprog_run *run)
{
	for (uint32_t cause = 0; run && cause < GPUMON_EDIT_CAUSES_N; cause++) {
		uint64_t places = 0, kernels = 0;

		for (uint32_t i = 0; i < run->kernels_n; i++) {
			places += run->kernels[i].left[cause];
			kernels += run->kernels[i].left[cause] > 0;
		}
		if (places)
			gpumon_findings_note(findings,
					     "%" PRIu64 " place%s of %" PRIu64
					     " kernel%s %s no program: %s",
					     places, places == 1 ? "" : "s", kernels,
					     kernels == 1 ? "" : "s", places == 1 ? "has" : "have",
					     gpumon_edit_cause_text(cause));
	}
}

static void show_losses(struct gpumon_findings *findings,
			const struct gpumon_gpuprog_result *result)
{
	uint64_t lost[GPUMON_GPUPROG_LOSS_CAUSES];
	struct gpumon_table *table;

	gpumon_gpuprog_losses(result, lost);
	table = gpumon_findings_table(findings, "lost", NULL);
	gpumon_table_typed(table, NULL, "cause", GPUMON_CELL_TEXT);
	gpumon_table_typed(table, NULL, "count", GPUMON_CELL_COUNT);
	for (uint32_t i = 0; i < GPUMON_GPUPROG_LOSS_CAUSES; i++) {
		gpumon_table_text(table, losses[i].word);
		gpumon_table_number(table, lost[i]);
		if (lost[i])
			gpumon_findings_note(findings, "Lost: %" PRIu64 " %s: %s", lost[i],
					     gpumon_gpuprog_loss_text(i), losses[i].remedy);
	}
	if (!sum_of(lost, GPUMON_GPUPROG_LOSS_CAUSES))
		gpumon_findings_note(findings, "Nothing was lost");
}

void gpumon_gpuprog_coverage(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_result *result = names->result;

	list_kernels(findings, names);
	show_kernels(findings, names);
	if (result->run && result->run->kernels_n && !result->ran_n)
		note_kernels(findings, result->run);
	note_places(findings, result->run);
	if (result->run && result->run->unread)
		gpumon_findings_note(
			findings,
			"%" PRIu32
			" images without PTX, or of NVIDIA's libraries, were not looked into: name kernels (--kernel) to reach those in them",
			result->run->unread);
	if (!result->devices_n)
		gpumon_findings_note(findings, "No kernel with a program has run");
	else
		show_losses(findings, result);
}
