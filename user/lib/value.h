/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Numbers that may be unknown. */
#ifndef GPUMON_LIB_VALUE_H
#define GPUMON_LIB_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct gpumon_value - a number that may be unknown
 * @v: the number, 0 if unknown
 * @known: false if the kernel did not send it: print "-" or null, never 0
 */
struct gpumon_value {
	uint64_t v;
	bool known;
};

static inline struct gpumon_value gpumon_value_of(uint64_t v)
{
	return (struct gpumon_value){ .v = v, .known = true };
}

static inline struct gpumon_value gpumon_value_if(bool known, uint64_t v)
{
	return (struct gpumon_value){ .v = known ? v : 0, .known = known };
}

/* A signed number, for the level of a gauge. */
struct gpumon_level {
	int64_t v;
	bool known;
};

static inline struct gpumon_level gpumon_level_of(int64_t v)
{
	return (struct gpumon_level){ .v = v, .known = true };
}

#endif /* GPUMON_LIB_VALUE_H */
