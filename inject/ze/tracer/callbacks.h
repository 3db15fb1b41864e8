/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Callbacks before and after the program's calls. */
#ifndef GPUMON_INJECT_ZE_TRACER_CALLBACKS_H
#define GPUMON_INJECT_ZE_TRACER_CALLBACKS_H

#include "ze/ze.h"

/* Sets the callbacks of all functions that the first version of the API has. */
void inject_ze_callbacks_set(zel_core_callbacks_t *before, zel_core_callbacks_t *after);

/*
 * Callbacks of newer functions, which are registered one by one. @find: returns the loader's
 * function with a name, or NULL
 */
void inject_ze_callbacks_register(zel_tracer_handle_t tracer, void *(*find)(const char *name));

#endif /* GPUMON_INJECT_ZE_TRACER_CALLBACKS_H */
