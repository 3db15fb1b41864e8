// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Work of which it is known what a GPU's metrics have to be while it runs:
 *
 *     metrics phases     one phase after the other, each of a second or less; what each of them did is printed
 *                        as a line of JSON, with its begin and end by CLOCK_MONOTONIC
 *     metrics loop N     launches N empty kernels, and prints the nanoseconds of a launch
 *     metrics copy N     copies N GiB within the GPU, and prints the nanoseconds of it
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime.h>

#define MUST(call)                                                                               \
	do {                                                                                     \
		cudaError_t error_ = (call);                                                     \
		if (error_ != cudaSuccess) {                                                     \
			fprintf(stderr, "metrics: %s: %s\n", #call, cudaGetErrorString(error_)); \
			exit(1);                                                                 \
		}                                                                                \
	} while (0)

#define GIB (1ul << 30)

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

__device__ static unsigned long long gpu_clock(void)
{
	unsigned long long time;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
	return time;
}

__global__ void spin(unsigned long long ns)
{
	unsigned long long begin = gpu_clock();

	while (gpu_clock() - begin < ns)
		;
}

__global__ void empty(void)
{
}

/* Reads and writes each byte once, past the caches as far as they are smaller than the data. */
__global__ void copy(const uint4 *from, uint4 *to, size_t count)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;

	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		to[i] = from[i];
}

static int attribute(enum cudaDeviceAttr which)
{
	int value;

	MUST(cudaDeviceGetAttribute(&value, which, 0));
	return value;
}

static void pause_a_little(void)
{
	MUST(cudaDeviceSynchronize());
	usleep(60000);
}

/* Runs a function again and again for a time. Returns how often; @took: the nanoseconds between events. */
template <typename F> static long repeat(double seconds, int at_once, double *took, F work)
{
	cudaEvent_t begin, end;
	float ms;
	long times = 0;
	unsigned long long until = now() + (unsigned long long)(seconds * 1e9);

	MUST(cudaEventCreate(&begin));
	MUST(cudaEventCreate(&end));
	MUST(cudaEventRecord(begin));
	do {
		for (int i = 0; i < at_once; i++)
			work();
		times += at_once;
		MUST(cudaStreamSynchronize(NULL));
	} while (now() < until);
	MUST(cudaEventRecord(end));
	MUST(cudaEventSynchronize(end));
	MUST(cudaEventElapsedTime(&ms, begin, end));
	*took = ms * 1e6;
	return times;
}

static void say(const char *phase, unsigned long long begin, double took, const char *what,
		double much)
{
	printf("{\"phase\": \"%s\", \"begin_ns\": %llu, \"end_ns\": %llu, \"gpu_ns\": %.0f, \"%s\": %.0f}\n",
	       phase, begin, now(), took, what, much);
	fflush(stdout);
}

static uint4 *take_memory(size_t bytes)
{
	void *memory;

	MUST(cudaMalloc(&memory, bytes));
	MUST(cudaMemset(memory, 1, bytes));
	return (uint4 *)memory;
}

static void copy_once(const uint4 *from, uint4 *to, size_t bytes, int sms)
{
	copy<<<sms * 16, 512>>>(from, to, bytes / sizeof(uint4));
}

static void copy_phase(int sms)
{
	size_t bytes = 4 * GIB;
	uint4 *from = take_memory(bytes), *to = take_memory(bytes);
	unsigned long long begin;
	double took;
	long times;

	copy_once(from, to, bytes, sms);
	pause_a_little();
	begin = now();
	times = repeat(0.8, 4, &took, [&] { copy_once(from, to, bytes, sms); });
	say("copy", begin, took, "bytes", 2. * bytes * times);
	MUST(cudaFree(from));
	MUST(cudaFree(to));
}

static void upload_phase(void)
{
	size_t bytes = GIB / 2;
	uint4 *to = take_memory(bytes);
	unsigned long long begin;
	void *from;
	double took;
	long times;

	MUST(cudaMallocHost(&from, bytes));
	pause_a_little();
	begin = now();
	times = repeat(0.4, 1, &took,
		       [&] { MUST(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice)); });
	say("upload", begin, took, "bytes", (double)bytes * times);
	MUST(cudaFree(to));
	MUST(cudaFreeHost(from));
}

