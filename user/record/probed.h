/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A live process without an injection library: its launches by uprobes, into a file of a capture. */
#ifndef GPUMON_RECORD_PROBED_H
#define GPUMON_RECORD_PROBED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "capture/channel.h"
#include "base/error.h"

struct gpumon_probed;

/**
 * struct gpumon_probed_counts - what came of it
 * @hits: calls that were recorded
 * @bytes: of records, written
 * @lost: by enum gpumon_loss
 */
struct gpumon_probed_counts {
	uint64_t hits;
	uint64_t bytes;
	uint64_t lost[GPUMON_LOSS_CAUSES];
};

/**
 * gpumon_probed_new - probe a process
 * @writer: capture
 * @root: prefix of /proc
 * @pid: process
 * @settings: what of it is recorded; only stacks, their depth and the waits matter
 * @err: why not
 *
 * Return: it, or NULL with @err.
 */
struct gpumon_probed *gpumon_probed_new(struct gpumon_capture_writer *writer, const char *root,
					pid_t pid, const struct gpumon_message_settings *settings,
					struct gpumon_error *err);

/* Take what there is. Never waits. */
void gpumon_probed_drain(struct gpumon_probed *probed);

/* The process is gone. */
bool gpumon_probed_ended(const struct gpumon_probed *probed);

void gpumon_probed_get_counts(const struct gpumon_probed *probed,
			      struct gpumon_probed_counts *counts);

/* Something that went wrong since, once: @text is filled in. */
bool gpumon_probed_problem(struct gpumon_probed *probed, char *text, size_t room);

/* The probes are taken away, what is left is written. Counts are those until then. */
void gpumon_probed_end(struct gpumon_probed *probed);
void gpumon_probed_free(struct gpumon_probed *probed);

#endif /* GPUMON_RECORD_PROBED_H */
