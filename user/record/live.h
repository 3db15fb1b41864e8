/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a recording shows on a terminal while it goes on: one line, the last of the screen, which
 * does not scroll; what the program prints goes on above it. However the recording ends or is
 * stopped, the terminal is as before.
 */
#ifndef GPUMON_RECORD_LIVE_H
#define GPUMON_RECORD_LIVE_H

#include "session.h"

#define GPUMON_LIVE_PERIOD_MS 1000

struct gpumon_live;

/**
 * gpumon_live_new - a status line on a terminal
 * @out: the terminal
 * @options: of the recording; its hooks are set
 *
 * Return: NULL where @out is no terminal, too small, or there is no memory: @options are left
 * alone then.
 */
struct gpumon_live *gpumon_live_new(FILE *out, struct gpumon_session_options *options);

/* The terminal is as before; NULL is nothing. */
void gpumon_live_free(struct gpumon_live *live);

#endif /* GPUMON_RECORD_LIVE_H */
