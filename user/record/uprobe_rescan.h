/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_RECORD_UPROBE_RESCAN_H
#define GPUMON_RECORD_UPROBE_RESCAN_H

#include "uprobe_internal.h"

enum gpumon_rescan {
	GPUMON_RESCAN_TIMER,   /* a regular scan is due */
	GPUMON_RESCAN_LINKER,  /* the dynamic linker reported a change */
	GPUMON_RESCAN_UNKNOWN, /* an unknown address; at most 50 times a second */
};

/* Read the mappings, report them, and probe the new ones. */
void gpumon_uprobes_rescan(struct gpumon_uprobes *uprobes, enum gpumon_rescan why);

/**
 * gpumon_uprobes_probe - probe mapped files that have no probes yet
 * @uprobes: uprobes
 * @err: set if no function could be probed
 *
 * Return: number of probed functions, or -1 with @err.
 */
int gpumon_uprobes_probe(struct gpumon_uprobes *uprobes, struct gpumon_error *err);

#endif /* GPUMON_RECORD_UPROBE_RESCAN_H */
