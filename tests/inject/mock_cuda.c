// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Stand-in for libcuda.so.1: see mock.h. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cupti.h>

#include "mock.h"

#define ACCOUNTS (1u << 21)

const struct mock_gpu *mock_gpu;

static _Atomic(const struct mock_hooks *) current_hooks;

/* CUPTI may be loaded at any time. */
#define hooks atomic_load(&current_hooks)
static struct mock_account *accounts;
static _Atomic uint32_t *account_count;
static _Atomic uint32_t last_correlation;
static _Atomic uint64_t last_node = 100;
static _Atomic uint32_t last_graph = 10;
static __thread unsigned int depth;
static __thread uint32_t correlation;
static __thread bool was_captured;
static __thread const void *outer_address;

uint64_t mock_monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void open_account(void)
{
	const char *path = getenv("MOCK_ACCOUNT");
	size_t size = sizeof(*accounts) * ACCOUNTS;
	int fd;

	if (accounts || !path)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		abort();
	accounts = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (accounts == MAP_FAILED)
		abort();
	close(fd);
	/* The first entry is the number of the others. */
	account_count = (_Atomic uint32_t *)(void *)accounts;
}

struct mock_account *mock_account(enum mock_account_type type)
{
	static __thread struct mock_account nowhere;
	struct mock_account *account = &nowhere;
	uint32_t at;

	if (accounts) {
		at = atomic_fetch_add(account_count, 1) + 1;
		if (at >= ACCOUNTS)
			abort();
		account = &accounts[at];
	}
	account->pid = (uint32_t)getpid();
	account->tid = (uint32_t)syscall(SYS_gettid);
	account->correlation = correlation;
	account->type = type;
	return account;
}

void mock_set_hooks(const struct mock_hooks *new_hooks)
{
	atomic_store(&current_hooks, new_hooks);
}

int mock_call(unsigned int domain, unsigned int id, const char *name, bool is_launch,
	      const void *address, const void *parameters, int (*body)(const void *parameters))
{
	bool is_outermost = !depth++;
	struct mock_account *account;
	uint64_t start = mock_monotonic();
	int result;

	if (is_outermost) {
		correlation = atomic_fetch_add(&last_correlation, 1) + 1;
		was_captured = false;
		outer_address = address;
	}
	if (hooks)
		hooks->api(domain, id, false, name, parameters, NULL, correlation);
	result = body(parameters);
	if (hooks)
		hooks->api(domain, id, true, name, parameters, &result, correlation);
	if (is_outermost) {
		account = mock_account(!is_launch   ? MOCK_CALL :
				       was_captured ? MOCK_CAPTURED :
						      MOCK_LAUNCH);
		account->address = (uintptr_t)address;
		account->start = start;
		account->end = mock_monotonic();
		account->result = (uint32_t)result;
	}
	depth--;
	return result;
}

/* libcuda loads the library in CUDA_INJECTION64_PATH. */
CUresult cuInit(unsigned int flags)
{
	static _Atomic int done;
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*initialize)(void);
	void *handle;

	(void)flags;
	if (atomic_exchange(&done, 1))
		return CUDA_SUCCESS;
	open_account();
	if (!path)
		return CUDA_SUCCESS;
	handle = dlopen(path, RTLD_NOW);
	if (!handle) {
		fprintf(stderr, "mock: %s\n", dlerror());
		return CUDA_SUCCESS;
	}
	initialize = (int (*)(void))dlsym(handle, "InitializeInjection");
	if (initialize)
		initialize();
	return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
	const char *text = getenv("MOCK_DRIVER_VERSION");
	int result = CUDA_SUCCESS;

	*version = text ? atoi(text) : 13000;
	if (hooks)
		hooks->api(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion,
			   true, "cuDriverGetVersion", NULL, &result, 0);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID		   ? 0x1b :
		 attribute == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID		   ? 2 :
		 attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 :
		 attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0 :
		 attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT	   ? MOCK_PROCESSORS :
									     1;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
	(void)stream;
	*context = (CUcontext)1;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
	*priority = (uintptr_t)stream > 2 ? -5 : 0;
	return CUDA_SUCCESS;
}

/* NULL for the default stream of all threads, which is never captured here. */
static struct mock_stream *stream_of(CUstream stream)
{
	static __thread struct mock_stream of_thread = { .id = 7 };

