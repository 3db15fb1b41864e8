/* SPDX-License-Identifier: GPL-2.0-only */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM wrong_layout

#if !defined(WRONG_LAYOUT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define WRONG_LAYOUT_TRACE_H

#include <linux/tracepoint.h>

struct amdgpu_job;

/* 6.1 and 6.12 use the first name of each, 7 the second. */
DECLARE_EVENT_CLASS(wrong_layout_job,
	TP_PROTO(struct drm_sched_job *sched_job, struct drm_sched_entity *entity),
	TP_ARGS(sched_job, entity),
	TP_STRUCT__entry(__field(bool, has_fence)),
	TP_fast_assign(__entry->has_fence = sched_job->s_fence;),
	TP_printk("has_fence=%d", __entry->has_fence)
);

DEFINE_EVENT(wrong_layout_job, drm_sched_job,
	TP_PROTO(struct drm_sched_job *sched_job, struct drm_sched_entity *entity),
	TP_ARGS(sched_job, entity)
);

DEFINE_EVENT(wrong_layout_job, drm_sched_job_queue,
	TP_PROTO(struct drm_sched_job *sched_job, struct drm_sched_entity *entity),
	TP_ARGS(sched_job, entity)
);

DEFINE_EVENT(wrong_layout_job, drm_run_job,
	TP_PROTO(struct drm_sched_job *sched_job, struct drm_sched_entity *entity),
	TP_ARGS(sched_job, entity)
);

DEFINE_EVENT(wrong_layout_job, drm_sched_job_run,
	TP_PROTO(struct drm_sched_job *sched_job, struct drm_sched_entity *entity),
	TP_ARGS(sched_job, entity)
);

DECLARE_EVENT_CLASS(wrong_layout_fence,
	TP_PROTO(struct drm_sched_fence *fence),
	TP_ARGS(fence),
	TP_STRUCT__entry(__field(bool, has_parent)),
	TP_fast_assign(__entry->has_parent = fence->parent;),
	TP_printk("has_parent=%d", __entry->has_parent)
);

DEFINE_EVENT(wrong_layout_fence, drm_sched_process_job,
	TP_PROTO(struct drm_sched_fence *fence),
	TP_ARGS(fence)
);

DEFINE_EVENT(wrong_layout_fence, drm_sched_job_done,
	TP_PROTO(struct drm_sched_fence *fence),
	TP_ARGS(fence)
);

DECLARE_EVENT_CLASS(wrong_layout_amdgpu,
	TP_PROTO(struct amdgpu_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(__field(bool, has_job)),
	TP_fast_assign(__entry->has_job = job;),
	TP_printk("has_job=%d", __entry->has_job)
);

DEFINE_EVENT(wrong_layout_amdgpu, amdgpu_cs_ioctl,
	TP_PROTO(struct amdgpu_job *job),
	TP_ARGS(job)
);

DEFINE_EVENT(wrong_layout_amdgpu, amdgpu_sched_run_job,
	TP_PROTO(struct amdgpu_job *job),
	TP_ARGS(job)
);

#endif /* WRONG_LAYOUT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE wrong_layout_trace
#include <trace/define_trace.h>
