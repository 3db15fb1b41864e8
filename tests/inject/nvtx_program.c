// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Uses NVTX like a program: its headers, and no CUPTI. The first range is open before CUDA is used.
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

static void *run(void *argument)
{
	const dim3 one = { 1, 1, 1 };

	cudaLaunchKernel("kernel_c", one, one, NULL, 0, NULL);
	/*
	 * After its first launch, to test that the name is read again: until a file says that it was, or, without
	 * a file, for some time.
	 */
	pthread_setname_np(pthread_self(), "renamed");
	if (!argument)
		usleep(300000);
	while (argument && access(argument, F_OK))
		usleep(10000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	const dim3 one = { 1, 1, 1 };
	nvtxDomainHandle_t domain = nvtxDomainCreateA("of a library");
	nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "registered");
	nvtxEventAttributes_t attributes = {
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.colorType = NVTX_COLOR_ARGB,
		.color = 0xff102030,
		.messageType = NVTX_MESSAGE_TYPE_REGISTERED,
		.message.registered = name,
	};
	cudaStream_t stream;
	nvtxRangeId_t id;

	/* Before and after the capture. */
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "before CUDA");
	nvtxRangePushA("before CUDA");
	nvtxDomainRangePushEx(domain, &attributes);
	cudaLaunchKernel("kernel_a", one, one, NULL, 0, NULL);
	nvtxDomainRangePop(domain);
	id = nvtxRangeStartW(L"wide");
	nvtxMarkA("mark");
	nvtxRangeEnd(id);
	nvtxRangePop();
	cudaStreamCreate(&stream);
	nvtxNameCudaStreamA(stream, "compute");
	nvtxNameCuStreamW(NULL, L"gr\u00fcn");
	cudaLaunchKernel("kernel_b", one, one, NULL, 0, stream);
	pthread_create(&thread, NULL, run, argc > 1 ? argv[1] : NULL);
	pthread_join(thread, NULL);
	cudaDeviceSynchronize();
	return 0;
}
