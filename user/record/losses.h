/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Losses as text: how many, why, and the remedy. */
#ifndef GPUMON_RECORD_LOSSES_H
#define GPUMON_RECORD_LOSSES_H

#include <stdint.h>
#include <stdio.h>

#include "capture/format.h"

/**
 * gpumon_losses_print - print a line for each cause of losses
 * @out: stream
 * @lost: counts by enum gpumon_loss
 * @unwritten: records that the recorder could not write
 */
void gpumon_losses_print(FILE *out, const uint64_t lost[GPUMON_LOSS_CAUSES], uint64_t unwritten);

#endif /* GPUMON_RECORD_LOSSES_H */
