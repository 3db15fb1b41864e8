/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which of many numbers are far from the others. */
#ifndef GPUMON_GPUPROG_RESULT_OUTLIERS_H
#define GPUMON_GPUPROG_RESULT_OUTLIERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number is far from the median if it is both. */
struct gpumon_gpuprog_threshold {
	double part;   /* of the median */
	double amount; /* more or less than the median */
};

/**
 * struct gpumon_gpuprog_outliers - those that are far from the others, on one side
 * @which: their places, rising; to be freed
 * @n: how many; 0: none stands out
 * @mean: of them
 * @rest: mean of all others
 */
struct gpumon_gpuprog_outliers {
	uint32_t *which;
	uint32_t n;
	double mean;
	double rest;
};

/**
 * gpumon_gpuprog_find_outliers - find the numbers that are far from the median
 * @values: the numbers
 * @n: how many; with fewer than three none stands out
 * @threshold: what far is
 * @outliers: out, to be freed. If some are far above and some far below, it is the side that is
 *            farther from the rest
 */
void gpumon_gpuprog_find_outliers(const double *values, uint32_t n,
				  const struct gpumon_gpuprog_threshold *threshold,
				  struct gpumon_gpuprog_outliers *outliers);

/* "Thread 31", "Threads 0 and 1", "Threads 8 to 15", "Threads 1, 4 and 8 to 15", "17 threads" */
const char *gpumon_gpuprog_list(char *buf, size_t len, const char *word, const uint32_t *which,
				uint32_t n);

#define GPUMON_GPUPROG_FACTOR_BYTES 48

/* "3.2 times", "120 times", "0.5 times" */
const char *gpumon_gpuprog_factor(char buf[GPUMON_GPUPROG_FACTOR_BYTES], double factor);

#endif /* GPUMON_GPUPROG_RESULT_OUTLIERS_H */