/* Blocks that an SM has room for only one of. */
static void spin_phase(const char *name, int blocks, int shared)
{
	unsigned long long begin;
	double took;
	long times;

	MUST(cudaFuncSetAttribute(spin, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
	pause_a_little();
	begin = now();
	times = repeat(0.5, 1, &took, [&] { spin<<<blocks, 1024, shared>>>(100000000); });
	say(name, begin, took, "blocks", (double)blocks * (times > 0));
}

/* 10 ms of work and 10 ms without. */
static void pattern_phase(int sms)
{
	unsigned long long begin;

	pause_a_little();
	begin = now();
	for (int i = 0; i < 20; i++) {
		spin<<<sms, 256>>>(10000000);
		MUST(cudaDeviceSynchronize());
		usleep(10000);
	}
	say("pattern", begin, 20e7, "kernels", 20);
}

typedef int gemm_function(void *, int, int, int, int, int, const void *, const void *, int, int,
			  const void *, int, int, const void *, void *, int, int, int, int);

/* cuBLAS: bfloat16, with sums in float. */
static void matrix_phase(void)
{
	const int n = 8192, bf16 = 14, sums = 68, algorithm = -1;
	const float one = 1, zero = 0;
	void *library = dlopen("libcublas.so.13", RTLD_NOW), *handle;
	int (*create)(void **);
	gemm_function *gemm;
	uint4 *a, *b, *c;
	unsigned long long begin;
	double took;
	long times;
	auto multiply = [&] {
		if (gemm(handle, 0, 0, n, n, n, &one, a, bf16, n, b, bf16, n, &zero, c, bf16, n,
			 sums, algorithm))
			exit(1);
	};

	if (!library)
		library = dlopen("libcublas.so.12", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "metrics: %s\n", dlerror());
		return;
	}
	*(void **)&create = dlsym(library, "cublasCreate_v2");
	*(void **)&gemm = dlsym(library, "cublasGemmEx");
	if (!create || !gemm || create(&handle)) {
		fprintf(stderr, "metrics: cuBLAS does not start\n");
		return;
	}
	a = take_memory(2ul * n * n);
	b = take_memory(2ul * n * n);
	c = take_memory(2ul * n * n);
	multiply();
	pause_a_little();
	begin = now();
	times = repeat(0.8, 16, &took, multiply);
	say("matrix", begin, took, "flops", 2. * n * n * n * times);
}

static int run_phases(void)
{
	int sms = attribute(cudaDevAttrMultiProcessorCount);
	int shared = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);

	printf("{\"phase\": \"device\", \"sms\": %d, \"memory_khz\": %d, \"memory_bits\": %d, \"sm_khz\": %d, "
	       "\"major\": %d, \"warps\": %d}\n",
	       sms, attribute(cudaDevAttrMemoryClockRate),
	       attribute(cudaDevAttrGlobalMemoryBusWidth), attribute(cudaDevAttrClockRate),
	       attribute(cudaDevAttrComputeCapabilityMajor),
	       attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / 32);
	/* Sampling begins some tenths of a second after the context is made. */
	MUST(cudaFree(NULL));
	sleep(2);
	spin_phase("half", sms / 2, shared);
	spin_phase("all", sms, shared);
	pattern_phase(sms);
	copy_phase(sms);
	upload_phase();
	matrix_phase();
	pause_a_little();
	return 0;
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 100;
	unsigned long long begin;
	double took;

	if (argc > 1 && !strcmp(argv[1], "phases"))
		return run_phases();
	MUST(cudaFree(NULL));
	if (argc > 1 && !strcmp(argv[1], "copy")) {
		uint4 *from = take_memory(GIB), *to = take_memory(GIB);

		sleep(1);
		repeat(0, (int)count, &took, [&] { copy_once(from, to, GIB, 132); });
		printf("%.0f\n", took);
		return 0;
	}
	empty<<<1, 32>>>();
	sleep(1);
	begin = now();
	for (long i = 0; i < count; i++)
		empty<<<1, 32>>>();
	MUST(cudaDeviceSynchronize());
	printf("%.1f\n", (double)(now() - begin) / count);
	return 0;
}
