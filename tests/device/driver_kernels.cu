// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The kernels of driver.c, which loads them itself. */
extern "C" __global__ void driver_add(float *data, unsigned int count)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		data[i] += 1.0f;
}

extern "C" __global__ void driver_scale(float *data, unsigned int count)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		data[i] *= 0.5f;
}
