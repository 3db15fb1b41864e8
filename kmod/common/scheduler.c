// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where no BTF says how the types of the DRM scheduler are laid out: are the members of a live job
 * where the headers have them? gpu_sched.ko itself is asked.
 */
#include <linux/dma-fence.h>
#include <linux/kallsyms.h>
#include <linux/string.h>
#include <drm/gpu_scheduler.h>

#include "core/nofault.h"
#include "device.h"
#include "scheduler.h"

#define READ_NOFAULT(_to, _from) gpumon_read_nofault(_to, (const void *)(_from), sizeof(*(_to)))

/*
 * Is this a fence of the scheduler's? @ops: gets its function that names the timeline, which the
 * scheduler's fences have.
 */
static bool is_schedulers(const struct dma_fence *fence, struct dma_fence_ops *ops)
{
	static const char expected[] = "drm_sched_fence_get_timeline_name";
	const struct dma_fence_ops *from;
	char symbol[KSYM_SYMBOL_LEN];

	if (!READ_NOFAULT(&from, &fence->ops) ||
	    !READ_NOFAULT(&ops->get_timeline_name, &from->get_timeline_name))
		return false;
	/* The compiler may have added to the name. */
	sprint_symbol_no_offset(symbol, (unsigned long)ops->get_timeline_name);
	return strstarts(symbol, expected);
}

/* The two fences of a job have numbers that belong together. */
static bool are_pair(const struct dma_fence *scheduled, const struct dma_fence *finished)
{
	u64 context, next, seqno, same;

	return READ_NOFAULT(&context, &scheduled->context) &&
	       READ_NOFAULT(&next, &finished->context) && next == context + 1 &&
	       READ_NOFAULT(&seqno, &scheduled->seqno) && READ_NOFAULT(&same, &finished->seqno) &&
	       same == seqno;
}

/**
 * gpumon_scheduler_differs - is a member not where the headers have it
 * @sched: scheduler of a job, as the job has it by the headers; any value
 * @s_fence: fence of the job, in the same way
 *
 * Both fences have to be the scheduler's, by their functions. One of these is then called for the
 * name of the ring, which it finds by the layout that gpu_sched.ko was built with: the name by the
 * headers has to be the same.
 *
 * Context: any, slow.
 * Return: the first that is not there, for a reader; "" if that cannot be told: a scheduler without
 *         a name; NULL if all are.
 */
const char *gpumon_scheduler_differs(const struct drm_gpu_scheduler *sched,
				     const struct drm_sched_fence *s_fence)
{
	struct dma_fence *finished = (struct dma_fence *)&s_fence->finished;
	const struct drm_gpu_scheduler *of_fence;
	struct dma_fence_ops scheduled_ops, ops;
	const struct device *dev;
	const char *name;

	if (!is_schedulers(&s_fence->scheduled, &scheduled_ops) || !is_schedulers(finished, &ops) ||
	    ops.get_timeline_name != scheduled_ops.get_timeline_name)
		return "drm_sched_job.s_fence";
	if (!are_pair(&s_fence->scheduled, finished))
		return "drm_sched_fence.finished";
	if (!READ_NOFAULT(&of_fence, &s_fence->sched))
		return "drm_sched_fence.sched";
	if (!READ_NOFAULT(&name, &of_fence->name) ||
	    name != (__force const char *)ops.get_timeline_name(finished))
		return "drm_gpu_scheduler.name";
	if (sched != of_fence)
		return "drm_sched_job.sched";
	if (!READ_NOFAULT(&dev, &sched->dev) || !gpumon_is_device(dev))
		return "drm_gpu_scheduler.dev";
	return name ? NULL : "";
}
