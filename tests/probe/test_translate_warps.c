// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Helpers by many threads: where each is, and what a warp accesses. */
#include "common.h"

#include <string.h>

#include "corpus_run.h"
#include "dice.h"

/* A block of 4 x 3 x 2 threads, in a grid of 5 x 7 x 6. */
static void set_place(struct ptx_lane *lane, uint32_t thread)
{
	static const uint64_t place[] = { 3, 2, 1, 4, 3, 2, 4, 6, 5, 5, 7, 6, 11, 13 };

	(void)thread;
	memcpy(lane->special, place, sizeof(place));
	lane->special[PTX_KERNEL] = 99;
}

static void test_places(void **state)
{
	static const uint64_t should[] = {
		4,
		6,
		5,
		4,
		3,
		2,
		3,
		2,
		1,
		5,
		7,
		6,
		11,
		13,
		0,
		/* z * (rows * columns) + y * columns + x */
		(5 * 2 + 1) * (7 * 3 * 5 * 4) + (6 * 3 + 2) * (5 * 4) + 4 * 4 + 3,
		(5 * 7 + 6) * 5 + 4,
		0,
		99,
		5000,
		1000000000,
		0x1234000056780000,
		1,
		1,
	};
	struct sample sample;
	uint32_t i;

	(void)state;
	EACH_RUN(sample, "places", 1, set_place)
	for (i = 0; i < COUNT(should); i++)
		assert_int_equal(corpus_shown(&sample, 8 * i), should[i]);
}

/* The addresses of a warp, by pattern. */
static uint64_t pattern_address(uint32_t pattern, uint32_t lane)
{
	switch (pattern) {
	case 0:
		return 0x1000 + 4 * lane;
	case 1:
		return 0x1000 + 64 * lane;
	case 2:
		return 0xffffffff00001000 + 8 * (lane / 3);
	case 3:
		return 0x1000;
	case 4:
		return 0x1000 + ((uint64_t)lane << 40);
	case 6:
		return 0x2000 - 8 * lane;
	case 7:
		/* Rising, but for one that comes back to the first sector. */
		return lane == 4 ? 0x1004 : 0x1000 + 16 * lane;
	case 8:
		return 0x1010 + 256 * lane;
	default:
		return 0x1010 + 32 * (lane * 7 % 5);
	}
}

static uint32_t pattern;

/* Lane 3 accesses 100 bytes from the middle of a sector on. */
static bool is_long(uint32_t lane)
{
	return (pattern == 5 || pattern == 8) && lane == 3;
}

static void set_access(struct ptx_lane *lane, uint32_t thread)
{
	lane->special[PTX_ADDRESS] = pattern_address(pattern, thread);
	lane->special[PTX_SIZE] = is_long(thread) ? 100 : 4;
	lane->special[PTX_FLAGS] = GPUMON_GPUPROG_READ;
}

static uint32_t count_sectors(uint32_t threads)
{
	uint64_t sectors[PTX_LANES];
	uint32_t n = 0, i, j, extra = 0;

	for (i = 0; i < threads; i++) {
		if (is_long(i)) {
			extra = 4;
			continue;
		}
		for (j = 0; j < n; j++)
			if (sectors[j] == pattern_address(pattern, i) / 32)
				break;
		if (j == n)
			sectors[n++] = pattern_address(pattern, i) / 32;
	}
	return n + extra;
}

static void test_sectors(void **state)
{
	struct sample sample;
	uint32_t target, threads;

	(void)state;
	/* Not on the last target. */
	for (target = 0; target + 1 < CORPUS_TARGETS; target++)
		for (pattern = 0; pattern < 9; pattern++)
			for (threads = 5; threads <= 32; threads += 9) {
				corpus_make(&sample, "memory", &corpus_targets[target]);
				corpus_run(&sample, threads, 0, set_access);
				assert_int_equal(corpus_number(&sample, CORPUS_SM_ARRAY, 8),
						 count_sectors(threads));
				assert_int_equal(corpus_number(&sample, CORPUS_SM_ARRAY, 1),
						 4 * threads);
				sample_clear(&sample);
			}
	assert_int_equal(sample_make(&sample, corpus_find("memory")->code,
				     corpus_find("memory")->code_n, corpus_maps, CORPUS_MAPS,
				     GPUMON_GPUPROG_MEMORY, &corpus_targets[target]),
			 -1);
	assert_non_null(strstr(sample.error, "gpumon_sectors needs PTX 6.0"));
	sample_clear(&sample);
}

/* A warp that accesses one piece, but for one lane that is elsewhere or takes another size. */
static const struct piece {
	uint64_t address;
	uint32_t size;
	uint32_t lane;
	uint64_t away;
	uint32_t other_size;
	bool whole;
} pieces[] = {
	{ 0x1000, 1, 0, 0, 1, true },
	{ 0x1001, 1, 0, 0, 1, true },
	{ 0x1002, 2, 0, 0, 2, true },
	{ 0xfffffff0, 4, 0, 0, 4, true },
	{ 0x7fffffffff00, 8, 0, 0, 8, true },
	{ 0x1010, 16, 0, 0, 16, true },
	{ 0x1000, 0, 0, 0, 0, false },
	{ 0x1000, 3, 0, 0, 3, false },
	{ 0x1000, 32, 0, 0, 32, false },
	{ 0x1000, 0x80000004, 0, 0, 0x80000004, false },
	{ 0x1000, 4, 31, 4, 4, false },
	{ 0x1000, 4, 0, 4, 4, false },
	{ 0x1000, 4, 7, 1ULL << 32, 4, false },
	{ 0x1000, 4, 7, 1ULL << 57, 4, false },
	/* 16 bytes behind the first lane, as lane 2 with 8 would be. */
	{ 0x1000, 4, 2, 8, 8, false },
	{ 0x1000, 4, 0, 0, 8, false },
	{ 0x1000, 4, 0, 0, 68, false },
	{ 0x1000, 4, 0, 0, 0, false },
};

static const struct piece *piece;

static void set_piece(struct ptx_lane *lane, uint32_t thread)
{
	bool other = thread % PTX_LANES == piece->lane;

	lane->special[PTX_ADDRESS] = piece->address + (uint64_t)piece->size * (thread % PTX_LANES) +
				     (other ? piece->away : 0);
	lane->special[PTX_SIZE] = other ? piece->other_size : piece->size;
	lane->special[PTX_FLAGS] = GPUMON_GPUPROG_READ;
}

static void test_contiguous(void **state)
{
	struct sample sample;

	(void)state;
	for (piece = pieces; piece < pieces + COUNT(pieces); piece++)
		for (uint32_t target = 0; target + 1 < CORPUS_TARGETS; target++)
			for (uint32_t order = 0; order < CORPUS_ORDERS; order++) {
				uint64_t threads;

				corpus_make(&sample, "contiguous", &corpus_targets[target]);
				corpus_run(&sample, 63, order, set_piece);
				threads = corpus_number(&sample, CORPUS_SM_ARRAY, 0);
				/* A warp that is not together does not count, one of 31 neither. */
				if (!piece->whole || threads || !order)
					assert_int_equal(threads, piece->whole ? 32 : 0);
				sample_clear(&sample);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_sectors),
		cmocka_unit_test(test_contiguous),
	};

	corpus_seed = dice_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
