/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CUPTI_NVTX_H
#define GPUMON_INJECT_CUPTI_NVTX_H

#include "library.h"

/* A callback of CUPTI's NVTX domain. */
void inject_cupti_nvtx(CUpti_CallbackId id, const CUpti_NvtxData *data);

#endif /* GPUMON_INJECT_CUPTI_NVTX_H */