	if (stream == CU_STREAM_PER_THREAD)
		return &of_thread;
	return (uintptr_t)stream > 2 ? (void *)stream : NULL;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	const struct mock_stream *mock = stream_of(stream);

	*status = mock && mock->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE :
					  CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

/*
 * Either a node of the graph that the stream is captured into, or an operation for the GPU. Return: the
 * node, or NULL.
 */
static struct mock_node *do_work(enum mock_work work, const char *name, CUstream stream,
				 uint64_t bytes)
{
	struct mock_stream *mock = stream_of(stream);
	struct mock_account *account;
	struct mock_graph *graph;
	struct mock_node *node;

	if (mock && mock->capture) {
		graph = mock->capture;
		if (graph->count == MOCK_NODES)
			abort();
		node = &graph->nodes[graph->count++];
		node->id = atomic_fetch_add(&last_node, 1) + 1;
		node->work = work;
		snprintf(node->name, sizeof(node->name), "%s", name);
		was_captured = true;
		account = mock_account(MOCK_NODE);
		account->node = node->id;
		account->address = (uintptr_t)outer_address;
		if (hooks && !getenv("MOCK_NO_NODES"))
			hooks->resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, NULL, (CUgraph)graph,
					(CUgraphNode)node, NULL);
		return node;
	}
	if (hooks)
		hooks->work(work, name, correlation, stream, 0, 0, bytes);
	return NULL;
}

int mock_work_kernel(CUfunction function, unsigned int blocks, unsigned int threads,
		     CUstream stream, void **parameters)
{
	struct mock_launch *launch = NULL;
	struct mock_node *node;
	int result = CUDA_SUCCESS;

	if (mock_gpu) {
		launch = mock_gpu->prepare(function, blocks, threads, parameters);
		if (!launch)
			return CUDA_ERROR_INVALID_HANDLE;
	}
	node = do_work(MOCK_WORK_KERNEL, (const char *)function, stream, 0);
	if (node) {
		node->launch = launch;
	} else if (launch) {
		result = mock_gpu->run(launch);
		mock_gpu->forget(launch);
	}
	return result;
}

/* How long something takes, as a variable says. */
static void take_time_of(const char *variable)
{
	const char *text = getenv(variable);

	if (text)
		usleep((useconds_t)atoi(text));
}

/* MOCK_LAUNCH_US: duration of a launch before its kernel is queued, and again afterwards. */
static void take_time(void)
{
	take_time_of("MOCK_LAUNCH_US");
}

static int launch_kernel(const void *parameters)
{
	const cuLaunchKernel_params *p = parameters;
	int result;

	/* A grid of 0 is rejected, as by the real libcuda. */
	if (!p->gridDimX)
		return CUDA_ERROR_INVALID_VALUE;
	take_time();
	result = mock_work_kernel(p->f, p->gridDimX, p->blockDimX, p->hStream, p->kernelParams);
	take_time();
	return result;
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
			unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
			unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
			void **kernelParams, void **extra)
{
	const cuLaunchKernel_params p = { f,	     gridDimX,	   gridDimY,  gridDimZ,
					  blockDimX, blockDimY,	   blockDimZ, sharedMemBytes,
					  hStream,   kernelParams, extra };

	return (CUresult)mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
				   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel", true,
				   __builtin_return_address(0), &p, launch_kernel);
}

/* As cuLaunchKernel compiled for per-thread default streams: no stream means the thread's. */
static int launch_kernel_per_thread(const void *parameters)
{
	const cuLaunchKernel_params *p = parameters;

	return mock_work_kernel(p->f, p->gridDimX, p->blockDimX,
				p->hStream ? p->hStream : CU_STREAM_PER_THREAD, p->kernelParams);
}

void mock_launch_per_thread(const char *kernel)
{
	const cuLaunchKernel_params p = { .f = (CUfunction)(uintptr_t)kernel, .gridDimX = 1 };

	mock_call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
		  "cuLaunchKernel_ptsz", true, __builtin_return_address(0), &p,
		  launch_kernel_per_thread);
}

