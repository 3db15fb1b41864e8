// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "base/threads.h"
#include "channel/mappings.h"
#include "layer.h"
#include "opencl/command.h"
#include "opencl/completion.h"
#include "wrappers.h"

struct _cl_icd_dispatch inject_opencl;

static struct _cl_icd_dispatch layer_functions;
static struct inject_code loader;
static bool is_ready;

cl_int inject_opencl_layer_info(cl_layer_info what, size_t size, void *value, size_t *size_ret)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char name[] = "gpumon";
	const void *answer = what == CL_LAYER_NAME ? (const void *)name : (const void *)&version;
	size_t length = what == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size < length)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, answer, length);
	if (size_ret)
		*size_ret = length;
	return CL_SUCCESS;
}

/* Where the loader's code is; false before inject_opencl_layer_init(). */
static bool find_loader(struct inject_code *code)
{
	*code = loader;
	return is_ready && loader.size;
}

cl_int inject_opencl_layer_init(cl_uint count, const struct _cl_icd_dispatch *below,
				cl_uint *count_ret, const struct _cl_icd_dispatch **layer,
				const void *caller)
{
	const cl_uint known = sizeof(layer_functions) / sizeof(void *);

	/* Named twice in OPENCL_LAYERS: what is below would be this layer itself. */
	if (!below || !count_ret || !layer || is_ready)
		return CL_INVALID_VALUE;
	if (count > known)
		count = known;
	memcpy(&inject_opencl, below, count * sizeof(void *));
	/* Every driver has these, and nothing can be recorded without them. */
	if (!inject_opencl.clGetEventInfo || !inject_opencl.clGetEventProfilingInfo ||
	    !inject_opencl.clRetainEvent || !inject_opencl.clReleaseEvent)
		return CL_INVALID_VALUE;
	layer_functions = inject_opencl;
	inject_opencl_wrap_objects(&layer_functions);
	inject_opencl_wrap_kernels(&layer_functions);
	inject_opencl_wrap_buffers(&layer_functions);
	inject_opencl_wrap_images(&layer_functions);
	inject_opencl_wrap_svm(&layer_functions);
	inject_opencl_wrap_waits(&layer_functions);
	inject_opencl_wrap_extensions(&layer_functions);
	inject_library_code(caller, &loader);
	is_ready = true;
	*count_ret = count;
	*layer = &layer_functions;
	return CL_SUCCESS;
}

/*
 * OpenCL as a backend of a session. The layer is there from the first call of OpenCL on; whether it
 * records is seen from the session at each call.
 */

static bool reserve_commands(const struct gpumon_message_settings *settings)
{
	inject_opencl_command_reserve(settings->buffer_mib);
	return true;
}

static unsigned int loader_code(struct inject_code *code, unsigned int room)
{
	return room && find_loader(code);
}

/* Commands of an earlier session are nobody's. */
static bool start_opencl(struct inject_thread *thread, bool at_start, const char **why)
{
	(void)thread;
	(void)at_start;
	(void)why;
	inject_opencl_completion_end(NULL, 0, true);
	return true;
}

/* Drivers have locks, which a child of fork must not find locked. */
static void drain_opencl(struct inject_thread *thread)
{
	inject_locks_begin();
	inject_opencl_completion_look(thread);
	inject_locks_end();
}

static void end_opencl(struct inject_thread *thread, bool recorder_lives, unsigned int settle_ms)
{
	inject_opencl_completion_end(recorder_lives ? thread : NULL, settle_ms, settle_ms);
}

static bool forget_opencl(void)
{
	inject_opencl_objects_forked();
	inject_opencl_completion_forked();
	return true;
}

const struct inject_backend inject_opencl_backend = {
	.api = "OpenCL",
	.reserve = reserve_commands,
	.code = loader_code,
	.start = start_opencl,
	.drain = drain_opencl,
	.end = end_opencl,
	.forked = forget_opencl,
};
