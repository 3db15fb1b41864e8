/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The clock of a GPU, which programs in kernels read, and CLOCK_MONOTONIC. */
#ifndef GPUMON_INJECT_PROBE_CLOCK_H
#define GPUMON_INJECT_PROBE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "driver.h"

/**
 * inject_probe_clock - compare the clocks
 * @stream: of the current context
 * @memory: 8 bytes on the GPU that nobody else uses
 * @offset_ns: out: what has to be added to the GPU's clock to get CLOCK_MONOTONIC
 * @error_ns: out: the result is right to within this
 *
 * Runs a kernel a few times, some 10 microseconds each: the GPU's clock was read between the launch and
 * its end, which bounds the offset from both sides.
 *
 * Return: false where that is not possible.
 */
bool inject_probe_clock(CUstream stream, CUdeviceptr memory, int64_t *offset_ns,
			uint64_t *error_ns);

#endif /* GPUMON_INJECT_PROBE_CLOCK_H */
