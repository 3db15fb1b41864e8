// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alert_log.h"
#include "alert_message.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "lib/wait.h"
#include "model_fields.h"

/* Longer than any record that the kernel gives, with all of its bytes escaped. */
#define RECORD_BYTES 16384
/* Records that one call reads, so that what it finds is shown under load, too. */
#define RECORDS_EACH 4096
/* More than any kernel keeps: reading all of a log that is written all the time has an end, too. */
#define RECORDS_ALL (1U << 20)
/* Kinds, devices and codes that are counted; the oldest makes room for another one. */
#define PLACES 256
/* So many alerts of one kind, device and code are given in this time. */
#define BURST	 16
#define BURST_NS 1000000000ULL
/* The line with the process comes directly after the alert, if it comes. */
#define PROCESS_NS 100000000ULL

/**
 * struct log_place - the alerts of one kind, device and code
 * @last: the last one, with their count
 * @held: @last was not given
 * @number: of the last one, among all alerts
 * @since_ns: when the burst began, CLOCK_MONOTONIC
 * @given: how many of it were given
 */
struct log_place {
	struct gpumon_alert last;
	bool held;
	uint64_t number;
	uint64_t since_ns;
	unsigned int given;
};

/**
 * struct gpumon_alert_log - the log
 * @fd: -1 behind its end
 * @gathers: gather alerts in @places, and give none
 * @from: number of the first record that matters
 * @started: @next is known
 * @next: number of the next record
 * @drained_ns: when all records had been read, CLOCK_MONOTONIC; 0 before that
 * @ahead_ns: how far CLOCK_MONOTONIC is ahead of the log's clock
 * @waiting: an alert whose process the next record may name; it has no kind if there is none
 * @waiting_ns: since when, CLOCK_MONOTONIC
 * @alerts: how many there were
 */
struct gpumon_alert_log {
	const char *root;
	int fd;
	bool gathers;
	uint64_t from;
	bool started;
	uint64_t next;
	uint64_t drained_ns;
	int64_t ahead_ns;
	struct gpumon_alert waiting;
	uint64_t waiting_ns;
	struct log_place *places;
	size_t n_places;
	uint64_t alerts;
	struct gpumon_log_losses losses;
	char buffer[RECORD_BYTES + 1];
};

static int open_failed(struct gpumon_error *err, int error)
{
	if (error == EPERM || error == EACCES)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -error, GPUMON_ERROR_PERMISSION,
			"/dev/kmsg: permission denied: needs root (CAP_SYSLOG) or kernel.dmesg_restrict=0");
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -error, GPUMON_ERROR_UNSUPPORTED,
				"/dev/kmsg: %s", strerror(error));
}

int gpumon_alert_log_open(struct gpumon_alert_log **log, const char *root, uint64_t from,
			  struct gpumon_error *err)
{
	bool now = from == GPUMON_LOG_FROM_NOW;
	struct gpumon_alert_log *new;
	char path[512];
	int fd;

	*log = NULL;
	snprintf(path, sizeof(path), "%s/dev/kmsg", root);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return open_failed(err, errno);
	/* Behind the newest record. What is no log cannot seek, and has only what comes. */
	if (now)
		(void)lseek(fd, 0, SEEK_END);
	new = gpumon_calloc(1, sizeof(*new));
	new->places = gpumon_calloc(PLACES, sizeof(*new->places));
	new->root = root;
	new->fd = fd;
	/* Before the seek there was nothing to read. */
	new->drained_ns = now ? gpumon_monotonic_ns() : 0;
	new->from = now ? 0 : from;
	new->next = new->from;
	new->started = !now;
	*log = new;
	return 0;
}

void gpumon_alert_log_close(struct gpumon_alert_log *log)
{
	if (!log)
		return;
	if (log->fd >= 0)
		close(log->fd);
	gpumon_fields_free(&gpumon_alert_fields, &log->waiting);
	for (size_t i = 0; i < log->n_places; i++)
		gpumon_fields_free(&gpumon_alert_fields, &log->places[i].last);
	free(log->places);
	free(log);
}

int gpumon_alert_log_fd(const struct gpumon_alert_log *log)
{
	return log->fd;
}

struct gpumon_log_losses gpumon_alert_log_losses(const struct gpumon_alert_log *log)
{
	return log->losses;
}

