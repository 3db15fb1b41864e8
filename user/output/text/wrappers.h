/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Frames of frameworks, runtimes and compilers that a line of a call path does well without. */
#ifndef GPUMON_OUTPUT_WRAPPERS_H
#define GPUMON_OUTPUT_WRAPPERS_H

#include "output/output.h"

enum gpumon_frame_role {
	GPUMON_FRAME_PLAIN,
	GPUMON_FRAME_WRAPPER, /* hands the call on: left out */
	GPUMON_FRAME_TELLING, /* says more than the functions below it: kept first */
};

/* A function's, by its name without parameters and by its file. */
enum gpumon_frame_role gpumon_frame_role(const struct gpumon_node *node);

/**
 * gpumon_frame_is_stub - is it what nvcc makes of a kernel, so that it can be called?
 * @node: a frame
 * @work: the kernel
 *
 * The host has a function of the kernel's own name.
 */
bool gpumon_frame_is_stub(const struct gpumon_node *node, const struct gpumon_node *work);

#endif /* GPUMON_OUTPUT_WRAPPERS_H */
