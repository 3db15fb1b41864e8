/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Where the maps of an object lie in the memory of a context. */
#ifndef GPUMON_GPUPROG_SERVE_PLAN_H
#define GPUMON_GPUPROG_SERVE_PLAN_H

#include "lib/error.h"
#include "gpuprog/object/object.h"
#include "abi/wire.h"

/* Memory of all maps of a context at most. */

/**
 * struct gpumon_probe_plan - memory of a context
 * @settings: for the library
 * @content: memfd with the first content
 * @shards: copies of what aggregates by SM
 */
struct gpumon_probe_plan {
	struct gpumon_wire_settings settings;
	int content;
	uint32_t shards;
};

/**
 * gpumon_probe_plan_make - decide where everything lies
 * @object: programs and maps
 * @shards: a power of two
 * @copy_ms: how often memory is copied
 * @shared: maps whose memory is elsewhere, a bit each
 * @plan: out, to be cleared if it is returned
 * @err: maps that are too large, no memory
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_plan_make(const struct gpumon_probe_object *object, uint32_t shards,
			   uint32_t copy_ms, uint64_t shared, struct gpumon_probe_plan *plan,
			   struct gpumon_error *err);
void gpumon_probe_plan_clear(struct gpumon_probe_plan *plan);

#endif /* GPUMON_GPUPROG_SERVE_PLAN_H */
