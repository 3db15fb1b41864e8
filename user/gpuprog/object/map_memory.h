/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * How maps lie in the memory of a GPU. The translated program writes them, the program's own process
 * copies them to the CPU, where the functions below read the copies ("images"). All memory is zeroed
 * at first, but for the content of data maps.
 */
#ifndef GPUMON_GPUPROG_OBJECT_MAP_MEMORY_H
#define GPUMON_GPUPROG_OBJECT_MAP_MEMORY_H

#include "program.h"

#define GPUMON_GPUPROG_MAX_MEMORY (8ULL << 30) /* bytes of all maps on each GPU at most */
/* About half the SMs of the largest GPUs: with 64 a histogram costs 2 % of a vector addition. */
#define GPUMON_GPUPROG_SHARDS		64
#define GPUMON_GPUPROG_SHARD_ALIGN	128
#define GPUMON_GPUPROG_BUCKETS		64
#define GPUMON_GPUPROG_TABLE_ENTRY(map) (1u + (map))

/* Losses by cause. */
#define GPUMON_GPUPROG_LOSSES(X)                                                     \
	X(FUEL, "runs ended by the limit of backward jumps")                         \
	X(OUTSIDE, "accesses outside of a map's value or the stack")                 \
	X(HASH_FULL, "keys that found no room in a hash")                            \
	X(HASH_BUSY, "keys that another thread had claimed and did not write")       \
	X(RING_FULL, "records that found no room in a ring")                         \
	X(THREADS, "accesses by threads beyond the end of an array for each thread") \
	X(MOVED, "runs that did not find in memory what their thread had kept")

enum gpumon_gpuprog_loss {
#define GPUMON_GPUPROG_LOSS_NAME(name, text) GPUMON_GPUPROG_LOST_##name,
	GPUMON_GPUPROG_LOSSES(GPUMON_GPUPROG_LOSS_NAME)
#undef GPUMON_GPUPROG_LOSS_NAME
	GPUMON_GPUPROG_LOSS_CAUSES
};

/* A cause, for a person. */
const char *gpumon_gpuprog_loss_text(enum gpumon_gpuprog_loss loss);

/**
 * struct gpumon_gpuprog_control - the control block
 * @lost: losses by cause, written by the GPU
 * @pid_tgid: result of get_current_pid_tgid, or 0
 * @print: address of the print ring, if a program prints
 * @kept: address of what threads keep in memory: ptx/call.c
 * @kept_places: for so many threads at a time: GPUMON_GPUPROG_KEPT_WARPS * GPUMON_GPUPROG_KEPT_LANES for each
 *		 processor (SM) of the GPU
 *
 * At @kept are words of 8 bytes, each for all places, and then the next one: number of the grid, of
 * the thread in it plus 1, and the values.
 */
struct gpumon_gpuprog_control {
	uint64_t lost[GPUMON_GPUPROG_LOSS_CAUSES];
	uint64_t pid_tgid;
	uint64_t print;
	uint64_t kept;
	uint64_t kept_places;
};

#define GPUMON_GPUPROG_KEPT_WARPS 64 /* of a processor at a time, at most */
#define GPUMON_GPUPROG_KEPT_LANES 32
#define GPUMON_GPUPROG_KEPT_TAGS  2 /* words in front of the values */

/**
 * struct gpumon_gpuprog_print - a record of the print ring
 * @map: data map with the text
 * @offset: of the text in it
 * @arguments: for the text; 0 for what is not a number
 *
 * A program that prints writes this; the text is formatted on the CPU.
 */
struct gpumon_gpuprog_print {
	uint32_t map;
	uint32_t offset;
	uint64_t arguments[3];
};

/* The print ring as a map. */
extern const struct gpumon_gpuprog_map gpumon_gpuprog_print_map;

enum gpumon_gpuprog_slot_state {
	GPUMON_GPUPROG_SLOT_EMPTY, /* the whole word is 0 */
	GPUMON_GPUPROG_SLOT_BUSY,  /* claimed: key and value are being written */
	GPUMON_GPUPROG_SLOT_READY,
	GPUMON_GPUPROG_SLOT_DELETED,
};

/**
 * struct gpumon_gpuprog_hash - a hash in memory
 * @slots: a power of two, at least twice @max_entries
 * @probes: slots that are tried for a key
 * @key: place of the key in a slot
 * @value: place of the value in a slot
 * @slot_bytes: of one slot
 */
struct gpumon_gpuprog_hash {
	uint64_t slots;
	uint32_t probes;
	uint32_t key;
	uint32_t value;
	uint32_t slot_bytes;
};

/**
 * struct gpumon_gpuprog_ring - a ring in memory
 * @parts: a power of two; the shards, or fewer if the ring is small
 * @groups: of a part
 * @slots: of a part
 * @slot_bytes: header of 64 bits (size in bytes, bit 32: committed), record
 * @place_slots: of the first slot in a part. At 0 is the count of slots taken so far (32 bits), at
 *               GPUMON_GPUPROG_RING_WORDS the words of the groups (32 bits)
 * @part_bytes: of one part
 */
