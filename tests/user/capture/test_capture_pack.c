// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Packed chunks: unpacking gives what was packed, and bad bytes are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/format.h"
#include "capture/pack.h"

#define ROOM 65536

static uint8_t records[ROOM] __attribute__((aligned(8)));
static uint8_t back[ROOM] __attribute__((aligned(8)));
static uint8_t packed[GPUMON_PACK_GROWTH * ROOM];
static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % limit);
}

/* Room of exactly the right size, so that AddressSanitizer sees a byte too many. */
static void check_round_trip(size_t size)
{
	size_t length = gpumon_pack(records, size, packed);
	uint8_t *exact = malloc(length);

	assert_true(length && length % 8 == 0 && length <= GPUMON_PACK_GROWTH * size);
	memcpy(exact, packed, length);
	memset(back, 0xa5, size);
	assert_true(gpumon_unpack(exact, length, back, size));
	assert_memory_equal(back, records, size);
	assert_false(gpumon_unpack(exact, length, back, size + 8));
	assert_false(gpumon_unpack(exact, length, back, size - 8));
	free(exact);
}

/* Records of few types, with words that are as before, near, or anything. */
static size_t make_records(uint32_t count)
{
	static const uint16_t types[] = { GPUMON_RECORD_LAUNCH, GPUMON_RECORD_KERNEL,
					  GPUMON_RECORD_STRING, GPUMON_RECORD_STACK, 9999 };
	size_t at = 0, last[5] = { 0 };

	for (uint32_t i = 0; i < count && at + 512 < ROOM; i++) {
		uint32_t type = random_below(5), *words = (uint32_t *)(void *)(records + at);
		uint32_t size = random_below(4) ? 112 : 8 * (1 + random_below(40));

		memmove(words, records + last[type], size);
		for (uint32_t n = random_below(6); n; n--) {
			uint32_t *word = words + random_below(size / 4);

			*word = random_below(3) ? *word + random_below(2000) - 1000 :
						  random_below(UINT32_MAX);
		}
		memcpy(words, &(struct gpumon_record){ .type = types[type], .size = size },
		       sizeof(struct gpumon_record));
		last[type] = at;
		at += size;
	}
	return at;
}

static void test_round_trip(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 300; i++)
		check_round_trip(make_records(1 + random_below(i + 1)));
}

/* The longest record with a bit for each word, and one that is longer. */
static void test_longest(void **state)
{
	(void)state;
	for (uint32_t size = 248; size <= 264; size += 8) {
		for (size_t at = 0; at < 2 * size; at += size) {
			for (uint32_t i = 0; i < size; i++)
				records[at + i] = (uint8_t)random_below(256);
			memcpy(records + at,
			       &(struct gpumon_record){ .type = GPUMON_RECORD_STACK, .size = size },
			       sizeof(struct gpumon_record));
		}
		check_round_trip((size_t)2 * size);
	}
}

static void test_known_bytes(void **state)
{
	const struct gpumon_record_loss losses[] = {
		{ .head = { .type = 80, .size = 32 }, .time_ns = 1000, .count = 3, .cause = 2 },
		{ .head = { .type = 80, .size = 32 }, .time_ns = 936, .count = 3, .cause = 3 },
		{ .head = { .type = 80, .size = 32 }, .time_ns = 937, .count = 3, .cause = 2 },
	};
	size_t length = gpumon_pack(losses, sizeof(losses), packed);
	uint8_t slot = packed[1];
	/* Words 0 (type), 1 (size), 2 (time), 4 (count) and 6 (cause) change, then 2 and 6. */
	const uint8_t expected[24] = { 127,  slot, 127,	       8, 0x57, 0xa0, 0x01,
				       0x40, 0xd0, 0x0f,       6, 4,	slot, 0x44,
				       0x7f, 2,	   slot | 128, 2, 1 };

	(void)state;
	assert_int_equal(length, sizeof(expected));
	assert_memory_equal(packed, expected, sizeof(expected));
	assert_true(gpumon_unpack(packed, length, back, sizeof(losses)));
	assert_memory_equal(back, losses, sizeof(losses));
}

/* No whole records. */
static void test_refused(void **state)
{
	struct gpumon_record_loss loss = { .head = { .type = 80, .size = 40 } };

	(void)state;
	assert_int_equal(gpumon_pack(&loss, sizeof(loss), packed), 0);
	loss.head.size = 4;
	assert_int_equal(gpumon_pack(&loss, sizeof(loss), packed), 0);
}

static void check_bad(const uint8_t *bytes, size_t size, size_t room)
{
	uint8_t *exact = malloc(size);

	memcpy(exact, bytes, size);
	assert_false(gpumon_unpack(exact, size, back, room));
	free(exact);
}

#define BAD(room, ...)                                          \
	do {                                                    \
		static const uint8_t bytes[] = { __VA_ARGS__ }; \
		check_bad(bytes, sizeof(bytes), room);          \
	} while (0)

static void test_bad_bytes(void **state)
{
	(void)state;
	BAD(8, 5, 0, 0, 0, 0, 0, 0, 0);		  /* an empty slot */
	BAD(16, 127, 0, 127, 2, 0, 255, 0, 0);	  /* no slot */
	BAD(8, 127, 5, 6, 0, 0, 0, 0, 0);	  /* an empty model */
	BAD(8, 127, 5, 128, 0, 0, 0, 0, 0);	  /* no model */
	BAD(8, 127, 128, 127, 2, 0, 0, 0, 0);	  /* no slot */
	BAD(8, 127, 5, 127, 0, 0, 0, 0, 0);	  /* no words */
	BAD(8, 127, 5, 127, 1, 0, 0, 0, 0);	  /* half a record */
	BAD(264, 127, 5, 127, 66, 0, 0, 0, 0);	  /* more than 64 words */
	BAD(8, 127, 5, 127, 4, 0, 0, 0, 0);	  /* more than there is room */
	BAD(8, 127, 5, 127, 2, 4, 2, 0, 0);	  /* a change behind the record */
	BAD(8, 127, 5, 127, 2, 1, 2, 0, 9);	  /* something behind the last record */
	BAD(8, 127, 5, 127, 2, 1, 128, 128, 128); /* a number without end */
	BAD(8, 127, 127, 80, 0, 0, 0, 8, 0);	  /* a record that is cut off */
	BAD(8, 127, 127, 80, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0);   /* a size below 8 */
	BAD(16, 127, 127, 80, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0); /* no multiple of 8 */
	BAD(8, 127, 127, 80, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	BAD(8, 127, 5, 127, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0); /* more than it takes */
	BAD(8, 127, 5, 127, 2, 0, 0, 0, 0, 0);			    /* 9 bytes */
}

/* Anything goes in; nothing is written behind the room. */
static void test_any_bytes(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		size_t size = make_records(8), room = 8 * (1 + random_below(200));
		size_t length = gpumon_pack(records, size, packed);
		uint8_t *exact = malloc(length);

		memcpy(exact, packed, length);
		for (uint32_t n = 1 + random_below(4); n; n--)
			exact[random_below((uint32_t)length)] = (uint8_t)random_below(256);
		memset(back + room, 0xa5, 8);
		gpumon_unpack(exact, length, back, room);
		assert_int_equal(back[room], 0xa5);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_longest),
		cmocka_unit_test(test_known_bytes), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bad_bytes),   cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
