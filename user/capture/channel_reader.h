/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The recorder's side of the channel (channel.h): creates the shared memory and drains it into a
 * file of a capture. The target may be broken or hostile and write anything at any moment. So
 * everything is copied before it is checked, every walk over the blocks ends, and invalid data is
 * counted and dropped.
 */
#ifndef GPUMON_CAPTURE_CHANNEL_READER_H
#define GPUMON_CAPTURE_CHANNEL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture.h"
#include "abi/channel.h"

/* 64 MiB, only touched as far as the recorder falls behind. */
#define GPUMON_CHANNEL_BLOCKS_DEFAULT 1024
#define GPUMON_CHANNEL_BLOCKS_MAX     65536

struct gpumon_channel_reader;

/**
 * struct gpumon_channel_account - counts of a channel
 * @records: records copied into the file
 * @bytes: bytes of @records
 * @lost: losses counted by the target, by enum gpumon_loss (and later ones)
 * @broken: places in blocks without a valid record
 * @busy: blocks that were not free at the last drain
 * @busy_max: maximum of @busy
 */
struct gpumon_channel_account {
	uint64_t records;
	uint64_t bytes;
	uint64_t lost[32];
	uint64_t broken;
	uint32_t busy;
	uint32_t busy_max;
};

/**
 * gpumon_channel_create - create the shared memory for a target
 * @blocks: 1 to GPUMON_CHANNEL_BLOCKS_MAX, and more than the target has threads
 * @reader: out
 *
 * It is a sealed memfd, so neither side can shorten it.
 *
 * Return: 0, or -1 with the reason in gpumon_capture_error().
 */
int gpumon_channel_create(uint32_t blocks, struct gpumon_channel_reader **reader);

/* Descriptor to send to the target with GPUMON_SETTINGS. The reader keeps it. */
int gpumon_channel_descriptor(const struct gpumon_channel_reader *reader);

/* Tell the target whether it has forbidden itself system calls. */
void gpumon_channel_set_sandbox(struct gpumon_channel_reader *reader,
				enum gpumon_channel_sandbox sandbox);

/* Set the command. The target polls it within its flush period. */
void gpumon_channel_set_command(struct gpumon_channel_reader *reader,
				enum gpumon_channel_command command);

/* True if the target has written its last record. */
bool gpumon_channel_stopped(const struct gpumon_channel_reader *reader);

/**
 * gpumon_channel_drain - move the available records into a file
 * @reader: channel
 * @file: file of the process
 *
 * Records of one thread stay in order. Call it often enough: a block holds about 400 launches with
 * their kernels. Losses of the target since the last call follow as GPUMON_RECORD_LOSS. If the file
 * cannot be written, records are lost (gpumon_capture_append()), but the channel is drained all the
 * same.
 *
 * Return: bytes taken from the channel.
 */
uint64_t gpumon_channel_drain(struct gpumon_channel_reader *reader,
			      struct gpumon_capture_file *file);

/**
 * gpumon_channel_finish - drain the rest after the target has stopped or is gone
 * @reader: channel
 * @file: file of the process
 *
 * The last record is GPUMON_RECORD_TOTALS.
 */
void gpumon_channel_finish(struct gpumon_channel_reader *reader, struct gpumon_capture_file *file);

/**
 * gpumon_channel_on_records - set a callback for records before they are written
 * @reader: channel
 * @see: called with whole records of one thread; may change fields, but not sizes; NULL: none
 * @data: passed to @see
 */
void gpumon_channel_on_records(struct gpumon_channel_reader *reader,
			       void (*see)(void *data, uint32_t tid, void *records, size_t size),
			       void *data);

/* The target's current counts, with head and time set. */
void gpumon_channel_totals(const struct gpumon_channel_reader *reader,
			   struct gpumon_record_totals *totals);

const struct gpumon_channel_account *
gpumon_channel_account(const struct gpumon_channel_reader *reader);

/* Leave the channel: the target learns it, and what it still has mapped no longer needs memory. */
void gpumon_channel_free(struct gpumon_channel_reader *reader);

#endif /* GPUMON_CAPTURE_CHANNEL_READER_H */
