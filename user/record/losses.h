/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Losses as text: how many, why, and the remedy. */
#ifndef GPUMON_RECORD_LOSSES_H
#define GPUMON_RECORD_LOSSES_H

#include <stdint.h>
#include <stdio.h>

#include "capture/capture.h"

/**
 * gpumon_losses_print - print a line for each cause of losses
 * @out: stream
 * @lost: counts by enum gpumon_loss
 * @writer: counts the records that it could not write, or was not to write; may be NULL
 */
void gpumon_losses_print(FILE *out, const uint64_t lost[GPUMON_LOSS_CAUSES],
			 const struct gpumon_capture_writer *writer);

#endif /* GPUMON_RECORD_LOSSES_H */
