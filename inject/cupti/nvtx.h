/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CUPTI_NVTX_H
#define GPUMON_INJECT_CUPTI_NVTX_H

#include <wchar.h>

#include "library.h"

/* A callback of CUPTI's NVTX domain. */
void inject_cupti_nvtx(CUpti_CallbackId id, const CUpti_NvtxData *data);

/**
 * inject_cupti_name_stream - nvtxNameCuStream, nvtxNameCudaStream
 * @stream: a CUstream, which lives; NULL is the default one
 * @text: NULL names nothing
 * @wide: instead of @text
 *
 * Only for the current capture: the handle may be another stream's later.
 */
void inject_cupti_name_stream(void *stream, const char *text, const wchar_t *wide);

#endif /* GPUMON_INJECT_CUPTI_NVTX_H */
