/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Which alerts were told, kept in a file, so that a service that is started again goes on where it ended: JSON,
 * replaced as a whole.
 */
#ifndef GPUMON_DRIVER_ALERT_STATE_H
#define GPUMON_DRIVER_ALERT_STATE_H

#include "lib/error.h"
#include "model.h"

/**
 * struct gpumon_alert_state - what was told
 * @boot_id: of the boot in which that was; "" if it is not known
 * @log_next: number of the log's first record that was not read
 * @lost: alerts that the module could neither keep nor send, as last told
 * @told: the last alert of each kind, device and code of sources that count by themselves: the module, drm-ras
 * @waiting: alerts that were told, and whose command has not ended
 */
struct gpumon_alert_state {
	char boot_id[40];
	uint64_t log_next;
	uint64_t lost;
	struct gpumon_model told;
	struct gpumon_model waiting;
};

/**
 * gpumon_alert_state_load() - read the file
 * @state: out; freed with gpumon_alert_state_free() also on failure
 * @path: the file; where it is not there, nothing was told
 * @root: prefix of /proc: "", or a test's own tree
 * @err: out
 *
 * Of another boot only @waiting is left: counts and numbers of records began again.
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_alert_state_load(struct gpumon_alert_state *state, const char *path, const char *root,
			    struct gpumon_error *err);
void gpumon_alert_state_free(struct gpumon_alert_state *state);

/**
 * gpumon_alert_state_save() - write the file; it is on the disk afterwards
 * @path: the file
 * @state: @told may have alerts of other sources, too, which are left out
 * @err: out
 *
 * Return: 0, or -1 with @err; the old file is then still there.
 */
int gpumon_alert_state_save(const char *path, const struct gpumon_alert_state *state,
			    struct gpumon_error *err);

#endif /* GPUMON_DRIVER_ALERT_STATE_H */
