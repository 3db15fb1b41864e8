/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* For tests of channels: a channel, its writers, and the capture it was drained into. */
#ifndef GPUMON_TEST_CAPTURE_LANE_H
#define GPUMON_TEST_CAPTURE_LANE_H

#include <pthread.h>

#include "capture/channel_reader.h"
#include "abi/channel_writer.h"
#include "capture_maker.h"
#include "common.h"

#define LANE_THREADS 8

/* A channel and the file that it is drained into. */
struct lane {
	char *directory;
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	struct gpumon_channel_reader *reader;
	struct gpumon_channel_map map;
};

void lane_open(struct lane *lane, uint32_t blocks);
void lane_close(struct lane *lane);

/* Room for any record of lane_record(). */
#define LANE_RECORD_MAX 16384

/*
 * Make a string record whose contents and length depend on thread and number, so that torn records
 * are detected.
 * Return: its size.
 */
uint32_t lane_record(unsigned char *to, uint32_t tid, uint64_t number);

/* Contents of the capture. */
struct lane_result {
	uint64_t read[LANE_THREADS];
	uint64_t last[LANE_THREADS];
	uint64_t records;
	uint64_t lost[GPUMON_LOSS_CAUSES];
	uint64_t other;
	struct gpumon_record_totals totals;
};

/*
 * End the capture and check it: every record is whole, and each thread's numbers increase, without
 * gaps if @gapless.
 */
struct lane_result lane_read(struct lane *lane, bool gapless);

/* A thread that writes records with the numbers 1 to @records, in both ways. */
struct lane_thread {
	struct gpumon_channel_map *map;
	uint32_t tid;
	uint64_t records;
	uint64_t written;
	uint64_t refused;
	unsigned int end_every; /* how often to return the block, as at the end; 0: never */
	pthread_t thread;
};

void *lane_thread(void *thread);

#endif /* GPUMON_TEST_CAPTURE_LANE_H */
