// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A library that is loaded and unloaded, built twice. */
#include <cuda_runtime_api.h>

void plugin(const char *kernel);

void plugin(const char *kernel)
{
	const dim3 one = { 1, 1, 1 };

	cudaLaunchKernel(kernel, one, one, NULL, 0, NULL);
	__asm__ volatile("");
}
