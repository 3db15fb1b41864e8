// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "opencl/command.h"
#include "opencl/completion.h"
#include "wrappers.h"

/* The handle may have been another kernel's. */
static void forget_name(cl_kernel handle)
{
	struct inject_opencl_kernel *kernel = inject_opencl_kernel_find(handle);

	if (kernel)
		kernel->name[0] = '\0';
}

static cl_kernel create_kernel(cl_program program, const char *name, cl_int *result)
{
	cl_kernel kernel = inject_opencl.clCreateKernel(program, name, result);

	if (kernel)
		forget_name(kernel);
	return kernel;
}

static cl_int create_kernels(cl_program program, cl_uint count, cl_kernel *kernels,
			     cl_uint *count_ret)
{
	cl_uint made = 0, i;
	cl_int result = inject_opencl.clCreateKernelsInProgram(program, count, kernels, &made);

	for (i = 0; result == CL_SUCCESS && kernels && i < made && i < count; i++)
		forget_name(kernels[i]);
	if (result == CL_SUCCESS && count_ret)
		*count_ret = made;
	return result;
}

static cl_kernel clone_kernel(cl_kernel source, cl_int *result)
{
	cl_kernel kernel = inject_opencl.clCloneKernel(source, result);

	if (kernel)
		forget_name(kernel);
	return kernel;
}

static cl_int get_kernel_info(cl_kernel kernel, cl_kernel_info what, size_t size, void *value,
			      size_t *size_ret)
{
	if (what == CL_KERNEL_REFERENCE_COUNT)
		inject_opencl_completion_now(true);
	return inject_opencl.clGetKernelInfo(kernel, what, size, value, size_ret);
}

static cl_int enqueue_range(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
			    const size_t *offset, const size_t *global, const size_t *local,
			    cl_uint count, const cl_event *list, cl_event *event)
{
	struct inject_opencl_command command;
	cl_int result;

	inject_opencl_command_begin(&command, queue, event, INJECT_clEnqueueNDRangeKernel);
	result = inject_opencl.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
						      local, count, list, command.event);
	if (result == CL_SUCCESS)
		inject_opencl_command_kernel(&command, kernel, dimensions, global, local);
	inject_opencl_command_end(&command, result);
	return result;
}

static cl_int enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint count,
			   const cl_event *list, cl_event *event)
{
	static const size_t one[3] = { 1, 1, 1 };
	struct inject_opencl_command command;
	cl_int result;

	inject_opencl_command_begin(&command, queue, event, INJECT_clEnqueueTask);
	result = inject_opencl.clEnqueueTask(queue, kernel, count, list, command.event);
	if (result == CL_SUCCESS)
		inject_opencl_command_kernel(&command, kernel, 1, one, one);
	inject_opencl_command_end(&command, result);
	return result;
}

static cl_int enqueue_native(cl_command_queue queue, void (*function)(void *), void *arguments,
			     size_t size, cl_uint buffers, const cl_mem *buffer_list,
			     const void **places, cl_uint count, const cl_event *list,
			     cl_event *event)
{
	INJECT_OPENCL_ENQUEUE(clEnqueueNativeKernel,
			      (queue, function, arguments, size, buffers, buffer_list, places,
			       count, list, command.event),
			      inject_opencl_command_named(&command, "[native kernel]", 0));
}

void inject_opencl_wrap_kernels(struct _cl_icd_dispatch *layer)
{
	INJECT_OPENCL_WRAP(layer, clCreateKernel, create_kernel);
	INJECT_OPENCL_WRAP(layer, clCreateKernelsInProgram, create_kernels);
	INJECT_OPENCL_WRAP(layer, clCloneKernel, clone_kernel);
	INJECT_OPENCL_WRAP(layer, clGetKernelInfo, get_kernel_info);
	INJECT_OPENCL_WRAP(layer, clEnqueueNDRangeKernel, enqueue_range);
	INJECT_OPENCL_WRAP(layer, clEnqueueTask, enqueue_task);
	INJECT_OPENCL_WRAP(layer, clEnqueueNativeKernel, enqueue_native);
}
