/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a type of an object has in it, for showing values. */
#ifndef GPUMON_GPUPROG_OBJECT_FIELD_H
#define GPUMON_GPUPROG_OBJECT_FIELD_H

#include <bpf/btf.h>

#include "lib/pool.h"
#include "program.h"
#include "image.h"

#define GPUMON_PROBE_MAX_FIELDS 32 /* of a type: more are not shown one by one */

/**
 * gpumon_probe_fields_read - find the numbers in a type
 * @btf: types of the object, not trusted
 * @id: of the type
 * @size: bytes of a value: it has to have room for all of them
 * @pool: for the names
 * @fields: out
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_probe_fields_read(const struct btf *btf, uint32_t id, uint32_t size,
			     struct gpumon_pool *pool, struct gpumon_probe_fields *fields);

/**
 * gpumon_probe_fields_of_data - find the global variables in a section
 * @image: object file
 * @btf: its types, or NULL: none are found
 * @section: index of .data, .bss or .rodata
 * @fields: out. Variables that have other things than whole numbers are left out, and those with
 *          names of 96 bytes or more
 *
 * Return: 0, or -1 without memory.
 */
int gpumon_probe_fields_of_data(const struct gpumon_probe_image *image, const struct btf *btf,
				uint32_t section, struct gpumon_probe_fields *fields);

#endif /* GPUMON_GPUPROG_OBJECT_FIELD_H */
