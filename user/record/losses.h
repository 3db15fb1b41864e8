/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Losses in words: how many, why, and what to do about it. */
#ifndef GPUMON_RECORD_LOSSES_H
#define GPUMON_RECORD_LOSSES_H

#include <stdint.h>
#include <stdio.h>

#include "capture/format.h"

/**
 * gpumon_losses_print - one line for each cause that lost something
 * @out: where to
 * @lost: by enum gpumon_loss
 * @unwritten: records that the recorder could not write
 */
void gpumon_losses_print(FILE *out, const uint64_t lost[GPUMON_LOSS_CAUSES], uint64_t unwritten);

#endif /* GPUMON_RECORD_LOSSES_H */
