// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The module's part of a capture, with a stand-in for the module, and without memory. */
#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kmod/uapi/gpumon_event.h"
#include "capture/capture_maker.h"
#include "driver/alert_listener.h"
#include "driver/client.h"
#include "lib/memory.h"
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

static void close_capture(void *writer)
{
	assert_int_equal(gpumon_capture_close(writer), 0);
}

/* As in a recording: what was recorded is written, before the recorder ends for want of memory. */
static void run_out_of_memory(struct gpumon_capture_writer *writer, struct gpumon_driver *driver,
			      FILE *file)
{
	/* The sentence is for a person. */
	assert_non_null(freopen("/dev/null", "w", stderr));
	gpumon_memory_on_failure(close_capture, writer);
	write_events(file, 3);
	gpumon_driver_drain(driver);
	/* More than the room that there is. */
	write_events(file, 4096);
	no_memory = true;
	gpumon_driver_drain(driver);
	_exit(GPUMON_EXIT_OK);
}

static void without_memory(void **state)
{
	char *root = capture_maker_directory(), path[300];
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_cursor cursor;
	const struct gpumon_record *record;
	struct gpumon_capture *capture;
	struct gpumon_driver *driver;
	struct gpumon_error err;
	FILE *file = open_events(root);
	uint64_t events = 0;
	int status;
	pid_t pid;

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
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		run_out_of_memory(writer, driver, file);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), GPUMON_EXIT_FAILED);
	fclose(file);

	assert_int_equal(gpumon_capture_open(path, &capture), 0);
	while ((record = gpumon_capture_next(capture, &cursor)))
		events += record->type == GPUMON_RECORD_DRIVER_EVENT;
	assert_true(events >= 3);
	gpumon_capture_free(capture);
	/* Its parent's copies of what the child had. */
	gpumon_driver_free(driver);
	(void)gpumon_capture_close(writer);
	capture_maker_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
