/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The maps of any object as tables. */
#ifndef GPUMON_GPUPROG_RESULT_MAPS_H
#define GPUMON_GPUPROG_RESULT_MAPS_H

#include "capture/findings.h"
#include "columns.h"
#include "result.h"

#define GPUMON_GPUPROG_SHOWN_ROWS 24	      /* of a map, for people */
#define GPUMON_GPUPROG_JSON_ROWS  (64u << 10) /* of a map, as JSON */

/*
 * Add a table for each map, named as the map. What adds up (arrays by SM, histograms) is the sum of all
 * contexts, other maps have rows for each context. Values that are all zero are left out.
 */
void gpumon_gpuprog_generic(struct gpumon_findings *findings, struct gpumon_gpuprog_names *names);

/* Add the table of one map; without @people it is only in JSON. */
void gpumon_gpuprog_generic_map(struct gpumon_findings *findings,
				struct gpumon_gpuprog_names *names,
				const struct gpumon_gpuprog_map *map, bool people);

/*
 * Add a table of a histogram for people, with bars. @unit: a name that ends as the unit does, "wait_ns".
 */
void gpumon_gpuprog_generic_bars(struct gpumon_findings *findings, const char *title,
				 const char *unit, const struct gpumon_gpuprog_buckets *buckets);
/* Columns of a histogram in JSON, in a table that is only there, and the rows of one. */
void gpumon_gpuprog_generic_buckets(struct gpumon_table *table, const char *unit);
void gpumon_gpuprog_generic_bucket(struct gpumon_table *table, uint32_t bucket, uint64_t count);

#endif /* GPUMON_GPUPROG_RESULT_MAPS_H */
