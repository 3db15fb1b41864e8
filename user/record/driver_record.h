/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Makes records of a capture from what the module tells, and collects them. No netlink, no file. */
#ifndef GPUMON_RECORD_DRIVER_RECORD_H
#define GPUMON_RECORD_DRIVER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/format.h"
#include "../kmod/uapi/gpumon_event.h"
#include "model/model.h"

/**
 * struct gpumon_driver_records - records that wait to be written
 * @data: they, whole
 * @size: bytes
 * @room: allocated
 * @next_string: id of the next string
 * @rows: string ids of rows and rings by number, for each event type
 * @row_count: how many of these
 *
 * All zeroes to begin with.
 */
struct gpumon_driver_records {
	uint8_t *data;
	size_t size;
	size_t room;
	uint32_t next_string;
	struct gpumon_driver_row *rows[__GPUMON_EVENT_TYPE_MAX];
	size_t row_count[__GPUMON_EVENT_TYPE_MAX];
};

/* What a row was called when it was looked up last. */
struct gpumon_driver_row {
	uint32_t id;
	bool stale; /* to be looked up again */
	char *text;
};

/**
 * gpumon_driver_records_event - an event of the module's ring
 * @records: appended to
 * @event: event; one that tells a loss becomes a GPUMON_RECORD_LOSS
 * @model: with rings and statistics as of now, for the name of the row
 *
 * Return: 0 or -ENOMEM.
 */
int gpumon_driver_records_event(struct gpumon_driver_records *records,
				const struct gpumon_event *event, const struct gpumon_model *model);

/* Numbers of rings are used again: names are looked up again from now on. */
void gpumon_driver_records_forget(struct gpumon_driver_records *records);

/* Is the event's row in the model, or does it need none? */
bool gpumon_driver_row_known(const struct gpumon_model *model, const struct gpumon_event *event);

int gpumon_driver_records_alert(struct gpumon_driver_records *records,
				const struct gpumon_alert *alert);
int gpumon_driver_records_note(struct gpumon_driver_records *records, uint64_t time_ns,
			       uint16_t flags, const char *text);
int gpumon_driver_records_loss(struct gpumon_driver_records *records, uint64_t time_ns,
			       enum gpumon_loss cause, uint64_t count);

void gpumon_driver_records_free(struct gpumon_driver_records *records);

#endif /* GPUMON_RECORD_DRIVER_RECORD_H */