uint64_t gpumon_alert_log_next_ns(const struct gpumon_alert_log *log)
{
	uint64_t next = log->waiting.kind ? log->waiting_ns + PROCESS_NS : UINT64_MAX;

	for (size_t i = 0; i < log->n_places && !log->gathers; i++)
		if (log->places[i].held && log->places[i].since_ns + BURST_NS < next)
			next = log->places[i].since_ns + BURST_NS;
	return next;
}

/* --- counts, and bursts */

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool same_kind(const struct gpumon_alert *a, const struct gpumon_alert *b)
{
	return a->code.known == b->code.known && a->code.v == b->code.v &&
	       same_text(a->group, b->group) && same_text(a->kind, b->kind) &&
	       same_text(a->device, b->device);
}

static struct log_place *place_of(struct gpumon_alert_log *log, const struct gpumon_alert *alert,
				  struct gpumon_model *model)
{
	struct log_place *oldest = log->places;

	for (size_t i = 0; i < log->n_places; i++) {
		if (same_kind(&log->places[i].last, alert))
			return &log->places[i];
		if (log->places[i].number < oldest->number)
			oldest = &log->places[i];
	}
	if (log->n_places < PLACES)
		return &log->places[log->n_places++];
	if (oldest->held)
		gpumon_model_copy_alert(model, &oldest->last);
	gpumon_fields_free(&gpumon_alert_fields, &oldest->last);
	memset(oldest, 0, sizeof(*oldest));
	return oldest;
}

/* Takes the alert's strings. */
static void count_alert(struct gpumon_alert_log *log, struct gpumon_alert *alert,
			struct gpumon_model *model)
{
	struct log_place *place = place_of(log, alert, model);
	uint64_t now = gpumon_monotonic_ns();

	alert->count = gpumon_value_of(place->last.count.v + 1);
	gpumon_fields_free(&gpumon_alert_fields, &place->last);
	place->last = *alert;
	place->number = ++log->alerts;
	memset(alert, 0, sizeof(*alert));
	if (!place->since_ns || (!place->held && now - place->since_ns >= BURST_NS)) {
		place->since_ns = now;
		place->given = 0;
	}
	place->held = log->gathers || place->given >= BURST;
	if (!place->held) {
		place->given++;
		gpumon_model_copy_alert(model, &place->last);
	}
}

/* Give the last ones of bursts that began so long ago. */
static void give_held(struct gpumon_alert_log *log, uint64_t burst_ns, struct gpumon_model *model)
{
	uint64_t now = gpumon_monotonic_ns();

	for (size_t i = 0; i < log->n_places; i++) {
		struct log_place *place = &log->places[i];

		if (!place->held || now - place->since_ns < burst_ns)
			continue;
		place->held = false;
		place->since_ns = now;
		place->given = 1;
		gpumon_model_copy_alert(model, &place->last);
	}
}

static void end_waiting(struct gpumon_alert_log *log, struct gpumon_model *model)
{
	if (log->waiting.kind)
		count_alert(log, &log->waiting, model);
}

/* --- records */

/*
 * The log has the kernel's local clock, which differs a little from CLOCK_MONOTONIC, and more the
 * longer the machine runs. A record that arrives while we wait was written since the last look and
 * before now, which tells the difference.
 */
static uint64_t monotonic_of(struct gpumon_alert_log *log, uint64_t time_us)
{
	uint64_t time_ns = time_us > INT64_MAX / 2000 ? INT64_MAX / 2 : time_us * 1000;
	uint64_t now = gpumon_monotonic_ns(), at = time_ns + (uint64_t)log->ahead_ns;

	if ((int64_t)at > (int64_t)now)
		at = now;
	else if (log->drained_ns && (int64_t)at < (int64_t)log->drained_ns)
		at = log->drained_ns;
	if (log->drained_ns)
		log->ahead_ns = (int64_t)(at - time_ns);
	return at;
}

/* Old messages name only the driver. If it has one device, it is that. */
static char *only_device(const char *root, const char *driver)
{
	char path[512], *found = NULL;
	struct dirent *entry;
	unsigned int n = 0, part[4];
	DIR *devices;

	snprintf(path, sizeof(path), "%s/sys/bus/pci/drivers/%s", root, driver);
	devices = opendir(path);
	if (!devices)
		return NULL;
	while ((entry = readdir(devices))) {
		if (!gpumon_text_pci_address(entry->d_name, part) || n++)
			continue;
		found = gpumon_strdup(entry->d_name);
	}
	closedir(devices);
	if (n == 1)
		return found;
	free(found);
	return NULL;
}

static void take_record(struct gpumon_alert_log *log, char *text, size_t size,
			struct gpumon_model *model)
{
	struct gpumon_alert alert = { .source = GPUMON_ALERT_SOURCE_LOG };
	struct gpumon_log_record record;

