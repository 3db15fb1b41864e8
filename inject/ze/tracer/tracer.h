/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Callbacks before and after the program's calls, by the loader's tracing layer. */
#ifndef GPUMON_INJECT_ZE_TRACER_TRACER_H
#define GPUMON_INJECT_ZE_TRACER_TRACER_H

#include "session/backend.h"
#include "ze/ze.h"

/**
 * inject_ze_trace - have callbacks from now on
 *
 * After the program has initialised Level Zero. Only the first call does something.
 */
void inject_ze_trace(void);

/* Level Zero, by the tracing layer of its loader. */
extern const struct inject_backend inject_ze_backend;

#endif /* GPUMON_INJECT_ZE_TRACER_TRACER_H */
