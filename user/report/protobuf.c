// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "protobuf.h"

enum wire {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
};

#define VARINT_MAX 10

void gpumon_protobuf_clear(struct gpumon_protobuf *message)
{
	message->size = 0;
}

void gpumon_protobuf_free(struct gpumon_protobuf *message)
{
	free(message->data);
	memset(message, 0, sizeof(*message));
}

static unsigned char *reserve_bytes(struct gpumon_protobuf *message, size_t size)
{
	if (message->room - message->size < size) {
		message->room = 2 * message->room + size + 256;
		message->data = gpumon_realloc(message->data, message->room);
	}
	return message->data + message->size;
}

static size_t encode_varint(unsigned char *to, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = (unsigned char)(value | 0x80);
	to[n++] = (unsigned char)value;
	return n;
}

void gpumon_protobuf_varint(struct gpumon_protobuf *message, uint64_t value)
{
	unsigned char *to = reserve_bytes(message, VARINT_MAX);

	message->size += encode_varint(to, value);
}

static void write_tag(struct gpumon_protobuf *message, unsigned int field, enum wire wire)
{
	gpumon_protobuf_varint(message, (uint64_t)field << 3 | wire);
}

void gpumon_protobuf_uint(struct gpumon_protobuf *message, unsigned int field, uint64_t value)
{
	write_tag(message, field, WIRE_VARINT);
	gpumon_protobuf_varint(message, value);
}

void gpumon_protobuf_fixed64(struct gpumon_protobuf *message, unsigned int field, uint64_t value)
{
	unsigned char *to;

	write_tag(message, field, WIRE_FIXED64);
	to = reserve_bytes(message, sizeof(value));
	for (unsigned int i = 0; i < sizeof(value); i++)
		to[i] = (unsigned char)(value >> (8 * i));
	message->size += sizeof(value);
}

void gpumon_protobuf_bytes(struct gpumon_protobuf *message, unsigned int field, const void *data,
			   size_t size)
{
	unsigned char *to;

	write_tag(message, field, WIRE_BYTES);
	gpumon_protobuf_varint(message, size);
	to = reserve_bytes(message, size);
	if (size)
		memcpy(to, data, size);
	message->size += size;
}

void gpumon_protobuf_string(struct gpumon_protobuf *message, unsigned int field, const char *text)
{
	size_t len = strlen(text) + 1;
	/* Replacing a character never makes the text longer. */
	char *safe = gpumon_malloc(len);

	gpumon_text_cut(safe, len, text, 0);
	gpumon_protobuf_bytes(message, field, safe, strlen(safe));
	free(safe);
}

size_t gpumon_protobuf_begin(struct gpumon_protobuf *message, unsigned int field)
{
	write_tag(message, field, WIRE_BYTES);
	return message->size;
}

void gpumon_protobuf_end(struct gpumon_protobuf *message, size_t begin)
{
	unsigned char length[VARINT_MAX];
	size_t size = message->size - begin, n = encode_varint(length, size);

	/* The length is only known now, so move the contents behind it. */
	(void)reserve_bytes(message, n);
	memmove(message->data + begin + n, message->data + begin, size);
	memcpy(message->data + begin, length, n);
	message->size += n;
}
