/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reads maps out of copies of the GPU's memory: probe/model/layout.h. */
#ifndef GPUMON_GPUPROG_OBJECT_READ_H
#define GPUMON_GPUPROG_OBJECT_READ_H

#include "layout.h"

/**
 * gpumon_probe_read_value - a value of a map that is no hash and no ring
 * @map: map
 * @shards: of the memory
 * @image: its memory, gpumon_probe_map_bytes()
 * @index: below @max_entries
 * @value: out, gpumon_probe_read_bytes()
 *
 * Shards are added up, each number of the value's type by itself; without a type numbers of 64 bits, and
 * what is left at the end of a value as one of 32, 16 and 8.
 */
void gpumon_probe_read_value(const struct gpumon_probe_map *map, uint32_t shards, const void *image,
			     uint64_t index, void *value);

/* Add a value to another one in the same way. */
void gpumon_probe_add_value(const struct gpumon_probe_map *map, void *sum, const void *value);
/* Likewise subtract. */
void gpumon_probe_take_value(const struct gpumon_probe_map *map, void *sum, const void *value);

/* Bytes of a value as it is read: @value_size; of a histogram its 64 counters. */
uint32_t gpumon_probe_read_bytes(const struct gpumon_probe_map *map);

/**
 * gpumon_probe_hash_next - the next key that is in a hash
 * @map: map
 * @image: its memory
 * @place: where to go on; 0 at first
 * @key: out, key
 * @value: out, value
 *
 * Return: false at the end.
 */
bool gpumon_probe_hash_next(const struct gpumon_probe_map *map, const void *image, uint64_t *place,
			    const void **key, const void **value);

/**
 * struct gpumon_probe_drain - what of a ring has been read
 * @seen: a word for each group of 32 slots: bits of those whose header was committed in an image
 * @taken: a word for each group: bits of those whose record was handed on
 * @record: takes a record of @size bytes
 * @clear: writes zeroes to the ring's memory, in the order of its calls, before the next image is
 *         copied
 * @arg: for @record and @clear
 */
struct gpumon_probe_drain {
	uint32_t *seen;
	uint32_t *taken;
	void (*record)(void *arg, const void *data, uint32_t size);
	void (*clear)(void *arg, uint64_t offset, uint64_t size);
	void *arg;
};

/* Return: 0, or -1 without memory. */
int gpumon_probe_drain_init(struct gpumon_probe_drain *drain, const struct gpumon_probe_map *map,
			    uint32_t shards);
void gpumon_probe_drain_clear(struct gpumon_probe_drain *drain);

/**
 * gpumon_probe_ring_drain - hand on the new records of a ring
 * @drain: what was read so far
 * @map: map
 * @shards: of the memory
 * @image: its memory, later than that of the call before
 * @quiet: nothing was running on the GPU while it was copied
 *
 * A copy is not made at one moment: a header may be newer in it than its record. So a record is taken
 * when its header was committed in an earlier image, or if @quiet.
 */
void gpumon_probe_ring_drain(struct gpumon_probe_drain *drain, const struct gpumon_probe_map *map,
			     uint32_t shards, const void *image, bool quiet);

#endif /* GPUMON_GPUPROG_OBJECT_READ_H */
