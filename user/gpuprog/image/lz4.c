// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "lz4.h"

/* Matches have at least this many bytes. */
#define MATCH_LEAST 4

/* A length of 15 goes on in further bytes, up to one that is not 255. */
static bool read_length(const uint8_t **from, const uint8_t *end, size_t *length)
{
	uint8_t more;

	if (*length != 15)
		return true;
	do {
		if (*from == end)
			return false;
		more = *(*from)++;
		*length += more;
	} while (more == 255);
	return true;
}

/* Source and target may overlap: then the bytes repeat. */
static void copy_match(uint8_t *to, size_t distance, size_t length)
{
	const uint8_t *from = to - distance;

	while (length > distance) {
		memcpy(to, from, distance);
		to += distance;
		length -= distance;
		distance *= 2;
	}
	memcpy(to, from, length);
}

size_t gpumon_lz4_unpack(const uint8_t *from, size_t from_size, uint8_t *to, size_t to_size,
			 bool *whole)
{
	const uint8_t *from_end = from + from_size;
	uint8_t *begin = to, *to_end = to + to_size;

	*whole = false;
	while (from < from_end) {
		uint8_t token = *from++;
		size_t literals = token >> 4, match = token & 15, distance, room;

		if (!read_length(&from, from_end, &literals) ||
		    literals > (size_t)(from_end - from))
			break;
		room = (size_t)(to_end - to);
		memcpy(to, from, literals < room ? literals : room);
		if (literals > room)
			return to_size;
		from += literals;
		to += literals;
		/* The last sequence has no match. */
		if (from == from_end) {
			*whole = true;
			break;
		}
		if (from_end - from < 2)
			break;
		distance = (size_t)from[0] | (size_t)from[1] << 8;
		from += 2;
		if (!read_length(&from, from_end, &match))
			break;
		match += MATCH_LEAST;
		if (!distance || distance > (size_t)(to - begin))
			break;
		room = (size_t)(to_end - to);
		copy_match(to, distance, match < room ? match : room);
		if (match > room)
			return to_size;
		to += match;
	}
	return (size_t)(to - begin);
}
