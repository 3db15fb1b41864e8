/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Who is in which container. The kernel tells the id of a process's cgroup, which is the inode
 * number of the cgroup's directory; its path has the container's name in it.
 */
#ifndef GPUMON_USER_CONTAINER_H
#define GPUMON_USER_CONTAINER_H

#include <stddef.h>

#include "model/model.h"

struct gpumon_containers;

/**
 * gpumon_containers_new() - look up containers, and remember what was found
 * @root: prefix of /sys and /proc: "" or a made-up tree; lives as long as this
 *
 * Return: NULL without memory. Every later call takes NULL and does nothing.
 */
struct gpumon_containers *gpumon_containers_new(const char *root);
void gpumon_containers_free(struct gpumon_containers *containers);

/**
 * gpumon_containers_resolve() - fill in container, cgroup and container_pid of the processes
 * @containers: what is known so far
 * @model: a reading
 *
 * What cannot be found out (the cgroup is gone, no cgroup version 2, another pid namespace than
 * the initial one) stays unknown. The hierarchy of cgroups is walked once for each reading that
 * has ids never asked for before.
 */
void gpumon_containers_resolve(struct gpumon_containers *containers, struct gpumon_model *model);

/**
 * gpumon_container_name() - the container that a cgroup's path tells
 * @path: path from the root of the hierarchy
 * @name: out, "" if it tells none: the first 12 digits of the id that docker, podman, containerd
 *        and CRI-O put there, or the name of an LXC or systemd-nspawn container
 * @len: size of @name
 *
 * In nested containers the innermost counts.
 */
void gpumon_container_name(const char *path, char *name, size_t len);

#endif /* GPUMON_USER_CONTAINER_H */
