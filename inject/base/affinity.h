/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_BASE_AFFINITY_H
#define GPUMON_INJECT_BASE_AFFINITY_H

/**
 * inject_affinity_run - call a function that needs a driver's lock for writing
 * @call: function
 * @data: for it
 *
 * Threads of the program that call a driver without a pause each hold its lock for reading, so that one of them
 * always does, and glibc lets a writer wait for as long. So if @call takes long, the program's threads are kept
 * on one processor for some milliseconds: only one of them runs, the others wait outside of the driver, and
 * @call gets the lock (seen with eight threads on an H200: after 10 ms, in place of the whole time that they
 * were busy). Afterwards they have the processors that they had. A process that the program starts meanwhile,
 * other than by fork(), is left with that one.
 *
 * Context: one thread at a time.
 */
void inject_affinity_run(void (*call)(void *data), void *data);

/* Milliseconds for which threads were kept on one processor since this was last asked. Context: likewise. */
unsigned int inject_affinity_kept_ms(void);

/* In a child after fork. */
void inject_affinity_forked(void);

#endif /* GPUMON_INJECT_BASE_AFFINITY_H */
