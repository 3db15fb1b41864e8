/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_RECORD_TARGET_UPROBES_H
#define GPUMON_RECORD_TARGET_UPROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/channel.h"
#include "capture/capture.h"
#include "lib/error.h"

/* Records launches of a live process without an injection library, by uprobes. */

struct gpumon_probed;

/**
 * struct gpumon_probed_counts - counts of a probed process
 * @hits: recorded calls
 * @bytes: bytes of records written
 * @lost: counts by enum gpumon_loss
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
 * @settings: what to record; only stacks, their depth, the waits, and looks at threads matter
 * @err: out
 *
 * Return: the process, or NULL with @err.
 */
struct gpumon_probed *gpumon_probed_new(struct gpumon_capture_writer *writer, const char *root,
					pid_t pid, const struct gpumon_message_settings *settings,
					struct gpumon_error *err);

/* Take the available records. Never waits. */
void gpumon_probed_drain(struct gpumon_probed *probed);

/* When to drain it at the latest, for looks at its threads; UINT64_MAX: whenever. */
uint64_t gpumon_probed_due_ns(const struct gpumon_probed *probed);

/* True if the process is gone. */
bool gpumon_probed_ended(const struct gpumon_probed *probed);

void gpumon_probed_get_counts(const struct gpumon_probed *probed,
			      struct gpumon_probed_counts *counts);

/* Report a failure once: fills in @text. */
bool gpumon_probed_problem(struct gpumon_probed *probed, char *text, size_t room);

/* Remove the probes and write the rest. The counts include that. */
void gpumon_probed_end(struct gpumon_probed *probed);
void gpumon_probed_free(struct gpumon_probed *probed);

#endif /* GPUMON_RECORD_TARGET_UPROBES_H */
