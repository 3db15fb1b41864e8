/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a thread does at a moment, as the kernel says in /proc. It is not stopped for that. inject/ uses this
 * of threads of its process, gpumon-user of those of others.
 */
#ifndef GPUMON_ABI_LOOK_H
#define GPUMON_ABI_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "format.h"

/* Longest name of a folder with threads, /proc/PID/task. */
#define GPUMON_LOOK_PATH 128

/* In @call of a look: it waits outside of a system call. */
#define GPUMON_LOOK_NO_CALL UINT32_MAX

/**
 * struct gpumon_look - one
 * @is_blocked: it waits; else it runs, or is ready to, and nothing else is known
 * @call: number of the system call, or GPUMON_LOOK_NO_CALL
 * @first: first argument of the call
 * @stack: its stack pointer
 * @code: address of its instruction
 * @runs: how often it got a processor
 */
struct gpumon_look {
	bool is_blocked;
	uint32_t call;
	uint64_t first;
	uint64_t stack;
	uint64_t code;
	uint64_t runs;
};

/* Has a thread not run between two looks that found it blocked? */
static inline bool gpumon_look_is_same(const struct gpumon_look *a, const struct gpumon_look *b)
{
	return a->call == b->call && a->stack == b->stack && a->code == b->code &&
	       a->runs == b->runs;
}

/**
 * struct gpumon_look_files - open files of a thread, of the calling thread's own descriptors
 * @call: of its system call; -1: none is open
 * @runs: of how often it ran
 */
struct gpumon_look_files {
	int call;
	int runs;
};

/**
 * gpumon_look_open - open the files of a thread
 * @files: out
 * @folder: of the threads of its process: /proc/PID/task
 * @tid: its name there
 *
 * Return: 0 or a negative errno: -ENOENT where there is no such thread, or no such file in this kernel.
 */
int gpumon_look_open(struct gpumon_look_files *files, const char *folder, uint32_t tid);
void gpumon_look_close(struct gpumon_look_files *files);

/* Returns 0 or a negative errno: -ESRCH if the thread has ended. */
int gpumon_look(const struct gpumon_look_files *files, struct gpumon_look *look);

/* Kind of waiting, enum gpumon_wait_kind. */
uint16_t gpumon_look_kind(const struct gpumon_look *look);

/* Kind of the file that a thread reads or writes, enum gpumon_file_kind. */
uint16_t gpumon_look_file(const char *folder, uint32_t tid, const struct gpumon_look *look);

#endif /* GPUMON_ABI_LOOK_H */
