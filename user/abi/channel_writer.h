/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The target's side of the channel (channel.h): a thread takes a free block and appends whole
 * records. It runs on a program's launch path: after gpumon_channel_map() there is no allocation,
 * no lock and no system call. Records that do not fit are counted and dropped.
 *
 * It only needs format.h, channel.h and the C library, because it is compiled into inject/.
 */
#ifndef GPUMON_ABI_CHANNEL_WRITER_H
#define GPUMON_ABI_CHANNEL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"

/**
 * struct gpumon_channel_map - a channel mapped by the target
 * @channel: head of the channel
 * @size: mapped bytes
 * @blocks: a copy, since the memory can change at any time
 * @alive: equals @token, except in a forked child, which is not recorded
 * @token: token of the process that mapped it
 */
struct gpumon_channel_map {
	struct gpumon_channel *channel;
	size_t size;
	uint32_t blocks;
	const uint32_t *alive;
	uint32_t token;
};

/**
 * struct gpumon_channel_writer - a thread's writer, see gpumon_channel_writer_begin()
 * @map: channel
 * @block: block of the thread, or NULL
 * @used: bytes used in @block
 * @reserved: reserved bytes
 * @tid: tid in the thread's own pid namespace
 * @busy: between reserve and commit, where a signal handler may interrupt
 * @full: no block was free when the channel's @freed was @full_at
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
 * @map: out
 * @fd: its descriptor, may be closed afterwards
 *
 * Return: 0; -EPROTO: not a channel, or another version; -EPERM: it could be shortened; or another
 * negative errno.
 */
int gpumon_channel_map(struct gpumon_channel_map *map, int fd);

/* False in a forked child: it must not change the channel's counts either. */
bool gpumon_channel_is_alive(const struct gpumon_channel_map *map);

/* No thread may write after this. */
void gpumon_channel_unmap(struct gpumon_channel_map *map);

void gpumon_channel_writer_begin(struct gpumon_channel_writer *writer,
				 struct gpumon_channel_map *map, uint32_t tid);

/**
 * gpumon_channel_reserve - reserve room for records
 * @writer: writer of this thread
 * @size: bytes, rounded up to a multiple of 8; at most GPUMON_CHANNEL_RECORD_MAX
 *
 * Return: memory aligned to 8, valid until gpumon_channel_commit(). NULL: no room, or called by a
 * signal handler during another record; then count the records with gpumon_channel_lose() and the
 * cause from gpumon_channel_why().
 */
void *gpumon_channel_reserve(struct gpumon_channel_writer *writer, size_t size);

/* Commit @size bytes of records, a multiple of 8, at most what was reserved; 0: none. */
void gpumon_channel_commit(struct gpumon_channel_writer *writer, size_t size);

/* The enum gpumon_loss for a reservation of @size bytes that just failed. */
unsigned int gpumon_channel_why(const struct gpumon_channel_writer *writer, size_t size);

/**
 * gpumon_channel_write - write a whole record
 * @writer: writer of this thread
 * @record: record with its size in its head, a multiple of 8
 *
 * Return: false if there was no room; the loss has been counted.
 */
bool gpumon_channel_write(struct gpumon_channel_writer *writer, const void *record);

/* The thread ends, or pauses for long: its block goes to the recorder. It may write again later. */
void gpumon_channel_writer_end(struct gpumon_channel_writer *writer);

/* Count lost records with their cause, enum gpumon_loss. */
void gpumon_channel_lose(struct gpumon_channel_map *map, unsigned int cause, uint64_t count);

#endif /* GPUMON_ABI_CHANNEL_WRITER_H */
