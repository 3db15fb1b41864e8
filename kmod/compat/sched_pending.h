/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of the list of jobs that a scheduler waits for, and of a job's place in it, until 5.12:
 * 6efa4b465cfd ("gpu/drm: ring_mirror_list --> pending_list"), 8935ff00e3b1 ("drm/scheduler: "node"
 * --> "list"").
 */
#ifndef GPUMON_COMPAT_SCHED_PENDING_H
#define GPUMON_COMPAT_SCHED_PENDING_H

#ifdef GPUMON_HAVE_SCHED_PENDING_LIST
#define GPUMON_COMPAT_SCHED_PENDING_LIST "pending_list"
#define GPUMON_COMPAT_SCHED_PENDING_JOB	 "list"
#else
#define GPUMON_COMPAT_SCHED_PENDING_LIST "ring_mirror_list"
#define GPUMON_COMPAT_SCHED_PENDING_JOB	 "node"
#endif

#endif /* GPUMON_COMPAT_SCHED_PENDING_H */
