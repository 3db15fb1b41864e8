/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A child of fork() has one thread, and every lock that another thread of the parent had stays
 * locked in it for ever. Locks of the loader and of an API are taken by threads of the library only
 * between inject_locks_begin() and _end(), for which a fork waits.
 */
#ifndef GPUMON_INJECT_FORK_H
#define GPUMON_INJECT_FORK_H

#include <stdbool.h>

/* Waits while the program forks. Not within a callback of an API. */
void inject_locks_begin(void);
void inject_locks_end(void);

/*
 * Around fork(), in the parent: where the library has threads, waits for those that hold locks, a fifth
 * of a second at most.
 */
void inject_fork_begin(bool has_threads);
void inject_fork_end(void);

/* In the child: nobody is within. */
void inject_fork_child(void);

#endif /* GPUMON_INJECT_FORK_H */
