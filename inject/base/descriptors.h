/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Files and sockets in a process whose descriptors are not ours: a program that
 * closes all that it does not know, as daemons do, and opens something else,
 * would have our number for it when we read and close.
 */
#ifndef GPUMON_INJECT_DESCRIPTORS_H
#define GPUMON_INJECT_DESCRIPTORS_H

/**
 * inject_own_descriptors - the calling thread, one of ours, shares none with the program any more
 * @first: those before it are copied, and stay open here when the program closes its own
 *
 * Where the kernel has no close_range() (before 5.9), or a filter of system calls refuses it, the
 * program's descriptors have to do.
 */
void inject_own_descriptors(unsigned int first);

/**
 * inject_with_own_descriptors - have something done by a thread that shares none with the program
 * @work: opens, reads and closes; its descriptors are its own, and end with it
 * @argument: for it
 *
 * Waits for it. As inject_own_descriptors(); without a thread, too, @work is called with the
 * program's descriptors.
 */
void inject_with_own_descriptors(void (*work)(void *argument), void *argument);

#endif /* GPUMON_INJECT_DESCRIPTORS_H */
