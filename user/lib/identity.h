/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Ids of processes and threads, in our pid namespace and in their own. @root is a prefix of /proc.
 */
#ifndef GPUMON_LIB_IDENTITY_H
#define GPUMON_LIB_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

/* The process of a thread, or 0 if unknown. */
pid_t gpumon_process_of_thread(const char *root, pid_t tid);
/* The pid of a process in its own pid namespace, or 0 if unknown. */
pid_t gpumon_process_inner_pid(const char *root, pid_t pid);
/* The parent's pid in the process's own namespace, or 0 if it is not in that namespace. */
pid_t gpumon_process_inner_parent(const char *root, pid_t pid, pid_t parent);
bool gpumon_process_thread_lives(const char *root, pid_t pid, pid_t tid);
/* A living thread of the process, or 0 if there is none. */
pid_t gpumon_process_living_thread(const char *root, pid_t pid);
/* Does /proc belong to the initial pid namespace, whose pids the kernel module reports? */
bool gpumon_initial_pid_namespace(const char *root);

#endif /* GPUMON_LIB_IDENTITY_H */
