/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A process that the library is to be brought into: whether that is possible, and where its functions are. */
#ifndef GPUMON_RECORD_ATTACH_TARGET_H
#define GPUMON_RECORD_ATTACH_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach_remote.h"
#include "lib/error.h"
#include "uprobe_process.h"

/* Addresses of code. */
struct gpumon_attach_span {
	uint64_t start;
	uint64_t end;
};

/* More places than there are files of a C library. */
#define GPUMON_ATTACH_RESTORERS 8

/**
 * struct gpumon_attach_target - what is known of the process
 * @pid: process
 * @root: prefix of /proc
 * @library: the C library's code and the kernel's, with its call frame information; nothing else is in it
 * @code: instructions for calls
 * @restorers: where signal handlers return to
 * @restorer_count: of these
 * @dlopen: address, and so on; 0: it has none
 * @mode: flags for @dlopen
 * @waiting: functions of the C library in which a thread can be used: they hold none of its locks
 * @waiting_count: of these
 * @allocators: code of other allocators, which may hold a lock of theirs
 * @allocator_count: of these
 */
struct gpumon_attach_target {
	pid_t pid;
	const char *root;
	struct gpumon_uprobe_process library;
	struct gpumon_remote_code code;
	uint64_t restorers[GPUMON_ATTACH_RESTORERS];
	unsigned int restorer_count;
	uint64_t dlopen;
	uint64_t dlsym;
	uint64_t dlerror;
	uint64_t pthread_create;
	uint64_t pthread_detach;
	uint64_t munmap;
	uint32_t mode;
	struct gpumon_attach_span *waiting;
	size_t waiting_count;
	struct gpumon_attach_span *allocators;
	size_t allocator_count;
};

/**
 * gpumon_attach_target_read - look at a process, without stopping it
 * @target: @pid and @root are set; the rest is out, for gpumon_attach_target_free() in any case
 * @err: out: why the library cannot be brought in
 *
 * Return: 0 or -1.
 */
int gpumon_attach_target_read(struct gpumon_attach_target *target, struct gpumon_error *err);
void gpumon_attach_target_free(struct gpumon_attach_target *target);

/**
 * gpumon_attach_judge - may a stopped thread be used?
 * @target: its process
 * @remote: stopped thread
 *
 * It must not be within the allocator or the loader, whose locks it may hold, nor in a signal handler, which
 * may have interrupted them.
 *
 * Return: NULL, or where it is, for a message.
 */
const char *gpumon_attach_judge(const struct gpumon_attach_target *target,
				const struct gpumon_remote *remote);

#endif /* GPUMON_RECORD_ATTACH_TARGET_H */
