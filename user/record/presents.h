/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Frame times of presents that are seen while they happen: times in, rows out. A frame goes from the begin of one
 * present call to the begin of the next one, of the same function in the same thread. It belongs to the interval in
 * which it ends. It is late as report/frames.h says, by the median of its interval.
 */
#ifndef GPUMON_RECORD_PRESENTS_H
#define GPUMON_RECORD_PRESENTS_H

#include <stdint.h>

/* Frames of a row in an interval: further ones are counted. */
#define GPUMON_PRESENTS_FRAMES_MAX (1u << 16)
/* Threads that present, with their functions. */
#define GPUMON_PRESENTS_ROWS_MAX 1024
#define GPUMON_PRESENTS_NAME	 64
/* A thread that presents nothing for so long is forgotten: it may have ended. */
#define GPUMON_PRESENTS_IDLE_NS 60000000000ull

struct gpumon_presents;

/**
 * struct gpumon_present - one call
 * @process: any number of the process
 * @tid: thread
 * @number: of the thread's presents, from 1 on: a gap is a loss, and no frame goes across it; where it begins again,
 *	    another thread has got the id
 * @time_ns: its begin, CLOCK_MONOTONIC
 * @function: name, such as eglSwapBuffers
 */
struct gpumon_present {
	uint32_t process;
	uint32_t tid;
	uint64_t number;
	uint64_t time_ns;
	const char *function;
};

/**
 * struct gpumon_presents_row - a thread that presents by a function, in one interval
 * @frames: frames whose length is known
 * @late: of these: longer than @late_ns
 * @left_out: frames beyond GPUMON_PRESENTS_FRAMES_MAX, which are in no other number
 * @lost: presents that were lost: there are no frames next to them
 * @total_ns: sum of @frames
 * @median_ns: frame time, and so on
 * @unfinished_ns: age of the frame that has not ended yet; 0: there is none
 */
struct gpumon_presents_row {
	uint32_t process;
	uint32_t tid;
	char function[GPUMON_PRESENTS_NAME];
	uint64_t frames;
	uint64_t late;
	uint64_t left_out;
	uint64_t lost;
	uint64_t total_ns;
	uint64_t median_ns;
	uint64_t p95_ns;
	uint64_t p99_ns;
	uint64_t longest_ns;
	uint64_t late_ns;
	uint64_t unfinished_ns;
};

struct gpumon_presents *gpumon_presents_new(void) __attribute__((returns_nonnull));
void gpumon_presents_free(struct gpumon_presents *presents);

/* Count a present. Those of a thread come in order. */
void gpumon_presents_add(struct gpumon_presents *presents, const struct gpumon_present *present);

/* The process has ended, or runs another program: its last frames have no end. */
void gpumon_presents_end(struct gpumon_presents *presents, uint32_t process);

/**
 * gpumon_presents_close - end an interval, and begin the next one
 * @presents: presents
 * @now_ns: its end, CLOCK_MONOTONIC
 * @rows: out: rows with a present in it, or with a frame that has not ended; most late frames first, then most frames;
 *	  valid until the next call
 * @left_out: out: presents of threads beyond GPUMON_PRESENTS_ROWS_MAX
 *
 * Return: number of @rows.
 */
uint32_t gpumon_presents_close(struct gpumon_presents *presents, uint64_t now_ns,
			       const struct gpumon_presents_row **rows, uint64_t *left_out);

#endif /* GPUMON_RECORD_PRESENTS_H */
