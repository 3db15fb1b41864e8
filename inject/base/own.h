/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Threads of the library, and descriptors of their own. A program that closes
 * all descriptors that it does not know, as daemons do, and opens something
 * else, would have the library's number for it when the library reads and closes.
 */
#ifndef GPUMON_INJECT_OWN_H
#define GPUMON_INJECT_OWN_H

#include <pthread.h>
#include <stdbool.h>

/**
 * inject_own_thread - start a thread of the library
 * @thread: to be joined or detached
 * @run: signals are blocked in it, but those of its own faults: the program's handlers run in the
 *       program's threads
 * @argument: for it
 *
 * Return: false where none can be had.
 */
bool inject_own_thread(pthread_t *thread, void *(*run)(void *), void *argument);

/**
 * inject_own_descriptors - the calling thread no longer shares descriptors with the program
 * @first: lower descriptors are copied, and stay open here when the program closes its own
 *
 * Where the kernel has no close_range() (before 5.9), or a seccomp filter refuses it, the thread
 * keeps the program's descriptors. Context: a thread of the library.
 *
 * Return: whether it has its own.
 */
bool inject_own_descriptors(unsigned int first);

/**
 * inject_with_own_descriptors - run a function in a thread that shares none with the program
 * @work: opens, reads and closes; its descriptors are its own, and end with it
 * @argument: for it
 *
 * Waits for it. Where no thread can be created, @work runs with the program's descriptors.
 */
void inject_with_own_descriptors(void (*work)(void *argument), void *argument);

#endif /* GPUMON_INJECT_OWN_H */
