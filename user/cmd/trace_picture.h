/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * "trace --perfetto": events and alerts go into a temporary capture, of which "export --perfetto" makes a file at
 * the end. The small build has none of it: small/left_out.c.
 */
#ifndef GPUMON_CMD_TRACE_PICTURE_H
#define GPUMON_CMD_TRACE_PICTURE_H

#include "driver/source.h"
#include "driver/trace.h"

struct gpumon_trace_picture;

/**
 * gpumon_trace_picture_open() - begin a picture
 * @picture: out; closed with gpumon_trace_picture_close()
 * @context: its @out is for the file "-"
 * @path: the file, which may not exist without @force
 * @force: it may be replaced
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_trace_picture_open(struct gpumon_trace_picture **picture, struct gpumon_context *context,
			      const char *path, bool force, struct gpumon_error *err);

/* Set the functions of @options that take events and alerts. */
void gpumon_trace_picture_take(struct gpumon_trace_picture *picture,
			       struct gpumon_trace_options *options);

/**
 * gpumon_trace_picture_write() - write the file, and say on standard error what is in it
 * @picture: picture with events
 * @took_ns: for how long there was a trace
 * @lost: events that were lost meanwhile
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_trace_picture_write(struct gpumon_trace_picture *picture, uint64_t took_ns,
			       uint64_t lost, struct gpumon_error *err);

/* True if there was nothing to take. */
bool gpumon_trace_picture_empty(const struct gpumon_trace_picture *picture);

/**
 * gpumon_trace_picture_nothing() - say why there is no file
 * @picture: empty picture
 * @source: source of the events
 * @options: what was asked for
 * @hidden: events that were not asked for
 * @took_ns: for how long there was a trace
 * @err: out
 *
 * Return: -1 with @err.
 */
int gpumon_trace_picture_nothing(const struct gpumon_trace_picture *picture,
				 struct gpumon_source *source,
				 const struct gpumon_trace_options *options, uint64_t hidden,
				 uint64_t took_ns, struct gpumon_error *err);

/* Remove the capture, and the file if it is not complete. NULL is ignored. */
void gpumon_trace_picture_close(struct gpumon_trace_picture *picture);

#endif /* GPUMON_CMD_TRACE_PICTURE_H */
