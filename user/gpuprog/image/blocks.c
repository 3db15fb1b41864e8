// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "blocks.h"

static int translate(struct gpumon_exchange *exchange, struct gpumon_exchange_blocks *blocks,
		     uint32_t program)
{
	const struct gpumon_probe_order *order = exchange->order;
	struct gpumon_error err;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int result;

	if (!out)
		return gpumon_exchange_no_memory(exchange);
	result = gpumon_probe_translate(&order->object->programs[program], order->facts[program],
					&blocks->target, out, &err);
	if (fclose(out) || (result && err.code == GPUMON_ERROR_MEMORY)) {
		free(text);
		return gpumon_exchange_no_memory(exchange);
	}
	blocks->tried |= 1u << program;
	if (!result) {
		blocks->texts[program] = text;
		return 0;
	}
	free(text);
	if (!blocks->failed)
		memcpy(blocks->why, err.message, sizeof(blocks->why));
	blocks->failed |= 1u << program;
	return 0;
}

int gpumon_exchange_blocks_add(struct gpumon_exchange *exchange,
			       struct gpumon_exchange_blocks *blocks, uint32_t programs)
{
	for (uint32_t i = 0; i < exchange->order->object->programs_n; i++)
		if ((programs & ~blocks->tried) & 1u << i && translate(exchange, blocks, i))
			return -1;
	return 0;
}

/* A kernel of its own runs its program at its entry. */
static enum gpumon_probe_point point_of(const struct gpumon_probe_program *program)
{
	return program->point == GPUMON_PROBE_RUN ? GPUMON_PROBE_ENTRY : program->point;
}

/* Programs at the same point stand one behind the other, in the order of the object. */
static int join(const struct gpumon_exchange_blocks *blocks,
		const struct gpumon_probe_object *object, enum gpumon_probe_point point,
		const struct gpumon_exchange_set *set, char **joined)
{
	uint32_t programs = set->programs;
	struct gpumon_error err;
	FILE *out = NULL;
	size_t size;

	if (point == GPUMON_PROBE_ENTRY && set->keeps && blocks->target.memory) {
		out = open_memstream(joined, &size);
		if (!out)
			return -1;
		if (gpumon_probe_take_place(&blocks->target, out, &err)) {
			fclose(out);
			return -1;
		}
	}
	for (uint32_t i = 0; i < object->programs_n; i++) {
		if (!(programs & 1u << i) || point_of(&object->programs[i]) != point)
			continue;
		if (!out)
			out = open_memstream(joined, &size);
		if (!out)
			return -1;
		fputs(blocks->texts[i], out);
	}
	return out ? fclose(out) : 0;
}

ssize_t gpumon_exchange_blocks_set(struct gpumon_exchange *exchange,
				   struct gpumon_exchange_blocks *blocks, uint32_t programs)
{
	const struct gpumon_probe_object *object = exchange->order->object;
	struct gpumon_exchange_set *set;

	for (size_t i = 0; i < blocks->sets_n; i++)
		if (blocks->sets[i].programs == programs)
			return (ssize_t)i;
	set = GPUMON_GROW(blocks->sets, blocks->sets_n);
	if (!set)
		return gpumon_exchange_no_memory(exchange);
	set->programs = programs;
	for (uint32_t i = 0; i < object->programs_n; i++)
		if (programs & 1u << i && gpumon_probe_keeps(&object->programs[i]))
			set->keeps = true;
	for (int i = 0; i < GPUMON_PROBE_POINTS; i++)
		if (join(blocks, object, (enum gpumon_probe_point)i, set, &set->blocks[i]))
			return gpumon_exchange_no_memory(exchange);
	return (ssize_t)blocks->sets_n - 1;
}

void gpumon_exchange_blocks_clear(struct gpumon_exchange_blocks *blocks)
{
	for (int i = 0; i < GPUMON_PROBE_MAX_PROGRAMS; i++)
		free(blocks->texts[i]);
	for (size_t i = 0; i < blocks->sets_n; i++)
		for (int j = 0; j < GPUMON_PROBE_POINTS; j++)
			free(blocks->sets[i].blocks[j]);
	free(blocks->sets);
	memset(blocks, 0, sizeof(*blocks));
}
