/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A checked object as tables or JSON. */
#ifndef GPUMON_GPUPROG_SERVE_SHOW_H
#define GPUMON_GPUPROG_SERVE_SHOW_H

#include <json.h>
#include <stdio.h>

#include "check.h"
#include "lib/format.h"

/* Where a program runs, for people and JSON: "entry". */
const char *gpumon_probe_point_word(enum gpumon_probe_point point);

/* Programs with their verdicts, then maps. 0, or -1 without memory. */
int gpumon_probe_show(const struct gpumon_probe_check *check, const struct gpumon_term *term,
		      FILE *out);
/* {"programs":[…],"maps":[…],"programs_for_the_cpu":N}, NULL without memory. */
struct json_object *gpumon_probe_json(const struct gpumon_probe_check *check);

/* The tools of gpumon, a line each. 0, or -1 without memory. */
int gpumon_probe_show_tools(const struct gpumon_term *term, FILE *out);
/* {"tools":[{"name","summary","built"}]}, NULL without memory. */
struct json_object *gpumon_probe_tools_json(void);

#endif /* GPUMON_GPUPROG_SERVE_SHOW_H */
