// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program whose kernels get eBPF programs by gpumon-user probe. It knows how many threads ran and what
 * they accessed, and prints it as one JSON object, with a sum over all results: the sum must
 * not depend on programs in the kernels.
 *
 *     probed [MODE]: all (default), graph, big, unseen, gpus (all of them at a time), exit, kill
 */
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <time.h>
#include <unistd.h>

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#define MUST(call)                                                                              \
	do {                                                                                    \
		cudaError_t error_ = (call);                                                    \
		if (error_ != cudaSuccess) {                                                    \
			fprintf(stderr, "probed: %s: %s\n", #call, cudaGetErrorString(error_)); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, unsigned int n)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

/* The same, for comparison: --kernel leaves those out whose name ends so. */
extern "C" __global__ void vector_add_bare(const float *a, const float *b, float *c, unsigned int n)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

#define TILE 32

/* c = a * b, of n * n numbers. */
__device__ __forceinline__ static void multiply(const float *a, const float *b, float *c,
						unsigned int n)
{
	__shared__ float left[TILE][TILE], right[TILE][TILE];
	unsigned int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
	float sum = 0;

	for (unsigned int tile = 0; tile < n / TILE; tile++) {
		left[threadIdx.y][threadIdx.x] = a[y * n + tile * TILE + threadIdx.x];
		right[threadIdx.y][threadIdx.x] = b[(tile * TILE + threadIdx.y) * n + x];
		__syncthreads();
		for (unsigned int k = 0; k < TILE; k++)
			sum += left[threadIdx.y][k] * right[k][threadIdx.x];
		__syncthreads();
	}
	c[y * n + x] = sum;
}

extern "C" __global__ void product(const float *a, const float *b, float *c, unsigned int n)
{
	multiply(a, b, c, n);
}

extern "C" __global__ void product_bare(const float *a, const float *b, float *c, unsigned int n)
{
	multiply(a, b, c, n);
}

/* Called, and it ends some threads. */
__device__ __noinline__ static unsigned int end_some(unsigned int i)
{
	if (i % 8 == 5)
		asm volatile("exit;");
	return i * 3;
}

/* Each form of an exit. */
extern "C" __global__ void exits(unsigned int *out, unsigned int n)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, x = 0;

	if (i >= n)
		return;
	if (i % 8 == 1)
		asm volatile("exit;");
	for (unsigned int j = 0; j < i % 64; j++) {
		x += j * i;
		if (i % 8 == 2 && j == 7) {
			out[i] = x;
			return;
		}
	}
	x += end_some(i);
	out[i] = x;
}

extern "C" __global__ void strided(const float *in, float *out, unsigned int stride)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = in[i * stride];
}

extern "C" __global__ void vectors(const float4 *in, float4 *out, double *sum)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	float4 x = __ldg(&in[i]);

	x.x += 1.0f;
	out[i] = x;
	if (i % 32 == 0)
		atomicAdd(sum, (double)x.y);
}

