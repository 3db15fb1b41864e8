/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* gpumon_keep() and gpumon_kept(): registers of the kernel, or memory where a patch calls the block. */
#ifndef GPUMON_PROBE_KEEP_H
#define GPUMON_PROBE_KEEP_H

#include "probe/translate/text.h"

/* Write the call of gpumon_keep(). */
void text_keep(struct text *text);
/* Write the call of gpumon_kept(). */
void text_kept(struct text *text);

#endif /* GPUMON_PROBE_KEEP_H */
