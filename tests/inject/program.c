// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A program that uses CUDA in all the ways that the tests need, see check. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <cupti_nvtx_cbid.h>
#define NVTX_NO_IMPL
/* The next header needs it, and only includes it since CUDA 13. */
#include <nvtx3/nvToolsExt.h>

#include <generated_nvtx_meta.h>

#include "program.h"

void mock_launch_per_thread(const char *kernel);
void mock_nvtx(unsigned int id, const char *name, const void *parameters, const void *result);
void mock_context(bool ends);
void mock_next_context(void);
void mock_load_modules(bool ends);
void mock_change_nodes(CUgraphExec exec, bool alone);

static const dim3 one = { 1, 1, 1 };

PLACE void launch_here(const char *kernel, cudaStream_t stream)
{
	cudaLaunchKernel(kernel, one, one, NULL, 0, stream);
	__asm__ volatile("");
}

PLACE static void launch_there(const char *kernel, cudaStream_t stream)
{
	cudaLaunchKernel(kernel, one, one, NULL, 0, stream);
	__asm__ volatile("");
}

PLACE static void launch_deep(const char *kernel, unsigned int depth)
{
	if (depth)
		launch_deep(kernel, depth - 1);
	else
		cudaLaunchKernel(kernel, one, one, NULL, 0, NULL);
	__asm__ volatile("");
}