extern "C" __global__ void block_sum(const float *in, float *out)
{
	__shared__ float part[256];
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	part[threadIdx.x] = in[i];
	for (unsigned int half = blockDim.x / 2; half; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = part[0];
}

/* Warp w of a block runs w times as long as the first one. */
extern "C" __global__ void uneven(unsigned int *out, unsigned int turns)
{
	unsigned int x = threadIdx.x, warp = threadIdx.x / 32;

	for (unsigned int i = 0; i < turns * (warp + 1); i++)
		x = x * 1664525u + 1013904223u;
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

extern "C" __global__ void together(const unsigned int *in, unsigned int *out, unsigned int n)
{
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = i;
	grid.sync();
	if (i < n)
		out[n + i] = out[n - 1 - i] + in[i];
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(unsigned int *out)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	cooperative_groups::this_cluster().sync();
	out[i] = i ^ 0x5a5a;
}

/* Copied past the registers (cp.async). */
extern "C" __global__ void copied(const float4 *in, float *out)
{
	__shared__ float4 tile[256];
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	float4 other;

	__pipeline_memcpy_async(&tile[threadIdx.x], &in[i], sizeof(*in));
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	other = tile[threadIdx.x ^ 1];
	out[i] = other.x + other.y - other.z + other.w;
}

/* One access of shared memory that patches do not see: by a warp as a whole. */
extern "C" __global__ void matrices(unsigned int *out)
{
	__shared__ alignas(16) unsigned int tile[32 * 4];
	unsigned int is[4], i = threadIdx.x;

	for (unsigned int k = 0; k < 4; k++)
		tile[4 * i + k] = 4 * i + k;
	__syncwarp();
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(is[0]), "=r"(is[1]), "=r"(is[2]), "=r"(is[3])
		     : "r"((unsigned int)__cvta_generic_to_shared(&tile[4 * i])));
	out[i] = is[0] + is[1] + is[2] + is[3];
}

/* One copy of 1024 bytes, which patches do not see: past the threads. */
extern "C" __global__ void bulk(const float *in, float *out)
{
	__shared__ alignas(16) float tile[256];
	__shared__ unsigned long long barrier;
	unsigned int to = (unsigned int)__cvta_generic_to_shared(tile),
		     at = (unsigned int)__cvta_generic_to_shared(&barrier), done = 0;

	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(at));
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
			     "[%0], [%1], 1024, [%2];" ::"r"(to),
			     "l"(in), "r"(at)
			     : "memory");
	}
	__syncthreads();
	while (!done)
		asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0;"
			     " selp.b32 %0, 1, 0, p; }"
			     : "=r"(done)
			     : "r"(at)
			     : "memory");
	out[threadIdx.x] = tile[threadIdx.x];
}

static std::map<std::string, long> threads, launches;
static std::mutex counting;

#define COUNT 65536u
#define BLOCK 256u

/* On the GPU of the thread. */
static thread_local float *a, *b, *c;
static thread_local unsigned int *numbers, *others;
static thread_local double *total;

static void ran(const char *kernel, long count)
{
	std::lock_guard<std::mutex> lock(counting);

	threads[kernel] += count;
	launches[kernel]++;
}

static void launch_all(cudaStream_t stream)
{
	unsigned int n = COUNT;

	/* One block more than there are elements. */
	vector_add<<<COUNT / BLOCK + 1, BLOCK, 0, stream>>>(a, b, c, n);
	ran("vector_add", COUNT + BLOCK);
	exits<<<COUNT / BLOCK + 1, BLOCK, 0, stream>>>(numbers, n);
	ran("exits", COUNT + BLOCK);
	strided<<<16, BLOCK, 0, stream>>>(a, c, 1);
	ran("strided", 16 * BLOCK);
	strided<<<8, BLOCK, 0, stream>>>(a, c, 16);
	ran("strided", 8 * BLOCK);
	vectors<<<16, BLOCK, 0, stream>>>((float4 *)a, (float4 *)c, total);
	ran("vectors", 16 * BLOCK);
	block_sum<<<COUNT / BLOCK, BLOCK, 0, stream>>>(b, c);
	ran("block_sum", COUNT);
	uneven<<<132, 128, 0, stream>>>(numbers, 2000);
	ran("uneven", 132 * 128);
	cluster<<<32, 64, 0, stream>>>(numbers);
	ran("cluster", 32 * 64);
	copied<<<16, BLOCK, 0, stream>>>((const float4 *)a, c);
	ran("copied", 16 * BLOCK);
}

static void launch_unseen(void)
{
	matrices<<<1, 32>>>(numbers);
	ran("matrices", 32);
	bulk<<<1, BLOCK>>>(a, c);
	ran("bulk", BLOCK);
}

static void launch_together(void)
{
	unsigned int n = 4096;
	void *arguments[] = { &numbers, &others, &n };

	MUST(cudaLaunchCooperativeKernel((void *)together, dim3(n / BLOCK), dim3(BLOCK), arguments,
					 0, NULL));
	ran("together", n);
}