struct gpumon_gpuprog_ring {
	uint32_t parts;
	uint32_t groups;
	uint32_t slots;
	uint32_t slot_bytes;
	uint64_t place_slots;
	uint64_t part_bytes;
};

#define GPUMON_GPUPROG_RING_WORDS     GPUMON_GPUPROG_SHARD_ALIGN
#define GPUMON_GPUPROG_RING_COMMITTED (1ULL << 32)

/* Bytes from one value to the next one. */
uint64_t gpumon_gpuprog_value_bytes(const struct gpumon_gpuprog_map *map);
/* Bytes of one shard of an SM array or a histogram; of the other kinds but a ring all of it. */
uint64_t gpumon_gpuprog_shard_bytes(const struct gpumon_gpuprog_map *map);
/* Bytes of its first content, @map->data; 0: it begins with zeroes. */
uint64_t gpumon_gpuprog_content_bytes(const struct gpumon_gpuprog_map *map);
/* Bytes of a map's memory. @shards is a power of two. UINT64_MAX: more than any GPU has. */
uint64_t gpumon_gpuprog_map_bytes(const struct gpumon_gpuprog_map *map, uint32_t shards);
struct gpumon_gpuprog_hash gpumon_gpuprog_hash_layout(const struct gpumon_gpuprog_map *map);
struct gpumon_gpuprog_ring gpumon_gpuprog_ring_layout(const struct gpumon_gpuprog_map *map,
						      uint32_t shards);

/* The hash of a key: its words of 8 bytes, the last one filled up with zeroes. */
#define GPUMON_GPUPROG_HASH_FACTOR 0x9e3779b97f4a7c15ULL
uint64_t gpumon_gpuprog_key_hash(const void *key, uint32_t size);

/**
 * gpumon_gpuprog_read_value - a value of a map that is no hash and no ring
 * @map: map
 * @shards: of the memory
 * @image: its memory, gpumon_gpuprog_map_bytes()
 * @index: below @max_entries
 * @value: out, gpumon_gpuprog_read_bytes()
 *
 * Shards are added up, each number of the value's type by itself; without a type numbers of 64 bits, and
 * what is left at the end of a value as one of 32, 16 and 8.
 */
void gpumon_gpuprog_read_value(const struct gpumon_gpuprog_map *map, uint32_t shards,
			       const void *image, uint64_t index, void *value);

/* Add a value to another one in the same way. */
void gpumon_gpuprog_add_value(const struct gpumon_gpuprog_map *map, void *sum, const void *value);
/* Likewise subtract. */
void gpumon_gpuprog_take_value(const struct gpumon_gpuprog_map *map, void *sum, const void *value);

/* Bytes of a value as it is read: @value_size; of a histogram its 64 counters. */
uint32_t gpumon_gpuprog_read_bytes(const struct gpumon_gpuprog_map *map);

/**
 * gpumon_gpuprog_hash_next - the next key that is in a hash
 * @map: map
 * @image: its memory
 * @place: where to go on; 0 at first
 * @key: out, key
 * @value: out, value
 *
 * Return: false at the end.
 */
bool gpumon_gpuprog_hash_next(const struct gpumon_gpuprog_map *map, const void *image,
			      uint64_t *place, const void **key, const void **value);

/**
 * struct gpumon_gpuprog_drain - what of a ring has been read
 * @seen: a word for each group of 32 slots: bits of those whose header was committed in an image
 * @taken: a word for each group: bits of those whose record was handed on
 * @record: takes a record of @size bytes
 * @clear: writes zeroes to the ring's memory, in the order of its calls, before the next image is
 *         copied
 * @arg: for @record and @clear
 */
struct gpumon_gpuprog_drain {
	uint32_t *seen;
	uint32_t *taken;
	void (*record)(void *arg, const void *data, uint32_t size);
	void (*clear)(void *arg, uint64_t offset, uint64_t size);
	void *arg;
};

void gpumon_gpuprog_drain_init(struct gpumon_gpuprog_drain *drain,
			       const struct gpumon_gpuprog_map *map, uint32_t shards);
void gpumon_gpuprog_drain_clear(struct gpumon_gpuprog_drain *drain);

/**
 * gpumon_gpuprog_ring_drain - hand on the new records of a ring
 * @drain: what was read so far
 * @map: map
 * @shards: of the memory
 * @image: its memory, later than that of the call before
 * @quiet: nothing was running on the GPU while it was copied
 *
 * A copy is not made at one moment: a header may be newer in it than its record. So a record is taken
 * when its header was committed in an earlier image, or if @quiet.
 */
void gpumon_gpuprog_ring_drain(struct gpumon_gpuprog_drain *drain,
			       const struct gpumon_gpuprog_map *map, uint32_t shards,
			       const void *image, bool quiet);

#endif /* GPUMON_GPUPROG_OBJECT_MAP_MEMORY_H */
