// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Kernels that are slow for a known reason, each at a line of its own, for tests/device/checks_stalls.py.
 *
 * stalls run MS       each kernel again and again for so many milliseconds. Prints, for each, a line
 *                     of JSON: its name, the reason that its warps wait for, and the lines that may have it
 * stalls loop COUNT   so many launches of a kernel that does nothing. Prints the nanoseconds of one, and
 *                     how much memory of the GPU is free
 */
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                              \
	do {                                                                                     \
		cudaError_t error = (call);                                                      \
		if (error != cudaSuccess) {                                                      \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));           \
			exit(2);                                                                 \
		}                                                                                \
	} while (0)

/* Each load's address is what the load before has found. */
static const int memory_line = __LINE__ + 6;
extern "C" __global__ void stall_memory(const uint32_t *next, uint32_t *out, int steps)
{
	uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < steps; i++)
		at = next[at];
	out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

/* Each instruction needs the result of the one before, a few cycles later. */
static const int dependency_line = __LINE__ + 8;
extern "C" __global__ void stall_dependency(float *out, float factor, int steps)
{
	float x = (float)threadIdx.x;

	for (int i = 0; i < steps; i++) {
#pragma unroll
		for (int j = 0; j < 64; j++)
			x = fmaf(x, factor, 1.0f);
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

/*
 * One warp of a block works, the others wait for it. A warp that waits is found at the instruction behind the
 * barrier: that of the loop.
 */
static const int barrier_first = __LINE__ + 5, barrier_last = __LINE__ + 9;
extern "C" __global__ void stall_barrier(float *out, float factor, int steps)
{
	float x = (float)threadIdx.x;

	for (int i = 0; i < steps; i++) {
		if (threadIdx.x < 32)
			for (int j = 0; j < 256; j++)
				x = fmaf(x, factor, 1.0f);
		__syncthreads();
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

/* Matrix products of registers: many warps want the tensor pipe at the same time. */
static const int tensor_first = __LINE__ + 1;
static __device__ __forceinline__ void multiply(float c[4], const uint32_t a[4], const uint32_t b[2])
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
		     "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static const int tensor_last = __LINE__ + 9;
extern "C" __global__ void stall_tensor(float *out, uint32_t seed, int steps)
{
	const uint32_t a[4] = { seed, seed, seed, seed }, b[2] = { seed, seed };
	float c[8][4] = {};

	for (int i = 0; i < steps; i++) {
#pragma unroll
		for (int j = 0; j < 8; j++)
			multiply(c[j], a, b);
	}
	for (int j = 1; j < 8; j++)
		c[0][0] += c[j][0] + c[j][1] + c[j][2] + c[j][3];
	out[blockIdx.x * blockDim.x + threadIdx.x] = c[0][0];
}

extern "C" __global__ void nothing()
{
}

static double now_ms()
{
	return std::chrono::duration<double, std::milli>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

/* Two blocks for each multiprocessor. */
struct gpu {
	int blocks;
	uint32_t *next;
	uint32_t entries;
	float *out;
};

static gpu prepare()
{
	gpu gpu = {};
	uint32_t *host;

	CHECK(cudaDeviceGetAttribute(&gpu.blocks, cudaDevAttrMultiProcessorCount, 0));
	gpu.blocks *= 2;
	/* 256 MiB: more than caches have. Every step is a prime far away, and all are on one circle. */
	gpu.entries = 1u << 26;
	host = (uint32_t *)malloc(gpu.entries * sizeof(*host));
	for (uint32_t i = 0; i < gpu.entries; i++)
		host[i] = (i + 15485863u) & (gpu.entries - 1);
	CHECK(cudaMalloc(&gpu.next, gpu.entries * sizeof(*host)));
	CHECK(cudaMemcpy(gpu.next, host, gpu.entries * sizeof(*host), cudaMemcpyHostToDevice));
	free(host);
	CHECK(cudaMalloc(&gpu.out, (size_t)gpu.blocks * 1024 * sizeof(*gpu.out)));
	return gpu;
}

template <typename launch_t>
static void repeat(const char *name, const char *reason, int first, int last, double ms, launch_t launch)
{
	double until = now_ms() + ms;
	unsigned int count = 0;

	do {
		launch();
		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
		count++;
	} while (now_ms() < until);
	printf("{\"kernel\": \"%s\", \"reason\": \"%s\", \"first\": %d, \"last\": %d, \"count\": %u}\n",
	       name, reason, first, last, count);
}

static void run(double ms)
{
	gpu gpu = prepare();

	/* One warp for each scheduler, or fewer: nothing hides what it waits for. */
	repeat("stall_memory", "long_scoreboard", memory_line, memory_line, ms,
	       [&] { stall_memory<<<gpu.blocks, 64>>>(gpu.next, (uint32_t *)gpu.out, 2000); });
	repeat("stall_dependency", "wait", dependency_line, dependency_line, ms,
	       [&] { stall_dependency<<<gpu.blocks, 64>>>(gpu.out, 1.0001f, 10000); });
	repeat("stall_barrier", "barrier", barrier_first, barrier_last, ms,
	       [&] { stall_barrier<<<gpu.blocks, 1024>>>(gpu.out, 1.0001f, 1000); });
	repeat("stall_tensor", "math_pipe_throttle", tensor_first, tensor_last, ms,
	       [&] { stall_tensor<<<gpu.blocks, 1024>>>(gpu.out, 0, 5000); });
}

static void loop(int count)
{
	size_t free_bytes, all_bytes;
	double begin;

	nothing<<<1, 32>>>();
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemGetInfo(&free_bytes, &all_bytes));
	begin = now_ms();
	for (int i = 0; i < count; i++)
		nothing<<<1, 32>>>();
	CHECK(cudaDeviceSynchronize());
	printf("{\"ns\": %.1f, \"free_bytes\": %zu}\n", (now_ms() - begin) * 1e6 / count, free_bytes);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "run"))
		run(atof(argv[2]));
	else if (argc == 3 && !strcmp(argv[1], "loop"))
		loop(atoi(argv[2]));
	else
		return 2;
	return 0;
}
