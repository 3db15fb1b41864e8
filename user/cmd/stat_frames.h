/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* "stat --frames": frame times of programs that present, while they run. */
#ifndef GPUMON_CMD_STAT_FRAMES_H
#define GPUMON_CMD_STAT_FRAMES_H

#include <stdint.h>

#include "lib/options.h"

/**
 * struct gpumon_stat_frames - options
 * @pid: process; 0: all
 * @interval_ns: 0: print once
 * @count: 0: print until stopped
 * @duration_ns: 0: until stopped, or five seconds if nothing else says when to end
 * @output: file; NULL for standard output
 */
struct gpumon_stat_frames {
	uint32_t pid;
	uint64_t interval_ns;
	uint64_t count;
	uint64_t duration_ns;
	const char *output;
};

/* Run it. Returns the exit status; failures are reported. */
int gpumon_stat_frames(struct gpumon_context *context, const struct gpumon_stat_frames *options);

#endif /* GPUMON_CMD_STAT_FRAMES_H */
