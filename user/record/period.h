/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The profile of a period of a recording that goes on, for programs that collect profiles. */
#ifndef GPUMON_RECORD_PERIOD_H
#define GPUMON_RECORD_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/error.h"
#include "capture/capture.h"

/* Operations are looked for so long before a period for their launches, and so long after it. */
#define GPUMON_PERIOD_BEFORE_NS 10000000000ULL
#define GPUMON_PERIOD_AFTER_NS	2000000000ULL

/**
 * struct gpumon_period_profile - which profile to write
 * @writer: ring
 * @command: recorded command
 * @temporary: path for a capture, which is removed again
 * @path: file to write
 * @from_ns: CLOCK_MONOTONIC
 * @until_ns: end of the period
 * @first: nothing is recorded before it
 * @last: nothing is recorded after it
 */
struct gpumon_period_profile {
	struct gpumon_capture_writer *writer;
	const char *command;
	const char *temporary;
	const char *path;
	uint64_t from_ns;
	uint64_t until_ns;
	bool first;
	bool last;
};

/* Return: 0, or -1 with @err: there is no file then. */
int gpumon_period_write(const struct gpumon_period_profile *profile, struct gpumon_error *err);

#endif /* GPUMON_RECORD_PERIOD_H */
