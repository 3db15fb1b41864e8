// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "driver/alert_listener.h"
#include "driver/client.h"
#include "driver/event_reader.h"
#include "driver/trace_words.h"
#include "lib/memory.h"
#include "lib/privileges.h"
#include "lib/wait.h"

/* How often names of rings are read, since their numbers are reused. */
#define NAMES_NS 1000000000ULL
/* A drain stops after this many reads, so that targets get their turn under load. */
#define READS_MAX 16
/* At most this long is spent on the rest of the ring at the end. */
#define LAST_NS 1000000000ULL

/**
 * struct gpumon_driver - the module's part
 * @file: file for the records
 * @client: NULL if nothing is recorded
 * @alerts: NULL if alerts are not available
 * @names: rings and statistics, for the names of rows
 * @names_ns: time when @names was read
 * @records: records to be written
 * @reason: why nothing is recorded
 * @alarms: alerts, or Xids where alerts are not available
 * @switched_on: the ring was off before
 */
struct gpumon_driver {
	struct gpumon_capture_file *file;
	struct gpumon_client *client;
	struct gpumon_alert_listener *alerts;
	struct gpumon_event_reader reader;
	struct gpumon_model names;
	uint64_t names_ns;
	struct gpumon_driver_records records;
	char reason[256];
	uint64_t events;
	uint64_t alarms;
	uint64_t bytes;
	bool switched_on;
};

uint64_t gpumon_driver_records_write(struct gpumon_driver_records *records,
				     struct gpumon_capture_file *file)
{
	const uint8_t *at = records->data;
	size_t left = records->size;
	uint64_t written = 0;

	while (left) {
		size_t size = 0;

		/* Split at whole records, as many as fit a chunk. */
		while (size < left) {
			const struct gpumon_record *record =
				(const struct gpumon_record *)(at + size);

			if (size + record->size > GPUMON_CHUNK_SIZE_MAX)
				break;
			size += record->size;
		}
		/* The writer reports and counts a full disk. */
		if (!gpumon_capture_append(file, 0, at, size))
			written += size;
		at += size;
		left -= size;
	}
	records->size = 0;
	return written;
}

static void write_records(struct gpumon_driver *driver)
{
	driver->bytes += gpumon_driver_records_write(&driver->records, driver->file);
}

static void read_names(struct gpumon_driver *driver)
{
	struct gpumon_error err;

	driver->names_ns = gpumon_monotonic_ns();
	(void)gpumon_client_read(driver->client, GPUMON_PART_RINGS | GPUMON_PART_STATISTICS, 0,
				 &driver->names, &err);
	gpumon_driver_records_forget(&driver->records);
}

static void drain_events(struct gpumon_driver *driver)
{
	for (int i = 0; i < READS_MAX; i++) {
		const struct gpumon_event *events;
		ssize_t n = gpumon_event_reader_read(&driver->reader, &events);

		if (n <= 0)
			return;
		for (ssize_t k = 0; k < n; k++) {
			bool known = gpumon_driver_row_known(&driver->names, &events[k]);

			/*
			 * A row exists before its first event. So only look it up again if it came
			 * after the last reading, and not for each of many events.
			 */
			if ((!known && events[k].time_ns >= driver->names_ns) ||
			    gpumon_monotonic_ns() - driver->names_ns > NAMES_NS)
				read_names(driver);
			gpumon_driver_records_event(&driver->records, &events[k], &driver->names);
			driver->events++;
			/* With alerts, an Xid is one of them, too. */
			if (!driver->alerts)
				driver->alarms += events[k].event == GPUMON_EVENT_XID;
		}
		write_records(driver);
	}
}

static void drain_alerts(struct gpumon_driver *driver)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error err;

	if (gpumon_alert_listener_read(driver->alerts, &model, &err)) {
		gpumon_alert_listener_close(driver->alerts);
		driver->alerts = NULL;
		gpumon_driver_note(driver, GPUMON_NOTE_MISSING, err.message);
	}
	for (size_t i = 0; i < model.n_alerts; i++)
		gpumon_driver_records_alert(&driver->records, &model.alerts[i]);
	driver->alarms += model.n_alerts;
	gpumon_model_free(&model);
}

void gpumon_driver_drain(struct gpumon_driver *driver)
{
	if (driver->reader.fd >= 0)
		drain_events(driver);
	if (driver->alerts)
		drain_alerts(driver);
	write_records(driver);
}

void gpumon_driver_note(struct gpumon_driver *driver, uint16_t flags, const char *text)
{
	gpumon_driver_records_note(&driver->records, gpumon_monotonic_ns(), flags, text);
	write_records(driver);
}

