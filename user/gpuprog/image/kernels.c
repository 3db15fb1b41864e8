// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "kernels.h"

const char *gpumon_gpuprog_way_word(enum gpumon_gpuprog_way way)
{
	static const char *const words[] = {
#define WAY_WORD(name, word, text) [GPUMON_GPUPROG_WAY_##name] = word,
		GPUMON_GPUPROG_WAYS(WAY_WORD)
#undef WAY_WORD
	};

	return words[way];
}

const char *gpumon_gpuprog_kernel_why(const struct gpumon_gpuprog_kernel *kernel)
{
	static const char *const texts[] = {
#define WAY_TEXT(name, word, text) [GPUMON_GPUPROG_WAY_##name] = (text),
		GPUMON_GPUPROG_WAYS(WAY_TEXT)
#undef WAY_TEXT
	};

	return *kernel->why ? kernel->why : texts[kernel->way];
}

uint32_t gpumon_gpuprog_run_kernel(struct gpumon_gpuprog_run *run, const char *name, size_t size)
{
	const char *text = gpumon_pool_part(&run->pool, name, size);
	struct gpumon_key key = { { (uintptr_t)text } };
	struct gpumon_gpuprog_kernel *kernel;
	bool added;
	uint32_t number;

	number = gpumon_keys_number(&run->kernel_numbers, &key, &added);
	if (!added)
		return number;
	kernel = GPUMON_ARRAY_ADD(run->kernels, run->kernels_n, run->kernels_room);
	kernel->name = text;
	kernel->way = GPUMON_GPUPROG_WAY_REFUSED;
	kernel->why = "";
	return number;
}

uint32_t gpumon_gpuprog_run_find(const struct gpumon_gpuprog_run *run, const char *name)
{
	for (uint32_t i = 0; i < run->kernels_n; i++)
		if (strcmp(run->kernels[i].name, name) == 0)
			return i;
	return GPUMON_GPUPROG_NO_NUMBER;
}

uint64_t gpumon_gpuprog_run_line(struct gpumon_gpuprog_run *run,
				 const struct gpumon_edit_line *line)
{
	const char *file = gpumon_pool_part(&run->pool, line->file, line->file_size);
	struct gpumon_key key = { { line->kernel, line->line, (uintptr_t)file } };
	struct gpumon_gpuprog_line_of *is;
	bool added;
	uint32_t number;

	number = gpumon_keys_number(&run->line_numbers, &key, &added);
	if (added) {
		is = GPUMON_ARRAY_ADD(run->lines, run->lines_n, run->lines_room);
		*is = (struct gpumon_gpuprog_line_of){ line->kernel, line->line, file };
	}
	return (uint64_t)number + 1;
}

bool gpumon_gpuprog_run_leaves(const struct gpumon_gpuprog_run *run, uint32_t kernel)
{
	enum gpumon_gpuprog_way way = run->kernels[kernel].way;

	return way == GPUMON_GPUPROG_WAY_TOO_LARGE || way == GPUMON_GPUPROG_WAY_NOT_LOADED;
}

void gpumon_gpuprog_run_tell(struct gpumon_gpuprog_run *run, uint32_t kernel,
			     enum gpumon_gpuprog_way way, const char *why)
{
	struct gpumon_gpuprog_kernel *is = &run->kernels[kernel];

	if (gpumon_gpuprog_run_leaves(run, kernel) || (is->told && !gpumon_gpuprog_way_is_in(way)))
		return;
	is->way = way;
	is->why = gpumon_pool_text(&run->pool, why);
	is->told = true;
}

static void add_counts(struct gpumon_edit_counts *to, const struct gpumon_edit_counts *counts)
{
	for (int i = 0; i < GPUMON_GPUPROG_POINTS; i++)
		to->points[i] += counts->points[i];
	for (int i = 0; i < GPUMON_EDIT_CAUSES_N; i++)
		to->left[i] += counts->left[i];
	to->waits |= counts->waits;
}

void gpumon_gpuprog_run_count(struct gpumon_gpuprog_run *run, struct gpumon_gpuprog_kernel *kernel,
			      const struct gpumon_edit_counts *counts)
{
	if (kernel->counted_in != run->images)
		memset(&kernel->counted, 0, sizeof(kernel->counted));
	kernel->counted_in = run->images;
	add_counts(&kernel->counted, counts);
	for (int i = 0; i < GPUMON_GPUPROG_POINTS; i++) {
		kernel->points[i] += counts->points[i];
		if (counts->points[i])
			kernel->image = run->images;
	}
	for (int i = 0; i < GPUMON_EDIT_CAUSES_N; i++)
		kernel->left[i] += counts->left[i];
}

void gpumon_gpuprog_run_withdraw(struct gpumon_gpuprog_run *run, uint64_t image)
{
	for (uint32_t i = 0; image && i < run->kernels_n; i++) {
		struct gpumon_gpuprog_kernel *kernel = &run->kernels[i];
		bool any = false;

		if (kernel->counted_in != image || gpumon_gpuprog_run_leaves(run, i))
			continue;
		for (int j = 0; j < GPUMON_GPUPROG_POINTS; j++) {
			kernel->points[j] -= kernel->counted.points[j];
			any |= kernel->points[j];
		}
		for (int j = 0; j < GPUMON_EDIT_CAUSES_N; j++)
			kernel->left[j] -= kernel->counted.left[j];
		kernel->told &= any;
		kernel->counted_in = 0;
		kernel->image = 0;
	}
}

void gpumon_gpuprog_run_clear(struct gpumon_gpuprog_run *run)
{
	free(run->kernels);
	free(run->lines);
	gpumon_keys_clear(&run->kernel_numbers);
	gpumon_keys_clear(&run->line_numbers);
	gpumon_map_clear(&run->wanted);
	gpumon_pool_clear(&run->pool);
	memset(run, 0, sizeof(*run));
}
