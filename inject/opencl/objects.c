// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "base/handles.h"
#include "objects.h"

/* Handles of different kinds of objects may be equal. */
enum kind {
	QUEUE,
	KERNEL,
	DEVICE,
	CONTEXT,
	BUFFER,
};

static struct inject_handles handles = INJECT_HANDLES;

/* Mapped memory: there may be so many addresses that objects would find no room beside them. */
static struct inject_handles mapped = INJECT_HANDLES;
static _Atomic uint32_t devices, buffers;
static uint32_t contexts;

struct inject_queue *inject_queue_find(cl_command_queue handle)
{
	return inject_handle_find(&handles, handle, QUEUE);
}

struct inject_kernel *inject_kernel_find(cl_kernel handle)
{
	return inject_handle_find(&handles, handle, KERNEL);
}

struct inject_buffer *inject_buffer_find(cl_command_buffer_khr handle)
{
	return inject_handle_find(&handles, handle, BUFFER);
}

struct inject_buffer *inject_buffer_add(cl_command_buffer_khr handle)
{
	struct inject_buffer *buffer = inject_handle_add(&handles, handle, BUFFER, sizeof(*buffer));

	if (buffer)
		buffer->id = INJECT_OPENCL_ID(atomic_fetch_add(&buffers, 1) + 1);
	return buffer;
}

struct inject_queue *inject_queue_add(cl_command_queue handle)
{
	return inject_handle_add(&handles, handle, QUEUE, sizeof(struct inject_queue));
}

struct inject_kernel *inject_kernel_learn(cl_kernel handle)
{
	struct inject_kernel *kernel =
		inject_handle_add(&handles, handle, KERNEL, sizeof(struct inject_kernel));
	char name[1024] = "";
	bool is_known;

	if (!kernel)
		return NULL;
	/* One that is too long is an error, not cut. */
	is_known = inject_opencl.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1,
						 name, NULL) == CL_SUCCESS &&
		   name[0];
	snprintf(kernel->name, sizeof(kernel->name), "%s", is_known ? name : "[unknown kernel]");
	atomic_store(&kernel->id, 0);
	return kernel;
}

/* Whether @name is one of those with ", " between. */
static bool has_name(const char *names, const char *name)
{
	size_t length = strlen(name);
	const char *at = names;

	while ((at = strstr(at, name))) {
		if ((at == names || at[-1] == ' ') && (!at[length] || at[length] == ','))
			return true;
		at += length;
	}
	return false;
}

void inject_buffer_add_kernel(struct inject_buffer *buffer, cl_kernel handle)
{
	struct inject_kernel *kernel = inject_kernel_find(handle);
	size_t used = strlen(buffer->names);
	int length;

	if (!kernel || !kernel->name[0])
		kernel = inject_kernel_learn(handle);
	buffer->kernels++;
	if (!kernel || has_name(buffer->names, kernel->name))
		return;
	length = snprintf(buffer->names + used, sizeof(buffer->names) - used, "%s%s",
			  used ? ", " : "", kernel->name);
	if (length < 0 || (size_t)length >= sizeof(buffer->names) - used) {
		buffer->names[used] = '\0';
		buffer->is_cut = true;
	}
}

struct inject_device *inject_device_add(cl_device_id handle)
{
	struct inject_device *device = inject_handle_add(&handles, handle, DEVICE, sizeof(*device));

	if (!device)
		return NULL;
	pthread_mutex_lock(&handles.adding);
	if (!device->handle) {
		device->id = INJECT_OPENCL_ID(devices++);
		device->handle = handle;
	}
	pthread_mutex_unlock(&handles.adding);
	return device;
}

uint32_t inject_context_number(cl_context handle)
{
	return (uint32_t)inject_handle_count(&handles, handle, CONTEXT, &contexts);
}

void inject_context_forget(cl_context handle)
{
	if (inject_handle_number(&handles, handle, CONTEXT))
		inject_handle_set(&handles, handle, CONTEXT, 0);
}

void inject_mapped_add(const void *pointer, uint64_t bytes)
{
	inject_handle_set(&mapped, pointer, 0, bytes);
}

uint64_t inject_mapped_bytes(const void *pointer)
{
	return inject_handle_number(&mapped, pointer, 0);
}

void inject_objects_forked(void)
{
	inject_handles_forked(&handles);
	inject_handles_forked(&mapped);
}
