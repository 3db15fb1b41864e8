// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "coverage.h"
#include "generic.h"
#include "sum.h"

/* What to do about each. */
static const struct {
	const char *word;
	const char *remedy;
} losses[GPUMON_PROBE_LOSS_CAUSES] = {
	[GPUMON_PROBE_LOST_FUEL] = { "fuel",
				     "these runs did part of their work: shorten the loop" },
	[GPUMON_PROBE_LOST_OUTSIDE] = { "outside",
					"these accesses read 0 and wrote nothing: compare the index with the size first" },
	[GPUMON_PROBE_LOST_HASH_FULL] = { "hash_full",
					  "raise max_entries of the hash, or name fewer kernels (--kernel)" },
	[GPUMON_PROBE_LOST_HASH_BUSY] = { "hash_busy",
					  "these updates are missing: make the keys differ by SM, or update less often" },
	[GPUMON_PROBE_LOST_RING_FULL] = { "ring_full",
					  "raise max_entries of the ring, or write fewer records; what is added up on the GPU is not affected" },
	[GPUMON_PROBE_LOST_THREADS] = { "threads",
					"raise max_entries of the array, in threads, or name fewer kernels (--kernel)" },
	[GPUMON_PROBE_LOST_MOVED] = { "moved",
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
static void list_kernels(struct gpumon_sheet *sheet, struct gpumon_probe_names *names)
{
	const struct gpumon_probe_run *run = names->result->run;

	gpumon_sheet_table(sheet, "kernels", NULL);
	gpumon_sheet_column(sheet, NULL, "kernel", GPUMON_SHEET_NUMBER);
	gpumon_sheet_column(sheet, NULL, "kernel_name", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "mangled", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "way", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "why", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "places", GPUMON_SHEET_COUNT);
	gpumon_sheet_column(sheet, NULL, "places_left_out", GPUMON_SHEET_COUNT);
	for (uint32_t i = 0; run && i < run->kernels_n; i++) {
		const struct gpumon_probe_kernel *kernel = &run->kernels[i];

		gpumon_sheet_number(sheet, i);
		gpumon_sheet_text(sheet, gpumon_probe_kernel_name(names, i));
		gpumon_sheet_text(sheet, kernel->name);
		gpumon_sheet_text(sheet, gpumon_probe_way_word(kernel->way));
		gpumon_sheet_text(sheet, gpumon_probe_kernel_why(kernel));
		/* Those of patches are not known. */
		gpumon_sheet_value(sheet, (struct gpumon_value){
						  .v = sum_of(kernel->points, GPUMON_PROBE_POINTS),
						  .known = kernel->way != GPUMON_PROBE_WAY_SASS });
		gpumon_sheet_number(sheet, sum_of(kernel->left, GPUMON_EDIT_CAUSES_N));
	}
}

static void show_kernels(struct gpumon_sheet *sheet, struct gpumon_probe_names *names)
{
	const struct gpumon_probe_run *run = names->result->run;

	gpumon_sheet_table(sheet, NULL, "Kernels without programs");
	gpumon_sheet_limit(sheet, GPUMON_PROBE_SHOWN_ROWS);
	gpumon_sheet_column(sheet, "WHY", NULL, GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, "KERNEL", NULL, GPUMON_SHEET_NAME);
	for (uint32_t i = 0; run && i < run->kernels_n; i++) {
		const struct gpumon_probe_kernel *kernel = &run->kernels[i];

		if (gpumon_probe_way_is_in(kernel->way))
			continue;
		gpumon_sheet_text(sheet, gpumon_probe_kernel_why(kernel));
		gpumon_sheet_text(sheet, gpumon_probe_kernel_name(names, i));
	}
}

static void note_kernels(struct gpumon_sheet *sheet, const struct gpumon_probe_run *run)
{
	uint64_t places = 0, kernels = 0, patched = 0;

	for (uint32_t i = 0; i < run->kernels_n; i++) {
		if (!gpumon_probe_way_is_in(run->kernels[i].way))
			continue;
		places += sum_of(run->kernels[i].points, GPUMON_PROBE_POINTS);
		kernels++;
		patched += run->kernels[i].way == GPUMON_PROBE_WAY_SASS;
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

void gpumon_probe_note_kernels(struct gpumon_sheet *sheet, const struct gpumon_probe_names *names,
			       uint32_t kernels)
{
	const struct gpumon_probe_run *run = names->result->run;

	if (run && run->kernels_n > kernels)
		gpumon_sheet_note(
			sheet,
			"%s stands for %" PRIu32
			" kernels, which are counted together: name kernels (--kernel) to tell them apart",
			gpumon_probe_kernel_mangled(names, kernels - 1),
			run->kernels_n - kernels + 1);
}

/* "12 places of 3 kernels have no program: texture or surface" */
static void note_places(struct gpumon_sheet *sheet, const struct gpumon_probe_run *run)
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

static void show_losses(struct gpumon_sheet *sheet, const struct gpumon_probe_result *result)
{
	uint64_t lost[GPUMON_PROBE_LOSS_CAUSES];

	gpumon_probe_losses(result, lost);
	gpumon_sheet_table(sheet, "lost", NULL);
	gpumon_sheet_column(sheet, NULL, "cause", GPUMON_SHEET_TEXT);
	gpumon_sheet_column(sheet, NULL, "count", GPUMON_SHEET_COUNT);
	for (uint32_t i = 0; i < GPUMON_PROBE_LOSS_CAUSES; i++) {
		gpumon_sheet_text(sheet, losses[i].word);
		gpumon_sheet_number(sheet, lost[i]);
		if (lost[i])
			gpumon_sheet_note(sheet, "Lost: %" PRIu64 " %s: %s", lost[i],
					  gpumon_probe_loss_text(i), losses[i].remedy);
	}
	if (!sum_of(lost, GPUMON_PROBE_LOSS_CAUSES))
		gpumon_sheet_note(sheet, "Nothing was lost");
}

void gpumon_probe_coverage(struct gpumon_sheet *sheet, struct gpumon_probe_names *names)
{
	const struct gpumon_probe_result *result = names->result;

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
