/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * NVTX ranges. NVTX reports them to one library: to this one, if
 * NVTX_INJECTION64_PATH names it (injection.c), also before CUDA is used; else to
 * CUPTI, which passes them on (cupti/nvtx.c).
 */
#ifndef GPUMON_INJECT_NVTX_RANGE_H
#define GPUMON_INJECT_NVTX_RANGE_H

/* A tool: types only, and no copy of NVTX in here. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include "channel/thread.h"

/* Whether this session records ranges, or has one as its window. */
bool inject_nvtx_wanted(void);

/**
 * struct inject_nvtx_event - a begin or end of a range, or a mark
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

/* Records it, and opens or closes the window where it is the window's range. */
void inject_nvtx_event(const struct inject_nvtx_event *event);

/**
 * inject_nvtx_remember - a name that the program uses by a handle from now on
 * @handle: of a domain or a registered string; NULL: choose one
 * @text: its text, or NULL
 * @wide: instead of @text
 *
 * Return: the handle; NULL where there is no room for more.
 */
const void *inject_nvtx_remember(const void *handle, const char *text, const wchar_t *wide);

#endif /* GPUMON_INJECT_NVTX_RANGE_H */
