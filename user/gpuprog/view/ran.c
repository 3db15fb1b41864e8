// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "ran.h"

void gpumon_probe_show_ran(struct gpumon_sheet *sheet, const struct gpumon_probe_result *result)
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
		const struct gpumon_probe_ran *ran = &result->ran[i];

		gpumon_sheet_text(sheet, ran->program);
		gpumon_sheet_number(sheet, ran->blocks);
		gpumon_sheet_number(sheet, ran->threads);
		gpumon_sheet_number(sheet, ran->times);
		gpumon_sheet_number(sheet, ran->shortest_ns);
		gpumon_sheet_number(sheet, ran->median_ns);
		gpumon_sheet_number(sheet, ran->longest_ns);
	}
}
