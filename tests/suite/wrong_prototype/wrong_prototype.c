// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that is named gpu_sched and has its tracepoints, some of them with other arguments. A
 * program that takes them for the real ones dereferences a number.
 */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "wrong_prototype_trace.h"

/* Not a pointer: on amd64 nothing can be at this address. */
#define NO_POINTER 0x6b6b6b6b6b6b6b6bULL

static int fire(const char *text, const struct kernel_param *param)
{
	unsigned int i, count;
	int ret = kstrtouint(text, 0, &count);

	if (ret)
		return ret;
	for (i = 0; i < count; i++) {
		trace_drm_sched_job(NO_POINTER, (void *)NO_POINTER);
		trace_drm_sched_job_queue(NO_POINTER, (void *)NO_POINTER);
	}
	return 0;
}

static const struct kernel_param_ops fire_ops = {
	.set = fire,
};

module_param_cb(fire, &fire_ops, NULL, 0200);
MODULE_PARM_DESC(fire, "written: fire the wrong tracepoints so many times");

static int __init wrong_prototype_init(void)
{
	return 0;
}

static void __exit wrong_prototype_exit(void)
{
	tracepoint_synchronize_unregister();
}

module_init(wrong_prototype_init);
module_exit(wrong_prototype_exit);

MODULE_AUTHOR("The gpumon authors");
MODULE_DESCRIPTION("Tracepoints of gpu_sched with wrong prototypes, for a test");
MODULE_LICENSE("GPL");
