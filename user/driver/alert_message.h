/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What drivers of GPUs write into the kernel's log when something is wrong: from the bytes of a
 * record to an alert; and the words of an alert for people. No file is opened, and no clock read.
 */
#ifndef GPUMON_DRIVER_ALERT_MESSAGE_H
#define GPUMON_DRIVER_ALERT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/format.h"
#include "model.h"

/**
 * struct gpumon_log_record - a record of /dev/kmsg
 * @facility: 0 is the kernel; processes can write records of any other
 * @level: 0 (emergency) to 7 (debug)
 * @sequence: number of the record since boot; none is left out
 * @time_us: the kernel's local clock, which begins at boot, in microseconds
 * @message: text without its escapes, which may have any byte but 0; lives as long as the bytes
 * @device: name of the device that the driver named with it, NULL for none; as @message
 */
struct gpumon_log_record {
	unsigned int facility;
	unsigned int level;
	uint64_t sequence;
	uint64_t time_us;
	const char *message;
	const char *device;
};

/**
 * gpumon_log_record_parse() - parse a record
 * @text: its bytes, without the newline at their end; overwritten
 * @size: how many; text[size] can be written, too
 * @record: out
 *
 * Return: 0, or -EBADMSG.
 */
int gpumon_log_record_parse(char *text, size_t size, struct gpumon_log_record *record);

/**
 * gpumon_log_alert() - does a driver report an error of a GPU?
 * @record: record of the kernel
 * @alert: out, zeroed by the caller: group, kind, device, code, message, process and pid, as far as
 *	the message has them
 *
 * Return: true with @alert.
 */
bool gpumon_log_alert(const struct gpumon_log_record *record, struct gpumon_alert *alert);

/* May the next record name the process of this alert? amdgpu names it on a line of its own. */
bool gpumon_log_alert_waits(const struct gpumon_alert *alert);

/**
 * gpumon_log_alert_process() - does a record name the process of the alert before it?
 * @record: record of the kernel
 * @alert: one that waits; gets process and pid
 */
bool gpumon_log_alert_process(const struct gpumon_log_record *record, struct gpumon_alert *alert);

/* Fill in what an alert's kind, code and message tell: meaning, process and pid. */
void gpumon_alert_complete(struct gpumon_alert *alert);

/*
 * What happened, in words for people, without the time and the device: kind and code with its meaning,
 * process, message.
 */
void gpumon_alert_print_words(const struct gpumon_alert *alert, const struct gpumon_term *term,
			      FILE *out);

/* A well-known Xid in short words, or NULL. */
const char *gpumon_xid_meaning(uint64_t code);

#endif /* GPUMON_DRIVER_ALERT_MESSAGE_H */
