/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_RECORD_TARGET_PROCESS_H
#define GPUMON_RECORD_TARGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/channel.h"
#include "capture/capture.h"
#include "lib/map.h"

/*
 * What is looked up for a recorded process from outside, since it may have forbidden itself to: what
 * its threads are called, which files it mapped, whether it is in a sandbox, and whether its library is
 * still there.
 */

/**
 * struct gpumon_look_thread - a thread with records
 * @tid: in the process's pid namespace
 * @task: here; 0: not found, or it has ended
 * @is_named: by the program, which counts more than the kernel's name
 * @has_ended: or it was not found
 * @name: as it was written last
 */
struct gpumon_look_thread {
	uint32_t tid;
	pid_t task;
	bool is_named;
	bool has_ended;
	char name[32];
};

/**
 * struct gpumon_looks - state of a process
 * @root: prefix of /proc
 * @pid: here; 0: it is not visible, and nothing is known
 * @is_other_namespace: its tids are other ones there
 * @library: thread of the library, 0 where it is not known
 * @filters: seccomp filters at its hello
 * @sandbox: the last look at them
 * @threads: those with records that have not ended
 * @count: of these
 * @room: for so many
 * @places: index of a thread and 1, by tid
 * @unnamed: some of them were not looked at
 * @next_ns: when to look at all names again
 * @paths: of files, by string id: copies of their names
 * @names: ids of names that were written, by hash
 * @last_id: the last of these ids
 * @image: hash of what the kernel told the program at its start
 */
struct gpumon_looks {
	const char *root;
	pid_t pid;
	bool is_other_namespace;
	pid_t library;
	unsigned int filters;
	enum gpumon_channel_sandbox sandbox;
	struct gpumon_look_thread *threads;
	size_t count;
	size_t room;
	struct gpumon_map places;
	bool unnamed;
	uint64_t next_ns;
	struct gpumon_map paths;
	struct gpumon_map names;
	uint32_t last_id;
	uint64_t image;
};

/* The process has said what it is. */
void gpumon_looks_begin(struct gpumon_looks *looks, const char *root, pid_t pid,
			const struct gpumon_message_hello *hello);

/* See a record of the process before it is written: a mapping gets its inode. */
void gpumon_looks_record(struct gpumon_looks *looks, struct gpumon_record *record);

/* Write the names of threads that are new, and from time to time of all that were renamed. */
void gpumon_looks_names(struct gpumon_looks *looks, struct gpumon_capture_file *file, uint64_t now,
			bool all);

/* Has the process forbidden itself system calls since its hello? Once it has, it always has. */
enum gpumon_channel_sandbox gpumon_looks_sandbox(struct gpumon_looks *looks);

/* Is the library's thread still there? True where that cannot be known. */
bool gpumon_looks_library(const struct gpumon_looks *looks);

/* Does the process still run the program that it ran at its hello? False after exec() and its end. */
bool gpumon_looks_program(const struct gpumon_looks *looks);

void gpumon_looks_end(struct gpumon_looks *looks);

/**
 * gpumon_looks_filters - how many seccomp filters the threads of a process have
 * @root: prefix of /proc
 * @pid: process
 * @task: a thread of it, the main thread's id for that one
 * @filters: out; before Linux 5.9 1 if there are any
 *
 * Return: false where that cannot be read.
 */
bool gpumon_looks_filters(const char *root, pid_t pid, pid_t task, unsigned int *filters);

/*
 * Difference from the process's CLOCK_MONOTONIC to this program's: 0 unless the process is in
 * another time namespace.
 */
int64_t gpumon_looks_clock(const char *root, pid_t pid, const struct gpumon_message_hello *hello);

#endif /* GPUMON_RECORD_TARGET_PROCESS_H */
