// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Devices and contexts. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cupti.h>

#include "../../inject/mock.h"
#include "device.h"

#define STACK 96

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mock_context primary[DEVICES];
static __thread struct mock_context *stack[STACK];
static __thread int top;
static pid_t own_pid;

#define DRIVER(name, parameters, body)                                                          \
	(CUresult) mock_call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, #name, \
			     false, __builtin_return_address(0), parameters, body)

__attribute__((constructor)) static void install(void)
{
	own_pid = getpid();
	mock_run_install();
}

bool mock_is_child(void)
{
	return getpid() != own_pid;
}

unsigned long mock_setting(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

void mock_device_lock(void)
{
	pthread_mutex_lock(&lock);
}

void mock_device_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

struct mock_context *mock_current(void)
{
	return top && stack[top - 1] && stack[top - 1]->alive ? stack[top - 1] : NULL;
}

/* Locked. Its memory and modules go with it. */
static void end(struct mock_context *context)
{
	while (context->modules)
		mock_module_remove(context->modules);
	while (context->pieces)
		mock_piece_remove(context, context->pieces->at);
	context->alive = false;
}

CUresult cuDeviceGet(CUdevice *device, int number)
{
	*device = number;
	return number >= 0 && number < DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = (int)mock_setting("MOCK_DEVICES", DEVICES);
	return *count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	*text = error == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "an error";
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	snprintf(name, (size_t)size, "Stand-in %d", device);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
	if (mock_is_child())
		return CUDA_ERROR_NOT_INITIALIZED;
	*context = (CUcontext)(top ? stack[top - 1] : NULL);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	if (!mock_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = mock_current()->device;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	if (!top)
		top = 1;
	stack[top - 1] = (struct mock_context *)(void *)context;
	return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext handle)
{
	struct mock_context *context = (struct mock_context *)(void *)handle;

	if (!context || !context->alive || top == STACK)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack[top++] = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
	if (!top)
		return CUDA_ERROR_INVALID_CONTEXT;
	*context = (CUcontext)stack[--top];
	return CUDA_SUCCESS;
}

/* cuda.h has other names for it, by generation. */
CUresult mock_context_create(CUcontext *handle, CUdevice device);

CUresult mock_context_create(CUcontext *handle, CUdevice device)
{
	struct mock_context *context = calloc(1, sizeof(*context));

	context->device = device;
	context->alive = true;
	*handle = (CUcontext)context;
	return cuCtxPushCurrent(*handle);
}

static int destroy(const void *parameters)
{
	struct mock_context *context =
		(struct mock_context *)(void *)*(const CUcontext *)parameters;

	if (!context || !context->alive)
		return CUDA_ERROR_INVALID_CONTEXT;
	mock_device_lock();
	end(context);
	mock_device_unlock();
	if (top && stack[top - 1] == context)
		top--;
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
	return DRIVER(cuCtxDestroy_v2, &context, destroy);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	mock_device_lock();
	primary[device].device = device;
	primary[device].alive = true;
	primary[device].retained++;
	*context = (CUcontext)&primary[device];
	mock_device_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
	*flags = 0;
	*active = primary[device].alive;
	return CUDA_SUCCESS;
}

static int release(const void *parameters)
{
	struct mock_context *context = &primary[*(const CUdevice *)parameters];

	if (!context->retained)
		return CUDA_ERROR_INVALID_CONTEXT;
	mock_device_lock();
	if (!--context->retained)
		end(context);
	mock_device_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	return DRIVER(cuDevicePrimaryCtxRelease_v2, &device, release);
}

/* It goes on, empty, when it is retained again. */
static int reset(const void *parameters)
{
	struct mock_context *context = &primary[*(const CUdevice *)parameters];

	mock_device_lock();
	end(context);
	mock_device_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	return DRIVER(cuDevicePrimaryCtxReset_v2, &device, reset);
}
