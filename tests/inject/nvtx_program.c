// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* NVTX as programs use it: its headers, and no CUPTI; the first range is open before CUDA is used. */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

int main(void)
{
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
	nvtxRangeId_t id;

	nvtxRangePushA("before CUDA");
	nvtxDomainRangePushEx(domain, &attributes);
	cudaLaunchKernel("kernel_a", one, one, NULL, 0, NULL);
	nvtxDomainRangePop(domain);
	id = nvtxRangeStartW(L"wide");
	nvtxMarkA("mark");
	nvtxRangeEnd(id);
	nvtxRangePop();
	cudaDeviceSynchronize();
	return 0;
}
