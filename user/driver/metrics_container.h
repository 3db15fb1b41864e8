/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Labels of a container: what the path of its cgroup tells, and what Kubernetes calls it: from the names
 * of the kubelet's log files, which everybody may read, or from the runtime's description, which root may.
 */
#ifndef GPUMON_DRIVER_METRICS_CONTAINER_H
#define GPUMON_DRIVER_METRICS_CONTAINER_H

#include "lib/openmetrics.h"

struct gpumon_pods;

/* @root: prefix of /var: "", or a test's own tree; must outlive it. */
struct gpumon_pods *gpumon_pods_new(const char *root);
void gpumon_pods_free(struct gpumon_pods *pods);

/**
 * gpumon_container_labels() - add what is known of a container, or of a cgroup outside of containers
 * @labels: added: namespace, pod, container, container_id, pod_uid; or cgroup
 * @pods: names
 * @container: name of the container, NULL if it is none
 * @path: path of the cgroup, NULL if it is not known
 *
 * The path of a cgroup is cut behind a service or a user, so that sessions are no series of their own.
 */
void gpumon_container_labels(struct gpumon_labels *labels, struct gpumon_pods *pods,
			     const char *container, const char *path);

#endif /* GPUMON_DRIVER_METRICS_CONTAINER_H */
