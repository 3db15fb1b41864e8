/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A minimal writer for protocol buffers, enough for two formats, without their compiler. */
#ifndef GPUMON_REPORT_PROTOBUF_H
#define GPUMON_REPORT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct gpumon_protobuf - a message under construction
 * @data: bytes of the message
 * @size: number of bytes
 * @room: size of @data
 */
struct gpumon_protobuf {
	unsigned char *data;
	size_t size;
	size_t room;
};

/* A zeroed message is empty. */
void gpumon_protobuf_clear(struct gpumon_protobuf *message);
void gpumon_protobuf_free(struct gpumon_protobuf *message);

void gpumon_protobuf_varint(struct gpumon_protobuf *message, uint64_t value);
void gpumon_protobuf_uint(struct gpumon_protobuf *message, unsigned int field, uint64_t value);
void gpumon_protobuf_fixed64(struct gpumon_protobuf *message, unsigned int field, uint64_t value);
void gpumon_protobuf_bytes(struct gpumon_protobuf *message, unsigned int field, const void *data,
			   size_t size);
/* Add a text. Invalid UTF-8 becomes '?'. */
void gpumon_protobuf_string(struct gpumon_protobuf *message, unsigned int field, const char *text);

/**
 * gpumon_protobuf_begin - begin a nested message
 * @message: outer message
 * @field: its field number
 *
 * Return: a value for gpumon_protobuf_end(). Nested messages end in reverse order.
 */
size_t gpumon_protobuf_begin(struct gpumon_protobuf *message, unsigned int field);
void gpumon_protobuf_end(struct gpumon_protobuf *message, size_t begin);

#endif /* GPUMON_REPORT_PROTOBUF_H */
