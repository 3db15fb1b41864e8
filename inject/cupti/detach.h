/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Leaving CUPTI. Once it has recorded kernels, launches stay slower by 17 to 34 %
 * on an H100, also without a subscriber, until cuptiFinalize() takes it out of the
 * process (tests/results/device-bench-2026-11-24.md).
 */
#ifndef GPUMON_INJECT_DETACH_H
#define GPUMON_INJECT_DETACH_H

#include "library.h"

/**
 * inject_detach - take CUPTI out of the process
 * @subscriber: of this library, with no other callback enabled any more
 *
 * NVIDIA wants that in the exit of a call of the API, so the calling thread makes one,
 * cuDriverGetVersion(), which touches no GPU. Before CUDA 12.6 programs with graphs crash
 * afterwards. With 13.0 and driver 580 cuGraphLaunch() still does, of a graph that was launched
 * with records of its nodes, then without, and then without CUPTI. So CUPTI stays in a program in
 * which a graph was seen.
 *
 * Context: the library's thread, within inject_thread_enter(), all buffers given back.
 * Return: true if CUPTI is as it was before the first call of it, and @subscriber is gone.
 */
bool inject_detach(CUpti_SubscriberHandle subscriber);

/* A call returns in a thread that is within: the one of inject_detach(), or another. */
void inject_detach_in_call(void);

#endif /* GPUMON_INJECT_DETACH_H */
