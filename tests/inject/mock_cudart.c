// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Stand-in for libcudart.so: functions that call the driver, each with its own callbacks. */
#include <pthread.h>
#include <stdlib.h>

#include <cupti.h>

#include "mock.h"

void mock_context(bool ends);

static void initialise(void)
{
	cuInit(0);
	mock_context(false);
	mock_load_modules(false);
}

/* Other threads wait until it is done, as with the real one. */
static void begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, initialise);
}

#define RUNTIME(name, version, launch, parameters, body)                                     \
	(cudaError_t) mock_call(CUPTI_CB_DOMAIN_RUNTIME_API,                                 \
				CUPTI_RUNTIME_TRACE_CBID_##name##_v##version, #name, launch, \
				__builtin_return_address(0), parameters, body)

static int launch_kernel(const void *parameters)
{
	const cudaLaunchKernel_v7000_params *p = parameters;

	return (int)cuLaunchKernel((CUfunction)(uintptr_t)p->func, p->gridDim.x, p->gridDim.y,
				   p->gridDim.z, p->blockDim.x, p->blockDim.y, p->blockDim.z,
				   (unsigned int)p->sharedMem, (CUstream)p->stream, p->args, NULL);
}

cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
			     size_t sharedMem, cudaStream_t stream)
{
	const cudaLaunchKernel_v7000_params p = { func, gridDim, blockDim, args, sharedMem, stream };

	begin();
	return RUNTIME(cudaLaunchKernel, 7000, true, &p, launch_kernel);
}

static int launch_kernel_ex(const void *parameters)
{
	const cudaLaunchKernelExC_v11060_params *p = parameters;
	const CUlaunchConfig config = { .gridDimX = 1, .hStream = (CUstream)p->config->stream };

	return (int)cuLaunchKernelEx(&config, (CUfunction)(uintptr_t)p->func, p->args, NULL);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	const cudaLaunchKernelExC_v11060_params p = { config, func, args };

	begin();
	return RUNTIME(cudaLaunchKernelExC, 11060, true, &p, launch_kernel_ex);
}

static int copy_async(const void *parameters)
{
	const cudaMemcpyAsync_v3020_params *p = parameters;

	return (int)cuMemcpyAsync((CUdeviceptr)p->dst, (CUdeviceptr)p->src, p->count,
				  (CUstream)p->stream);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	const cudaMemcpyAsync_v3020_params p = { dst, src, count, kind, stream };

	begin();
	return RUNTIME(cudaMemcpyAsync, 3020, true, &p, copy_async);
}

static int copy_and_wait(const void *parameters)
{
	const cudaMemcpy_v3020_params *p = parameters;

	if (p->kind == cudaMemcpyDeviceToHost)
		return (int)cuMemcpyDtoH(p->dst, (CUdeviceptr)p->src, p->count);
	return (int)cuMemcpyHtoD((CUdeviceptr)p->dst, p->src, p->count);
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	const cudaMemcpy_v3020_params p = { dst, src, count, kind };

	begin();
	return RUNTIME(cudaMemcpy, 3020, true, &p, copy_and_wait);
}

static int set_async(const void *parameters)
{
	const cudaMemsetAsync_v3020_params *p = parameters;

	return (int)cuMemsetD8Async((CUdeviceptr)p->devPtr, (unsigned char)p->value, p->count,
				    (CUstream)p->stream);
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	const cudaMemsetAsync_v3020_params p = { devPtr, value, count, stream };

	begin();
	return RUNTIME(cudaMemsetAsync, 3020, true, &p, set_async);
}

static int nothing(const void *parameters)
{
	(void)parameters;
	return 0;
}

static int wait_for_gpu(const void *parameters)
{
	(void)parameters;
	mock_wait(NULL);
	return 0;
}

cudaError_t cudaDeviceSynchronize(void)
{
	begin();
	return RUNTIME(cudaDeviceSynchronize, 3020, false, NULL, wait_for_gpu);
}

static int allocate(const void *parameters)
{
	mock_allocate(0x7000, *(const size_t *)parameters);
	return 0;
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
	begin();
	*devPtr = (void *)0x7000;
	return RUNTIME(cudaMalloc, 3020, false, &size, allocate);
}

cudaError_t cudaProfilerStart(void)
{
	begin();
	return RUNTIME(cudaProfilerStart, 4000, false, NULL, nothing);
}

cudaError_t cudaProfilerStop(void)
{
	begin();
	return RUNTIME(cudaProfilerStop, 4000, false, NULL, nothing);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	static _Atomic uint32_t last = 20;
	struct mock_stream *mock = calloc(1, sizeof(*mock));

	begin();
	mock->id = ++last;
	*stream = (cudaStream_t)mock;
	mock_stream_made(mock->id);
	return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return (cudaError_t)cuStreamBeginCapture((CUstream)stream, (CUstreamCaptureMode)mode);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	return (cudaError_t)cuStreamEndCapture((CUstream)stream, (CUgraph *)graph);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
					  unsigned long long flags)
{
	return (cudaError_t)cuGraphInstantiateWithFlags((CUgraphExec *)exec, (CUgraph)graph, flags);
}

static int launch_graph(const void *parameters)
{
	const cudaGraphLaunch_v10000_params *p = parameters;

	return (int)cuGraphLaunch((CUgraphExec)p->graphExec, (CUstream)p->stream);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	const cudaGraphLaunch_v10000_params p = { graphExec, stream };

	return RUNTIME(cudaGraphLaunch, 10000, true, &p, launch_graph);
}
