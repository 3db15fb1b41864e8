/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_RECORD_STATUS_LINE_H
#define GPUMON_RECORD_STATUS_LINE_H

#include "session.h"

/*
 * The status of a recording on the terminal's last line, which does not scroll. The program's
 * output continues above it. The terminal is restored however the recording ends or is stopped.
 */

#define GPUMON_LIVE_PERIOD_MS 1000

struct gpumon_live;

/**
 * gpumon_live_new - start a status line on a terminal
 * @out: the terminal
 * @options: options of the recording; its hooks are set
 *
 * Return: NULL if @out is not a terminal or too small; @options then stay
 * unchanged.
 */
struct gpumon_live *gpumon_live_new(FILE *out, struct gpumon_session_options *options);

/* Restore the terminal. NULL is ignored. */
void gpumon_live_free(struct gpumon_live *live);

#endif /* GPUMON_RECORD_STATUS_LINE_H */
