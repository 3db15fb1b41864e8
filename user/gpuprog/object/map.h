/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Maps of an object: those of section .maps, and global data. */
#ifndef GPUMON_GPUPROG_OBJECT_MAP_H
#define GPUMON_GPUPROG_OBJECT_MAP_H

#include <bpf/btf.h>

#include "program.h"
#include "image.h"

/* Types that linux/bpf.h does not have. */
enum {
	GPUMON_PROBE_TYPE_GPU_HASH = 1501,
	GPUMON_PROBE_TYPE_THREAD_ARRAY = 1502,
	GPUMON_PROBE_TYPE_GPU_ARRAY = 1503,
	GPUMON_PROBE_TYPE_SHARED_ARRAY = 1504,
	GPUMON_PROBE_TYPE_THREAD_ARRAY_HOST = 1512,
	GPUMON_PROBE_TYPE_GPU_ARRAY_HOST = 1513,
	GPUMON_PROBE_TYPE_GPU_RING = 1527,
	GPUMON_PROBE_TYPE_HISTOGRAM = 1601,
};

#define GPUMON_PROBE_DEFAULT_THREADS	(1u << 20)  /* of a thread array with one entry */
#define GPUMON_PROBE_DEFAULT_RING_BYTES (16u << 20) /* of a ring whose size is for each thread */

/**
 * gpumon_probe_map_define - read the definition of a map
 * @image: object file
 * @btf: its types, or NULL
 * @name: of the map
 * @map: out
 * @err: what is wrong
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_map_define(const struct gpumon_probe_image *image, const struct btf *btf,
			    const char *name, struct gpumon_probe_map *map,
			    struct gpumon_error *err);

/* What a type of map, the kernel's, bpftime's or gpumon's, is on a GPU; false: nothing. */
bool gpumon_probe_map_kind(uint32_t type, enum gpumon_probe_map_kind *kind);

/* Whether a section is .rodata, .data or .bss, also with something behind it: .rodata.str1.1. */
bool gpumon_probe_map_is_data(const struct gpumon_probe_section *section);

/* The map of a section of data, otherwise like gpumon_probe_map_define(). */
int gpumon_probe_map_of_data(const struct gpumon_probe_image *image,
			     const struct gpumon_probe_section *section,
			     struct gpumon_probe_map *map, struct gpumon_error *err);

/**
 * gpumon_probe_maps_fit - refuse maps that no GPU has the memory for
 * @image: object file
 * @maps: its maps
 * @n: how many
 * @err: how much they take, and which of them the most
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_probe_maps_fit(const struct gpumon_probe_image *image,
			  const struct gpumon_probe_map *maps, uint32_t n,
			  struct gpumon_error *err);

#endif /* GPUMON_GPUPROG_OBJECT_MAP_H */
