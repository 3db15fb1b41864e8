/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What /proc knows of a process that is recorded. */
#ifndef GPUMON_RECORD_PROCESS_INFO_H
#define GPUMON_RECORD_PROCESS_INFO_H

#include <stdint.h>
#include <sys/types.h>

#include <stdint.h>
#include <sys/types.h>

/**
 * struct gpumon_process_info - a process as seen from here
 * @pid: in the recorder's pid namespace, 0 if it is not seen in there
 * @parent: likewise
 * @start_ticks: when it started, in clock ticks since boot; with @pid it names a process
 * @start_ns: the same on CLOCK_MONOTONIC, 0 where not known
 * @pid_namespace: inode number, 0 where not known
 * @rank: of a parallel job, ~0 where there is none
 * @executable: path, "" where not known
 * @command: arguments with blanks between, "" where not known
 * @cgroup: path, "" where not known
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
 * @info: filled in, whatever cannot be read is left unknown
 * @root: prefix of /proc, "" here
 * @pid: in this pid namespace, 0: nothing is known
 */
void gpumon_process_info_read(struct gpumon_process_info *info, const char *root, pid_t pid);

/**
 * gpumon_process_rank - rank of a process by its launcher's environment
 * @environment: strings one after the other, each with its end
 * @size: bytes
 *
 * Return: rank, ~0 if no launcher that is known set one.
 */
uint32_t gpumon_process_rank(const char *environment, size_t size);

/* /proc/sys/kernel/random/boot_id as bytes; zeroes where there is none. */
void gpumon_boot_id_read(uint8_t boot_id[16], const char *root);

/**
 * gpumon_process_owner - may this user record it?
 * @root: prefix of /proc
 * @pid: process
 * @uid: set to its effective user
 *
 * Return: 0 or a negative errno, -ESRCH where there is no such process.
 */
int gpumon_process_owner(const char *root, pid_t pid, uid_t *uid);

/**
 * enum gpumon_process_kind - what a number of /proc stands for
 * @GPUMON_PROCESS_NORMAL: a process, or what it is cannot be told
 * @GPUMON_PROCESS_THREAD: a thread that is not its process's first
 * @GPUMON_PROCESS_KERNEL: a thread of the kernel's
 * @GPUMON_PROCESS_ENDED: it has ended and waits for its parent to look
 */
enum gpumon_process_kind {
	GPUMON_PROCESS_NORMAL,
	GPUMON_PROCESS_THREAD,
	GPUMON_PROCESS_KERNEL,
	GPUMON_PROCESS_ENDED,
};

/* @process is set to whose thread it is. */
enum gpumon_process_kind gpumon_process_kind(const char *root, pid_t pid, pid_t *process);

#endif /* GPUMON_RECORD_PROCESS_INFO_H */