	if (gpumon_log_record_parse(text, size, &record)) {
		log->losses.unreadable++;
		log->next++;
		return;
	}
	if (record.sequence < log->from)
		return;
	if (log->started && record.sequence > log->next)
		log->losses.overwritten += record.sequence - log->next;
	log->started = true;
	log->next = record.sequence + 1;
	if (log->waiting.kind && gpumon_log_alert_process(&record, &log->waiting)) {
		end_waiting(log, model);
		return;
	}
	if (!gpumon_log_alert(&record, &alert))
		return;
	end_waiting(log, model);
	alert.time_ns = gpumon_value_of(monotonic_of(log, record.time_us));
	if (!alert.device && !strchr(alert.group, '/'))
		alert.device = only_device(log->root, alert.group);
	if (gpumon_log_alert_waits(&alert)) {
		log->waiting = alert;
		log->waiting_ns = gpumon_monotonic_ns();
	} else {
		count_alert(log, &alert, model);
	}
}

/* The kernel gives one record; what stands in for it in tests may give several. */
static void take_records(struct gpumon_alert_log *log, size_t size, struct gpumon_model *model)
{
	char *at = log->buffer, *end = log->buffer + size;

	while (at < end) {
		char *stop = at;

		/* Lines that begin with a blank belong to the record. */
		do
			stop = memchr(stop, '\n', (size_t)(end - stop));
		while (stop && ++stop < end && *stop == ' ');
		if (!stop)
			stop = end;
		take_record(log, at, (size_t)(stop - at) - (stop[-1] == '\n'), model);
		at = stop;
	}
}

static int read_failed(struct gpumon_error *err, int error)
{
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -error, GPUMON_ERROR_IO,
				"reading /dev/kmsg: %s", strerror(error));
}

/* 1: there may be more; 0: not now; -1: *err. */
static int read_once(struct gpumon_alert_log *log, struct gpumon_model *model,
		     struct gpumon_error *err)
{
	ssize_t n = log->fd < 0 ? 0 : read(log->fd, log->buffer, RECORD_BYTES);

	if (n > 0) {
		take_records(log, (size_t)n, model);
		return 1;
	}
	if (n < 0) {
		switch (errno) {
		case EPIPE: /* the number of the next record shows how many were overwritten */
		case EINTR:
			return 1;
		case EINVAL: /* the kernel skips a record that does not fit */
			log->losses.unreadable++;
			log->next++;
			return 1;
		case EAGAIN:
			return 0;
		default:
			return read_failed(err, errno);
		}
	}
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
	return 0;
}

int gpumon_alert_log_read(struct gpumon_alert_log *log, struct gpumon_model *model,
			  struct gpumon_error *err)
{
	int ret = 1;

	for (unsigned int i = 0; i < RECORDS_EACH && ret > 0; i++)
		ret = read_once(log, model, err);
	if (!ret)
		log->drained_ns = gpumon_monotonic_ns();
	if (log->fd < 0 ||
	    (log->waiting.kind && gpumon_monotonic_ns() - log->waiting_ns >= PROCESS_NS))
		end_waiting(log, model);
	give_held(log, BURST_NS, model);
	return ret < 0 ? -1 : 0;
}

void gpumon_alert_log_give_held(struct gpumon_alert_log *log, struct gpumon_model *model)
{
	end_waiting(log, model);
	give_held(log, 0, model);
}

uint64_t gpumon_alert_log_next(const struct gpumon_alert_log *log)
{
	return log->next;
}

static int compare_times(const void *a, const void *b)
{
	const struct gpumon_alert *one = a, *other = b;

	return (one->time_ns.v > other->time_ns.v) - (one->time_ns.v < other->time_ns.v);
}

int gpumon_alert_log_last(struct gpumon_alert_log *log, struct gpumon_model *model,
			  struct gpumon_error *err)
{
	size_t first = model->n_alerts;
	int ret = 1;

	log->gathers = true;
	for (unsigned int i = 0; i < RECORDS_ALL && ret > 0; i++)
		ret = read_once(log, model, err);
	end_waiting(log, model);
	for (size_t i = 0; i < log->n_places; i++)
		gpumon_model_copy_alert(model, &log->places[i].last);
	if (model->n_alerts > first)
		qsort(model->alerts + first, model->n_alerts - first, sizeof(*model->alerts),
		      compare_times);
	return ret < 0 ? -1 : 0;
}
