/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Values that an array has at first: --set MAP[INDEX]=NUMBER. */
#ifndef GPUMON_PROBE_SET_H
#define GPUMON_PROBE_SET_H

#include "base/error.h"
#include "probe/object/object.h"

#define GPUMON_PROBE_MAX_SETS 64

/**
 * gpumon_probe_set - set values of an array
 * @object: its map gets a first content
 * @text: "MAP[INDEX]=NUMBER", or "MAP[*]=NUMBER" for all values; numbers in C's ways, also negative
 * @err: what is wrong with it
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_set(struct gpumon_probe_object *object, const char *text,
		     struct gpumon_error *err);

#endif /* GPUMON_PROBE_SET_H */
