/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The gpumon module's part of a capture: its events and alerts, if the module is loaded and may be
 * read. The recorder's own notes go there, too, since they belong to no process.
 */
#ifndef GPUMON_RECORD_DRIVER_H
#define GPUMON_RECORD_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kmod/uapi/gpumon_event.h"
#include "abi/format.h"
#include "capture/capture.h"
#include "driver/model.h"
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

/* Makes capture records from the module's data and collects them. Uses no netlink and no files. */

/**
 * struct gpumon_driver_records - records that wait to be written
 * @data: whole records
 * @size: bytes used
 * @room: bytes allocated
 * @next_string: id of the next string
 * @rows: string ids of rows and rings by number, for each event type
 * @row_count: number of @rows
 *
 * Initialise it with zeroes.
 */
struct gpumon_driver_records {
	uint8_t *data;
	size_t size;
	size_t room;
	uint32_t next_string;
	struct gpumon_driver_row *rows[__GPUMON_EVENT_TYPE_MAX];
	size_t row_count[__GPUMON_EVENT_TYPE_MAX];
};

/* The name of a row when it was last looked up. */
struct gpumon_driver_row {
	uint32_t id;
	bool stale; /* must be looked up again */
	char *text;
};

/**
 * gpumon_driver_records_event - add an event of the module's ring
 * @records: appended to
 * @event: event; a report of losses becomes a GPUMON_RECORD_LOSS
 * @model: current rings and statistics, for the name of the row
 */
void gpumon_driver_records_event(struct gpumon_driver_records *records,
				 const struct gpumon_event *event,
				 const struct gpumon_model *model);

/* The same with the name of its row, "" or NULL if that is not known. */
void gpumon_driver_records_named(struct gpumon_driver_records *records,
				 const struct gpumon_event *event, const char *row);

/* Look names up again from now on, since ring numbers are reused. */
void gpumon_driver_records_forget(struct gpumon_driver_records *records);

/* True if the event's row is in the model, or if it needs none. */
bool gpumon_driver_row_known(const struct gpumon_model *model, const struct gpumon_event *event);

void gpumon_driver_records_alert(struct gpumon_driver_records *records,
				 const struct gpumon_alert *alert);
void gpumon_driver_records_note(struct gpumon_driver_records *records, uint64_t time_ns,
				uint16_t flags, const char *text);
void gpumon_driver_records_loss(struct gpumon_driver_records *records, uint64_t time_ns,
				enum gpumon_loss cause, uint64_t count);

/* Write them to the file of a capture, and empty them. Returns the bytes that were written. */
uint64_t gpumon_driver_records_write(struct gpumon_driver_records *records,
				     struct gpumon_capture_file *file);

void gpumon_driver_records_free(struct gpumon_driver_records *records);

#endif /* GPUMON_RECORD_DRIVER_H */
