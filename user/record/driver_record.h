/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Makes capture records from the module's data and collects them. Uses no netlink and no files. */
#ifndef GPUMON_RECORD_DRIVER_RECORD_H
#define GPUMON_RECORD_DRIVER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/format.h"
#include "../kmod/uapi/gpumon_event.h"
#include "driver/model.h"

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
 *
 * Return: 0 or -ENOMEM.
 */
int gpumon_driver_records_event(struct gpumon_driver_records *records,
				const struct gpumon_event *event, const struct gpumon_model *model);

/* Look names up again from now on, since ring numbers are reused. */
void gpumon_driver_records_forget(struct gpumon_driver_records *records);

/* True if the event's row is in the model, or if it needs none. */
bool gpumon_driver_row_known(const struct gpumon_model *model, const struct gpumon_event *event);

int gpumon_driver_records_alert(struct gpumon_driver_records *records,
				const struct gpumon_alert *alert);
int gpumon_driver_records_note(struct gpumon_driver_records *records, uint64_t time_ns,
			       uint16_t flags, const char *text);
int gpumon_driver_records_loss(struct gpumon_driver_records *records, uint64_t time_ns,
			       enum gpumon_loss cause, uint64_t count);

void gpumon_driver_records_free(struct gpumon_driver_records *records);

#endif /* GPUMON_RECORD_DRIVER_RECORD_H */
