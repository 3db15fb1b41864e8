// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Queues measure times, and the program does not see that: what it asks of them, and of the events of
 * their commands, is answered as without us.
 */
#include <string.h>

#include "opencl/completion.h"
#include "opencl/objects.h"
#include "wrappers.h"

static _Atomic uint32_t queues;

/* Not where nobody will ask, nor on queues of the device itself. */
static bool is_to_be_changed(cl_command_queue_properties asked)
{
	return !(asked & (CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE)) &&
	       !(atomic_load(&inject_session.is_open) &&
		 inject_session.record & GPUMON_RECORD_NO_TIMES);
}

static void add_queue(cl_command_queue handle, cl_context context, cl_device_id device_handle,
		      cl_command_queue_properties asked, bool is_changed,
		      const cl_queue_properties *properties)
{
	struct inject_opencl_device *device = inject_opencl_device_add(device_handle);
	struct inject_opencl_queue *queue = device ? inject_opencl_queue_add(handle) : NULL;

	if (!queue)
		return;
	queue->device = device;
	queue->context = INJECT_OPENCL_ID(inject_opencl_context_number(context));
	queue->id = INJECT_OPENCL_ID(atomic_fetch_add(&queues, 1) + 1);
	atomic_store(&queue->generation, 0);
	queue->in_order = !(asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	queue->is_timed = is_changed || asked & CL_QUEUE_PROFILING_ENABLE;
	queue->is_changed = is_changed;
	queue->property_count = 0;
	while (properties && queue->property_count < INJECT_OPENCL_PROPERTIES) {
		queue->properties[queue->property_count] = properties[queue->property_count];
		if (!(queue->property_count++ % 2) && !properties[queue->property_count - 1])
			break;
	}
}

static cl_command_queue create_queue(cl_context context, cl_device_id device,
				     cl_command_queue_properties properties, cl_int *result)
{
	bool is_changed = is_to_be_changed(properties);
	cl_command_queue queue = NULL;

	if (is_changed)
		queue = inject_opencl.clCreateCommandQueue(
			context, device, properties | CL_QUEUE_PROFILING_ENABLE, result);
	/* A device that cannot measure, or the program's own mistake, of which it gets the error. */
	if (!queue) {
		is_changed = false;
		queue = inject_opencl.clCreateCommandQueue(context, device, properties, result);
	}
	if (queue)
		add_queue(queue, context, device, properties, is_changed, NULL);
	return queue;
}

/* False: more than there is room for. */
static bool add_profiling(const cl_queue_properties *properties, cl_queue_properties *changed)
{
	unsigned int at = 0;
	bool is_set = false;

	for (; properties && properties[at]; at += 2) {
		if (at + 4 > INJECT_OPENCL_PROPERTIES)
			return false;
		changed[at] = properties[at];
		changed[at + 1] = properties[at + 1];
		if (properties[at] == CL_QUEUE_PROPERTIES) {
			changed[at + 1] |= CL_QUEUE_PROFILING_ENABLE;
			is_set = true;
		}
	}
	if (!is_set) {
		changed[at++] = CL_QUEUE_PROPERTIES;
		changed[at++] = CL_QUEUE_PROFILING_ENABLE;
	}
	changed[at] = 0;
	return true;
}

static cl_command_queue_properties asked_properties(const cl_queue_properties *properties)
{
	for (; properties && *properties; properties += 2)
		if (properties[0] == CL_QUEUE_PROPERTIES)
			return properties[1];
	return 0;
}

cl_command_queue inject_opencl_create_queue_by(inject_opencl_create_queue_fn below,
					       cl_context context, cl_device_id device,
					       const cl_queue_properties *properties,
					       cl_int *result)
{
	cl_command_queue_properties asked = asked_properties(properties);
	cl_queue_properties changed[INJECT_OPENCL_PROPERTIES + 2];
	cl_command_queue queue = NULL;
	bool is_changed = is_to_be_changed(asked) && add_profiling(properties, changed);

	if (is_changed)
		queue = below(context, device, changed, result);
	if (!queue) {
		is_changed = false;
		queue = below(context, device, properties, result);
	}
	if (queue)
		add_queue(queue, context, device, asked, is_changed, properties);
	return queue;
}

static cl_command_queue create_queue_with(cl_context context, cl_device_id device,
					  const cl_queue_properties *properties, cl_int *result)
{
	return inject_opencl_create_queue_by(inject_opencl.clCreateCommandQueueWithProperties,
					     context, device, properties, result);
}

/* A function of OpenCL 1.0. Properties that the program sets from then on are its own. */
static cl_int set_queue_property(cl_command_queue handle, cl_command_queue_properties properties,
				 cl_bool enable, cl_command_queue_properties *before)
{
	cl_int result = inject_opencl.clSetCommandQueueProperty(handle, properties, enable, before);
	struct inject_opencl_queue *queue = inject_opencl_queue_find(handle);

	if (result != CL_SUCCESS || !queue)
		return result;
	if (before && queue->is_changed)
		*before &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	if (properties & CL_QUEUE_PROFILING_ENABLE) {
		queue->is_timed = enable;
		queue->is_changed = false;
	}
	if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
		queue->in_order = !enable;
	return result;
}

static cl_int answer_properties(const struct inject_opencl_queue *queue, size_t size, void *value,
				size_t *size_ret)
{
	size_t bytes = queue->property_count * sizeof(queue->properties[0]);

	if (value && size < bytes)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, queue->properties, bytes);
	if (size_ret)
		*size_ret = bytes;
	return CL_SUCCESS;
}

