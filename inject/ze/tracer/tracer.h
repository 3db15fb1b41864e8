/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Callbacks before and after the program's calls, by the loader's tracing layer. */
#ifndef GPUMON_INJECT_ZE_TRACER_TRACER_H
#define GPUMON_INJECT_ZE_TRACER_TRACER_H

#include "session/backend.h"
#include "ze/ze.h"

/* The loader's function with this name; NULL where no loader is there, or has it. */
void *inject_ze_symbol(const char *name);

/**
 * inject_ze_trace - have callbacks from now on
 *
 * After the program has initialised Level Zero. Only the first call does something.
 */
void inject_ze_trace(void);

/* Whether there are callbacks; otherwise @why is a sentence. */
bool inject_ze_is_traced(const char **why);

/* Of the loader and its tracing layer: how many of @room were filled. */
unsigned int inject_ze_code(struct inject_code *code, unsigned int room);

/* Each sets its callbacks. */
void inject_ze_trace_appends(zel_core_callbacks_t *before, zel_core_callbacks_t *after);
void inject_ze_trace_new_appends(zel_tracer_handle_t tracer);
void inject_ze_trace_new_waits(zel_tracer_handle_t tracer);
void inject_ze_trace_objects(zel_core_callbacks_t *before, zel_core_callbacks_t *after);
void inject_ze_trace_others(zel_core_callbacks_t *before, zel_core_callbacks_t *after);

/* Parameters of a callback; @p is a pointer to a structure of pointers to the call's arguments. */
#define INJECT_ZE_BEFORE(name, what)                                                         \
	static void before_##name(ze_##what##_params_t *p, ze_result_t result, void *tracer, \
				  void **mine)
#define INJECT_ZE_AFTER(name, what)                                                         \
	static void after_##name(ze_##what##_params_t *p, ze_result_t result, void *tracer, \
				 void **mine)
#define INJECT_ZE_UNUSED() ((void)p, (void)result, (void)tracer, (void)mine)

/* A thread of this library: its calls are not the program's. */
static inline bool inject_ze_is_ours(void)
{
	return inject_self && inject_self->ours;
}

/* Level Zero, by the tracing layer of its loader. */
extern const struct inject_backend inject_ze_backend;

#endif /* GPUMON_INJECT_ZE_TRACER_TRACER_H */