static void launch_graph(int times)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	std::map<std::string, long> threads_before = threads, launches_before = launches;

	MUST(cudaStreamCreate(&stream));
	MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	launch_all(stream);
	MUST(cudaStreamEndCapture(stream, &graph));
	MUST(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < times; i++)
		MUST(cudaGraphLaunch(exec, stream));
	MUST(cudaStreamSynchronize(stream));
	for (auto &[kernel, count] : threads)
		count = threads_before[kernel] + times * (count - threads_before[kernel]);
	for (auto &[kernel, count] : launches)
		count = launches_before[kernel] + times * (count - launches_before[kernel]);
	MUST(cudaGraphExecDestroy(exec));
	MUST(cudaGraphDestroy(graph));
	MUST(cudaStreamDestroy(stream));
}

static double add_up(void)
{
	std::vector<float> results(COUNT);
	std::vector<unsigned int> integers(COUNT), more(2 * 4096);
	double sum = 0, host;

	MUST(cudaDeviceSynchronize());
	MUST(cudaMemcpy(results.data(), c, COUNT * sizeof(float), cudaMemcpyDeviceToHost));
	MUST(cudaMemcpy(integers.data(), numbers, COUNT * sizeof(int), cudaMemcpyDeviceToHost));
	MUST(cudaMemcpy(more.data(), others, more.size() * sizeof(int), cudaMemcpyDeviceToHost));
	MUST(cudaMemcpy(&host, total, sizeof(host), cudaMemcpyDeviceToHost));
	for (unsigned int i = 0; i < COUNT; i++)
		sum += results[i] * (i % 17 + 1) + integers[i] % 1000003;
	for (unsigned int number : more)
		sum += number % 1009;
	return sum + host;
}

