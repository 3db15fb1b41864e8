/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The target's half of the channel (channel.h): a thread takes a free block and
 * appends whole records. No allocation, no locks, no system call after
 * gpumon_channel_map(): it runs inside of other people's launches. What finds no
 * place is counted and given up.
 *
 * It needs nothing but format.h, channel.h and the C library, because it is
 * compiled into inject/.
 */
#ifndef GPUMON_CAPTURE_CHANNEL_WRITER_H
#define GPUMON_CAPTURE_CHANNEL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"

/**
 * struct gpumon_channel_map - a channel that was mapped by the target
 * @channel: its head
 * @size: bytes mapped
 * @blocks: copied once, the memory can be changed by others at any time
 * @alive: @token; something else in a forked child, for whom nobody records
 * @token: of the process that mapped it
 */
struct gpumon_channel_map {
	struct gpumon_channel *channel;
	size_t size;
	uint32_t blocks;
	const uint32_t *alive;
	uint32_t token;
};

/**
 * struct gpumon_channel_writer - of one thread; zeroed, then gpumon_channel_writer_begin()
 * @map: channel
 * @block: the thread's, NULL while it has none
 * @used: bytes in it
 * @reserved: bytes that may be written now
 * @tid: of the thread, in its own pid namespace
 * @busy: between reserving and committing: a signal handler may come in here
 * @full: no block was free when @freed of the channel was @full_at
 * @full_at: see @full
 */
struct gpumon_channel_writer {
	struct gpumon_channel_map *map;
	struct gpumon_block *block;
	uint32_t used;
	uint32_t reserved;
	uint32_t tid;
	volatile uint32_t busy;
	uint64_t full_at;
	bool full;
};

/**
 * gpumon_channel_map - map the channel that the recorder sent
 * @map: filled in
 * @fd: its descriptor, may be closed afterwards
 *
 * Return: 0; -EPROTO: it is none, or of another version; -EPERM: it could be shortened
 * under us; or another negative errno.
 */
int gpumon_channel_map(struct gpumon_channel_map *map, int fd);

/* No thread may write after this. */
void gpumon_channel_unmap(struct gpumon_channel_map *map);

void gpumon_channel_writer_begin(struct gpumon_channel_writer *writer,
				 struct gpumon_channel_map *map, uint32_t tid);

/**
 * gpumon_channel_reserve - room for records
 * @writer: of this thread
 * @size: bytes, rounded up to a multiple of 8; at most GPUMON_CHANNEL_RECORD_MAX
 *
 * Return: where to write, aligned to 8, until gpumon_channel_commit(); NULL: no room, or
 * called by a signal handler amid another record: count these records with
 * gpumon_channel_lose() and the cause that gpumon_channel_why() tells.
 */
void *gpumon_channel_reserve(struct gpumon_channel_writer *writer, size_t size);

/* The records are written: @size bytes, a multiple of 8, at most what was reserved; 0: none. */
void gpumon_channel_commit(struct gpumon_channel_writer *writer, size_t size);

/* enum gpumon_loss of a reservation of @size bytes that failed just now. */
unsigned int gpumon_channel_why(const struct gpumon_channel_writer *writer, size_t size);

/**
 * gpumon_channel_write - a whole record
 * @writer: of this thread
 * @record: its size is in its head, a multiple of 8
 *
 * Return: false: it found no room, as was counted.
 */
bool gpumon_channel_write(struct gpumon_channel_writer *writer, const void *record);

/* The thread ends, or is silent for long: its block goes to the recorder. It may go on writing. */
void gpumon_channel_writer_end(struct gpumon_channel_writer *writer);

/* So many more records were lost for this cause, enum gpumon_loss. */
void gpumon_channel_lose(struct gpumon_channel_map *map, unsigned int cause, uint64_t count);

#endif /* GPUMON_CAPTURE_CHANNEL_WRITER_H */
