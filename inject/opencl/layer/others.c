// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Calls that wait, and calls that give a device nothing to do. */
#include "opencl/command.h"
#include "wrappers.h"

#define RECORDED(function, call)                                  \
	do {                                                      \
		bool is_recorded = inject_other_begin(INJECT_##function); \
		cl_int result = inject_opencl.function call;      \
									  \
		if (is_recorded)                                  \
			inject_other_end();                       \
		return result;                                    \
	} while (0)

static cl_int finish(cl_command_queue queue)
{
	RECORDED(clFinish, (queue));
}

static cl_int wait_for_events(cl_uint count, const cl_event *list)
{
	RECORDED(clWaitForEvents, (count, list));
}

static cl_int flush(cl_command_queue queue)
{
	RECORDED(clFlush, (queue));
}

static cl_int marker(cl_command_queue queue, cl_event *event)
{
	RECORDED(clEnqueueMarker, (queue, event));
}

static cl_int marker_with(cl_command_queue queue, cl_uint count, const cl_event *list,
			  cl_event *event)
{
	RECORDED(clEnqueueMarkerWithWaitList, (queue, count, list, event));
}

static cl_int barrier(cl_command_queue queue)
{
	RECORDED(clEnqueueBarrier, (queue));
}

static cl_int barrier_with(cl_command_queue queue, cl_uint count, const cl_event *list,
			   cl_event *event)
{
	RECORDED(clEnqueueBarrierWithWaitList, (queue, count, list, event));
}

static cl_int svm_free(cl_command_queue queue, cl_uint pointers, void *pointer_list[],
		       void (*function)(cl_command_queue queue, cl_uint count, void *list[],
					void *data),
		       void *data, cl_uint count, const cl_event *list, cl_event *event)
{
	RECORDED(clEnqueueSVMFree,
		 (queue, pointers, pointer_list, function, data, count, list, event));
}

void inject_wrap_others(struct _cl_icd_dispatch *layer)
{
	INJECT_WRAP(layer, clFinish, finish);
	INJECT_WRAP(layer, clWaitForEvents, wait_for_events);
	INJECT_WRAP(layer, clFlush, flush);
	INJECT_WRAP(layer, clEnqueueMarker, marker);
	INJECT_WRAP(layer, clEnqueueMarkerWithWaitList, marker_with);
	INJECT_WRAP(layer, clEnqueueBarrier, barrier);
	INJECT_WRAP(layer, clEnqueueBarrierWithWaitList, barrier_with);
	INJECT_WRAP(layer, clEnqueueSVMFree, svm_free);
}
