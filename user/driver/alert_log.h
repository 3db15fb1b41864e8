/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Alerts from the kernel's log, /dev/kmsg. Needs CAP_SYSLOG, or kernel.dmesg_restrict=0.
 *
 * Of a burst of one kind, device and code the first ones are given, and then the last one with the
 * count that they have come to, as the module does it.
 */
#ifndef GPUMON_DRIVER_ALERT_LOG_H
#define GPUMON_DRIVER_ALERT_LOG_H

#include "lib/error.h"
#include "model.h"

struct gpumon_alert_log;

/* Only records that are written after the log was opened. */
#define GPUMON_LOG_FROM_NOW UINT64_MAX

/**
 * struct gpumon_log_losses - records that were not seen, by cause
 * @overwritten: newer ones took their place before they were read, or before the log was opened
 * @unreadable: of a form that no kernel writes, or longer than any
 */
struct gpumon_log_losses {
	uint64_t overwritten;
	uint64_t unreadable;
};

/**
 * gpumon_alert_log_open() - open the log
 * @log: out, NULL on failure
 * @root: prefix of /dev and /sys: "", or a test's own tree
 * @from: number of the first record that is read, 0 for all; GPUMON_LOG_FROM_NOW
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_alert_log_open(struct gpumon_alert_log **log, const char *root, uint64_t from,
			  struct gpumon_error *err);
void gpumon_alert_log_close(struct gpumon_alert_log *log);

/* For poll(); -1 if nothing more will come, which no kernel's log says. */
int gpumon_alert_log_fd(const struct gpumon_alert_log *log);

/* When gpumon_alert_log_read() has to be called also if nothing arrives, CLOCK_MONOTONIC. */
uint64_t gpumon_alert_log_next_ns(const struct gpumon_alert_log *log);

/**
 * gpumon_alert_log_read() - read the alerts that have arrived
 * @log: log
 * @model: alerts are added to it, with how many of their kind, device and code there were since
 *	 the log was opened
 * @err: out
 *
 * Does not wait, and leaves the rest to the next call after some thousand records.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_alert_log_read(struct gpumon_alert_log *log, struct gpumon_model *model,
			  struct gpumon_error *err);

/* Give what gpumon_alert_log_read() still held back: the last ones of bursts. To be called before the end. */
void gpumon_alert_log_give_held(struct gpumon_alert_log *log, struct gpumon_model *model);

/* Number of the next record that will be read; 0 if none has been read. */
uint64_t gpumon_alert_log_next(const struct gpumon_alert_log *log);

/* Reads all of the log and adds the last alert of each kind, device and code. */
int gpumon_alert_log_last(struct gpumon_alert_log *log, struct gpumon_model *model,
			  struct gpumon_error *err);

/* Since the log was opened. */
struct gpumon_log_losses gpumon_alert_log_losses(const struct gpumon_alert_log *log);

#endif /* GPUMON_DRIVER_ALERT_LOG_H */
