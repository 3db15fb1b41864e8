// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/alert_listener.h"
#include "driver/client.h"
#include "lib/wait.h"
#include "driver/event_reader.h"
#include "lib/privileges.h"
#include "driver.h"
#include "driver_record.h"

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
 * @lost: events and alerts for which there was no memory, not yet in a loss record
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
	uint64_t lost;
	bool switched_on;
};

static void write_records(struct gpumon_driver *driver)
{
	const uint8_t *at;
	size_t left;

	if (driver->lost && !gpumon_driver_records_loss(&driver->records, gpumon_monotonic_ns(),
							GPUMON_LOSS_RECORDER, driver->lost))
		driver->lost = 0;
	at = driver->records.data;
	left = driver->records.size;
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
		if (!gpumon_capture_append(driver->file, 0, at, size))
			driver->bytes += size;
		at += size;
		left -= size;
	}
	driver->records.size = 0;
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
			if (gpumon_driver_records_event(&driver->records, &events[k],
							&driver->names)) {
				driver->lost++;
				continue;
			}
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
		driver->lost += gpumon_driver_records_alert(&driver->records, &model.alerts[i]) < 0;
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
	(void)gpumon_driver_records_note(&driver->records, gpumon_monotonic_ns(), flags, text);
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
	struct gpumon_driver *new = calloc(1, sizeof(*new));
	struct gpumon_error why;

	*driver = NULL;
	if (!new)
		return gpumon_error_memory(err);
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
