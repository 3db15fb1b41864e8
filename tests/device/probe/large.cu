// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Kernels that share functions with so many accesses that programs are put into them in their compact form. Prints
 * what it knows as JSON: threads, bytes that are read and written by kernel, a sum, and that of a cooperative launch.
 */
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>

#define PARTS	 24
#define ACCESSES 12 /* of each kind in a part */

#define CHECK(call)                                                                             \
	do {                                                                                    \
		cudaError_t error_ = call;                                                      \
		if (error_ != cudaSuccess) {                                                    \
			fprintf(stderr, "large: %s: %s\n", #call, cudaGetErrorString(error_));  \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

template <int N> __device__ __noinline__ void part(volatile int *p)
{
#pragma unroll
	for (int i = 0; i < ACCESSES; i++)
		p[(N + i) * 256 + threadIdx.x] += N + i;
}

template <int N> __device__ void parts(volatile int *p)
{
	if constexpr (N < PARTS) {
		part<N>(p);
		parts<N + 1>(p);
	}
}

extern "C" __global__ void all_parts(volatile int *p)
{
	parts<0>(p);
}

/* Warps come to the parts by halves, and one half leaves early. */
extern "C" __global__ void some_parts(volatile int *p)
{
	if (threadIdx.x & 1) {
		part<3>(p);
		part<7>(p);
		return;
	}
	part<3>(p);
	if (threadIdx.x & 2)
		part<23>(p);
}

extern "C" __global__ void together(volatile int *p)
{
	part<5>(p + blockIdx.x * (PARTS + ACCESSES) * 256);
	cooperative_groups::this_grid().sync();
	part<6>(p + (gridDim.x - 1 - blockIdx.x) * (PARTS + ACCESSES) * 256);
}

int main()
{
	const int words = (PARTS + ACCESSES) * 256, each = ACCESSES * 4;
	int processors, blocks, *p;
	long long sum = 0;
	cudaError_t error;

	CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
	blocks = processors;
	CHECK(cudaMallocManaged(&p, sizeof(int) * words * blocks));
	for (int i = 0; i < words * blocks; i++)
		p[i] = 0;
	all_parts<<<1, 256>>>(p);
	some_parts<<<1, 128>>>(p);
	void *parameters[] = { &p };
	/* As many blocks as fit without programs, of the largest size. */
	error = cudaLaunchCooperativeKernel((void *)together, blocks, 256, parameters);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < words * blocks; i++)
		sum += p[i];
	printf("{\"threads\": {\"all_parts\": 256, \"some_parts\": 128, \"together\": %d}, \"bytes\": {\"all_parts\": %d, "
	       "\"some_parts\": %d, \"together\": %d}, \"sum\": %lld, \"cooperative\": %d}\n",
	       256 * blocks, PARTS * each * 256, each * (64 * 2 + 64 + 32), 2 * each * 256 * blocks, sum, error);
	return 0;
}