static cl_int get_queue_info(cl_command_queue handle, cl_command_queue_info what, size_t size,
			     void *value, size_t *size_ret)
{
	struct inject_opencl_queue *queue = inject_opencl_queue_find(handle);
	cl_command_queue_properties properties;
	cl_int result;

	if (what == CL_QUEUE_REFERENCE_COUNT)
		inject_opencl_completion_now(true);
	/* The list that the driver has is longer. Before OpenCL 3.0 it has none. */
	if (what == CL_QUEUE_PROPERTIES_ARRAY && queue && queue->is_changed &&
	    inject_opencl.clGetCommandQueueInfo(handle, what, 0, NULL, NULL) == CL_SUCCESS)
		return answer_properties(queue, size, value, size_ret);
	result = inject_opencl.clGetCommandQueueInfo(handle, what, size, value, size_ret);
	if (result != CL_SUCCESS || !queue || !queue->is_changed)
		return result;
	if (what == CL_QUEUE_PROPERTIES && value && size >= sizeof(properties)) {
		memcpy(&properties, value, sizeof(properties));
		properties &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
		memcpy(value, &properties, sizeof(properties));
	}
	return result;
}

/* Commands hold their queue and its context: events of this library would keep them. */
static cl_int release_queue(cl_command_queue handle)
{
	inject_opencl_completion_now(false);
	return inject_opencl.clReleaseCommandQueue(handle);
}

static cl_int release_context(cl_context handle)
{
	cl_uint count = 0;

	inject_opencl_completion_now(false);
	if (inject_opencl.clGetContextInfo(handle, CL_CONTEXT_REFERENCE_COUNT, sizeof(count),
					   &count, NULL) == CL_SUCCESS &&
	    count == 1)
		inject_opencl_context_forget(handle);
	return inject_opencl.clReleaseContext(handle);
}

static cl_int get_context_info(cl_context handle, cl_context_info what, size_t size, void *value,
			       size_t *size_ret)
{
	if (what == CL_CONTEXT_REFERENCE_COUNT)
		inject_opencl_completion_now(true);
	return inject_opencl.clGetContextInfo(handle, what, size, value, size_ret);
}

static cl_int get_memory_info(cl_mem handle, cl_mem_info what, size_t size, void *value,
			      size_t *size_ret)
{
	if (what == CL_MEM_REFERENCE_COUNT || what == CL_MEM_MAP_COUNT)
		inject_opencl_completion_now(true);
	return inject_opencl.clGetMemObjectInfo(handle, what, size, value, size_ret);
}

static cl_int release_memory(cl_mem handle)
{
	inject_opencl_completion_now(false);
	return inject_opencl.clReleaseMemObject(handle);
}

static cl_int get_event_info(cl_event event, cl_event_info what, size_t size, void *value,
			     size_t *size_ret)
{
	cl_uint count;
	cl_int result, status;

	if (what == CL_EVENT_REFERENCE_COUNT)
		inject_opencl_completion_now(true);
	result = inject_opencl.clGetEventInfo(event, what, size, value, size_ret);
	if (what == CL_EVENT_REFERENCE_COUNT && result == CL_SUCCESS && value &&
	    size >= sizeof(count)) {
		memcpy(&count, value, sizeof(count));
		count -= inject_opencl_completion_references(event);
		memcpy(value, &count, sizeof(count));
	}
	/* A program may ask until it is so, instead of waiting. */
	if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && result == CL_SUCCESS && value &&
	    size >= sizeof(status)) {
		memcpy(&status, value, sizeof(status));
		if (status <= CL_COMPLETE)
			inject_opencl_completion_waited_for(1, &event);
	}
	return result;
}

static cl_int get_event_times(cl_event event, cl_profiling_info what, size_t size, void *value,
			      size_t *size_ret)
{
	cl_command_queue handle = NULL;
	struct inject_opencl_queue *queue = NULL;

	if (inject_opencl.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle,
					 NULL) == CL_SUCCESS)
		queue = handle ? inject_opencl_queue_find(handle) : NULL;
	if (queue && queue->is_changed)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return inject_opencl.clGetEventProfilingInfo(event, what, size, value, size_ret);
}

void inject_opencl_wrap_objects(struct _cl_icd_dispatch *layer)
{
	INJECT_OPENCL_WRAP(layer, clCreateCommandQueue, create_queue);
	INJECT_OPENCL_WRAP(layer, clCreateCommandQueueWithProperties, create_queue_with);
	INJECT_OPENCL_WRAP(layer, clSetCommandQueueProperty, set_queue_property);
	INJECT_OPENCL_WRAP(layer, clGetCommandQueueInfo, get_queue_info);
	INJECT_OPENCL_WRAP(layer, clReleaseCommandQueue, release_queue);
	INJECT_OPENCL_WRAP(layer, clReleaseContext, release_context);
	INJECT_OPENCL_WRAP(layer, clGetContextInfo, get_context_info);
	INJECT_OPENCL_WRAP(layer, clGetMemObjectInfo, get_memory_info);
	INJECT_OPENCL_WRAP(layer, clReleaseMemObject, release_memory);
	INJECT_OPENCL_WRAP(layer, clGetEventInfo, get_event_info);
	INJECT_OPENCL_WRAP(layer, clGetEventProfilingInfo, get_event_times);
}
