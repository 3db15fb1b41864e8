// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that is named gpu_sched or amdgpu and has its tracepoints, with jobs that have one more
 * member than in the headers: so says its BTF.
 *
 * What it fires is laid out as its parameters say: as in the headers, but for one member, which is
 * moved with all that follow it. Without BTF nobody can know. Everything around is something else.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>
#include <linux/module.h>

/* Everything in the header except the job. */
#define drm_sched_job drm_sched_job_of_the_headers
#include <drm/gpu_scheduler.h>
#undef drm_sched_job

struct drm_sched_job {
	u64 added[offsetof(struct drm_sched_job_of_the_headers, s_fence) / sizeof(u64) + 1];
	struct drm_sched_fence *s_fence;
	struct drm_gpu_scheduler *sched;
	u64 more[16];
};

#define CREATE_TRACE_POINTS
#include "wrong_layout_trace.h"

/* A member, by the structure that it is of. */
enum {
	JOB,
	FENCE,
	SCHED
};

#define MEMBER(_of, _type, _member)                                       \
	{                                                                 \
#_type "." #_member, _of, offsetof(struct _type, _member) \
	}
#define JOB_MEMBER(_member)                                                    \
	{                                                                      \
		"drm_sched_job." #_member, JOB,                                \
			offsetof(struct drm_sched_job_of_the_headers, _member) \
	}

static const struct {
	const char *name;
	int of;
	size_t offset;
} members[] = {
	JOB_MEMBER(sched),
	JOB_MEMBER(s_fence),
	MEMBER(FENCE, drm_sched_fence, finished),
	MEMBER(FENCE, drm_sched_fence, parent),
	MEMBER(FENCE, drm_sched_fence, sched),
	MEMBER(SCHED, drm_gpu_scheduler, name),
	MEMBER(SCHED, drm_gpu_scheduler, dev),
};

static char *moved = "";
module_param(moved, charp, 0444);
MODULE_PARM_DESC(moved, "member from which on all is elsewhere");

static int words;
module_param(words, int, 0444);
MODULE_PARM_DESC(words, "how much later, in words; may be negative");

static char *around = "text";
module_param(around, charp, 0444);
MODULE_PARM_DESC(around, "what all other words are: text, number, null or self");

#define SPACE 2048

static u64 objects[3][SPACE / sizeof(u64)];
static struct dma_fence hardware_fence;
static struct device *device;
static char ring_name[] = "gfx";
static char secret[] = "not-a-name-but-a-secret";

static void *member(const char *name)
{
	unsigned int i, from;

	for (i = 0; strcmp(members[i].name, name); i++)
		;
	for (from = 0; from < ARRAY_SIZE(members) && strcmp(members[from].name, moved); from++)
		;
	return (u8 *)objects[members[i].of] + members[i].offset +
	       (from < ARRAY_SIZE(members) && members[from].of == members[i].of &&
				members[i].offset >= members[from].offset ?
			words * (int)sizeof(u64) :
			0);
}

static const char *drm_sched_fence_get_driver_name(struct dma_fence *fence)
{
	return "drm_sched";
}

/* As the scheduler's: the name is found by the layout that it was built with. */
static const char *drm_sched_fence_get_timeline_name(struct dma_fence *fence)
{
	return *(const char **)member("drm_gpu_scheduler.name");
}

static const struct dma_fence_ops scheduled_ops = {
	.get_driver_name = drm_sched_fence_get_driver_name,
	.get_timeline_name = drm_sched_fence_get_timeline_name,
};

static const struct dma_fence_ops finished_ops = {
	.get_driver_name = drm_sched_fence_get_driver_name,
	.get_timeline_name = drm_sched_fence_get_timeline_name,
};

static void fence_set(struct dma_fence *fence, const struct dma_fence_ops *ops, u64 context)
{
	static DEFINE_SPINLOCK(lock);

	dma_fence_init(fence, ops, &lock, context, 1);
}

static void objects_set(void)
{
	u64 word = !strcmp(around, "text")   ? (unsigned long)secret :
		   !strcmp(around, "number") ? 0x6b6b6b6b6b6b6b6bULL :
		   !strcmp(around, "self")   ? (unsigned long)objects :
					       0;
	u64 context = dma_fence_context_alloc(2);
	unsigned int i, n;

	for (n = 0; n < ARRAY_SIZE(objects); n++)
		for (i = 0; i < ARRAY_SIZE(objects[n]); i++)
			objects[n][i] = word;
	fence_set((void *)objects[FENCE], &scheduled_ops, context);
	fence_set(member("drm_sched_fence.finished"), &finished_ops, context + 1);
	*(void **)member("drm_sched_fence.parent") = &hardware_fence;
	*(void **)member("drm_sched_fence.sched") = objects[SCHED];
	*(void **)member("drm_sched_job.s_fence") = objects[FENCE];
	*(void **)member("drm_sched_job.sched") = objects[SCHED];
	*(const char **)member("drm_gpu_scheduler.name") = ring_name;
	*(struct device **)member("drm_gpu_scheduler.dev") = device;
}

static void fire_once(void)
{
	struct drm_sched_job *job = (void *)objects[JOB];
	struct drm_sched_fence *fence = (void *)objects[FENCE];

	if (!device)
		device = root_device_register("wrong_layout");
	objects_set();
	trace_drm_sched_job(job, NULL);
	trace_drm_sched_job_queue(job, NULL);
	trace_drm_run_job(job, NULL);
	trace_drm_sched_job_run(job, NULL);
	trace_drm_sched_process_job(fence);
	trace_drm_sched_job_done(fence);
	trace_amdgpu_cs_ioctl((void *)job);
	trace_amdgpu_sched_run_job((void *)job);
}

static void forget(void)
{
	if (device)
		root_device_unregister(device);
}

#define WRONG_MODULE_EXIT forget()
#include "../lib/wrong_module.h"

MODULE_DESCRIPTION("Tracepoints of gpu_sched and amdgpu with jobs of another layout, for a test");