static int launch_kernel_ex(const void *parameters)
{
	const cuLaunchKernelEx_params *p = parameters;
	const CUlaunchConfig *config = p->config;

	for (unsigned int i = 0; mock_gpu && i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
		    config->attrs[i].value.cooperative &&
		    !mock_gpu->fits(p->f, config->gridDimX, config->blockDimX))
			return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return mock_work_kernel(p->f, config->gridDimX, config->blockDimX, config->hStream,
				p->kernelParams);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
			  void **extra)
{
	const cuLaunchKernelEx_params p = { config, f, kernelParams, extra };

	return (CUresult)mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
				   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, "cuLaunchKernelEx",
				   true, __builtin_return_address(0), &p, launch_kernel_ex);
}

void mock_wait(CUstream stream)
{
	if (hooks)
		hooks->wait(correlation, stream);
	take_time_of("MOCK_WAIT_US");
}

static int memcpy_async(const void *parameters)
{
	const cuMemcpyAsync_params *p = parameters;

	do_work(MOCK_WORK_COPY, "", p->hStream, p->ByteCount);
	return 0;
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	const cuMemcpyAsync_params p = { dst, src, ByteCount, hStream };

	return (CUresult)mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
				   CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync, "cuMemcpyAsync", true,
				   __builtin_return_address(0), &p, memcpy_async);
}

/* The copies of both directions, which wait. */
static int memcpy_and_wait(const void *parameters)
{
	do_work(MOCK_WORK_COPY, "", NULL, *(const size_t *)parameters);
	mock_wait(NULL);
	return 0;
}

CUresult cuMemcpyDtoH(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
	(void)dstHost;
	(void)srcDevice;
	return (CUresult)mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
				   CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2, "cuMemcpyDtoH_v2", true,
				   __builtin_return_address(0), &ByteCount, memcpy_and_wait);
}

CUresult cuMemcpyHtoD(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
	(void)dstDevice;
	(void)srcHost;
	return (CUresult)mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
				   CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, "cuMemcpyHtoD_v2", true,
				   __builtin_return_address(0), &ByteCount, memcpy_and_wait);
}

static int memset_async(const void *parameters)
{
	const cuMemsetD8Async_params *p = parameters;

	do_work(MOCK_WORK_SET, "", p->hStream, p->N);
	return mock_gpu ? mock_gpu->set(p->dstDevice, p->uc, p->N) : 0;
}

CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
	const cuMemsetD8Async_params p = { dstDevice, uc, N, hStream };

	return (CUresult)mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
				   CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, "cuMemsetD8Async", true,
				   __builtin_return_address(0), &p, memset_async);
}

static int begin_capture(const void *parameters)
{
	struct mock_stream *stream = stream_of(*(const CUstream *)parameters);

	stream->capture = calloc(1, sizeof(*stream->capture));
	stream->capture->id = atomic_fetch_add(&last_graph, 1) + 1;
	return mock_gpu ? mock_gpu->capture(true) : 0;
}

CUresult cuStreamBeginCapture(CUstream hStream, CUstreamCaptureMode mode)
{
	(void)mode;
	return (CUresult)mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
				   CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
				   "cuStreamBeginCapture_v2", false, __builtin_return_address(0),
				   &hStream, begin_capture);
}

static __thread CUgraph captured;

static int end_capture(const void *parameters)
{
	struct mock_stream *stream = stream_of(*(const CUstream *)parameters);

	captured = (CUgraph)stream->capture;
	stream->capture = NULL;
	return mock_gpu ? mock_gpu->capture(false) : 0;
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	int result = mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
			       CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, "cuStreamEndCapture",
			       false, __builtin_return_address(0), &hStream, end_capture);

	*phGraph = captured;
	return (CUresult)result;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
				     unsigned long long flags)
{
	const struct mock_graph *from = (const void *)hGraph;
	struct mock_graph *to = calloc(1, sizeof(*to));
	struct mock_account *account;
	unsigned int i;

	(void)flags;
	*to = *from;
	to->id = atomic_fetch_add(&last_graph, 1) + 1;
	for (i = 0; i < to->count; i++) {
		to->nodes[i].id = atomic_fetch_add(&last_node, 1) + 1;
		account = mock_account(MOCK_CLONE);
		account->node = to->nodes[i].id;
		account->other = from->nodes[i].id;
		if (hooks)
			hooks->resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, NULL, (CUgraph)to,
					(CUgraphNode)&to->nodes[i],
					(CUgraphNode)(uintptr_t)&from->nodes[i]);
	}
	*phGraphExec = (CUgraphExec)to;
	return CUDA_SUCCESS;
}

