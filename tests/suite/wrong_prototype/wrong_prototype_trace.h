/* SPDX-License-Identifier: GPL-2.0-only */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM wrong_prototype

#if !defined(WRONG_PROTOTYPE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define WRONG_PROTOTYPE_TRACE_H

#include <linux/tracepoint.h>

struct drm_sched_job;
struct drm_sched_entity;

/* The real ones get a job and its entity. 6.1 and 6.12 use the first name, 7 the second. */
DECLARE_EVENT_CLASS(wrong_job,
	TP_PROTO(u64 job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity),
	TP_STRUCT__entry(__field(u64, job)),
	TP_fast_assign(__entry->job = job;),
	TP_printk("job=%llu", __entry->job)
);

DEFINE_EVENT(wrong_job, drm_sched_job,
	TP_PROTO(u64 job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity)
);

DEFINE_EVENT(wrong_job, drm_sched_job_queue,
	TP_PROTO(u64 job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity)
);

/* With the real arguments. */
DECLARE_EVENT_CLASS(right_job,
	TP_PROTO(struct drm_sched_job *job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity),
	TP_STRUCT__entry(__field(bool, job)),
	TP_fast_assign(__entry->job = job;),
	TP_printk("job=%d", __entry->job)
);

DEFINE_EVENT(right_job, drm_run_job,
	TP_PROTO(struct drm_sched_job *job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity)
);

DEFINE_EVENT(right_job, drm_sched_job_run,
	TP_PROTO(struct drm_sched_job *job, struct drm_sched_entity *entity),
	TP_ARGS(job, entity)
);

#endif /* WRONG_PROTOTYPE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE wrong_prototype_trace
#include <trace/define_trace.h>
