/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Shows what programs have gathered: a view for each tool, and one for any other object, which has a
 * table for each map.
 */
#ifndef GPUMON_PROBE_VIEW_H
#define GPUMON_PROBE_VIEW_H

#include <json.h>
#include <stdio.h>

#include "probe/result/result.h"
#include "sheet/sheet.h"
#include "term/format.h"

/* Tables, what they say in sentences, kernels without programs, losses. To be freed; NULL without memory. */
struct gpumon_sheet *gpumon_probe_view_sheet(const struct gpumon_probe_result *result);

/**
 * gpumon_probe_view_print - print tables, and what they say in a sentence
 * @result: what was gathered; images need not hold still only if nobody writes them meanwhile
 * @term: bars are only drawn on a terminal
 * @out: stream
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_probe_view_print(const struct gpumon_probe_result *result,
			    const struct gpumon_term *term, FILE *out);

/*
 * {"tool":TEXT,"found":[TEXT],"notes":[TEXT],"tables":{NAME:{"rows":[{…}],"rows_left_out":N}}}, with
 * the tables "kernels" and "lost" at least; NULL without memory.
 */
struct json_object *gpumon_probe_view_json(const struct gpumon_probe_result *result);

#endif /* GPUMON_PROBE_VIEW_H */
