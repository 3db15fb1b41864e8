// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Vectors and matrices that a kernel made of a program has worked on. */
#include <inttypes.h>
#include <stdio.h>

#include "maps.h"
#include "tool_views.h"

#define MOST_ROWS 256 /* of a matrix that fits into the maps */

struct arrays {
	const struct gpumon_gpuprog_result *result;
	const struct gpumon_gpuprog_map *left;
	const struct gpumon_gpuprog_map *right;
	const struct gpumon_gpuprog_map *made;
	uint32_t device;
	uint64_t n; /* length, or rows and columns */
};

static uint64_t number_at(const struct arrays *arrays, const struct gpumon_gpuprog_map *map,
			  uint64_t index)
{
	uint64_t number = 0;

	if (index < map->max_entries)
		gpumon_gpuprog_value_on(arrays->result, arrays->device, map, index, &number);
	return number;
}

/* How many values are as they should be, of those of a sum or a product. */
static uint64_t count_sums(const struct arrays *arrays)
{
	uint64_t right = 0;

	for (uint64_t i = 0; i < arrays->n && i < arrays->made->max_entries; i++)
		right += number_at(arrays, arrays->made, i) ==
			 number_at(arrays, arrays->left, i) + number_at(arrays, arrays->right, i);
	return right;
}

static uint64_t product_at(const struct arrays *arrays, uint64_t row, uint64_t column)
{
	uint64_t sum = 0;

	for (uint64_t k = 0; k < arrays->n; k++)
		sum += number_at(arrays, arrays->left, row * arrays->n + k) *
		       number_at(arrays, arrays->right, k * arrays->n + column);
	return sum;
}

static uint64_t count_products(const struct arrays *arrays)
{
	uint64_t right = 0;

	if (arrays->n > MOST_ROWS)
		return 0;
	for (uint64_t i = 0; i < arrays->n * arrays->n; i++)
		right += number_at(arrays, arrays->made, i) ==
			 product_at(arrays, i / arrays->n, i % arrays->n);
	return right;
}

static void say_device(struct gpumon_findings *findings, const struct arrays *arrays)
{
	uint64_t sums = count_sums(arrays), products;

	if (arrays->n == sums) {
		gpumon_findings_say(findings,
				    "All %" PRIu64 " values of the result are left + right",
				    arrays->n);
		return;
	}
	products = count_products(arrays);
	if (arrays->n <= MOST_ROWS && products == arrays->n * arrays->n)
		gpumon_findings_say(findings,
				    "The result is the product of left and right, of %" PRIu64
				    " x %" PRIu64 " values",
				    arrays->n, arrays->n);
	else
		gpumon_findings_say(
			findings,
			"The result is neither the sum nor the product of left and right: %" PRIu64
			" of %" PRIu64 " sums are right, and %" PRIu64 " products",
			sums, arrays->n, products);
}

static void show(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names)
{
	const struct gpumon_gpuprog_result *result = names->result;
	const struct gpumon_gpuprog_map *sizes = gpumon_gpuprog_result_map(result, "sizes");
	struct arrays arrays = { .result = result,
				 .left = gpumon_gpuprog_result_map(result, "left"),
				 .right = gpumon_gpuprog_result_map(result, "right"),
				 .made = gpumon_gpuprog_result_map(result, "result") };

	gpumon_gpuprog_generic_map(findings, names, sizes, true);
	gpumon_gpuprog_generic_map(findings, names, arrays.left, false);
	gpumon_gpuprog_generic_map(findings, names, arrays.right, false);
	gpumon_gpuprog_generic_map(findings, names, arrays.made, true);
	for (; arrays.device < result->devices_n; arrays.device++) {
		arrays.n = number_at(&arrays, sizes, 0);
		if (arrays.n)
			say_device(findings, &arrays);
		else
			gpumon_findings_say(findings,
					    "Nothing was worked on: the size in sizes[0] is 0");
	}
}

const struct gpumon_gpuprog_view gpumon_gpuprog_view_directly_run = {
	.tool = "directly-run",
	.maps = { { "sizes", GPUMON_GPUPROG_MAP_ARRAY, sizeof(uint64_t) },
		  { "left", GPUMON_GPUPROG_MAP_ARRAY, sizeof(uint64_t) },
		  { "right", GPUMON_GPUPROG_MAP_ARRAY, sizeof(uint64_t) },
		  { "result", GPUMON_GPUPROG_MAP_ARRAY, sizeof(uint64_t) } },
	.show = show,
};
