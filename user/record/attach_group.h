/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The processes of control groups and containers, also those that come later. */
#ifndef GPUMON_RECORD_ATTACH_GROUP_H
#define GPUMON_RECORD_ATTACH_GROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/error.h"
#include "recorder.h"

/**
 * gpumon_group_find - find the folder of a control group
 * @root: prefix of /sys
 * @name: path of it, in /sys/fs/cgroup or as /proc/PID/cgroup has it
 * @path: out
 * @err: out
 *
 * Return: 0, or -1 with @err.
 */
int gpumon_group_find(const char *root, const char *name, char path[PATH_MAX],
		      struct gpumon_error *err);

/**
 * gpumon_group_of_container - find the folder of a container's control group
 * @root: prefix of /sys
 * @id: of the container, or its begin, as docker, podman, containerd and CRI-O have it in the group's name
 * @path: out
 * @err: out
 *
 * Return: 0, or -1 with @err: there is none, or several begin so.
 */
int gpumon_group_of_container(const char *root, const char *id, char path[PATH_MAX],
			      struct gpumon_error *err);

struct gpumon_group;

/**
 * struct gpumon_group_options - what is done with its processes
 * @root: prefix of /proc
 * @recorder: they are added to it
 * @no_attach: bring no library in
 * @say: what was not possible, or not in full, with the flags of a note
 * @data: passed to it
 */
struct gpumon_group_options {
	const char *root;
	struct gpumon_recorder *recorder;
	bool no_attach;
	void (*say)(void *data, uint16_t flags, const char *text);
	void *data;
};

/* @path: of a folder with cgroup.procs. */
struct gpumon_group *gpumon_group_new(const struct gpumon_group_options *options, const char *path);

/* Look for new processes and go on with those that are being attached to. Never waits for one. */
void gpumon_group_step(struct gpumon_group *group);

/* When to step it at the latest. */
uint64_t gpumon_group_next_ns(const struct gpumon_group *group);

/* It had processes, and all have ended. */
bool gpumon_group_is_over(const struct gpumon_group *group);

void gpumon_group_free(struct gpumon_group *group);

#endif /* GPUMON_RECORD_ATTACH_GROUP_H */
