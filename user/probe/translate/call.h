/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Calls of helpers. */
#ifndef GPUMON_PROBE_CALL_H
#define GPUMON_PROBE_CALL_H

#include "probe/translate/text.h"

void text_call(struct text *text, const struct gpumon_probe_step *step);

#endif /* GPUMON_PROBE_CALL_H */
