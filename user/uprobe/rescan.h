/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_UPROBE_RESCAN_H
#define GPUMON_UPROBE_RESCAN_H

#include "internal.h"

enum gpumon_rescan {
	GPUMON_RESCAN_TIMER,   /* its time has come */
	GPUMON_RESCAN_LINKER,  /* the dynamic linker changed something */
	GPUMON_RESCAN_UNKNOWN, /* an address is not known: at most 50 times a second */
};

/* Look at what is mapped; give it out, probe what is new. */
void gpumon_uprobes_rescan(struct gpumon_uprobes *uprobes, enum gpumon_rescan why);

/**
 * gpumon_uprobes_probe - probe what is mapped and has no probes yet
 * @uprobes: uprobes
 * @err: set if not one function could be
 *
 * Return: functions that were probed, or -1 with @err.
 */
int gpumon_uprobes_probe(struct gpumon_uprobes *uprobes, struct gpumon_error *err);

#endif /* GPUMON_UPROBE_RESCAN_H */
