/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Frames of frameworks, runtimes and compilers that a call path does not need. */
#ifndef GPUMON_REPORT_WRAPPERS_H
#define GPUMON_REPORT_WRAPPERS_H

#include "output.h"

enum gpumon_frame_role {
	GPUMON_FRAME_PLAIN,
	GPUMON_FRAME_WRAPPER, /* passes the call on: left out */
	GPUMON_FRAME_TELLING, /* says more than the functions below it: kept first */
};

/* The role of a function, by its file and its name without parameters. */
enum gpumon_frame_role gpumon_frame_role(const struct gpumon_node *node);

/**
 * gpumon_frame_is_stub - check for nvcc's host function of a kernel
 * @node: frame
 * @work: kernel
 *
 * The host function has the kernel's own name.
 */
bool gpumon_frame_is_stub(const struct gpumon_node *node, const struct gpumon_node *work);

#endif /* GPUMON_REPORT_WRAPPERS_H */
