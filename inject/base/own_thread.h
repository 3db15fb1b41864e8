/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_OWN_THREAD_H
#define GPUMON_INJECT_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/**
 * inject_own_thread_start - a thread of the library
 * @thread: to be joined or detached
 * @run: all signals are blocked in it: the program's handlers run in the program's threads
 * @argument: for it
 *
 * Return: false where none can be had.
 */
bool inject_own_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif /* GPUMON_INJECT_OWN_THREAD_H */
