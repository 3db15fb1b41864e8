// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "outliers.h"

#define LEAST_VALUES 3
#define LISTED_PARTS 4 /* of "1, 4 and 8 to 15" */

static int compare(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

/* The median, of an even number of values the lower one. */
static double find_median(const double *values, uint32_t n)
{
	double *sorted = gpumon_calloc(n, sizeof(*sorted)), median;

	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	median = sorted[(n - 1) / 2];
	free(sorted);
	return median;
}

/* Find the numbers that are far from the median, on one side of it. */
static void find_side(const double *values, uint32_t n, double median, double far, bool above,
		      struct gpumon_gpuprog_outliers *side)
{
	double sum = 0, rest = 0;

	memset(side, 0, sizeof(*side));
	side->which = gpumon_calloc(n, sizeof(*side->which));
	for (uint32_t i = 0; i < n; i++) {
		if ((above ? values[i] - median : median - values[i]) >= far) {
			side->which[side->n++] = i;
			sum += values[i];
		} else {
			rest += values[i];
		}
	}
	/* The median itself is never among them, so there is a rest. */
	side->mean = side->n ? sum / side->n : 0;
	side->rest = rest / (n - side->n);
}

static double distance(const struct gpumon_gpuprog_outliers *side)
{
	return side->n ? fabs(side->mean - side->rest) : -1;
}

void gpumon_gpuprog_find_outliers(const double *values, uint32_t n,
				  const struct gpumon_gpuprog_threshold *threshold,
				  struct gpumon_gpuprog_outliers *outliers)
{
	struct gpumon_gpuprog_outliers above = { 0 }, below = { 0 };
	double median, far;
	bool up;

	memset(outliers, 0, sizeof(*outliers));
	if (n < LEAST_VALUES)
		return;
	median = find_median(values, n);
	far = fmax(fmax(threshold->amount, threshold->part * median), 1e-9);
	find_side(values, n, median, far, true, &above);
	find_side(values, n, median, far, false, &below);
	up = distance(&above) >= distance(&below);
	*outliers = up ? above : below;
	free(up ? below.which : above.which);
}

/* The next numbers that follow each other. */
static uint32_t next_part(const uint32_t *which, uint32_t n, uint32_t from)
{
	uint32_t end = from + 1;

	while (end < n && which[end] == which[end - 1] + 1)
		end++;
	/* "0 and 1" is better than "0 to 1". */
	return end - from == 2 ? from + 1 : end;
}

const char *gpumon_gpuprog_list(char *buf, size_t len, const char *word, const uint32_t *which,
				uint32_t n)
{
	uint32_t parts = 0, part = 0, at, end;
	size_t used;

	for (at = 0; at < n; at = next_part(which, n, at))
		parts++;
	if (parts > LISTED_PARTS) {
		snprintf(buf, len, "%" PRIu32 " %c%ss", n, tolower((unsigned char)*word), word + 1);
		return buf;
	}
	snprintf(buf, len, "%s%s ", word, n == 1 ? "" : "s");
	for (at = 0; at < n; at = end, part++) {
		end = next_part(which, n, at);
		used = strlen(buf);
		snprintf(buf + used, len - used, "%s%" PRIu32,
			 !part		   ? "" :
			 part == parts - 1 ? " and " :
					     ", ",
			 which[at]);
		used = strlen(buf);
		if (end - at > 1)
			snprintf(buf + used, len - used, " to %" PRIu32, which[end - 1]);
	}
	return buf;
}

const char *gpumon_gpuprog_factor(char buf[GPUMON_GPUPROG_FACTOR_BYTES], double factor)
{
	int digits = factor < 0.095 ? 2 : factor < 9.95 ? 1 : 0;

	snprintf(buf, GPUMON_GPUPROG_FACTOR_BYTES, "%.*f times", digits,
		 factor < 1e12 ? factor : 1e12);
	return buf;
}
