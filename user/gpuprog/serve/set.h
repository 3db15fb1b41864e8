/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Values that an array has at first: --set MAP[INDEX]=NUMBER. */
#ifndef GPUMON_GPUPROG_SERVE_SET_H
#define GPUMON_GPUPROG_SERVE_SET_H

#include "lib/error.h"
#include "gpuprog/object/object.h"

/**
 * struct gpumon_probe_setting - what --set says
 * @name: of the map
 * @length: of @name
 * @first: index
 * @last: index; UINT64_MAX: to the last one that there is
 * @number: value
 */
struct gpumon_probe_setting {
	const char *name;
	size_t length;
	uint64_t first;
	uint64_t last;
	uint64_t number;
};

/* "MAP[INDEX]=NUMBER", or "MAP[*]=NUMBER": 0, or -1 with @err. */
int gpumon_probe_set_read(const char *text, struct gpumon_probe_setting *setting,
			  struct gpumon_error *err);
/* Whether an array of these sizes can have it: 0, or -1 with @err. */
int gpumon_probe_set_fits(const struct gpumon_probe_setting *setting, const char *text,
			  uint32_t value_size, uint32_t entries, struct gpumon_error *err);

/**
 * gpumon_probe_set - set values of an array
 * @object: its map gets a first content
 * @text: "MAP[INDEX]=NUMBER", or "MAP[*]=NUMBER" for all values; numbers in C's ways, also negative
 * @err: what is wrong with it
 *
 * Return: 0, or -1 with @err; 1: it may be a map of the programs for the CPU alone.
 */
int gpumon_probe_set(struct gpumon_probe_object *object, const char *text,
		     struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_SERVE_SET_H */
