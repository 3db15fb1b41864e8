/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * --hw-trace: the GPU itself notes when kernels begin and end (NVIDIA's Hardware Event System). CUPTI has
 * to be told before there is a context, and knows only later whether the GPU can.
 */
#ifndef GPUMON_INJECT_CUPTI_HW_TRACE_H
#define GPUMON_INJECT_CUPTI_HW_TRACE_H

#include "channel/thread.h"
#include "library.h"

/* CUPTI_CB_DOMAIN_STATE */
#define INJECT_DOMAIN_STATE 6u

/* Whether CUPTI is to be told now: it is wanted, CUDA begins, this CUPTI can, and was not told before. */
bool inject_hw_trace_is_due(void);

/* What CUPTI answered. */
void inject_hw_trace_asked(CUptiResult result);

/* A session begins: note why there is none. */
void inject_hw_trace_begin(struct inject_thread *thread);

/* CUPTI has it: cuptiFinalize() would end it for good. */
bool inject_hw_trace_is_on(void);

/* A GPU is seen, and CUPTI says something about its own state: note where it has none. */
void inject_hw_trace_device(struct inject_thread *thread, const char *name, uint32_t major,
			    uint32_t minor);
void inject_hw_trace_state(const void *data);

#endif /* GPUMON_INJECT_CUPTI_HW_TRACE_H */
