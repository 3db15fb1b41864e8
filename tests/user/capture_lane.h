/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A channel, who writes into it and what came out at its other end, for the tests of channels. */
#ifndef GPUMON_TEST_CAPTURE_LANE_H
#define GPUMON_TEST_CAPTURE_LANE_H

#include <pthread.h>

#include "capture/channel_reader.h"
#include "capture/channel_writer.h"
#include "capture_maker.h"
#include "common.h"

#define LANE_THREADS 8

/* A channel and the file that it is emptied into. */
struct lane {
	char *directory;
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	struct gpumon_channel_reader *reader;
	struct gpumon_channel_map map;
};

void lane_open(struct lane *lane, uint32_t blocks);
void lane_close(struct lane *lane);

/* Room for each of the records that lane_record() makes. */
#define LANE_RECORD_MAX 16384

/*
 * A string record whose contents and length follow from thread and number: torn ones are seen.
 * Return: its size.
 */
uint32_t lane_record(unsigned char *to, uint32_t tid, uint64_t number);

/* What came out at the other end. */
struct lane_result {
	uint64_t read[LANE_THREADS];
	uint64_t last[LANE_THREADS];
	uint64_t records;
	uint64_t lost[GPUMON_LOSS_CAUSES];
	uint64_t other;
	struct gpumon_record_totals totals;
};

/*
 * End the capture and look at all of it: every record is whole, each thread's numbers grow, and
 * with @gapless have no gap.
 */
struct lane_result lane_read(struct lane *lane, bool gapless);

/* A thread that writes records with the numbers 1 to @records, both ways that there are. */
struct lane_thread {
	struct gpumon_channel_map *map;
	uint32_t tid;
	uint64_t records;
	uint64_t written;
	uint64_t refused;
	unsigned int end_every; /* give the block back now and then, as a thread that ends; 0: no */
	pthread_t thread;
};

void *lane_thread(void *thread);

#endif /* GPUMON_TEST_CAPTURE_LANE_H */
