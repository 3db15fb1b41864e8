/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What /proc says about a recorded process. */
#ifndef GPUMON_LIB_PROCESS_INFO_H
#define GPUMON_LIB_PROCESS_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct gpumon_process_info - a process as seen from here
 * @pid: in the recorder's pid namespace, 0 if it is not visible there
 * @parent: likewise
 * @start_ticks: start time in clock ticks since boot; identifies a process together with @pid
 * @start_ns: the same on CLOCK_MONOTONIC, 0 if unknown
 * @pid_namespace: inode number, 0 if unknown
 * @rank: rank in a parallel job, ~0 if there is none
 * @executable: path, "" if unknown
 * @command: arguments separated by blanks, "" if unknown
 * @cgroup: path, "" if unknown
 */
struct gpumon_process_info {
	pid_t pid;
	pid_t parent;
	uint64_t start_ticks;
	uint64_t start_ns;
	uint64_t pid_namespace;
	uint32_t rank;
	char executable[1024];
	char command[1024];
	char cgroup[512];
};

/**
 * gpumon_process_info_read - look a process up
 * @info: out; fields that cannot be read are unknown
 * @root: prefix of /proc, normally ""
 * @pid: in this pid namespace; 0: everything stays unknown
 */
void gpumon_process_info_read(struct gpumon_process_info *info, const char *root, pid_t pid);

/* Start time in clock ticks since boot. False if it cannot be read. */
bool gpumon_process_start_ticks(const char *root, pid_t pid, uint64_t *ticks);

/**
 * gpumon_process_rank - find the rank that a launcher set in the environment
 * @environment: NUL-terminated strings, one after the other
 * @size: bytes
 *
 * Return: the rank, or ~0 if no known launcher set one.
 */
uint32_t gpumon_process_rank(const char *environment, size_t size);

/* /proc/sys/kernel/random/boot_id as bytes, or zeroes if it cannot be read. */
void gpumon_boot_id_read(uint8_t boot_id[16], const char *root);

/**
 * gpumon_process_owner - find the effective user of a process
 * @root: prefix of /proc
 * @pid: process
 * @uid: out
 *
 * Return: 0 or a negative errno; -ESRCH if there is no such process.
 */
int gpumon_process_owner(const char *root, pid_t pid, uid_t *uid);

/**
 * enum gpumon_process_kind - what an id in /proc stands for
 * @GPUMON_PROCESS_NORMAL: a process, or unknown
 * @GPUMON_PROCESS_THREAD: a thread that is not the main thread
 * @GPUMON_PROCESS_KERNEL: a kernel thread
 * @GPUMON_PROCESS_ENDED: a zombie
 */
enum gpumon_process_kind {
	GPUMON_PROCESS_NORMAL,
	GPUMON_PROCESS_THREAD,
	GPUMON_PROCESS_KERNEL,
	GPUMON_PROCESS_ENDED,
};

/* Whether a signal or a debugger has stopped it. */
bool gpumon_process_is_stopped(const char *root, pid_t pid);

/**
 * gpumon_process_recorder - find who records a process by its injection library
 * @root: prefix of /proc
 * @pid: process
 *
 * The library keeps the memory that it shares with a recorder mapped, but only a recorder that still
 * records it has it open.
 *
 * Return: the pid of another gpumon-user, 0 if there is none or it cannot be seen.
 */
pid_t gpumon_process_recorder(const char *root, pid_t pid);

/* @process is set to the process of that thread. */
enum gpumon_process_kind gpumon_process_kind(const char *root, pid_t pid, pid_t *process);

/*
 * Ids of processes and threads, in our pid namespace and in their own. @root is a prefix of /proc.
 */

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

/* Processes that a program left running when it ended. */

/**
 * gpumon_left_behind - count the processes that have a variable in their environment
 * @root: prefix of /proc, normally ""
 * @variable: "NAME=value", unique to this program
 * @first: set to one of them, if there are any
 *
 * Does not count the caller, nor processes whose environment cannot be read.
 *
 * Return: the number of processes.
 */
unsigned int gpumon_left_behind(const char *root, const char *variable, pid_t *first);

#endif /* GPUMON_LIB_PROCESS_INFO_H */
