/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * How maps lie in the memory of a GPU. The translated program writes them, the program's own process
 * copies them to the CPU, where the functions below read the copies ("images"). All memory is zeroed
 * at first, but for the content of data maps.
 *
 * The table of addresses (GPUMON_PROBE_TABLE, .align 8 .b64, in .const, or in .global where a module's
 * constants leave no room) has the address of the control block, and then that of each map of the
 * object, in its order.
 *
 * array, thread array, data	values, each at a multiple of 8 bytes
 * SM array		for each shard its values, shards at multiples of GPUMON_PROBE_SHARD_ALIGN
 * histogram		for each shard and index 64 counters of 64 bits; bucket b has the values from
 *			2^b to 2^(b+1) - 1, bucket 0 also the value 0
 * hash			slots: state of 64 bits, key, value, each at a multiple of 8 bytes
 * ring			parts, see struct gpumon_probe_ring
 *
 * An SM uses the shard or the part with its number modulo their count, a power of two.
 *
 * Hash: the state's upper 62 bits are those of the key's hash, its lower two GPUMON_PROBE_SLOT_*. A
 * key's slot is the first one that was empty on its way (the hash's upper half, then 1, 2, 3, ...
 * further); it is claimed by compare-and-swap, and keeps its key for ever. So a key has one slot. A
 * deleted key's slot serves this key alone, so as many keys as fit may come up, not only at a time.
 *
 * Ring: a warp takes as many consecutive slots as it has records by one atomic addition, and claims
 * them by setting their bits in the words of their groups of 32 slots. Bits that were set already
 * are dropped records. A slot's header is written after its record. A group is given back as a whole,
 * by gpumon_probe_ring_drain().
 */
#ifndef GPUMON_GPUPROG_OBJECT_LAYOUT_H
#define GPUMON_GPUPROG_OBJECT_LAYOUT_H

#include "program.h"

#define GPUMON_PROBE_MAX_MEMORY (8ULL << 30) /* bytes of all maps on each GPU at most */
/* About half the SMs of the largest GPUs: with 64 a histogram costs 2 % of a vector addition. */
#define GPUMON_PROBE_SHARDS	      64
#define GPUMON_PROBE_SHARD_ALIGN      128
#define GPUMON_PROBE_BUCKETS	      64
#define GPUMON_PROBE_HASH_PROBES      64 /* slots that are tried for a key */
#define GPUMON_PROBE_RING_GROUP	      32 /* slots of a group: bits of a word, lanes of a warp */
#define GPUMON_PROBE_PRINT_BYTES      (1u << 20)
#define GPUMON_PROBE_TABLE_ENTRY(map) (1u + (map))

/* What is lost, and why. */
#define GPUMON_PROBE_LOSSES(X)                                                       \
	X(FUEL, "runs ended by the limit of backward jumps")                         \
	X(OUTSIDE, "accesses outside of a map's value or the stack")                 \
	X(HASH_FULL, "keys that found no room in a hash")                            \
	X(HASH_BUSY, "keys that another thread had claimed and did not write")       \
	X(RING_FULL, "records that found no room in a ring")                         \
	X(THREADS, "accesses by threads beyond the end of an array for each thread") \
	X(MOVED, "runs that did not find in memory what their thread had kept")

enum gpumon_probe_loss {
#define GPUMON_PROBE_LOSS_NAME(name, text) GPUMON_PROBE_LOST_##name,
	GPUMON_PROBE_LOSSES(GPUMON_PROBE_LOSS_NAME)
#undef GPUMON_PROBE_LOSS_NAME
	GPUMON_PROBE_LOSS_CAUSES
};

/* A cause, for a person. */
const char *gpumon_probe_loss_text(enum gpumon_probe_loss loss);

/**
 * struct gpumon_probe_control - the control block
 * @lost: losses by cause, written by the GPU
 * @pid_tgid: result of get_current_pid_tgid, or 0
 * @print: address of the print ring, if a program prints
 * @kept: address of what threads keep in memory: translate/keep.c
 * @kept_places: for so many threads at a time: GPUMON_PROBE_KEPT_WARPS * GPUMON_PROBE_KEPT_LANES for each
 *		 processor (SM) of the GPU
 *
 * At @kept are words of 8 bytes, each for all places, and then the next one: number of the grid, of
 * the thread in it plus 1, and the values.
 */
