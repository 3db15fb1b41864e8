/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Numbers of processes and threads, here and in their own pid namespace. @root is a prefix of /proc. */
#ifndef GPUMON_PROCESS_IDENTITY_H
#define GPUMON_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

/* The process that a thread is of, 0 where it is not known. */
pid_t gpumon_process_of_thread(const char *root, pid_t tid);
/* What a process calls itself in its own pid namespace, 0 where it is not known. */
pid_t gpumon_process_inner_pid(const char *root, pid_t pid);
/* That of its parent, 0 where it is not in that namespace. */
pid_t gpumon_process_inner_parent(const char *root, pid_t pid, pid_t parent);
bool gpumon_process_thread_lives(const char *root, pid_t pid, pid_t tid);
/* A thread of the process that is alive, 0 if there is none. */
pid_t gpumon_process_living_thread(const char *root, pid_t pid);
/* Is /proc that of the initial pid namespace, whose numbers the kernel module tells? */
bool gpumon_initial_pid_namespace(const char *root);

#endif /* GPUMON_PROCESS_IDENTITY_H */
