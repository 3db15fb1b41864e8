// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "probe/translate/translate.h"
#include "wanted.h"

static char *translate(const struct gpumon_probe_order *order, uint32_t i,
		       const struct gpumon_probe_target *target, struct gpumon_error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int ret = -1;

	if (out) {
		ret = gpumon_probe_translate(&order->object->programs[i], order->facts[i], target,
					     out, err);
		if (fclose(out))
			ret = -1;
	} else {
		gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOMEM, GPUMON_ERROR_MEMORY,
				 "no memory to translate a program");
	}
	if (!ret)
		return text;
	free(text);
	return NULL;
}

int gpumon_probe_blocks_make(struct gpumon_probe_blocks *blocks,
			     const struct gpumon_probe_order *order, uint32_t isa, uint32_t sm)
{
	const struct gpumon_probe_target target = {
		.isa = isa, .sm = sm, .shards = order->shards, .fuel = order->fuel
	};

	memset(blocks, 0, sizeof(*blocks));
	blocks->order = order;
	for (uint32_t i = 0; i < order->object->programs_n; i++) {
		if (!order->facts[i] || order->object->programs[i].point == GPUMON_PROBE_RUN)
			continue;
		blocks->keeps[i] = gpumon_probe_keeps(&order->object->programs[i]);
		blocks->texts[i] = translate(order, i, &target, &blocks->why);
		if (!blocks->texts[i])
			return -1;
	}
	return 0;
}

void gpumon_probe_blocks_clear(struct gpumon_probe_blocks *blocks)
{
	for (uint32_t i = 0; i < GPUMON_PROBE_MAX_PROGRAMS; i++)
		free(blocks->texts[i]);
	gpumon_pool_clear(&blocks->pool);
}

static bool is_for_functions(enum gpumon_probe_point point)
{
	return point == GPUMON_PROBE_FUNCTION_ENTRY || point == GPUMON_PROBE_FUNCTION_EXIT;
}

static bool is_ordered(const struct gpumon_probe_order *order, const struct gpumon_probe_name *name)
{
	for (uint32_t i = 0; i < order->kernels_n; i++)
		if (gpumon_probe_name_is(name, order->kernels[i]))
			return true;
	return !order->kernels_n;
}

/* Whether a program is for this function. */
static bool program_is_for(const struct gpumon_probe_order *order, uint32_t i,
			   const struct gpumon_probe_name *name, bool is_kernel)
{
	enum gpumon_probe_point point = order->object->programs[i].point;

	return order->facts[i] && point != GPUMON_PROBE_RUN &&
	       is_for_functions(point) != is_kernel &&
	       gpumon_probe_name_is_listed(name, order->object->targets[i]);
}

bool gpumon_probe_is_wanted(const struct gpumon_probe_order *order, const char *name,
			    bool is_kernel)
{
	struct gpumon_probe_name names;
	bool wanted = false;

	if (!gpumon_probe_name_init(&names, name) && (!is_kernel || is_ordered(order, &names)))
		for (uint32_t i = 0; !wanted && i < order->object->programs_n; i++)
			wanted = program_is_for(order, i, &names, is_kernel);
	gpumon_probe_name_clear(&names);
	return wanted;
}

/* Programs at the same place run one after the other. */
static const char *append(struct gpumon_pool *pool, const char *before, const char *text)
{
	size_t length = before ? strlen(before) : 0, more = strlen(text);
	char *both = gpumon_pool_zalloc(pool, length + more + 1);

	if (!both)
		return NULL;
	if (before)
		memcpy(both, before, length);
	memcpy(both + length, text, more);
	return both;
}

const struct gpumon_edit_plan *gpumon_probe_blocks_plan(struct gpumon_probe_blocks *blocks,
							const char *name, bool is_kernel,
							uint32_t number)
{
	const struct gpumon_probe_order *order = blocks->order;
	struct gpumon_edit_plan *plan = gpumon_pool_zalloc(&blocks->pool, sizeof(*plan));
	struct gpumon_probe_name names;

	if (!plan || gpumon_probe_name_init(&names, name))
		return NULL;
	plan->number = number;
	for (uint32_t i = 0; i < order->object->programs_n; i++) {
		enum gpumon_probe_point point = order->object->programs[i].point;

		if (!blocks->texts[i] || !program_is_for(order, i, &names, is_kernel))
			continue;
		plan->blocks[point] =
			append(&blocks->pool, plan->blocks[point], blocks->texts[i]);
		plan->keeps |= blocks->keeps[i];
	}
	gpumon_probe_name_clear(&names);
	return plan;
}
