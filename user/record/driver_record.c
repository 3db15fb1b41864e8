// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/trace_words.h"
#include "driver_record.h"

#define ROUND8(size) (((size) + 7) & ~(size_t)7)
#define STRING_MAX   4096

/* Append a record of @size bytes, zeroed after its head. NULL without memory. */
static void *add_record(struct gpumon_driver_records *records, uint16_t type, size_t size)
{
	struct gpumon_record *record;

	size = ROUND8(size);
	if (records->size + size > records->room) {
		size_t room = records->room ? 2 * records->room : 65536;
		uint8_t *data;

		while (room < records->size + size)
			room *= 2;
		data = realloc(records->data, room);
		if (!data)
			return NULL;
		records->data = data;
		records->room = room;
	}
	record = (struct gpumon_record *)(records->data + records->size);
	memset(record, 0, size);
	record->type = type;
	record->size = (uint32_t)size;
	records->size += size;
	return record;
}

/* The id of a new string, 0 for an empty one, -1 without memory. */
static int add_string(struct gpumon_driver_records *records, const char *text, uint32_t *id)
{
	size_t length = text ? strnlen(text, STRING_MAX) : 0;
	struct gpumon_record_string *record;

	*id = 0;
	if (!length)
		return 0;
	record = add_record(records, GPUMON_RECORD_STRING, sizeof(*record) + length);
	if (!record)
		return -1;
	*id = ++records->next_string;
	record->id = *id;
	record->length = (uint32_t)length;
	memcpy(record->text, text, length);
	return 0;
}

static const struct gpumon_row *find_row(const struct gpumon_model *model,
					 const struct gpumon_event *event)
{
	const char *group = gpumon_trace_event_group(event->event);
	const char *table = gpumon_trace_event_table(event->event);
	const struct gpumon_statistics *statistics;

	if (!group || !table)
		return NULL;
	statistics = gpumon_model_statistics(model, group, table);
	return statistics ? gpumon_statistics_row(statistics, event->ring) : NULL;
}

/* "DEVICE/NAME" of a ring, or the labels of a row separated by '/'; "" if unknown. */
static void row_text(const struct gpumon_model *model, const struct gpumon_event *event, char *text,
		     size_t room)
{
	const struct gpumon_ring *ring;
	const struct gpumon_row *row;
	size_t at = 0;

	text[0] = '\0';
	if (!gpumon_trace_has_words(event->event)) {
		ring = gpumon_model_ring(model, event->ring);
		if (ring)
			snprintf(text, room, "%s/%s", ring->device ? ring->device : "-",
				 ring->name ? ring->name : "-");
		return;
	}
	row = find_row(model, event);
	for (size_t i = 0; row && i < row->n_labels && at < room; i++)
		at += (size_t)snprintf(text + at, room - at, "%s%s", i ? "/" : "",
				       row->labels[i].value ? row->labels[i].value : "-");
}

bool gpumon_driver_row_known(const struct gpumon_model *model, const struct gpumon_event *event)
{
	if (event->event == GPUMON_EVENT_LOST)
		return true;
	if (gpumon_trace_has_words(event->event))
		return find_row(model, event);
	return gpumon_model_ring(model, event->ring);
}

static int row_id(struct gpumon_driver_records *records, const struct gpumon_event *event,
		  const struct gpumon_model *model, uint32_t *id)
{
	struct gpumon_driver_row *row;
	char text[256];

	*id = 0;
	if (event->event >= __GPUMON_EVENT_TYPE_MAX)
		return 0;
	if (event->ring >= records->row_count[event->event]) {
		size_t count = event->ring + 16U;
		size_t before = records->row_count[event->event];

		row = realloc(records->rows[event->event], count * sizeof(*row));
		if (!row)
			return -1;
		memset(row + before, 0, (count - before) * sizeof(*row));
		records->rows[event->event] = row;
		records->row_count[event->event] = count;
	}
	row = &records->rows[event->event][event->ring];
	if (row->stale || !row->id) {
		row_text(model, event, text, sizeof(text));
		/* An unknown name is looked up again the next time. */
		if (!text[0])
			return 0;
		row->stale = false;
		if (row->id && !strcmp(row->text, text)) {
			*id = row->id;
			return 0;
		}
		free(row->text);
		row->id = 0;
		row->text = strdup(text);
		if (!row->text || add_string(records, text, &row->id))
			return -1;
	}
	*id = row->id;
	return 0;
}

int gpumon_driver_records_loss(struct gpumon_driver_records *records, uint64_t time_ns,
			       enum gpumon_loss cause, uint64_t count)
{
	struct gpumon_record_loss *record =
		add_record(records, GPUMON_RECORD_LOSS, sizeof(*record));

	if (!record)
		return -ENOMEM;
	record->time_ns = time_ns;
	record->count = count;
	record->cause = cause;
	return 0;
}

int gpumon_driver_records_event(struct gpumon_driver_records *records,
				const struct gpumon_event *event, const struct gpumon_model *model)
{
	struct gpumon_record_driver_event *record;
	uint32_t id;

	if (event->event == GPUMON_EVENT_LOST)
		return gpumon_driver_records_loss(records, event->time_ns, GPUMON_LOSS_DRIVER_RING,
						  event->arg);
	if (row_id(records, event, model, &id))
		return -ENOMEM;
	record = add_record(records, GPUMON_RECORD_DRIVER_EVENT, sizeof(*record) + sizeof(*event));
	if (!record)
		return -ENOMEM;
	record->event_size = sizeof(*event);
	record->row = id;
	memcpy(record->event, event, sizeof(*event));
	return 0;
}

void gpumon_driver_records_forget(struct gpumon_driver_records *records)
{
	for (size_t type = 0; type < __GPUMON_EVENT_TYPE_MAX; type++)
		for (size_t i = 0; i < records->row_count[type]; i++)
			records->rows[type][i].stale = true;
}

int gpumon_driver_records_alert(struct gpumon_driver_records *records,
				const struct gpumon_alert *alert)
{
	struct gpumon_record_alert *record;
	uint32_t device, message;
	char text[600];

	/* The record has no field for the kind of the alert. */
	snprintf(text, sizeof(text), "%s: %s", alert->kind ? alert->kind : "alert",
		 alert->message ? alert->message : "-");
	if (add_string(records, alert->device, &device) || add_string(records, text, &message))
		return -ENOMEM;
	record = add_record(records, GPUMON_RECORD_ALERT, sizeof(*record));
	if (!record)
		return -ENOMEM;
	record->time_ns = alert->time_ns.v;
	record->code = (uint32_t)alert->code.v;
	record->device = device;
	record->message = message;
	return 0;
}

int gpumon_driver_records_note(struct gpumon_driver_records *records, uint64_t time_ns,
			       uint16_t flags, const char *text)
{
	struct gpumon_record_note *record;
	uint32_t id;

	if (add_string(records, text, &id))
		return -ENOMEM;
	record = add_record(records, GPUMON_RECORD_NOTE, sizeof(*record));
	if (!record)
		return -ENOMEM;
	record->head.flags = flags;
	record->time_ns = time_ns;
	record->text = id;
	return 0;
}

void gpumon_driver_records_free(struct gpumon_driver_records *records)
{
	for (size_t type = 0; type < __GPUMON_EVENT_TYPE_MAX; type++) {
		for (size_t i = 0; i < records->row_count[type]; i++)
			free(records->rows[type][i].text);
		free(records->rows[type]);
	}
	free(records->data);
	memset(records, 0, sizeof(*records));
}