static int open_module(struct gpumon_driver *driver, const char *root, struct gpumon_error *err)
{
	struct gpumon_event_ring ring;
	char path[512];
	int ret;

	if (gpumon_client_open(&driver->client, err) ||
	    gpumon_client_event_ring_get(driver->client, &ring, err))
		return -1;
	snprintf(path, sizeof(path), "%s/sys/kernel/debug/gpumon/events", root);
	gpumon_privileges_raise(GPUMON_PRIVILEGE_DEBUGFS);
	ret = gpumon_event_reader_open(&driver->reader, path);
	gpumon_privileges_lower(GPUMON_PRIVILEGE_DEBUGFS);
	if (ret)
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, ret, GPUMON_ERROR_UNSUPPORTED,
					"%s: %s", path, strerror(-ret));
	if (ring.enabled.v)
		return 0;
	if (gpumon_client_event_ring_set(driver->client, 1, 0, err))
		return -1;
	driver->switched_on = true;
	return 0;
}

static void close_module(struct gpumon_driver *driver)
{
	struct gpumon_error err;

	if (driver->switched_on && gpumon_client_event_ring_set(driver->client, 0, 0, &err))
		gpumon_driver_note(driver, 0, "the module's event ring could not be switched off");
	driver->switched_on = false;
	/* With the ring off, there is an end. */
	for (uint64_t until = gpumon_monotonic_ns() + LAST_NS;
	     driver->reader.fd >= 0 && gpumon_monotonic_ns() < until;) {
		uint64_t before = driver->events;

		drain_events(driver);
		if (driver->events == before)
			break;
	}
	if (driver->reader.fd >= 0)
		gpumon_event_reader_close(&driver->reader);
	driver->reader.fd = -1;
	if (driver->alerts)
		drain_alerts(driver);
	gpumon_alert_listener_close(driver->alerts);
	driver->alerts = NULL;
	gpumon_client_close(driver->client);
	driver->client = NULL;
	gpumon_model_free(&driver->names);
}

/* A module that is not loaded, and that nobody asked for, is not missing. */
static void note_failure(struct gpumon_driver *driver,
			 const struct gpumon_recorder_options *options,
			 const struct gpumon_error *why)
{
	char text[sizeof(why->message) + 64];

	snprintf(driver->reason, sizeof(driver->reason), "%.240s", why->message);
	if (why->code == GPUMON_ERROR_NOT_LOADED && !options->driver_wanted)
		return;
	snprintf(text, sizeof(text), "no events of the gpumon module: %s", why->message);
	gpumon_driver_note(driver, options->driver_wanted ? GPUMON_NOTE_MISSING : 0, text);
}

int gpumon_driver_new(struct gpumon_capture_writer *writer,
		      const struct gpumon_recorder_options *options, struct gpumon_driver **driver,
		      struct gpumon_error *err)
{
	struct gpumon_driver *new = gpumon_calloc(1, sizeof(*new));
	struct gpumon_error why;

	*driver = NULL;
	new->reader.fd = -1;
	if (gpumon_capture_add_file(writer, GPUMON_CAPTURE_DRIVER, &new->file)) {
		*err = *gpumon_capture_error();
		free(new);
		return -1;
	}
	if (!options->driver) {
		snprintf(new->reason, sizeof(new->reason), "not asked for");
	} else if (open_module(new, options->root, &why)) {
		close_module(new);
		note_failure(new, options, &why);
	} else {
		read_names(new);
		if (gpumon_alert_listener_open(&new->alerts, &why))
			gpumon_driver_note(new, GPUMON_NOTE_MISSING, why.message);
	}
	*driver = new;
	return 0;
}

bool gpumon_driver_recording(const struct gpumon_driver *driver)
{
	return driver->reader.fd >= 0;
}

const char *gpumon_driver_reason(const struct gpumon_driver *driver)
{
	return driver->reason;
}

uint64_t gpumon_driver_alarms(const struct gpumon_driver *driver)
{
	return driver->alarms;
}

uint64_t gpumon_driver_bytes(const struct gpumon_driver *driver)
{
	return driver->bytes;
}

void gpumon_driver_free(struct gpumon_driver *driver)
{
	if (!driver)
		return;
	close_module(driver);
	write_records(driver);
	gpumon_capture_end_file(driver->file);
	gpumon_driver_records_free(&driver->records);
	free(driver);
}

#define ROUND8(size) (((size) + 7) & ~(size_t)7)
#define STRING_MAX   4096

/* Append a record of @size bytes, zeroed after its head. */
static void *add_record(struct gpumon_driver_records *records, uint16_t type, size_t size)
{
	struct gpumon_record *record;

	size = ROUND8(size);
	if (records->size + size > records->room) {
		size_t room = records->room ? 2 * records->room : 65536;
		while (room < records->size + size)
			room *= 2;
		records->data = gpumon_realloc(records->data, room);
		records->room = room;
	}
	record = (struct gpumon_record *)(records->data + records->size);
	memset(record, 0, size);
	record->type = type;
	record->size = (uint32_t)size;
	records->size += size;
	return record;
}

