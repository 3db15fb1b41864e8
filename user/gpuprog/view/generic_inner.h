/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Kinds of maps that have files of their own. */
#ifndef GPUMON_GPUPROG_VIEW_GENERIC_INNER_H
#define GPUMON_GPUPROG_VIEW_GENERIC_INNER_H

#include "names.h"
#include "lib/sheet.h"

/* A map's table in JSON. Names of tables that each document may have are not taken from them. */
void gpumon_probe_generic_table(struct gpumon_sheet *sheet, const struct gpumon_probe_map *map,
				const char *title);

void gpumon_probe_generic_histogram(struct gpumon_sheet *sheet, struct gpumon_probe_names *names,
				    const struct gpumon_probe_map *map, bool people);
/* What the values of all threads come to, for each number. */
void gpumon_probe_generic_threads(struct gpumon_sheet *sheet, struct gpumon_probe_names *names,
				  const struct gpumon_probe_map *map);

/* Global variables that are not 0. */
void gpumon_probe_generic_data(struct gpumon_sheet *sheet, struct gpumon_probe_names *names,
			       const struct gpumon_probe_map *map, bool people);

#endif /* GPUMON_GPUPROG_VIEW_GENERIC_INNER_H */
