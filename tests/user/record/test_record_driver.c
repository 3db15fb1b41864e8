// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The module's part of a capture, with a stand-in for the module, and without memory. */
#include "common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../kmod/uapi/gpumon_event.h"
#include "capture/capture_maker.h"
#include "driver/alert_listener.h"
#include "driver/client.h"
#include "record/driver.h"

static bool no_memory;

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
int __wrap_gpumon_client_open(struct gpumon_client **client, struct gpumon_error *err);
void __wrap_gpumon_client_close(struct gpumon_client *client);
int __wrap_gpumon_client_event_ring_get(struct gpumon_client *client,
					struct gpumon_event_ring *ring, struct gpumon_error *err);
int __wrap_gpumon_client_read(struct gpumon_client *client, unsigned int parts, uint32_t period,
			      struct gpumon_model *model, struct gpumon_error *err);
int __wrap_gpumon_alert_listener_open(struct gpumon_alert_listener **listener,
				      struct gpumon_error *err);

void *__wrap_realloc(void *memory, size_t size)
{
	return no_memory ? NULL : __real_realloc(memory, size);
}

int __wrap_gpumon_client_open(struct gpumon_client **client, struct gpumon_error *err)
{
	(void)err;
	*client = (void *)&no_memory;
	return 0;
}

void __wrap_gpumon_client_close(struct gpumon_client *client)
{
	(void)client;
}

int __wrap_gpumon_client_event_ring_get(struct gpumon_client *client,
					struct gpumon_event_ring *ring, struct gpumon_error *err)
{
	(void)client;
	(void)err;
	*ring = (struct gpumon_event_ring){ .enabled = { .v = 1, .known = true } };
	return 0;
}

int __wrap_gpumon_client_read(struct gpumon_client *client, unsigned int parts, uint32_t period,
			      struct gpumon_model *model, struct gpumon_error *err)
{
	(void)client;
	(void)parts;
	(void)period;
	(void)model;
	(void)err;
	return 0;
}

int __wrap_gpumon_alert_listener_open(struct gpumon_alert_listener **listener,
				      struct gpumon_error *err)
{
	*listener = NULL;
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -EIO, GPUMON_ERROR_IO, "no alerts");
}

/* The module's events below a folder in place of the root. */
static FILE *open_events(const char *root)
{
	char path[300];

	snprintf(path, sizeof(path), "mkdir -p %s/sys/kernel/debug/gpumon", root);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/sys/kernel/debug/gpumon/events", root);
	return fopen(path, "w");
}

static void write_events(FILE *file, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const struct gpumon_event event = { .time_ns = i, .event = GPUMON_EVENT_QUEUE };

		assert_int_equal(fwrite(&event, sizeof(event), 1, file), 1);
	}
	assert_int_equal(fflush(file), 0);
}

/* Each event is in the capture or counted, also if it came with others that fit. */
static void without_memory(void **state)
{
	char *root = capture_maker_directory(), path[300];
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	struct gpumon_capture *capture;
	struct gpumon_driver *driver;
	struct gpumon_error err;
	uint64_t events = 0, lost = 0;
	FILE *file = open_events(root);

	(void)state;
	assert_non_null(file);
	snprintf(path, sizeof(path), "%s/capture", root);
	assert_int_equal(gpumon_capture_create(path, "", &writer), 0);
	assert_int_equal(
		gpumon_driver_new(writer,
				  &(struct gpumon_recorder_options){ .driver = true, .root = root },
				  &driver, &err),
		0);
	assert_true(gpumon_driver_recording(driver));
	write_events(file, 3);
	no_memory = true;
	gpumon_driver_drain(driver);
	no_memory = false;
	write_events(file, 2);
	gpumon_driver_drain(driver);
	gpumon_driver_free(driver);
	assert_int_equal(gpumon_capture_close(writer), 0);
	fclose(file);

	assert_int_equal(gpumon_capture_open(path, &capture), 0);
	while ((record = gpumon_capture_next(capture, &cursor))) {
		struct gpumon_record_loss loss;

		events += record->type == GPUMON_RECORD_DRIVER_EVENT;
		if (record->type != GPUMON_RECORD_LOSS)
			continue;
		gpumon_record_copy(&loss, sizeof(loss), record);
		assert_int_equal(loss.cause, GPUMON_LOSS_RECORDER);
		lost += loss.count;
	}
	assert_int_equal(events, 2);
	assert_int_equal(lost, 3);
	gpumon_capture_free(capture);
	capture_maker_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
