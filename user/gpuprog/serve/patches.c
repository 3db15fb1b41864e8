// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/wait.h"
#include "patches.h"
#include "gpuprog/image/patch.h"
#include "toolchain.h"

/* For a look at the programs before a GPU is known. */
#define SM_ANY 90

static int write_text(const struct gpumon_probe_patches *patches, uint32_t sm, char **text,
		      size_t *size, uint32_t *places, struct gpumon_error *err)
{
	const struct gpumon_probe_order *order = patches->order;
	const struct gpumon_probe_patch patch = {
		.object = order->object,
		.facts = order->facts,
		.target = { .isa = gpumon_probe_isa(sm),
			    .sm = sm,
			    .shards = order->shards,
			    .fuel = order->fuel,
			    .patch = true },
		.sample = patches->sample,
	};
	FILE *out = open_memstream(text, size);
	int ret = -1;

	if (out)
		ret = gpumon_probe_patch_write(&patch, out, places, err);
	if (!out || (fclose(out) && !ret))
		ret = gpumon_error_memory(err);
	return ret;
}

int gpumon_probe_patches_open(struct gpumon_probe_patches *patches,
			      const struct gpumon_probe_options *options, const char *program,
			      struct gpumon_error *err)
{
	uint32_t places;
	char *text = NULL;
	size_t size;
	int ret;

	patches->sample = options->sample;
	ret = write_text(patches, SM_ANY, &text, &size, &places, err);
	free(text);
	if (ret || gpumon_probe_find_sanitizer(options->sanitizer, patches->sanitizer,
					       sizeof(patches->sanitizer), err))
		return -1;
	return gpumon_probe_find_ptxas(options->ptxas, program, patches->ptxas, err);
}

const struct gpumon_probe_code *gpumon_probe_patches_make(struct gpumon_probe_patches *patches,
							  uint32_t sm, const char *folder)
{
	struct gpumon_probe_code *code;
	struct gpumon_error err;
	uint64_t begin_ns = gpumon_monotonic_ns();
	char *text = NULL;
	size_t size, code_size = 0;

	for (uint32_t i = 0; i < patches->codes_n; i++)
		if (patches->codes[i].made.sm == sm)
			return &patches->codes[i];
	if (patches->codes_n == GPUMON_PROBE_MAX_TARGETS)
		return NULL;
	code = &patches->codes[patches->codes_n++];
	code->made.sm = sm;
	if (write_text(patches, sm, &text, &size, &code->places, &err) ||
	    gpumon_probe_assemble(patches->ptxas, sm, folder, text, size, &code->code, &code_size,
				  &code->made.cached, &err))
		snprintf(code->why, sizeof(code->why), "%s", err.message);
	code->made.size = code_size;
	code->made.took_ns = gpumon_monotonic_ns() - begin_ns;
	free(text);
	return code;
}

uint32_t gpumon_probe_patches_points(const struct gpumon_probe_code *code,
				     struct gpumon_wire_point points[GPUMON_WIRE_POINTS])
{
	static const struct gpumon_wire_point all[] = {
#define POINT(name, number, function, more) [GPUMON_PROBE_PATCH_##name] = { number, function },
		GPUMON_PROBE_PATCH_PLACES(POINT)
#undef POINT
	};
	uint32_t n = 0;

	_Static_assert(sizeof(all) / sizeof(all[0]) <= GPUMON_WIRE_POINTS, "room for all");
	for (uint32_t i = 0; i < GPUMON_PROBE_PATCH_PLACES_N; i++)
		if (code->places & 1u << i)
			points[n++] = all[i];
	return n;
}

void gpumon_probe_patches_close(struct gpumon_probe_patches *patches)
{
	for (uint32_t i = 0; i < patches->codes_n; i++)
		free(patches->codes[i].code);
	patches->codes_n = 0;
}
