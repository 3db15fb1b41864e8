/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * NVTX ranges, told by CUPTI (../cupti/nvtx.c), or by NVTX itself where
 * NVTX_INJECTION64_PATH names this library (injection.c): that way also of
 * programs that use NVTX before CUDA, and without a path of CUPTI to be known.
 * Only one of the two can be: NVTX has one that it tells.
 */
#ifndef GPUMON_INJECT_NVTX_H
#define GPUMON_INJECT_NVTX_H

/* A tool: types only, and no copy of NVTX in here. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include "write/thread.h"

/* Do ranges matter in this session: recorded, or as its window. */
bool inject_nvtx_wanted(void);

/**
 * struct inject_nvtx_event - something that NVTX tells
 * @kind: enum gpumon_range_kind
 * @domain: NULL is the default one
 * @attributes: NULL where there is only a text, or nothing
 * @text: instead of @attributes
 * @wide: instead of @text
 * @id: of START and END
 */
struct inject_nvtx_event {
	uint16_t kind;
	nvtxDomainHandle_t domain;
	const nvtxEventAttributes_t *attributes;
	const char *text;
	const wchar_t *wide;
	uint64_t id;
};

/* Records it, and opens or closes the window by it. */
void inject_nvtx_event(const struct inject_nvtx_event *event);

/**
 * inject_nvtx_remember - a name that is used by a handle from now on
 * @handle: of a domain or a registered string; NULL: make one
 * @text: its text, or NULL
 * @wide: instead of @text
 *
 * Return: the handle; NULL where there is no room for more.
 */
const void *inject_nvtx_remember(const void *handle, const char *text, const wchar_t *wide);

#endif /* GPUMON_INJECT_NVTX_H */
