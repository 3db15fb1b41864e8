/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Maps of an object: those of section .maps, and global data. What a type of an object has in it. */
#ifndef GPUMON_GPUPROG_OBJECT_MAP_H
#define GPUMON_GPUPROG_OBJECT_MAP_H

#include <bpf/btf.h>

#include "lib/map.h"
#include "elf.h"
#include "program.h"

/**
 * gpumon_gpuprog_fields_of_data - find the global variables in a section
 * @image: object file
 * @btf: its types, or NULL: none are found
 * @section: index of .data, .bss or .rodata
 * @fields: out. Variables that have other things than whole numbers are left out, and those with
 *          names of 96 bytes or more
 */
void gpumon_gpuprog_fields_of_data(const struct gpumon_gpuprog_image *image, const struct btf *btf,
				   uint32_t section, struct gpumon_gpuprog_fields *fields);

/**
 * gpumon_gpuprog_map_define - read the definition of a map
 * @image: object file
 * @btf: its types, or NULL
 * @name: of the map
 * @map: out
 * @err: what is wrong
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_map_define(const struct gpumon_gpuprog_image *image, const struct btf *btf,
			      const char *name, struct gpumon_gpuprog_map *map,
			      struct gpumon_error *err);

/* Kind on the GPU of a map type of the kernel, bpftime or gpumon. Returns false if it has none. */
bool gpumon_gpuprog_map_kind(uint32_t type, enum gpumon_gpuprog_map_kind *kind);

/* Whether a section is .rodata, .data or .bss, also with something behind it: .rodata.str1.1. */
bool gpumon_gpuprog_map_is_data(const struct gpumon_gpuprog_section *section);

/* The map of a section of data, otherwise like gpumon_gpuprog_map_define(). */
int gpumon_gpuprog_map_of_data(const struct gpumon_gpuprog_image *image,
			       const struct gpumon_gpuprog_section *section,
			       struct gpumon_gpuprog_map *map, struct gpumon_error *err);

/**
 * gpumon_gpuprog_maps_fit - refuse maps that no GPU has the memory for
 * @image: object file
 * @maps: its maps
 * @n: how many
 * @err: how much they take, and which of them the most
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_gpuprog_maps_fit(const struct gpumon_gpuprog_image *image,
			    const struct gpumon_gpuprog_map *maps, uint32_t n,
			    struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_OBJECT_MAP_H */
