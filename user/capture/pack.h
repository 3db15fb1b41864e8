/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Packed chunks. A record is mostly what an earlier one of its kind was, so only the 32-bit words
 * that changed are stored, by how much. Documentation/reference/capture-format.md has the format.
 */
#ifndef GPUMON_CAPTURE_PACK_H
#define GPUMON_CAPTURE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A packed chunk is at most that many times as long as its records. */
#define GPUMON_PACK_GROWTH 2

/**
 * gpumon_pack - pack records
 * @records: records, aligned to 8
 * @size: bytes of them, at most GPUMON_CHUNK_SIZE_MAX
 * @packed: room for @size * GPUMON_PACK_GROWTH bytes
 *
 * Return: bytes in @packed, a multiple of 8; 0: @records are not whole records.
 */
size_t gpumon_pack(const void *records, size_t size, void *packed);

/**
 * gpumon_unpack - the records of a packed chunk
 * @packed: any bytes
 * @size: number of them
 * @records: out, aligned to 8
 * @room: bytes of the records, at most GPUMON_CHUNK_SIZE_MAX
 *
 * Return: false if @packed does not hold exactly @room bytes of records.
 */
bool gpumon_unpack(const void *packed, size_t size, void *records, size_t room);

#endif /* GPUMON_CAPTURE_PACK_H */
