/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_ZE_BACKEND_H
#define GPUMON_INJECT_ZE_BACKEND_H

#include "session/backend.h"

/* Level Zero, by the tracing layer of its loader. */
extern const struct inject_backend inject_ze_backend;

#endif /* GPUMON_INJECT_ZE_BACKEND_H */
