/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The symbols of the stand-ins for GPU libraries, without parameters and results. */
#ifndef STANDIN_H
#define STANDIN_H

void __cudaLaunchKernel(void);
void __cudaLaunchKernel_ptsz(void);
void cuCtxSynchronize(void);
void cuDeviceGetCount(void);
void cuEventSynchronize(void);
void cuGraphLaunch(void);
void cuLaunchCooperativeKernel(void);
void cuLaunchKernel(void);
void cuLaunchKernelEx(void);
void cuLaunchKernel_ptsz(void);
void cuMemcpyAsync(void);
void cuMemcpyHtoD_v2(void);
void cuMemsetD16Async(void);
void cuMemsetD8Async(void);
void cuStreamSynchronize(void);
void cudaDeviceSynchronize(void);
void cudaEventSynchronize(void);
void cudaGetDeviceCount(void);
void cudaGraphLaunch(void);
void cudaLaunchCooperativeKernel(void);
void cudaLaunchKernel(void);
void cudaLaunchKernelExC(void);
void cudaLaunchKernel_ptsz(void);
void cudaMemcpy(void);
void cudaMemcpyAsync(void);
void cudaMemsetAsync(void);
void cudaNotKnownToAnybody(void);
void cudaStreamSynchronize(void);
void hipDeviceSynchronize(void);
void hipLaunchKernel(void);
void hipMemcpyAsync(void);
void hipModuleLaunchKernel(void);
void hipStreamSynchronize(void);
void through_middle(void (*function)(void));
void zeCommandListAppendLaunchKernel(void);
void zeCommandListAppendMemoryCopy(void);
void zeCommandQueueSynchronize(void);

#endif /* STANDIN_H */
