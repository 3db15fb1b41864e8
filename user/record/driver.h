/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The gpumon module's part of a capture: its events and alerts, if the module is loaded and may be
 * read. The recorder's own notes go there, too, since they belong to no process.
 */
#ifndef GPUMON_RECORD_DRIVER_H
#define GPUMON_RECORD_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "lib/error.h"
#include "recorder.h"

struct gpumon_driver;

/**
 * gpumon_driver_new - start the file GPUMON_CAPTURE_DRIVER of a capture
 * @writer: capture
 * @options: of these @driver, @driver_wanted and @root
 * @driver: out
 * @err: out
 *
 * A module that is not loaded is not an error.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_driver_new(struct gpumon_capture_writer *writer,
		      const struct gpumon_recorder_options *options, struct gpumon_driver **driver,
		      struct gpumon_error *err);

/* Take the records that the module has now. Never waits. */
void gpumon_driver_drain(struct gpumon_driver *driver);

/* Write a GPUMON_RECORD_NOTE. */
void gpumon_driver_note(struct gpumon_driver *driver, uint16_t flags, const char *text);

/* True if there is anything to drain. */
bool gpumon_driver_recording(const struct gpumon_driver *driver);
/* The reason why there is nothing to drain, or "". */
const char *gpumon_driver_reason(const struct gpumon_driver *driver);
/* Alerts of the module, or Xids where alerts are not available. */
uint64_t gpumon_driver_alarms(const struct gpumon_driver *driver);
/* Bytes of records written. */
uint64_t gpumon_driver_bytes(const struct gpumon_driver *driver);

/* Restore the event ring and close the file. NULL is ignored. */
void gpumon_driver_free(struct gpumon_driver *driver);

#endif /* GPUMON_RECORD_DRIVER_H */
