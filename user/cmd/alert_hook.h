/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What `alerts` does with an alert beside printing it: runs a command, one at a time, and writes to systemd's
 * journal. Both name an alert's fields alike.
 */
#ifndef GPUMON_CMD_ALERT_HOOK_H
#define GPUMON_CMD_ALERT_HOOK_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "driver/model.h"
#include "lib/error.h"

/* So many alerts wait while a command runs. */
#define GPUMON_ALERT_HOOK_MAX 256

/**
 * struct gpumon_alert_hook - a shell command for each alert
 * @command: NULL: none
 * @err: where its failures are told
 * @waiting: alerts in their order; that of the command that runs is the first
 * @skipped: alerts that found no room in @waiting since the last command began
 * @pid: of the command that runs, 0 if none does
 * @pidfd: readable when it has ended, else -1
 */
struct gpumon_alert_hook {
	const char *command;
	FILE *err;
	struct gpumon_model waiting;
	uint64_t skipped;
	pid_t pid;
	int pidfd;
};

/* Copies the alert. Where GPUMON_ALERT_HOOK_MAX wait already, it is only counted, in @skipped. */
void gpumon_alert_hook_add(struct gpumon_alert_hook *hook, const struct gpumon_alert *alert);

/* Reap the command if it has ended, and begin the next one. True: one began or ended. */
bool gpumon_alert_hook_step(struct gpumon_alert_hook *hook);

/*
 * Wait for the command that runs, and with @all run those that wait, until a signal asks to stop. What waits then
 * stays in @waiting.
 */
void gpumon_alert_hook_finish(struct gpumon_alert_hook *hook, bool all);

void gpumon_alert_hook_free(struct gpumon_alert_hook *hook);

/* Whether systemd's journal can be written to. 0, or -1 with *err. */
int gpumon_alert_journal_open(struct gpumon_error *err);
/* Write an alert with its fields, and @words as the message. 0, or -1 with *err. */
int gpumon_alert_journal_write(const struct gpumon_alert *alert, const char *words,
			       struct gpumon_error *err);

#endif /* GPUMON_CMD_ALERT_HOOK_H */
