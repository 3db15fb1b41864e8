/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The gpumon module's part of a capture: its events and alerts, where the module
 * is loaded and we may read them. Notes of the recorder itself go there, too:
 * they are no process's.
 */
#ifndef GPUMON_RECORD_DRIVER_H
#define GPUMON_RECORD_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "base/error.h"

struct gpumon_driver;

/**
 * gpumon_driver_new - the file GPUMON_CAPTURE_DRIVER of a capture
 * @writer: capture
 * @module: record what the module knows; a note says why not, where that is so
 * @root: prefix of /sys
 * @driver: set to it
 * @err: why not
 *
 * A module that is not there is no failure.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_driver_new(struct gpumon_capture_writer *writer, bool module, const char *root,
		      struct gpumon_driver **driver, struct gpumon_error *err);

/* Take what the module has now. Never waits. */
void gpumon_driver_drain(struct gpumon_driver *driver);

/* A GPUMON_RECORD_NOTE. */
void gpumon_driver_note(struct gpumon_driver *driver, uint16_t flags, const char *text);

/* Is there anything to drain? */
bool gpumon_driver_recording(const struct gpumon_driver *driver);
/* Why there is not, "" if there is. */
const char *gpumon_driver_reason(const struct gpumon_driver *driver);
uint64_t gpumon_driver_events(const struct gpumon_driver *driver);
/* Of records written. */
uint64_t gpumon_driver_bytes(const struct gpumon_driver *driver);

/* Switches off what was switched on, and closes the file; NULL is nothing. */
void gpumon_driver_free(struct gpumon_driver *driver);

#endif /* GPUMON_RECORD_DRIVER_H */
