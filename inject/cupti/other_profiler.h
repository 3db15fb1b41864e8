/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A profiler of the program's own, such as torch.profiler. Where it does not share CUPTI with gpumon
 * (generation.h) it fails while gpumon records. With --yield it goes first. Only then is anything of
 * the program changed.
 */
#ifndef GPUMON_INJECT_CUPTI_OTHER_PROFILER_H
#define GPUMON_INJECT_CUPTI_OTHER_PROFILER_H

/**
 * inject_other_profiler_look - with --yield, see libraries that were loaded since the last time subscribe to CUPTI
 *
 * Replaces cuptiSubscribe(), cuptiSubscribe_v2() and the function that sets CUPTI's clock in their tables
 * of imported functions. A library that looks them up with dlsym() is not seen.
 *
 * Context: takes the loader's lock; one thread at a time.
 */
void inject_other_profiler_look(void);

#endif /* GPUMON_INJECT_CUPTI_OTHER_PROFILER_H */
