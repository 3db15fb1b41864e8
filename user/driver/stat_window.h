/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* How long "stat" runs: for a time, as long as a command, or until a signal. */
#ifndef GPUMON_DRIVER_STAT_WINDOW_H
#define GPUMON_DRIVER_STAT_WINDOW_H

#include <stdio.h>

#include "lib/launch.h"
#include "source.h"

/**
 * struct gpumon_stat_window - the time that "stat" covers
 * @source: source that is checked for new drivers
 * @duration_ns: length, 0 for no end
 * @end_ns: its end
 * @program: command, NULL for none
 * @out: where the numbers go; without a command, the window is over when nobody can read it
 * @launch: the running command
 * @launched: @launch was prepared and must be ended
 */
struct gpumon_stat_window {
	struct gpumon_source *source;
	uint64_t duration_ns;
	uint64_t end_ns;
	char **program;
	FILE *out;
	struct gpumon_launch launch;
	bool launched;
};

void gpumon_stat_window_init(struct gpumon_stat_window *window, struct gpumon_source *source,
			     uint64_t duration_ns, char **program, FILE *out);
/* Begin, and start the command. 0, or -1 with @err. */
int gpumon_stat_window_start(struct gpumon_stat_window *window, struct gpumon_error *err);
/* Wait until that time (CLOCK_MONOTONIC). False if the window is over. */
bool gpumon_stat_window_wait(struct gpumon_stat_window *window, uint64_t until_ns);
/* End the window after success or failure. Waits for a command that still runs. */
void gpumon_stat_window_end(struct gpumon_stat_window *window);
/* Exit status of the command, as a shell reports it. */
int gpumon_stat_window_status(const struct gpumon_stat_window *window);

#endif /* GPUMON_DRIVER_STAT_WINDOW_H */
