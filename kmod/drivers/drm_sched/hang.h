/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs that do not go on: alerts for one that is on the hardware or waits in its queue for longer
 * than a limit, and for the scheduler's own timeout.
 */
#ifndef GPUMON_HANG_H
#define GPUMON_HANG_H

#include "attach/probe.h"
#include "compat/sched_pending.h"

struct gpumon_job;
struct netlink_ext_ack;

/* The alerts of drm_sched, which go with it and with the others. */
#define GPUMON_HAS_HANGS (GPUMON_HAS_ALERTS && GPUMON_HAS_drm_sched)

/* A day. */
#define GPUMON_HANG_LIMIT_MAX_MS 86400000

/**
 * struct gpumon_hang_limits - after how many milliseconds there is an alert, 0 for never
 * @hang_ms: of a job on the hardware
 * @starved_ms: of a job in its queue
 */
struct gpumon_hang_limits {
	u32 hang_ms;
	u32 starved_ms;
};

/* Members of gpu_sched's types that the probe on its timeout needs: the first of the group's fields. */
enum {
	GPUMON_TIMEOUT_WORK,
	GPUMON_TIMEOUT_PENDING,
	GPUMON_TIMEOUT_LIST
};

#if GPUMON_HAS_ALERTS
#define GPUMON_TIMEOUT_FIELDS                                                                     \
	[GPUMON_TIMEOUT_WORK] = GPUMON_FIELD("gpu_sched", "drm_gpu_scheduler", "work_tdr", 0),    \
	[GPUMON_TIMEOUT_PENDING] =                                                                \
		GPUMON_FIELD("gpu_sched", "drm_gpu_scheduler", GPUMON_COMPAT_SCHED_PENDING_LIST,  \
			     0),                                                                  \
	[GPUMON_TIMEOUT_LIST] =                                                                   \
		GPUMON_FIELD("gpu_sched", "drm_sched_job", GPUMON_COMPAT_SCHED_PENDING_JOB, 0),
#define GPUMON_TIMEOUT_PROBE                                                                      \
	GPUMON_KPROBE_AT("gpu_sched", "drm_sched_job_timedout", SCHED_ROLE_TIMEOUT,               \
			 gpumon_sched_timeout, "*work_struct", "void", .optional = true,          \
			 .without = "there is no alert for the scheduler's timeout"),
#else
#define GPUMON_TIMEOUT_FIELDS
#define GPUMON_TIMEOUT_PROBE
#endif

void gpumon_hang_start(void (*wake)(void));
void gpumon_hang_stop(void);
void gpumon_hang_limits(struct gpumon_hang_limits *limits);
int gpumon_hang_limits_set(const u32 *hang_ms, const u32 *starved_ms,
			   struct netlink_ext_ack *extack);
bool gpumon_hang_look(void);
size_t gpumon_hang_bytes(void);
void gpumon_hang_tell(u64 now, u32 ring, const char *kind, const char *what, u64 age_ns,
		      const struct gpumon_job *job);
GPUMON_KPROBE(gpumon_sched_timeout);

#endif /* GPUMON_HANG_H */
