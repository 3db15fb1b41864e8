/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_RECORD_SLOW_STEP_H
#define GPUMON_RECORD_SLOW_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Finds slow steps among the records of live processes: NVTX ranges that took longer than a limit, and
 * launches that came later than it after the one before in their thread. Its memory is fixed: of very
 * many threads or open ranges, those that did nothing for the longest time are forgotten.
 */

struct gpumon_slow;

struct gpumon_slow *gpumon_slow_new(uint64_t limit_ns);

/**
 * gpumon_slow_records - look at the next records of one thread
 * @slow: state
 * @process: a number that no other process has
 * @pid: for the text
 * @records: whole records
 * @size: bytes of them
 */
void gpumon_slow_records(struct gpumon_slow *slow, uint64_t process, int pid, const void *records,
			 size_t size);

/**
 * gpumon_slow_take - the first slow step since the last call
 * @slow: state
 * @text: out: "an NVTX range of 812 ms (thread 12 of process 11)"
 * @room: size of @text
 *
 * Return: false if there was none.
 */
bool gpumon_slow_take(struct gpumon_slow *slow, char *text, size_t room);

/* NULL is ignored. */
void gpumon_slow_free(struct gpumon_slow *slow);

#endif /* GPUMON_RECORD_SLOW_STEP_H */
