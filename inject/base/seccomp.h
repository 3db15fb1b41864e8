/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Filters of system calls (seccomp) that a process has before the library begins: those of a container,
 * which refuse calls, or of a sandbox, which may end the process for one.
 */
#ifndef GPUMON_INJECT_BASE_SECCOMP_H
#define GPUMON_INJECT_BASE_SECCOMP_H

#include <stdbool.h>

/* How many filters the calling thread has. Before Linux 5.9, 1 if it has some. */
unsigned int inject_seccomp_filters(void);

/**
 * inject_seccomp_may_begin - whether the library's calls would not end the process
 *
 * Where there are filters, a process that shares this one's memory makes the calls, with arguments that
 * do nothing, and ends. The caller waits for that, for less than a millisecond. Where no such process can
 * be had, the calls are made as they are.
 */
bool inject_seccomp_may_begin(void);

/**
 * inject_seccomp_may_look - whether calls that look at other threads would not end the process
 *
 * As inject_seccomp_may_begin(), for calls that the library can do without.
 */
bool inject_seccomp_may_look(void);

/* Likewise, for stacks of running threads. */
bool inject_seccomp_may_sample(void);

/* Likewise, to move threads to another processor. */
bool inject_seccomp_may_move(void);

#endif /* GPUMON_INJECT_BASE_SECCOMP_H */