static void print_counts(const char *name, const std::map<std::string, long> &counts)
{
	const char *comma = "";

	printf("\"%s\": {", name);
	for (const auto &[kernel, count] : counts) {
		printf("%s\"%s\": %ld", comma, kernel.c_str(), count);
		comma = ", ";
	}
	printf("}, ");
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

typedef void kernel_t(const float *, const float *, float *, unsigned int);

/**
 * struct timed - launches of a kernel and of the same one without programs, in turns
 * @name: of the kernel
 * @kernels: both
 * @n: elements; of a product rows and columns
 * @grid: blocks
 * @block: threads
 * @bytes: of each array
 */
struct timed {
	const char *name;
	kernel_t *kernels[2];
	unsigned int n;
	dim3 grid;
	dim3 block;
	size_t bytes;
};

#define ROUNDS 41

/* Medians in microseconds, and quartiles of the ratios of neighbours. */
static void time_pairs(const timed &what, const char *comma)
{
	std::vector<double> times[2], ratios;
	float *x, *y, *z, ms;
	cudaEvent_t begin, end;

	MUST(cudaMalloc(&x, what.bytes));
	MUST(cudaMalloc(&y, what.bytes));
	MUST(cudaMalloc(&z, what.bytes));
	MUST(cudaMemset(x, 0, what.bytes));
	MUST(cudaMemset(y, 0, what.bytes));
	MUST(cudaEventCreate(&begin));
	MUST(cudaEventCreate(&end));
	for (int i = 0; i < ROUNDS + 2; i++) {
		double pair[2];

		for (int j = 0; j < 2; j++) {
			int which = (i + j) % 2;

			MUST(cudaEventRecord(begin));
			what.kernels[which]<<<what.grid, what.block>>>(x, y, z, what.n);
			MUST(cudaEventRecord(end));
			MUST(cudaEventSynchronize(end));
			MUST(cudaEventElapsedTime(&ms, begin, end));
			pair[which] = ms * 1e3;
		}
		if (i < 2)
			continue;
		times[0].push_back(pair[0]);
		times[1].push_back(pair[1]);
		ratios.push_back(pair[0] / pair[1]);
	}
	for (auto &list : times)
		std::sort(list.begin(), list.end());
	std::sort(ratios.begin(), ratios.end());
	printf("%s\"%s %u\": [%.2f, %.2f, %.3f, %.3f, %.3f]", comma, what.name, what.n,
	       times[0][ROUNDS / 2], times[1][ROUNDS / 2], ratios[ROUNDS / 4], ratios[ROUNDS / 2],
	       ratios[3 * ROUNDS / 4]);
	MUST(cudaFree(x));
	MUST(cudaFree(y));
	MUST(cudaFree(z));
}

/* Probed and bare time of a launch in microseconds, quartiles of their ratio. */
static void time_all(void)
{
	const char *comma = "";

	printf("\"us\": {");
	for (unsigned int n : { 1u << 10, 1u << 17, 1u << 20, 1u << 26 }) {
		time_pairs({ "vector_add",
			     { vector_add, vector_add_bare },
			     n,
			     dim3(n / BLOCK),
			     dim3(BLOCK),
			     n * sizeof(float) },
			   comma);
		comma = ", ";
	}
	time_pairs({ "product",
		     { product, product_bare },
		     2048,
		     dim3(2048 / TILE, 2048 / TILE),
		     dim3(TILE, TILE),
		     2048 * 2048 * sizeof(float) },
		   comma);
	printf("}, ");
}

static void allocate(void)
{
	std::vector<float> first(COUNT);

	for (unsigned int i = 0; i < COUNT; i++)
		first[i] = (float)(i % 1021) * 0.25f;
	MUST(cudaMalloc(&a, COUNT * sizeof(float)));
	MUST(cudaMalloc(&b, COUNT * sizeof(float)));
	MUST(cudaMalloc(&c, COUNT * sizeof(float)));
	MUST(cudaMalloc(&numbers, COUNT * sizeof(int)));
	MUST(cudaMalloc(&others, 2 * 4096 * sizeof(int)));
	MUST(cudaMalloc(&total, sizeof(double)));
	MUST(cudaMemcpy(a, first.data(), COUNT * sizeof(float), cudaMemcpyHostToDevice));
	MUST(cudaMemcpy(b, first.data(), COUNT * sizeof(float), cudaMemcpyHostToDevice));
	MUST(cudaMemset(c, 0, COUNT * sizeof(float)));
	MUST(cudaMemset(numbers, 0, COUNT * sizeof(int)));
	MUST(cudaMemset(others, 0, 2 * 4096 * sizeof(int)));
	MUST(cudaMemset(total, 0, sizeof(double)));
}

/* What all GPUs compute, each used by a thread of its own. */
static double use_all_gpus(void)
{
	std::vector<std::thread> users;
	std::vector<double> sums;
	double sum = 0;
	int count;

	MUST(cudaGetDeviceCount(&count));
	sums.resize(count);
	for (int i = 0; i < count; i++)
		users.emplace_back([i, &sums] {
			MUST(cudaSetDevice(i));
			allocate();
			launch_all(NULL);
			launch_together();
			sums[i] = add_up();
		});
	for (int i = 0; i < count; i++) {
		users[i].join();
		sum += sums[i];
	}
	return sum;
}

static double use_one_gpu(const char *mode, int times)
{
	allocate();
	if (strcmp(mode, "graph") == 0) {
		launch_graph(times);
	} else if (strcmp(mode, "big") == 0) {
		time_all();
	} else if (strcmp(mode, "unseen") == 0) {
		launch_unseen();
	} else {
		for (int i = 0; i < times; i++) {
			launch_all(NULL);
			launch_together();
		}
	}
	return add_up();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "all";
	int times = argc > 2 ? atoi(argv[2]) : 1;
	double begin = now_ms(), sum;

	printf("{");
	sum = strcmp(mode, "gpus") == 0 ? use_all_gpus() : use_one_gpu(mode, times);
	print_counts("threads", threads);
	print_counts("launches", launches);
	printf("\"ms\": %.0f, \"sum\": %.17g}\n", now_ms() - begin, sum);
	fflush(stdout);
	if (strcmp(mode, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(mode, "exit") == 0)
		_exit(3);
	if (strcmp(mode, "quick_exit") == 0)
		quick_exit(3);
	return 0;
}
