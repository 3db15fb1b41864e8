/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The verdict: what limits the program, from a few rules with the numbers that they stand on.
 * Documentation/user/reading-a-profile.md describes the rules, verdict.c has their limits.
 */
#ifndef GPUMON_REPORT_VERDICT_H
#define GPUMON_REPORT_VERDICT_H

#include "lib/json.h"
#include "output.h"

#define GPUMON_VERDICT_MAX     4
#define GPUMON_VERDICT_NUMBERS 8

/* A number of a finding, with its name in JSON. */
struct gpumon_verdict_number {
	const char *key;
	uint64_t value;
};

/**
 * struct gpumon_finding - a rule that fires
 * @rule: its name
 * @text: what it says
 * @place: call path or function that it names, "" without one
 * @weight_ns: time that it explains: the finding with the most comes first
 */
struct gpumon_finding {
	const char *rule;
	char *text;
	char *place;
	uint64_t weight_ns;
	struct gpumon_verdict_number numbers[GPUMON_VERDICT_NUMBERS];
	unsigned int number_count;
};

/* Without any operation there is no finding. If no rule fires, there is one that says so. */
struct gpumon_verdict {
	struct gpumon_finding at[GPUMON_VERDICT_MAX];
	unsigned int count;
};

void gpumon_verdict_of(const struct gpumon_view *view, struct gpumon_verdict *verdict);
void gpumon_verdict_clear(struct gpumon_verdict *verdict);

/* Both give nothing of a view with @no_verdict. */
void gpumon_verdict_print(FILE *out, const struct gpumon_term *term,
			  const struct gpumon_view *view);
struct json_object *gpumon_verdict_json(const struct gpumon_view *view);

#endif /* GPUMON_REPORT_VERDICT_H */
