/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Writing protocol buffers: as much of it as two formats need, with no compiler for them. */
#ifndef GPUMON_OUTPUT_PROTOBUF_H
#define GPUMON_OUTPUT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct gpumon_protobuf - a message that is being written
 * @data: its bytes
 * @size: how many
 * @room: of @data
 * @failed: no memory somewhere on the way: what is there is not whole
 */
struct gpumon_protobuf {
	unsigned char *data;
	size_t size;
	size_t room;
	bool failed;
};

/* Zeroed is empty. */
void gpumon_protobuf_clear(struct gpumon_protobuf *message);
void gpumon_protobuf_free(struct gpumon_protobuf *message);

void gpumon_protobuf_varint(struct gpumon_protobuf *message, uint64_t value);
void gpumon_protobuf_uint(struct gpumon_protobuf *message, unsigned int field, uint64_t value);
void gpumon_protobuf_fixed64(struct gpumon_protobuf *message, unsigned int field, uint64_t value);
void gpumon_protobuf_bytes(struct gpumon_protobuf *message, unsigned int field, const void *data,
			   size_t size);
/* Text; what is not UTF-8 in it becomes '?'. */
void gpumon_protobuf_string(struct gpumon_protobuf *message, unsigned int field, const char *text);

/**
 * gpumon_protobuf_begin - a message within a message
 * @message: outer one
 * @field: which of it
 *
 * Return: to be given to gpumon_protobuf_end(), the last begun ends first.
 */
size_t gpumon_protobuf_begin(struct gpumon_protobuf *message, unsigned int field);
void gpumon_protobuf_end(struct gpumon_protobuf *message, size_t begin);

#endif /* GPUMON_OUTPUT_PROTOBUF_H */
