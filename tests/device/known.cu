// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A CUDA program that knows what it does: kernel<N> is launched by place<N>()
 * alone (see places.py for those that have another name), and all that was
 * launched is counted, into the file that KNOWN_ACCOUNT names, with the pid
 * behind it, as one JSON object.
 */
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include "account.h"

#define PLACE __attribute__((noinline, noclone))
#define KINDS 16

static std::atomic<long> launches, captured, copies, sets, failed, refused_early;
static std::atomic<long> kernels[KINDS], launched[KINDS];
/* By the GPU's own clock, read in the kernels; and between two events. */
static unsigned long long inside_ns[KINDS];
static double events_ns;

#define MUST(call)                                                                    \
	do {                                                                          \
		cudaError_t error_ = (call);                                          \
		if (error_ != cudaSuccess) {                                          \
			fprintf(stderr, "known: %s: %s\n", #call,                     \
				cudaGetErrorString(error_));                          \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

template <int N> __global__ void kernel(unsigned int *out, unsigned int turns)
{
	unsigned int x = threadIdx.x + N;

	for (unsigned int i = 0; i < turns; i++)
		x = x * 1664525u + 1013904223u;
	if (out && x == 0x12345678)
		*out = x;
}

__device__ static unsigned long long gpu_clock(void)
{
	unsigned long long now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	return now;
}

/* Runs for a time, and adds up how long it did. One at a time. */
template <int N> __global__ void spin(unsigned long long ns, unsigned long long *sum)
{
	unsigned long long begin = gpu_clock(), now;

	do
		now = gpu_clock();
	while (now - begin < ns);
	*sum += now - begin;
}

static void count(int which, long work)
{
	launches++;
	launched[which]++;
	kernels[which] += work;
}

/* --- places */

template <int N> PLACE void place(cudaStream_t stream, unsigned int turns)
{
	kernel<N><<<1, 32, 0, stream>>>(nullptr, turns);
	count(N, 1);
	asm volatile("");
}

template <int N> PLACE void spin_place(unsigned long long ns, unsigned long long *sums)
{
	spin<N><<<1, 1>>>(ns, &sums[N]);
	count(N, 1);
	asm volatile("");
}

PLACE static void deep(unsigned int depth, cudaStream_t stream)
{
	if (depth)
		deep(depth - 1, stream);
	else
		place<0>(stream, 1);
	asm volatile("");
}

typedef CUresult (*launch_function)(CUfunction, unsigned int, unsigned int, unsigned int,
				    unsigned int, unsigned int, unsigned int, unsigned int,
				    CUstream, void **, void **);

PLACE static void place_driver(cudaStream_t stream)
{
	static launch_function launch;
	static cudaFunction_t function;
	unsigned int turns = 1, *out = nullptr;
	void *arguments[] = { &out, &turns };

	if (!launch) {
		void *cuda = dlopen("libcuda.so.1", RTLD_NOW);

		launch = (launch_function)dlsym(cuda, "cuLaunchKernel");
		MUST(cudaGetFuncBySymbol(&function, (const void *)kernel<3>));
	}
	if (launch((CUfunction)function, 1, 1, 1, 32, 1, 1, 0, (CUstream)stream, arguments, nullptr))
		exit(1);
	count(3, 1);
	asm volatile("");
}

PLACE static void place_ex(cudaStream_t stream)
{
	cudaLaunchConfig_t config = {};

	config.gridDim = dim3(1);
	config.blockDim = dim3(32);
	config.stream = stream;
	MUST(cudaLaunchKernelEx(&config, kernel<4>, (unsigned int *)nullptr, 1u));
	count(4, 1);
	asm volatile("");
}

PLACE static void place_cooperative(cudaStream_t stream)
{
	unsigned int turns = 1, *out = nullptr;
	void *arguments[] = { &out, &turns };

	MUST(cudaLaunchCooperativeKernel((const void *)kernel<5>, dim3(1), dim3(32), arguments, 0,
					 stream));
	count(5, 1);
	asm volatile("");
}

PLACE static void place_failed(void)
{
	kernel<6><<<1, 4096>>>(nullptr, 1); /* more threads than a block may have */
	if (cudaGetLastError() == cudaSuccess)
		return;
	/* CUDA 12's runtime does not ask the driver, whose calls are recorded. */
	if (CUDART_VERSION < 13000) {
		refused_early++;
		return;
	}
	failed++;
	launches++;
	asm volatile("");
}

PLACE static void place_copies(cudaStream_t stream)
{
	static void *device, *device2, *pinned;
	static char pageable[4096];

	if (!device) {
		MUST(cudaMalloc(&device, 4096));
		MUST(cudaMalloc(&device2, 4096));
		MUST(cudaMallocHost(&pinned, 4096));
	}
	MUST(cudaMemcpyAsync(device, pinned, 1024, cudaMemcpyHostToDevice, stream));
	MUST(cudaMemcpyAsync(device2, device, 2048, cudaMemcpyDeviceToDevice, stream));
	MUST(cudaMemcpyAsync(pinned, device2, 512, cudaMemcpyDeviceToHost, stream));
	MUST(cudaMemcpy(device, pageable, 4096, cudaMemcpyHostToDevice));
	copies += 4;
	MUST(cudaMemsetAsync(device, 0x5a, 256, stream));
	MUST(cudaMemset(device2, 1, 128));
	sets += 2;
	launches += 6;
	asm volatile("");
}

/* --- modes */

static void run_mixed(int count_, cudaStream_t stream)
{
	for (int i = 0; i < count_; i++) {
		place<1>(stream, 10);
		place<2>(stream, 1);
		place_driver(stream);
		place_ex(stream);
		place_cooperative(stream);
		if (i % 10 == 0)
			place_copies(stream);
		if (i % 50 == 0)
			place_failed();
	}
}

static void launch_in_stream(int count_)
{
	cudaStream_t stream;

	MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < count_; i++) {
		place<1>(stream, 1);
		place<7>(stream, 1);
	}
	MUST(cudaStreamSynchronize(stream));
	MUST(cudaStreamDestroy(stream));
}

static void run_threads(int threads, int count_)
{
	std::vector<std::thread> all;

	for (int t = 0; t < threads; t++)
		all.emplace_back(launch_in_stream, count_);
	for (auto &thread : all)
		thread.join();
}

PLACE static void captured_place(cudaStream_t stream)
{
	/* Three kernels and a memset, no work of their own. */
	kernel<8><<<1, 32, 0, stream>>>(nullptr, 1);
	asm volatile("");
}

PLACE static void capture_all(cudaStream_t stream, void *memory)
{
	captured_place(stream);
	captured_place(stream);
	captured_place(stream);
	MUST(cudaMemsetAsync(memory, 0, 64, stream));
	captured += 4;
	asm volatile("");
}

PLACE static void add_node(cudaGraph_t graph)
{
	unsigned int turns = 1, *out = nullptr;
	void *arguments[] = { &out, &turns };
	cudaKernelNodeParams parameters = {};
	cudaGraphNode_t node;

	parameters.func = (void *)kernel<9>;
	parameters.gridDim = dim3(1);
	parameters.blockDim = dim3(32);
	parameters.kernelParams = arguments;
	MUST(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
	asm volatile("");
}

PLACE static void replay(cudaGraphExec_t exec, cudaStream_t stream)
{
	MUST(cudaGraphLaunch(exec, stream));
	launches++;
	asm volatile("");
}

static void run_graph(int count_)
{
	cudaGraphExec_t exec, exec2;
	cudaGraph_t graph, graph2;
	cudaStream_t stream;
	void *memory;

	MUST(cudaMalloc(&memory, 64));
	MUST(cudaStreamCreate(&stream));
	MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	capture_all(stream, memory);
	MUST(cudaStreamEndCapture(stream, &graph));
	MUST(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	MUST(cudaGraphCreate(&graph2, 0));
	add_node(graph2);
	add_node(graph2);
	MUST(cudaGraphInstantiateWithFlags(&exec2, graph2, 0));
	for (int i = 0; i < count_; i++) {
		replay(exec, stream);
		kernels[8] += 3;
		sets++;
		replay(exec2, stream);
		kernels[9] += 2;
		place<2>(stream, 1);
	}
	MUST(cudaStreamSynchronize(stream));
	MUST(cudaGraphExecDestroy(exec));
	MUST(cudaGraphExecDestroy(exec2));
	MUST(cudaGraphDestroy(graph));
	MUST(cudaGraphDestroy(graph2));
	MUST(cudaStreamDestroy(stream));
	MUST(cudaFree(memory));
}

static void write_account(void)
{
	FILE *file = open_account();
	int n = 0;

	if (!file)
		return;
	fprintf(file,
		"{\"launches\":%ld,\"captured\":%ld,\"copies\":%ld,\"sets\":%ld,\"failed\":%ld,"
		"\"refused_early\":%ld,\"events_ns\":%.0f,\"kernels\":{",
		launches.load(), captured.load(), copies.load(), sets.load(), failed.load(),
		refused_early.load(), events_ns);
	for (int i = 0; i < KINDS; i++)
		if (kernels[i])
			fprintf(file,
				"%s\"%d\":{\"count\":%ld,\"launched\":%ld,\"inside_ns\":%llu}",
				n++ ? "," : "", i, kernels[i].load(), launched[i].load(),
				inside_ns[i]);
	fputs("}}\n", file);
	fclose(file);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double launches_of_segment(int count_)
{
	double begin = seconds();

	for (int i = 0; i < count_; i++)
		deep(12, nullptr);
	MUST(cudaDeviceSynchronize());
	return seconds() - begin;
}

/* Segments as they are asked for, the work of all launches done: see workloads.py. */
static void run_segments(void)
{
	char what[16];
	int count_;

	MUST(cudaFree(nullptr));
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (scanf("%15s %d", what, &count_) == 2) {
		bool has_window = !strcmp(what, "window");
		double taken;

		if (has_window)
			MUST(cudaProfilerStart());
		launches_of_segment(count_ / 4 + 1);
		taken = launches_of_segment(count_);
		if (has_window)
			MUST(cudaProfilerStop());
		printf("%.0f\n", taken * 1e9);
		fflush(stdout);
	}
}

static void run_fork(int count_, const char *self)
{
	char text[16];
	pid_t pid;

	for (int i = 0; i < count_; i++)
		place<1>(nullptr, 1);
	MUST(cudaDeviceSynchronize());
	pid = fork();
	if (pid == 0)
		exit(0);
	waitpid(pid, nullptr, 0);
	pid = fork();
	if (pid == 0) {
		snprintf(text, sizeof(text), "%d", count_);
		execl(self, self, "mixed", text, (char *)nullptr);
		_exit(1);
	}
	waitpid(pid, nullptr, 0);
	for (int i = 0; i < count_; i++)
		place<2>(nullptr, 1);
}

static void run_steady(double how_long)
{
	double until = seconds() + how_long;

	MUST(cudaFree(nullptr));
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (seconds() < until) {
		place<1>(nullptr, 100);
		place<2>(nullptr, 100);
		usleep(300);
	}
}

/* Threads that launch, and others that make graphs and replay them, until its input ends. */
static void run_crowd(int threads, int graph_threads)
{
	std::atomic<bool> done(false);
	std::vector<std::thread> all;

	MUST(cudaFree(nullptr));
	for (int t = 0; t < threads; t++)
		all.emplace_back([&] {
			while (!done)
				launch_in_stream(100);
		});
	for (int t = 0; t < graph_threads; t++)
		all.emplace_back([&] {
			while (!done)
				run_graph(100);
		});
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (getchar() != EOF)
		;
	done = true;
	for (auto &thread : all)
		thread.join();
}

/* Long kernels, one after the other: three that know how long they ran, and events around all. */
static void run_timed(int count_)
{
	unsigned long long *sums;
	cudaEvent_t begin, end;
	float ms;

	MUST(cudaMalloc(&sums, sizeof(inside_ns)));
	MUST(cudaMemset(sums, 0, sizeof(inside_ns)));
	MUST(cudaEventCreate(&begin));
	MUST(cudaEventCreate(&end));
	/* Something for the GPU to do until all are queued: no gaps then. */
	spin_place<11>(20000000, sums);
	MUST(cudaEventRecord(begin));
	for (int i = 0; i < count_; i++) {
		spin_place<12>(50000, sums);
		spin_place<13>(100000, sums);
		spin_place<14>(200000, sums);
	}
	MUST(cudaEventRecord(end));
	MUST(cudaDeviceSynchronize());
	MUST(cudaEventElapsedTime(&ms, begin, end));
	events_ns = (double)ms * 1e6;
	MUST(cudaMemcpy(inside_ns, sums, sizeof(inside_ns), cudaMemcpyDeviceToHost));
	sets++;
	copies++;
	launches += 2;
}

static void run_devices(int count_)
{
	int devices;

	MUST(cudaGetDeviceCount(&devices));
	for (int d = 0; d < devices; d++) {
		MUST(cudaSetDevice(d));
		for (int i = 0; i < count_ * (d + 1); i++)
			place<1>(nullptr, 100);
	}
	for (int d = 0; d < devices; d++) {
		MUST(cudaSetDevice(d));
		MUST(cudaDeviceSynchronize());
	}
}

/* Waits for a line before it launches anything: who wants to attach has the time to. */
static void run_told(int count_)
{
	char line[16];

	MUST(cudaFree(nullptr));
	place<2>(nullptr, 1);
	MUST(cudaDeviceSynchronize());
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
	for (int i = 0; i < count_; i++) {
		deep((unsigned int)i % 20, nullptr);
		place<1>(nullptr, 1);
		place_ex(nullptr);
		place_cooperative(nullptr);
	}
	MUST(cudaDeviceSynchronize());
	/* The probes are taken away by somebody else, who is to see the last of it. */
	sleep(1);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "mixed";
	int number = argc > 2 ? atoi(argv[2]) : 1000;
	int more = argc > 3 ? atoi(argv[3]) : 4;

	if (!strcmp(mode, "mixed")) {
		cudaStream_t stream;

		MUST(cudaStreamCreate(&stream));
		run_mixed(number, stream);
		run_mixed(number, nullptr);
	} else if (!strcmp(mode, "threads")) {
		run_threads(more, number);
	} else if (!strcmp(mode, "graph")) {
		run_graph(number);
	} else if (!strcmp(mode, "fork")) {
		run_fork(number, argv[0]);
	} else if (!strcmp(mode, "kill") || !strcmp(mode, "_exit") || !strcmp(mode, "quick_exit")) {
		for (int i = 0; i < number; i++)
			place<1>(nullptr, 1);
		MUST(cudaDeviceSynchronize());
		write_account();
		usleep((unsigned int)more * 1000);
		if (mode[0] == 'k')
			raise(SIGKILL);
		if (mode[0] == 'q')
			quick_exit(3);
		_exit(3);
	} else if (!strcmp(mode, "unfinished")) {
		/* Runs for some seconds more than the program. */
		place<1>(nullptr, 1);
		place<10>(nullptr, 2000000000u);
		write_account();
		exit(0);
	} else if (!strcmp(mode, "reset")) {
		for (int i = 0; i < number; i++)
			place<1>(nullptr, 1);
		MUST(cudaDeviceReset());
		for (int i = 0; i < number; i++)
			place<2>(nullptr, 1);
	} else if (!strcmp(mode, "profiler")) {
		for (int i = 0; i < number; i++)
			place<1>(nullptr, 1);
		MUST(cudaDeviceSynchronize());
		cudaProfilerStart();
		for (int i = 0; i < number; i++)
			place<2>(nullptr, 1);
		MUST(cudaDeviceSynchronize());
		cudaProfilerStop();
		for (int i = 0; i < number; i++)
			place<1>(nullptr, 1);
	} else if (!strcmp(mode, "nvtx")) {
		nvtxRangePushA("outer");
		for (int i = 0; i < number; i++) {
			nvtxRangePushA("step");
			place<1>(nullptr, 1);
			nvtxRangePop();
		}
		nvtxRangePop();
	} else if (!strcmp(mode, "steady")) {
		run_steady(number);
	} else if (!strcmp(mode, "crowd")) {
		run_crowd(number, more);
	} else if (!strcmp(mode, "loop")) {
		printf("loop %.1f ns a launch\n", launches_of_segment(number) / number * 1e9);
	} else if (!strcmp(mode, "segments")) {
		run_segments();
	} else if (!strcmp(mode, "timed")) {
		run_timed(number);
	} else if (!strcmp(mode, "devices")) {
		run_devices(number);
	} else if (!strcmp(mode, "told")) {
		run_told(number);
	} else if (!strcmp(mode, "count-devices")) {
		MUST(cudaGetDeviceCount(&number));
		printf("%d\n", number);
		return 0;
	} else if (strcmp(mode, "nothing") != 0) {
		fprintf(stderr, "known: no mode %s\n", mode);
		return 2;
	}
	MUST(cudaDeviceSynchronize());
	write_account();
	return 0;
}
