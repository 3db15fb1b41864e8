// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stddef.h>
#include <stdint.h>

#include "occupancy.h"

#define WARP	       32
#define REGISTERS      65536u
#define REGISTERS_UNIT 256u /* of a warp */
#define WARPS_UNIT     4u   /* registers are given to the four parts of a multiprocessor alike */
#define KIB	       1024u

/* Limits of a multiprocessor by compute capability; shared memory in bytes. */
static const struct limits {
	uint16_t major;
	uint16_t minor;
	uint8_t warps;
	uint8_t blocks;
	uint16_t shared_kib;
	uint16_t shared_unit;
	uint16_t shared_reserved; /* of each block, for the system */
} all_limits[] = {
	{ 7, 0, 64, 32, 96, 256, 0 },	   { 7, 2, 64, 32, 96, 256, 0 },
	{ 7, 5, 32, 16, 64, 256, 0 },	   { 8, 0, 64, 32, 164, 128, 1024 },
	{ 8, 6, 48, 16, 100, 128, 1024 },  { 8, 7, 48, 16, 164, 128, 1024 },
	{ 8, 9, 48, 24, 100, 128, 1024 },  { 9, 0, 64, 32, 228, 128, 1024 },
	{ 10, 0, 64, 32, 228, 128, 1024 }, { 10, 3, 64, 32, 228, 128, 1024 },
	{ 12, 0, 48, 24, 100, 128, 1024 }, { 12, 1, 48, 24, 100, 128, 1024 },
};

static const struct limits *limits_of(const struct gpumon_stall_launch *launch)
{
	for (size_t i = 0; i < sizeof(all_limits) / sizeof(all_limits[0]); i++) {
		if (all_limits[i].major == launch->compute_major &&
		    all_limits[i].minor == launch->compute_minor)
			return &all_limits[i];
	}
	return NULL;
}

static uint64_t round_up(uint64_t number, uint64_t unit)
{
	return (number + unit - 1) / unit * unit;
}

static void limit(struct gpumon_occupancy *occupancy, uint64_t blocks,
		  enum gpumon_occupancy_limit by)
{
	if (blocks < occupancy->blocks) {
		occupancy->blocks = (unsigned int)blocks;
		occupancy->limit = by;
	}
}

bool gpumon_occupancy(const struct gpumon_stall_launch *launch, struct gpumon_occupancy *occupancy)
{
	const struct limits *limits = limits_of(launch);
	uint64_t threads = (uint64_t)launch->block[0] * launch->block[1], warps, shared;

	/* No hardware has such blocks; the product of the rest cannot overflow. */
	if (!limits || !threads || threads > 1024 || !launch->block[2] || launch->block[2] > 1024)
		return false;
	threads *= launch->block[2];
	warps = round_up(threads, WARP) / WARP;
	if (threads > 1024)
		return false;
	*occupancy = (struct gpumon_occupancy){ .blocks = limits->blocks,
						.warps_max = limits->warps,
						.limit = GPUMON_OCCUPANCY_BLOCKS };
	limit(occupancy, limits->warps / warps, GPUMON_OCCUPANCY_WARPS);
	if (launch->registers) {
		uint64_t of_warp = round_up((uint64_t)launch->registers * WARP, REGISTERS_UNIT);
		uint64_t fit = REGISTERS / of_warp / WARPS_UNIT * WARPS_UNIT;

		limit(occupancy, fit / warps, GPUMON_OCCUPANCY_REGISTERS);
	}
	shared = (uint64_t)launch->static_shared_bytes + launch->dynamic_shared_bytes;
	shared = round_up(shared + limits->shared_reserved, limits->shared_unit);
	if (shared)
		limit(occupancy, limits->shared_kib * KIB / shared, GPUMON_OCCUPANCY_SHARED);
	occupancy->warps = occupancy->blocks * (unsigned int)warps;
	return occupancy->blocks;
}

const char *gpumon_occupancy_text(enum gpumon_occupancy_limit by)
{
	static const char *const texts[] = {
		[GPUMON_OCCUPANCY_WARPS] = "threads",
		[GPUMON_OCCUPANCY_BLOCKS] = "blocks",
		[GPUMON_OCCUPANCY_REGISTERS] = "registers",
		[GPUMON_OCCUPANCY_SHARED] = "shared memory",
	};

	return texts[by];
}