struct gpumon_probe_control {
	uint64_t lost[GPUMON_PROBE_LOSS_CAUSES];
	uint64_t pid_tgid;
	uint64_t print;
	uint64_t kept;
	uint64_t kept_places;
};

#define GPUMON_PROBE_KEPT_WARPS 64 /* of a processor at a time, at most */
#define GPUMON_PROBE_KEPT_LANES 32
#define GPUMON_PROBE_KEPT_TAGS	2 /* words in front of the values */

/**
 * struct gpumon_probe_print - a record of the print ring
 * @map: data map with the text
 * @offset: of the text in it
 * @arguments: for the text; 0 for what is not a number
 *
 * A program that prints writes this; the text is formatted on the CPU.
 */
struct gpumon_probe_print {
	uint32_t map;
	uint32_t offset;
	uint64_t arguments[3];
};

/* The print ring as a map. */
extern const struct gpumon_probe_map gpumon_probe_print_map;

enum gpumon_probe_slot_state {
	GPUMON_PROBE_SLOT_EMPTY, /* the whole word is 0 */
	GPUMON_PROBE_SLOT_BUSY,	 /* claimed: key and value are being written */
	GPUMON_PROBE_SLOT_READY,
	GPUMON_PROBE_SLOT_DELETED,
};

/**
 * struct gpumon_probe_hash - a hash in memory
 * @slots: a power of two, at least twice @max_entries
 * @probes: slots that are tried for a key
 * @key: place of the key in a slot
 * @value: place of the value in a slot
 * @slot_bytes: of one slot
 */
struct gpumon_probe_hash {
	uint64_t slots;
	uint32_t probes;
	uint32_t key;
	uint32_t value;
	uint32_t slot_bytes;
};

/**
 * struct gpumon_probe_ring - a ring in memory
 * @parts: a power of two; the shards, or fewer if the ring is small
 * @groups: of a part
 * @slots: of a part
 * @slot_bytes: header of 64 bits (size in bytes, bit 32: committed), record
 * @place_slots: of the first slot in a part. At 0 is the count of slots taken so far (32 bits), at
 *               GPUMON_PROBE_RING_WORDS the words of the groups (32 bits)
 * @part_bytes: of one part
 */
struct gpumon_probe_ring {
	uint32_t parts;
	uint32_t groups;
	uint32_t slots;
	uint32_t slot_bytes;
	uint64_t place_slots;
	uint64_t part_bytes;
};

#define GPUMON_PROBE_RING_WORDS	    GPUMON_PROBE_SHARD_ALIGN
#define GPUMON_PROBE_RING_COMMITTED (1ULL << 32)

/* Bytes from one value to the next one. */
uint64_t gpumon_probe_value_bytes(const struct gpumon_probe_map *map);
/* Bytes of one shard of an SM array or a histogram; of the other kinds but a ring all of it. */
uint64_t gpumon_probe_shard_bytes(const struct gpumon_probe_map *map);
/* Bytes of its first content, @map->data; 0: it begins with zeroes. */
uint64_t gpumon_probe_content_bytes(const struct gpumon_probe_map *map);
/* Bytes of a map's memory. @shards is a power of two. UINT64_MAX: more than any GPU has. */
uint64_t gpumon_probe_map_bytes(const struct gpumon_probe_map *map, uint32_t shards);
struct gpumon_probe_hash gpumon_probe_hash_layout(const struct gpumon_probe_map *map);
struct gpumon_probe_ring gpumon_probe_ring_layout(const struct gpumon_probe_map *map,
						  uint32_t shards);

/* The hash of a key: its words of 8 bytes, the last one filled up with zeroes. */
#define GPUMON_PROBE_HASH_FACTOR 0x9e3779b97f4a7c15ULL
uint64_t gpumon_probe_key_hash(const void *key, uint32_t size);

#endif /* GPUMON_GPUPROG_OBJECT_LAYOUT_H */
