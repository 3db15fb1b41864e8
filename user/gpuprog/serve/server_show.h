/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Prints what was gathered, as the user asked for it. */
#ifndef GPUMON_GPUPROG_SERVE_SERVER_SHOW_H
#define GPUMON_GPUPROG_SERVE_SERVER_SHOW_H

#include "lib/command.h"
#include "lib/sheet.h"

/*
 * Tables, or JSON with --json. Frees @sheet; NULL: there was no memory for it. 0, or -1 with @err.
 */
int gpumon_probe_show_sheet(struct gpumon_context *context, struct gpumon_sheet *sheet,
			    struct gpumon_error *err);

/* A line on @stream, a FILE. Control characters of a program's text do not reach the terminal. */
void gpumon_probe_show_line(void *stream, const char *text);

#endif /* GPUMON_GPUPROG_SERVE_SERVER_SHOW_H */
