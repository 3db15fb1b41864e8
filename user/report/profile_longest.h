/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The longest operations of each part of the time, on each GPU: a timeline shows these by name. The longest of
 * all the time would often be one kernel in one place.
 */
#ifndef GPUMON_REPORT_PROFILE_LONGEST_H
#define GPUMON_REPORT_PROFILE_LONGEST_H

#include "profile.h"

/**
 * struct gpumon_longest - zeroed: none are kept
 * @first_ns: beginning of the time
 * @part_ns: length of a part
 * @parts: number of parts
 * @each: how many of a part are kept on each GPU
 * @gpus: number of GPUs
 * @at: for each GPU and part @each operations, without a name where there are fewer; in the end @used of them,
 *      by their start
 */
struct gpumon_longest {
	uint64_t first_ns;
	uint64_t part_ns;
	unsigned int parts;
	unsigned int each;
	unsigned int gpus;
	struct gpumon_operation *at;
	unsigned int used;
};

void gpumon_longest_begin(struct gpumon_longest *longest, unsigned int gpus, uint64_t first_ns,
			  uint64_t length_ns);
void gpumon_longest_add(struct gpumon_longest *longest, unsigned int gpu,
			const struct gpumon_operation *operation);
void gpumon_longest_end(struct gpumon_longest *longest);
void gpumon_longest_clear(struct gpumon_longest *longest);

#endif /* GPUMON_REPORT_PROFILE_LONGEST_H */