PLACE static void launch_by_driver(const char *kernel)
{
	cuLaunchKernel((CUfunction)(uintptr_t)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	__asm__ volatile("");
}

PLACE static void launch_ex(const char *kernel)
{
	const cudaLaunchConfig_t config = { .gridDim = one };

	cudaLaunchKernelExC(&config, kernel, NULL);
	__asm__ volatile("");
}

PLACE static void fail_here(void)
{
	const dim3 none = { 0, 0, 0 };

	cudaLaunchKernel("never", none, one, NULL, 0, NULL);
	__asm__ volatile("");
}

PLACE static void copy_here(size_t bytes)
{
	cudaMemcpyAsync((void *)0x1000, (void *)0x2000, bytes, cudaMemcpyHostToDevice, NULL);
	__asm__ volatile("");
}

PLACE static void copy_and_wait(size_t bytes, enum cudaMemcpyKind kind)
{
	cudaMemcpy((void *)0x1000, (void *)0x2000, bytes, kind);
	__asm__ volatile("");
}

PLACE static void set_here(size_t bytes)
{
	cudaMemsetAsync((void *)0x1000, 0x5a, bytes, NULL);
	__asm__ volatile("");
}

#define ERRNO_BEFORE 4711

/* A call changed the program's errno. Only the first one may, since it loads libraries. */
static _Atomic bool errno_changed, is_begun;

static void check_errno(void)
{
	if (errno != ERRNO_BEFORE && atomic_load(&is_begun))
		atomic_store(&errno_changed, true);
	atomic_store(&is_begun, true);
}

void mixed(unsigned int i)
{
	errno = ERRNO_BEFORE;
	switch (i % 7) {
	case 0:
		launch_here("kernel_a", NULL);
		break;
	case 1:
		launch_there("kernel_b", NULL);
		break;
	case 2:
		launch_deep("kernel_c", i % 31);
		break;
	case 3:
		copy_here(i);
		break;
	case 4:
		set_here(i);
		break;
	case 5:
		launch_by_driver("kernel_d");
		break;
	default:
		launch_ex("kernel_e");
	}
	check_errno();
}

static void wait_for_test(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
		;
}

static void launch_kernels(const char *kernel, unsigned int count)
{
	while (count-- > 0)
		launch_here(kernel, NULL);
}

static unsigned int per_thread;
static bool waits_for_names;

static void *run_thread(void *argument)
{
	unsigned int i;
	char name[16];

	snprintf(name, sizeof(name), "worker-%zu", (size_t)argument);
	pthread_setname_np(pthread_self(), name);
	for (i = 0; i < per_thread; i++)
		mixed(i);
	if (waits_for_names)
		wait_for_test();
	return NULL;
}

static void run_threads(unsigned int threads, unsigned int count)
{
	pthread_t thread[64];
	size_t i;

	per_thread = count;
	cuInit(0);
	atomic_store(&is_begun, true);
	for (i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, run_thread, (void *)i);
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

/* As a program does before it uses results. */
static void wait_for_gpu(void)
{
	cudaDeviceSynchronize();
}

void pause_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

/* Until the test has seen what it waits for: it writes a byte, or closes the pipe. */
static volatile sig_atomic_t is_enough;

static void see_enough(int number)
{
	(void)number;
	is_enough = 1;
}

static void run_graph(unsigned int launches, bool change)
{
	cudaStream_t stream;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	unsigned int i;

	cudaStreamCreate(&stream);
	launch_here("before", stream);
	atomic_store(&is_begun, true);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	launch_here("node_a", stream);
	launch_there("node_b", stream);
	cudaMemcpyAsync((void *)1, (void *)2, 64, cudaMemcpyHostToDevice, stream);
	launch_here("not captured", NULL);
	cudaStreamEndCapture(stream, &graph);
	errno = ERRNO_BEFORE;
	cudaGraphInstantiateWithFlags(&exec, graph, 0);
	check_errno();
	for (i = 0; i < launches; i++) {
		cudaGraphLaunch(exec, stream);
		if (change)
			mock_change_nodes((CUgraphExec)exec, i % 2);
	}
}

/* Capture a thread's default stream. That of all threads cannot be captured. */
static void run_per_thread(void)
{
	cudaGraph_t graph;

	launch_here("before", NULL);
	cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeRelaxed);
	mock_launch_per_thread("node_a");
	launch_here("not captured", NULL);
	cudaStreamEndCapture(cudaStreamPerThread, &graph);
	mock_launch_per_thread("after");
}

static void run_nvtx(unsigned int count)
{
	const nvtxRangePushA_params push = { "outer" };
	const nvtxRangeStartA_params begin = { "wanted" };
	const nvtxDomainCreateA_params create = { "a domain" };
	const nvtxDomainHandle_t domain = (nvtxDomainHandle_t)0x5550;
	nvtxEventAttributes_t attributes = {
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.colorType = NVTX_COLOR_ARGB,
		.color = 0xff00ff00,
		.messageType = NVTX_MESSAGE_TYPE_UNICODE,
		.message.unicode = L"gr\u00fc\u00df",
	};
	const nvtxDomainRangePushEx_params push_ex = { domain, { &attributes } };
	const nvtxDomainRangePop_params pop_ex = { domain };
	nvtxRangeId_t id = 77;
	const nvtxRangeEnd_params end = { id };
	unsigned int i;

	cuInit(0);
	mock_nvtx(CUPTI_CBID_NVTX_nvtxDomainCreateA, "nvtxDomainCreateA", &create, &domain);
	mock_nvtx(CUPTI_CBID_NVTX_nvtxRangePushA, "nvtxRangePushA", &push, NULL);
	launch_here("outside", NULL);
	mock_nvtx(CUPTI_CBID_NVTX_nvtxRangeStartA, "nvtxRangeStartA", &begin, &id);
	for (i = 0; i < count; i++)
		launch_here("inside", NULL);
	mock_nvtx(CUPTI_CBID_NVTX_nvtxDomainRangePushEx, "nvtxDomainRangePushEx", &push_ex, NULL);
	mock_nvtx(CUPTI_CBID_NVTX_nvtxDomainRangePop, "nvtxDomainRangePop", &pop_ex, NULL);
	mock_nvtx(CUPTI_CBID_NVTX_nvtxRangeEnd, "nvtxRangeEnd", &end, NULL);
	launch_here("outside", NULL);
	mock_nvtx(CUPTI_CBID_NVTX_nvtxRangePop, "nvtxRangePop", NULL, NULL);
}

static void *load(const char *path, unsigned int count)
{
	void *handle = dlopen(path, RTLD_NOW);
	void (*function)(const char *) = handle ? (void (*)(const char *))dlsym(handle, "plugin") :
						  NULL;
	unsigned int i;

	for (i = 0; function && i < count; i++) {
		errno = ERRNO_BEFORE;
		function("kernel_of_plugin");
		check_errno();
	}
	return handle;
}

static void *launch_and_wait(void *unused)
{
	(void)unused;
	while (!is_enough) {
		mixed(0);
		wait_for_gpu();
		/* The account has room for some 100,000 launches. */
		usleep(500);
	}
	return NULL;
}

/* Until the test has seen enough. */
static void run_waiting_threads(unsigned int count)
{
	pthread_t thread[16];

	signal(SIGUSR1, see_enough);
	cuInit(0);
	printf("ready\n");
	fflush(stdout);
	for (unsigned int i = 0; i < count; i++)
		pthread_create(&thread[i], NULL, launch_and_wait, NULL);
	for (unsigned int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "loop";
	unsigned int count = argc > 2 ? (unsigned int)atoi(argv[2]) : 100, i;
	unsigned int more = argc > 3 ? (unsigned int)atoi(argv[3]) : 4;
	struct timespec begin, end;
	void *memory;

	if (strcmp(what, "loop") == 0) {
		for (i = 0; i < count; i++)
			mixed(i);
	} else if (strcmp(what, "two-lines") == 0) {
		prctl(PR_SET_NAME, "two\nlines\n", 0, 0, 0);
		mixed(0);
		wait_for_test();
	} else if (strcmp(what, "threads") == 0) {
		waits_for_names = argc > 4;
		run_threads(more, count);
	} else if (strcmp(what, "churn") == 0) {
		for (i = 0; i < count; i++) {
			run_threads(4, more);
			wait_for_test();
		}
	} else if (strcmp(what, "graph") == 0) {
		run_graph(count, false);
	} else if (strcmp(what, "per-thread") == 0) {
		run_per_thread();
	} else if (strcmp(what, "changed-graph") == 0) {
		run_graph(count, true);
	} else if (strcmp(what, "fork") == 0) {
		run_fork(count, argv[0]);
	} else if (strcmp(what, "kill") == 0 || strcmp(what, "_exit") == 0 ||
		   strcmp(what, "quick_exit") == 0) {
		for (i = 0; i < count; i++)
			mixed(i);
		if (more != 2)
			wait_for_gpu();
		if (more == 1)
			wait_for_test();
		if (what[0] == 'k')
			raise(SIGKILL);
		if (what[0] == 'q')
			quick_exit(3);
		_exit(3);
	} else if (strcmp(what, "waiting-threads") == 0) {
		run_waiting_threads(count);
	} else if (strncmp(what, "steady", 6) == 0) {
		/* For recorders that come and go meanwhile; with "steady-graph" also a graph each time. */
		signal(SIGUSR1, see_enough);
		cuInit(0);
		printf("ready\n");
		fflush(stdout);
		for (i = 0; i < count && !is_enough; i++) {
			mixed(i);
			if (what[6])
				run_graph(1, false);
			usleep(200);
			if (i == more) {
				printf("half\n");
				fflush(stdout);
			}
		}
	} else if (strcmp(what, "profiler") == 0) {
		for (i = 0; i < count; i++)
			launch_here("outside", NULL);
		errno = ERRNO_BEFORE;
		cudaProfilerStart();
		check_errno();
		for (i = 0; i < count; i++)
			launch_there("inside", NULL);
		errno = ERRNO_BEFORE;
		cudaProfilerStop();
		check_errno();
		for (i = 0; i < count; i++)
			launch_here("outside", NULL);
	} else if (strcmp(what, "windows") == 0) {
		/* Each window lasts until the test has seen what it waits for, and each pause, too. */
		for (i = 0; i < count; i++) {
			launch_here("outside", NULL);
			wait_for_test();
			cudaProfilerStart();
			launch_there("inside", NULL);
			wait_for_test();
			cudaProfilerStop();
		}
		wait_for_test();
	} else if (strcmp(what, "nvtx") == 0) {
		run_nvtx(count);
	} else if (strcmp(what, "calls") == 0) {
		for (i = 0; i < count; i++) {
			cudaMalloc(&memory, 100);
			launch_here("kernel_a", NULL);
			cudaDeviceSynchronize();
		}
	} else if (strcmp(what, "copies") == 0) {
		for (i = 0; i < count; i++) {
			copy_here(i);
			copy_and_wait(i, cudaMemcpyDeviceToHost);
			copy_and_wait(i, cudaMemcpyHostToDevice);
		}
	} else if (strcmp(what, "odd") == 0) {
		for (i = 0; i < count; i++) {
			launch_here(i % 3 == 0 ? "internal_kernel" : "kernel_a", NULL);
			fail_here();
		}
		launch_here("uncorrelated", NULL);
		launch_here("stuck_kernel", NULL);
		mock_context(true);
	} else if (strcmp(what, "descriptors") == 0) {
		return take_descriptors(count, NULL);
	} else if (strcmp(what, "descriptors-listening") == 0) {
		return take_descriptors(count, &hold_sockets);
	} else if (strcmp(what, "fork-with-loader") == 0) {
		return fork_with_loader(argv[3]);
	} else if (strcmp(what, "fork-while-listening") == 0) {
		return fork_while_listening();
	} else if (strcmp(what, "again") == 0) {
		for (i = 0; i < count; i++)
			mixed(i);
		for (i = 0; i < more; i++)
			initialize_again();
	} else if (strcmp(what, "fork-in-child") == 0) {
		return fork_in_child();
	} else if (strcmp(what, "namesakes") == 0) {
		return fork_namesakes();
	} else if (strcmp(what, "plugins") == 0) {
		/* Each is gone before anything reads it. The next one may get its address. */
		for (i = 0; i < count; i++) {
			memory = load(argv[3 + i % 2], 1);
			dlclose(memory);
		}
	} else if (strcmp(what, "plugin") == 0) {
		launch_here("kernel_a", NULL);
		memory = load(argv[3], count);
		wait_for_test();
		dlclose(memory);
		load(argv[4], count);
	} else if (strcmp(what, "jit") == 0) {
		if (!run_jit(count, more))
			return 15;
	} else if (strcmp(what, "contexts") == 0) {
		/* All but the last one go before their records are read. */
		mixed(0);
		for (i = 0; i < count; i++) {
			mock_context(false);
			mock_context(true);
		}
		mock_context(false);
	} else if (strcmp(what, "new-contexts") == 0) {
		for (i = 0; i < count; i++) {
			for (unsigned int j = 0; j < more; j++)
				mixed(j);
			mock_next_context();
		}
	} else if (strcmp(what, "modules") == 0) {
		for (i = 0; i < count; i++) {
			for (unsigned int j = 0; j < more; j++)
				mixed(j);
			mock_load_modules(true);
			mock_load_modules(false);
		}
	} else if (strcmp(what, "three") == 0) {
		/* Before, within and after what cudaProfilerStart() begins. */
		launch_kernels("kernel_a", count);
		cudaProfilerStart();
		wait_for_test();
		launch_kernels("kernel_b", count);
		cudaProfilerStop();
		wait_for_test();
		launch_kernels("kernel_c", count);
	} else if (strcmp(what, "cancelled") == 0) {
		run_cancelled(more, count);
	} else if (strcmp(what, "clone") == 0) {
		if (!run_clone(count))
			return 15;
	} else if (strcmp(what, "handler") == 0) {
		run_handler(count);
	} else if (strcmp(what, "cancelled-init") == 0) {
		if (!run_cancelled_init(count))
			return 15;
	} else if (strcmp(what, "bench") == 0) {
		/*
		 * Print nanoseconds for a launch 12 calls deep, to compare runs with the library.
		 */
		launch_deep("kernel_a", 12);
		clock_gettime(CLOCK_MONOTONIC, &begin);
		for (i = 0; i < count; i++)
			launch_deep("kernel_a", 12);
		clock_gettime(CLOCK_MONOTONIC, &end);
		printf("%.0f\n", ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
				  (double)(end.tv_nsec - begin.tv_nsec)) /
					 count);
	} else if (strcmp(what, "quiet") == 0) {
		printf("no CUDA here\n");
		return 0;
	}
	wait_for_gpu();
	return atomic_load(&errno_changed) ? 16 : 0;
}
