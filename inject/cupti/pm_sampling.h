/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Metrics of the GPUs that the program uses (--gpu-metrics), sampled by a thread of the library while the
 * window is open. That thread makes system calls all the time, in CUPTI.
 */
#ifndef GPUMON_INJECT_CUPTI_PM_SAMPLING_H
#define GPUMON_INJECT_CUPTI_PM_SAMPLING_H

#include "channel/thread.h"
#include "library.h"

/* A session begins: make the thread, if its settings ask for metrics. @thread: caller, within. */
void inject_pm_begin(struct inject_thread *thread);

/* There is a context on this GPU. Never waits. */
void inject_pm_device_seen(uint32_t device);

/* The same, of a context that is being made. */
void inject_pm_context_made(CUcontext context);

/* The window begins or ends. Never waits. */
void inject_pm_window(bool is_open);

/**
 * inject_pm_end - write what there is, and give the GPUs back
 *
 * Waits for the thread, some tenths of a second at most. CUPTI may be taken out of the process only afterwards.
 * Context: the session is still open, its records of operations have been collected: some versions of CUPTI
 * lose those when the sampling of a GPU ends.
 *
 * Return: whether it has.
 */
bool inject_pm_end(void);

/* In a child after fork, which does not have the thread. */
void inject_pm_forked(void);

#endif /* GPUMON_INJECT_CUPTI_PM_SAMPLING_H */
