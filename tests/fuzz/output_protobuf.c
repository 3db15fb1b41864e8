// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Protocol buffers, as far as we write them. */
#include <string.h>

#include "output.h"

uint64_t fuzz_protobuf_varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		MUST(*at < end && shift < 64);
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

bool fuzz_protobuf_next(const uint8_t **at, const uint8_t *end, struct fuzz_field *field)
{
	uint64_t tag, size;

	if (*at == end)
		return false;
	tag = fuzz_protobuf_varint(at, end);
	*field = (struct fuzz_field){ .number = (unsigned int)(tag >> 3) };
	MUST(field->number);
	switch (tag & 7) {
	case 0:
		field->value = fuzz_protobuf_varint(at, end);
		return true;
	case 1:
		MUST(end - *at >= 8);
		memcpy(&field->value, *at, 8);
		*at += 8;
		return true;
	case 2:
		size = fuzz_protobuf_varint(at, end);
		MUST(size <= (size_t)(end - *at));
		field->data = *at;
		field->size = size;
		*at += size;
		return true;
	default:
		MUST(!"a wire type that nobody writes");
	}
	return false;
}
