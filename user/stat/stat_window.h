/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* How long "stat" looks: for a time, while a command runs, until somebody stops it. */
#ifndef GPUMON_USER_STAT_WINDOW_H
#define GPUMON_USER_STAT_WINDOW_H

#include "process/launch.h"
#include "source/source.h"

/**
 * struct gpumon_stat_window - from its start to its end
 * @source: drivers that come meanwhile are looked for there
 * @duration_ns: 0 for no end
 * @end_ns: when that is over
 * @program: command, NULL for none
 * @launch: it, once it runs
 * @launched: @launch was prepared, and is to be ended
 */
struct gpumon_stat_window {
	struct gpumon_source *source;
	uint64_t duration_ns;
	uint64_t end_ns;
	char **program;
	struct gpumon_launch launch;
	bool launched;
};

void gpumon_stat_window_init(struct gpumon_stat_window *window, struct gpumon_source *source,
			     uint64_t duration_ns, char **program);
/* Begin, and run the command. 0, or -1 with @err. */
int gpumon_stat_window_start(struct gpumon_stat_window *window, struct gpumon_error *err);
/* Wait until that time (CLOCK_MONOTONIC). False: the window is over. */
bool gpumon_stat_window_wait(struct gpumon_stat_window *window, uint64_t until_ns);
/* After whatever came: a command that still runs is waited for. */
void gpumon_stat_window_end(struct gpumon_stat_window *window);
/* Of the command, as a shell has it. */
int gpumon_stat_window_status(const struct gpumon_stat_window *window);

#endif /* GPUMON_USER_STAT_WINDOW_H */
