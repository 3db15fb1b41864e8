// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Calls that wait, and calls that give a device nothing to do. */
#include <stdlib.h>

#include "opencl/command.h"
#include "wrappers.h"

#define RECORDED(function, call)                                                 \
	do {                                                                     \
		bool is_recorded = inject_opencl_other_begin(INJECT_##function); \
		cl_int result = inject_opencl.function call;                     \
                                                                                 \
		if (is_recorded)                                                 \
			inject_opencl_other_end();                               \
		return result;                                                   \
	} while (0)

static cl_int finish(cl_command_queue queue)
{
	bool is_recorded = inject_opencl_other_begin(INJECT_clFinish);
	cl_int result = inject_opencl.clFinish(queue);

	if (is_recorded)
		inject_opencl_other_end();
	if (result == CL_SUCCESS)
		inject_opencl_completion_waited(queue, 0, NULL);
	return result;
}

/* If a command has failed, the others have been waited for all the same. */
static cl_int wait_for_events(cl_uint count, const cl_event *list)
{
	bool is_recorded = inject_opencl_other_begin(INJECT_clWaitForEvents);
	cl_int result = inject_opencl.clWaitForEvents(count, list);

	if (is_recorded)
		inject_opencl_other_end();
	if (result == CL_SUCCESS || result == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
		inject_opencl_completion_waited_for(count, list);
	return result;
}

typedef void CL_CALLBACK event_fn(cl_event event, cl_int status, void *data);

/* A callback of the program, which wants to hear of an event. */
struct told {
	event_fn *function;
	void *data;
};

/* In a thread of the driver. The program may end as soon as it knows. */
static void CL_CALLBACK tell(cl_event event, cl_int status, void *data)
{
	const struct told told = *(struct told *)data;

	free(data);
	if (status <= CL_COMPLETE)
		inject_opencl_completion_told(event);
	told.function(event, status, told.data);
}

static cl_int set_callback(cl_event event, cl_int status, event_fn *function, void *data)
{
	struct told *told = function ? malloc(sizeof(*told)) : NULL;
	cl_int result;

	if (!told)
		return inject_opencl.clSetEventCallback(event, status, function, data);
	*told = (struct told){ function, data };
	result = inject_opencl.clSetEventCallback(event, status, tell, told);
	if (result != CL_SUCCESS)
		free(told);
	return result;
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

void inject_opencl_wrap_waits(struct _cl_icd_dispatch *layer)
{
	INJECT_OPENCL_WRAP(layer, clFinish, finish);
	INJECT_OPENCL_WRAP(layer, clWaitForEvents, wait_for_events);
	INJECT_OPENCL_WRAP(layer, clSetEventCallback, set_callback);
	INJECT_OPENCL_WRAP(layer, clFlush, flush);
	INJECT_OPENCL_WRAP(layer, clEnqueueMarker, marker);
	INJECT_OPENCL_WRAP(layer, clEnqueueMarkerWithWaitList, marker_with);
	INJECT_OPENCL_WRAP(layer, clEnqueueBarrier, barrier);
	INJECT_OPENCL_WRAP(layer, clEnqueueBarrierWithWaitList, barrier_with);
	INJECT_OPENCL_WRAP(layer, clEnqueueSVMFree, svm_free);
}
