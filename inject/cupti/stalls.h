/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What instructions of kernels wait for, by CUPTI's PC sampling in continuous mode. It is switched on for
 * each context. The library's thread reads the samples, and says what CUPTI refuses.
 */
#ifndef GPUMON_INJECT_CUPTI_STALLS_H
#define GPUMON_INJECT_CUPTI_STALLS_H

#include "channel/thread.h"
#include "library.h"

/* Memory for what @settings ask for. */
void inject_stalls_reserve(const struct gpumon_message_settings *settings);

/**
 * inject_stalls_begin - a capture begins, or goes on after inject_stalls_end()
 * @thread: caller
 * @at_start: CUDA is being initialised: all contexts will be seen when they are made
 */
void inject_stalls_begin(struct inject_thread *thread, bool at_start);

/* Whether samples are taken in this capture: modules are then copied. */
bool inject_stalls_wanted(void);

/* The window begins or ends. The library's thread switches the sampling of contexts soon after that. */
void inject_stalls_window(bool on);

/* In the program's thread, which makes a context, or is about to destroy it. */
void inject_stalls_context_made(struct inject_thread *thread, CUcontext context);
void inject_stalls_context_ends(CUcontext context);

/* A launch shows a context that may have been made before. */
extern _Atomic bool inject_stalls_looks INJECT_HIDDEN;
void inject_stalls_see(CUcontext context);

/* A module of the program's is about to go: its samples are read soon. */
void inject_stalls_module_ends(void);

/* Regular work of the library's thread: contexts that are new, and samples that are due. */
void inject_stalls_work(struct inject_thread *thread);

/**
 * inject_stalls_end - read what there is, and leave all contexts
 * @thread: caller, the library's own
 * @is_read: somebody reads the records
 * @is_over: the capture ends: say what was missing
 */
void inject_stalls_end(struct inject_thread *thread, bool is_read, bool is_over);

/* In a child after fork. */
void inject_stalls_forked(void);

#endif /* GPUMON_INJECT_CUPTI_STALLS_H */
