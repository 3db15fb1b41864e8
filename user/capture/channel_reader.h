/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The recorder's half of the channel (channel.h): makes the shared memory, and
 * empties it into a file of a capture. The target may be broken or hostile and
 * write anything into the memory at any moment: everything is copied before it
 * is looked at, a walk over the blocks has an end whatever is in them, and what
 * is no record is counted and goes nowhere.
 */
#ifndef GPUMON_CAPTURE_CHANNEL_READER_H
#define GPUMON_CAPTURE_CHANNEL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture.h"
#include "channel.h"

/* 64 MiB, touched only as far as a recorder falls behind. */
#define GPUMON_CHANNEL_BLOCKS_DEFAULT 1024
#define GPUMON_CHANNEL_BLOCKS_MAX     65536

struct gpumon_channel_reader;

/**
 * struct gpumon_channel_account - what went through a channel
 * @records: copied into the file
 * @bytes: of these
 * @lost: as the target counted them, by enum gpumon_loss (and later ones)
 * @broken: places in blocks that held no record
 * @busy: blocks that were not free when it was emptied last
 * @busy_max: the most there were
 */
struct gpumon_channel_account {
	uint64_t records;
	uint64_t bytes;
	uint64_t lost[16];
	uint64_t broken;
	uint32_t busy;
	uint32_t busy_max;
};

/**
 * gpumon_channel_create - shared memory for a target
 * @blocks: how many, 1 .. GPUMON_CHANNEL_BLOCKS_MAX: more than the target has threads
 * @reader: set to it
 *
 * It is a sealed memfd: nobody can shorten it under the other.
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_channel_create(uint32_t blocks, struct gpumon_channel_reader **reader);

/* To be sent to the target with GPUMON_SETTINGS; it stays the reader's. */
int gpumon_channel_descriptor(const struct gpumon_channel_reader *reader);

/* What the target finds there when it looks, within its flush period. */
void gpumon_channel_set_command(struct gpumon_channel_reader *reader,
				enum gpumon_channel_command command);

/* The target said that it has written all there will be. */
bool gpumon_channel_stopped(const struct gpumon_channel_reader *reader);

/**
 * gpumon_channel_drain - empty it into a file, as far as it is written
 * @reader: channel
 * @file: of the process
 *
 * Records of one thread stay in their order. Call it often enough: a block holds
 * about 400 launches with their kernels. What the target lost since the last call
 * follows as GPUMON_RECORD_LOSS. A file that cannot be written loses records
 * (gpumon_capture_append()) and the channel is emptied all the same.
 *
 * Return: bytes that were taken out of it.
 */
uint64_t gpumon_channel_drain(struct gpumon_channel_reader *reader,
			      struct gpumon_capture_file *file);

/**
 * gpumon_channel_finish - the target is gone or has stopped: everything that is left
 * @reader: channel
 * @file: of the process
 *
 * GPUMON_RECORD_TOTALS are its last record.
 */
void gpumon_channel_finish(struct gpumon_channel_reader *reader, struct gpumon_capture_file *file);

/**
 * gpumon_channel_on_records - who looks at records before they are written
 * @reader: channel
 * @see: gets whole records of one thread; may change their fields, but not their sizes; NULL: none
 * @data: for @see
 */
void gpumon_channel_on_records(struct gpumon_channel_reader *reader,
			       void (*see)(void *data, uint32_t tid, void *records, size_t size),
			       void *data);

/* As the target counts now, head and time filled in. */
void gpumon_channel_totals(const struct gpumon_channel_reader *reader,
			   struct gpumon_record_totals *totals);

const struct gpumon_channel_account *
gpumon_channel_account(const struct gpumon_channel_reader *reader);

void gpumon_channel_free(struct gpumon_channel_reader *reader);

#endif /* GPUMON_CAPTURE_CHANNEL_READER_H */
