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

static void fire_once(void)
{
	trace_drm_sched_job(NO_POINTER, (void *)NO_POINTER);
	trace_drm_sched_job_queue(NO_POINTER, (void *)NO_POINTER);
}

#include "../lib/wrong_module.h"

MODULE_DESCRIPTION("Tracepoints of gpu_sched with wrong prototypes, for a test");