static int launch_graph(const void *parameters)
{
	const cuGraphLaunch_params *p = parameters;
	const struct mock_graph *graph = (const void *)p->hGraph;
	int result = CUDA_SUCCESS;
	unsigned int i;

	for (i = 0; i < graph->count && hooks; i++)
		hooks->work(graph->nodes[i].work, graph->nodes[i].name, correlation, p->hStream,
			    graph->nodes[i].id, graph->id, 64);
	for (i = 0; i < graph->count && result == CUDA_SUCCESS; i++)
		if (graph->nodes[i].launch)
			result = mock_gpu->run(graph->nodes[i].launch);
	return result;
}

CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
	const cuGraphLaunch_params p = { hGraphExec, hStream };

	return (CUresult)mock_call(CUPTI_CB_DOMAIN_DRIVER_API,
				   CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch", true,
				   __builtin_return_address(0), &p, launch_graph);
}

/* For the stand-ins for the runtime and NVTX. */

void mock_work_copy(CUstream stream, uint64_t bytes)
{
	do_work(MOCK_WORK_COPY, "", stream, bytes);
}

void mock_stream_made(uint32_t id)
{
	if (hooks)
		hooks->stream(id);
}

void mock_allocate(uint64_t address, uint64_t bytes)
{
	if (hooks)
		hooks->allocate(correlation, address, bytes);
}

void mock_nvtx(unsigned int id, const char *name, const void *parameters, const void *result)
{
	if (hooks)
		hooks->nvtx(id, name, parameters, result);
}

/* CUPTI_CBID_RESOURCE_GRAPH_NODE_..., missing in older headers. */
#define GRAPH_NODE_UPDATED    22
#define GRAPH_NODE_SET_PARAMS 23

#if CUPTI_API_VERSION >= 130000
_Static_assert(GRAPH_NODE_UPDATED == CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED &&
		       GRAPH_NODE_SET_PARAMS == CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS,
	       "other callback ids");
#endif

/* As cudaGraphExecUpdate() and cudaGraphExecKernelNodeSetParams() do for each node. */
void mock_change_nodes(CUgraphExec exec, bool alone)
{
	struct mock_graph *graph = (void *)exec;
	unsigned int i;

	for (i = 0; i < graph->count && hooks; i++)
		hooks->resource(alone ? GRAPH_NODE_SET_PARAMS : GRAPH_NODE_UPDATED, NULL,
				(CUgraph)graph, (CUgraphNode)&graph->nodes[i], NULL);
}

void mock_context(bool ends)
{
	if (hooks)
		hooks->resource(ends ? CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING :
				       CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
				(CUcontext)1, NULL, NULL, NULL);
}

/* The context goes, and another one comes. */
void mock_next_context(void)
{
	static uintptr_t current = 1;

	if (!hooks)
		return;
	hooks->resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, (CUcontext)current++, NULL,
			NULL, NULL);
	hooks->resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, (CUcontext)current, NULL, NULL, NULL);
}

#define SECTION(number, names, text, bytes) \
	[number] = { .sh_name = names, .sh_offset = offsetof(struct cubin, text), .sh_size = bytes }

/* An ELF file of a table of sections alone: as much as the library looks at. */
struct cubin {
	Elf64_Ehdr head;
	Elf64_Shdr sections[3];
	char names[32];
};

static const struct cubin cubin_with_lines = {
	.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		  .e_shoff = offsetof(struct cubin, sections),
		  .e_shentsize = sizeof(Elf64_Shdr),
		  .e_shnum = 3,
		  .e_shstrndx = 1 },
	.sections = { SECTION(1, 1, names, 32), SECTION(2, 11, names, 1) },
	.names = "\0.shstrtab\0.debug_line",
};
static const struct cubin cubin_without_lines = {
	.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		  .e_shoff = offsetof(struct cubin, sections),
		  .e_shentsize = sizeof(Elf64_Shdr),
		  .e_shnum = 3,
		  .e_shstrndx = 1 },
	.sections = { SECTION(1, 1, names, 32), SECTION(2, 11, names, 1) },
	.names = "\0.shstrtab\0.text.kernel_d",
};
static const struct mock_image modules[] = {
	{ &cubin_with_lines, sizeof(cubin_with_lines), true },
	{ &cubin_without_lines, sizeof(cubin_without_lines), false },
};

void mock_load_modules(bool ends)
{
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]) && hooks; i++)
		hooks->module(&modules[i], ends);
}