/* The id of a new string, 0 for an empty one. */
static uint32_t add_string(struct gpumon_driver_records *records, const char *text)
{
	size_t length = text ? strnlen(text, STRING_MAX) : 0;
	struct gpumon_record_string *record;

	if (!length)
		return 0;
	record = add_record(records, GPUMON_RECORD_STRING, sizeof(*record) + length);
	record->id = ++records->next_string;
	record->length = (uint32_t)length;
	memcpy(record->text, text, length);
	return record->id;
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

/* What is known of an event's row; NULL for an event that is not. */
static struct gpumon_driver_row *row_of(struct gpumon_driver_records *records,
					const struct gpumon_event *event)
{
	struct gpumon_driver_row *row;

	if (event->event >= __GPUMON_EVENT_TYPE_MAX)
		return NULL;
	if (event->ring >= records->row_count[event->event]) {
		size_t count = event->ring + 16U;
		size_t before = records->row_count[event->event];

		row = gpumon_reallocarray(records->rows[event->event], count, sizeof(*row));
		memset(row + before, 0, (count - before) * sizeof(*row));
		records->rows[event->event] = row;
		records->row_count[event->event] = count;
	}
	return &records->rows[event->event][event->ring];
}

/* The string with the name of a row, 0 while that is unknown. */
static uint32_t name_row(struct gpumon_driver_records *records, struct gpumon_driver_row *row,
			 const char *text)
{
	/* An unknown name is looked up again the next time. */
	if (!text || !text[0])
		return 0;
	row->stale = false;
	if (row->id && !strcmp(row->text, text))
		return row->id;
	free(row->text);
	row->text = gpumon_strdup(text);
	row->id = add_string(records, text);
	return row->id;
}

void gpumon_driver_records_loss(struct gpumon_driver_records *records, uint64_t time_ns,
				enum gpumon_loss cause, uint64_t count)
{
	struct gpumon_record_loss *record =
		add_record(records, GPUMON_RECORD_LOSS, sizeof(*record));

	record->time_ns = time_ns;
	record->count = count;
	record->cause = cause;
}

/* A report of losses is a record of another type. */
static bool add_loss(struct gpumon_driver_records *records, const struct gpumon_event *event)
{
	if (event->event != GPUMON_EVENT_LOST)
		return false;
	gpumon_driver_records_loss(records, event->time_ns, GPUMON_LOSS_DRIVER_RING, event->arg);
	return true;
}

static void add_event(struct gpumon_driver_records *records, const struct gpumon_event *event,
		      uint32_t id)
{
	struct gpumon_record_driver_event *record;

	record = add_record(records, GPUMON_RECORD_DRIVER_EVENT, sizeof(*record) + sizeof(*event));
	record->event_size = sizeof(*event);
	record->row = id;
	memcpy(record->event, event, sizeof(*event));
}

void gpumon_driver_records_event(struct gpumon_driver_records *records,
				 const struct gpumon_event *event, const struct gpumon_model *model)
{
	struct gpumon_driver_row *row;
	char text[256];

	if (add_loss(records, event))
		return;
	row = row_of(records, event);
	if (row && (row->stale || !row->id)) {
		row_text(model, event, text, sizeof(text));
		add_event(records, event, name_row(records, row, text));
	} else {
		add_event(records, event, row ? row->id : 0);
	}
}

void gpumon_driver_records_named(struct gpumon_driver_records *records,
				 const struct gpumon_event *event, const char *row)
{
	struct gpumon_driver_row *known;

	if (add_loss(records, event))
		return;
	known = row_of(records, event);
	add_event(records, event, known ? name_row(records, known, row) : 0);
}

void gpumon_driver_records_forget(struct gpumon_driver_records *records)
{
	for (size_t type = 0; type < __GPUMON_EVENT_TYPE_MAX; type++)
		for (size_t i = 0; i < records->row_count[type]; i++)
			records->rows[type][i].stale = true;
}

void gpumon_driver_records_alert(struct gpumon_driver_records *records,
				 const struct gpumon_alert *alert)
{
	struct gpumon_record_alert *record;
	uint32_t device, message;
	char text[600];

	/* The record has no field for the kind of the alert. */
	snprintf(text, sizeof(text), "%s: %s", alert->kind ? alert->kind : "alert",
		 alert->message ? alert->message : "-");
	device = add_string(records, alert->device);
	message = add_string(records, text);
	record = add_record(records, GPUMON_RECORD_ALERT, sizeof(*record));
	record->time_ns = alert->time_ns.v;
	record->code = (uint32_t)alert->code.v;
	record->device = device;
	record->message = message;
}

void gpumon_driver_records_note(struct gpumon_driver_records *records, uint64_t time_ns,
				uint16_t flags, const char *text)
{
	struct gpumon_record_note *record;
	uint32_t id;

	id = add_string(records, text);
	record = add_record(records, GPUMON_RECORD_NOTE, sizeof(*record));
	record->head.flags = flags;
	record->time_ns = time_ns;
	record->text = id;
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
