/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Finds the containers of processes. The kernel sends the id of a process's cgroup, which is the
 * inode number of the cgroup's directory. Its path contains the container's name.
 */
#ifndef GPUMON_DRIVER_CONTAINER_H
#define GPUMON_DRIVER_CONTAINER_H

#include <stddef.h>

#include "model.h"

struct gpumon_containers;

/**
 * gpumon_containers_new() - create a cache of containers
 * @root: prefix of /sys and /proc: "", or a test's own tree; must outlive the cache
 *
 * Return: NULL without memory. Every later call accepts NULL and does nothing.
 */
struct gpumon_containers *gpumon_containers_new(const char *root);
void gpumon_containers_free(struct gpumon_containers *containers);

/**
 * gpumon_containers_resolve() - fill in container, cgroup and container_pid of the processes
 * @containers: cache
 * @model: a reading; its cgroups are filled in, too: those of removed processes in drm_sched.usage;
 *	   and the device memory of all
 *
 * These stay unknown if the cgroup is gone, without cgroup version 2, and outside the initial pid
 * namespace. The cgroup hierarchy is walked at most once per reading, and only for new ids. A path
 * that the module knew of a process is remembered for the time after the process and its cgroup.
 */
void gpumon_containers_resolve(struct gpumon_containers *containers, struct gpumon_model *model);

/**
 * gpumon_container_name() - extract a container's name from a cgroup path
 * @path: path from the root of the hierarchy
 * @name: out, "" if there is none: the first 12 digits of the id in the paths of docker, podman,
 *        containerd and CRI-O, or the name of an LXC or systemd-nspawn container
 * @len: size of @name
 *
 * Of nested containers, the innermost is used.
 *
 * Return: the part of @path that is the container's own cgroup, in bytes; 0 if there is none.
 */
size_t gpumon_container_name(const char *path, char *name, size_t len);

#endif /* GPUMON_DRIVER_CONTAINER_H */
