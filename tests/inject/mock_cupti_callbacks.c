// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Stand-in for libcupti: subscriber, callbacks and everything else except activity. */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mock_cupti.h"

struct mock_subscriber mock_subscribers[MOCK_SUBSCRIBERS] = { { .is_told = true } };
__thread struct mock_subscriber *mock_served = mock_subscribers;

static __thread bool in_exit, in_entry;

bool mock_serve(unsigned int *i)
{
	while (*i > 0 && *i < MOCK_SUBSCRIBERS && !mock_subscribers[*i].is_there)
		++*i;
	mock_served = &mock_subscribers[*i < MOCK_SUBSCRIBERS ? *i : 0];
	return *i < MOCK_SUBSCRIBERS;
}

unsigned int mock_subscribed_n(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < MOCK_SUBSCRIBERS; i++)
		count += mock_subscribers[i].is_there;
	return count;
}

bool mock_is_subscribed(void)
{
	return mock_subscribed_n();
}

struct mock_account *mock_tell(enum mock_account_type type)
{
	static struct mock_account none;

	return mock_served->is_told ? mock_account(type) : &none;
}

/* Whether there is one of the same name for a single subscriber and for several. */
static bool has_v2(const char *function)
{
	static const char *const names[] = {
		"cuptiSubscribe",
		"cuptiActivityEnable",
		"cuptiActivityDisable",
		"cuptiActivityRegisterCallbacks",
		"cuptiActivityRegisterTimestampCallback",
		"cuptiActivityGetNumDroppedRecords",
		"cuptiActivityGetAttribute",
		"cuptiActivitySetAttribute",
		"cuptiActivityEnableLatencyTimestamps",
		"cuptiActivityEnableHWTrace",
		"cuptiSetThreadIdType",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(function, names[i]))
			return true;
	return false;
}

/* What may be asked before there is a subscriber, where they share. */
static bool is_before(const char *function)
{
#ifdef MOCK_SHARES
	return strstr(function, "_v2") || !strcmp(function, "cuptiGetVersion");
#else
	(void)function;
	return false;
#endif
}

CUptiResult mock_failure(const char *function, int argument)
{
	const char *text = getenv("MOCK_FAIL"), *at;
	char key[80];

	/* Like the real one, which makes system calls. */
	errno = EAGAIN;
	if (mock_in_buffer_callback())
		mock_broken(MOCK_RULE_CALL_IN_BUFFER_CALLBACK);
	if (!mock_is_subscribed() && strcmp(function, "cuptiSubscribe") != 0 &&
	    strcmp(function, "cuptiActivityDisable") != 0 && !is_before(function))
		mock_broken(MOCK_RULE_BEFORE_SUBSCRIBE);
	if (has_v2(function) && mock_subscribed_n() > mock_subscribers[0].is_there) {
		if (strcmp(function, "cuptiSubscribe") != 0)
			mock_broken(MOCK_RULE_MIXED);
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	}
	if (!text)
		return CUPTI_SUCCESS;
	snprintf(key, sizeof(key), "%s@%d:", function, argument);
	at = strstr(text, key);
	if (!at) {
		snprintf(key, sizeof(key), "%s:", function);
		at = strstr(text, key);
	}
	return at ? (CUptiResult)atoi(at + strlen(key)) : CUPTI_SUCCESS;
}

void mock_broken(unsigned int rule)
{
	mock_account(MOCK_BROKEN)->other = rule;
}

/* Threads in callbacks of the API, of any subscriber. */
static _Atomic int in_callbacks;

/* Threads in synchronisations whose entry had a callback. */
static _Atomic int synchronising;
static __thread bool is_synchronising;

static void on_api(unsigned int domain, unsigned int id, bool is_exit, const char *name,
		   const void *parameters, int *result, uint32_t correlation)
{
	static __thread uint64_t data[MOCK_SUBSCRIBERS][CUPTI_CB_DOMAIN_SIZE][4];
	struct mock_subscriber *subscriber;
	CUpti_CallbackData callback_data = {
		.callbackSite = is_exit ? CUPTI_API_EXIT : CUPTI_API_ENTER,
		.functionName = name,
		.functionParams = parameters,
		.functionReturnValue = result,
		.symbolName = "a_kernel",
		.context = (CUcontext)1,
		.contextUid = 1,
		.correlationId = correlation,
	};

	if (is_exit && is_synchronising)
		atomic_fetch_sub(&synchronising, 1);
	if (is_exit)
		is_synchronising = false;
	for (unsigned int i = 0; i < MOCK_SUBSCRIBERS; i++) {
		subscriber = &mock_subscribers[i];
		if (!subscriber->is_there || !atomic_load(&subscriber->calls[domain][id]))
			continue;
		if (!is_exit && !is_synchronising && strstr(name, "Synchronize")) {
			is_synchronising = true;
			atomic_fetch_add(&synchronising, 1);
		}
		callback_data.correlationData = data[i][domain];
		in_exit = is_exit;
		in_entry = !is_exit;
		atomic_fetch_add(&in_callbacks, 1);
		subscriber->callback(subscriber->user, domain, id, &callback_data);
		atomic_fetch_sub(&in_callbacks, 1);
		in_exit = in_entry = false;
	}
}

static void call_all(CUpti_CallbackDomain domain, unsigned int id, const void *data)
{
	struct mock_subscriber *subscriber;

	for (unsigned int i = 0; i < MOCK_SUBSCRIBERS; i++) {
		subscriber = &mock_subscribers[i];
		if (subscriber->is_there && atomic_load(&subscriber->calls[domain][id]))
			subscriber->callback(subscriber->user, domain, id, data);
	}
}

static void on_resource(unsigned int id, CUcontext context, CUgraph graph, CUgraphNode node,
			CUgraphNode original)
{
	CUpti_GraphData graph_data = {
		.graph = graph,
		.node = node,
		.originalNode = original,
		.nodeType = CU_GRAPH_NODE_TYPE_KERNEL,
	};
	CUpti_ResourceData data = {
		.context = context,
		.resourceDescriptor = graph ? &graph_data : NULL,
	};

	for (unsigned int i = 0; id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED && mock_serve(&i); i++)
		mock_put_context();
	call_all(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
	if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
		mock_sampling_ends(MOCK_RULE_SAMPLED_CONTEXT);
}

static void on_module(const struct mock_image *module, bool ends)
{
	const unsigned int id = ends ? CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING :
				       CUPTI_CBID_RESOURCE_MODULE_LOADED;
	CUpti_ModuleResourceData module_data = {
		.moduleId = 1 + module->has_lines,
		.cubinSize = module->size,
		.pCubin = module->cubin,
	};
	CUpti_ResourceData data = {
		.context = (CUcontext)1,
		.resourceDescriptor = &module_data,
	};

	mock_module_loaded(module);
	call_all(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

static void on_nvtx(unsigned int id, const char *name, const void *parameters, const void *result)
{
	const CUpti_NvtxData data = {
		.functionName = name,
		.functionParams = parameters,
		.functionReturnValue = result,
	};

	call_all(CUPTI_CB_DOMAIN_NVTX, id, &data);
}

static const struct mock_hooks hooks = {
	.api = on_api,
	.resource = on_resource,
	.nvtx = on_nvtx,
	.work = mock_do_work,
	.wait = mock_wait_for_gpu,
	.stream = mock_put_stream,
	.allocate = mock_allocate_memory,
	.module = on_module,
};

/*
 * MOCK_BUSY: a lock that the program's threads do not leave while they run beside each other. Returns false if
 * they never stop to.
 */
static bool wait_for_lock(void)
{
	cpu_set_t cpus;

	for (int i = 0; getenv("MOCK_BUSY") && i < 60000; i++) {
		if (sched_getaffinity(getpid(), sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) == 1)
			return true;
		usleep(1000);
	}
	return !getenv("MOCK_BUSY");
}

CUptiResult mock_join(struct mock_subscriber *subscriber, CUpti_CallbackFunc callback, void *user)
{
	void (*set_hooks)(const struct mock_hooks *hooks);
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (!wait_for_lock())
		return CUPTI_ERROR_UNKNOWN;
	set_hooks = cuda ? (void (*)(const struct mock_hooks *))dlsym(cuda, "mock_set_hooks") :
			   NULL;
	if (!set_hooks)
		return CUPTI_ERROR_NOT_INITIALIZED;
	subscriber->callback = callback;
	subscriber->user = user;
	subscriber->is_there = true;
	mock_prepare_for_fork();
	set_hooks(&hooks);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc function,
			   void *user)
{
	CUptiResult result = mock_failure("cuptiSubscribe", 0);

	if (result != CUPTI_SUCCESS)
		return result;
	if (mock_is_subscribed())
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	result = mock_join(mock_subscribers, function, user);
	if (result == CUPTI_SUCCESS)
		*subscriber = (CUpti_SubscriberHandle)mock_subscribers;
	return result;
}

/* The one of a handle; rule: it is there. */
static struct mock_subscriber *find(CUpti_SubscriberHandle handle)
{
	for (unsigned int i = 0; i < MOCK_SUBSCRIBERS; i++)
		if (handle == (CUpti_SubscriberHandle)&mock_subscribers[i])
			return &mock_subscribers[i];
	mock_broken(MOCK_RULE_FOREIGN_SUBSCRIBER);
	return mock_subscribers;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	struct mock_subscriber *subscriber = find(handle);
	unsigned int domain, id;

	subscriber->is_there = false;
	for (domain = 0; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
		for (id = 0; id < MOCK_IDS; id++)
			atomic_store_explicit(&subscriber->calls[domain][id], false,
					      memory_order_relaxed);
	if (subscriber != mock_subscribers)
		mock_leave(subscriber);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize(void)
{
	CUptiResult result = mock_failure("cuptiFinalize", 0);

	if (!in_exit)
		mock_broken(MOCK_RULE_FINALIZE_OUTSIDE);
	/* This one is in a callback itself. */
	else if (atomic_load(&in_callbacks) > 1)
		mock_broken(MOCK_RULE_FINALIZE_CALLBACKS);
	else if (atomic_load(&synchronising))
		mock_broken(MOCK_RULE_FINALIZE_CALLS);
	/* As the real one, which says nothing about it. */
	if (result != CUPTI_SUCCESS || mock_subscribed_n() > 1)
		return result;
	if (mock_pm_is_enabled && mock_pm_is_enabled())
		mock_broken(MOCK_RULE_FINALIZE_SAMPLES);
	mock_sampling_ends(MOCK_RULE_SAMPLED_DETACH);
	mock_forget_activity();
	for (unsigned int i = 0; i < MOCK_SUBSCRIBERS; i++)
		if (mock_subscribers[i].is_there)
			cuptiUnsubscribe((CUpti_SubscriberHandle)&mock_subscribers[i]);
	mock_account(MOCK_DETACHED);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
				CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	CUptiResult result = mock_failure("cuptiEnableCallback", (int)domain);

	if (result != CUPTI_SUCCESS)
		return result;
	if (domain >= CUPTI_CB_DOMAIN_SIZE || id >= MOCK_IDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	atomic_store(&find(handle)->calls[domain][id], enable);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
			      CUpti_CallbackDomain domain)
{
	unsigned int id;

	for (id = 1; id < MOCK_IDS; id++)
		cuptiEnableCallback(enable, subscriber, domain, id);
	return CUPTI_SUCCESS;
}

uint32_t mock_version(void)
{
	const char *text = getenv("MOCK_VERSION");

	return text ? (uint32_t)atoi(text) : MOCK_CUPTI_VERSION;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	mock_failure("cuptiGetVersion", 0);
	*version = mock_version();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
#define RUNTIME(function, version) \
	[CUPTI_RUNTIME_TRACE_CBID_##function##_v##version] = #function "_v" #version
#define DRIVER(function) [CUPTI_DRIVER_TRACE_CBID_##function] = #function
	static const char *const runtime[MOCK_IDS] = {
		RUNTIME(cudaLaunchKernel, 7000), RUNTIME(cudaLaunchKernelExC, 11060),
		RUNTIME(cudaMemcpy, 3020),	 RUNTIME(cudaMemcpyAsync, 3020),
		RUNTIME(cudaMemsetAsync, 3020),	 RUNTIME(cudaDeviceSynchronize, 3020),
		RUNTIME(cudaMalloc, 3020),	 RUNTIME(cudaProfilerStart, 4000),
		RUNTIME(cudaProfilerStop, 4000), RUNTIME(cudaGraphLaunch, 10000),
	};
	static const char *const driver[MOCK_IDS] = {
		DRIVER(cuLaunchKernel),
		DRIVER(cuLaunchKernelEx),
		DRIVER(cuLaunchCooperativeKernel),
		DRIVER(cuMemcpyAsync),
		DRIVER(cuMemsetD8Async),
		DRIVER(cuMemcpyHtoD_v2),
		DRIVER(cuMemcpyDtoH_v2),
		DRIVER(cuMemcpyHtoDAsync_v2),
		DRIVER(cuMemcpyDtoHAsync_v2),
		DRIVER(cuMemAlloc_v2),
		DRIVER(cuStreamBeginCapture_v2),
		DRIVER(cuStreamEndCapture),
		DRIVER(cuGraphLaunch),
		DRIVER(cuMemSetAccess),
		DRIVER(cuLaunchKernel_ptsz),
		DRIVER(cuModuleLoad),
		DRIVER(cuModuleLoadData),
		DRIVER(cuModuleLoadDataEx),
		DRIVER(cuModuleLoadFatBinary),
		DRIVER(cuModuleUnload),
		DRIVER(cuLinkAddData_v2),
		DRIVER(cuLinkAddFile_v2),
		DRIVER(cuCtxDestroy_v2),
		DRIVER(cuDevicePrimaryCtxRelease_v2),
		DRIVER(cuDevicePrimaryCtxReset_v2),
		DRIVER(cuCtxSynchronize),
		DRIVER(cuStreamSynchronize),
#if CUDA_VERSION >= 12000
		DRIVER(cuLibraryLoadData),
		DRIVER(cuLibraryLoadFromFile),
		DRIVER(cuLibraryUnload),
#endif
	};

	/* A signal of the program's comes while the library is within its call. */
	if (in_entry && getenv("MOCK_SIGNAL"))
		raise(SIGUSR1);
	*name = NULL;
	if (id == 0 || id >= 900)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		*name = runtime[id] ? runtime[id] : "cudaSomething_v1";
	else if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
		*name = driver[id] ? driver[id] : "cuSomething";
	return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	*text = result == CUPTI_ERROR_OUT_OF_MEMORY ? "CUPTI_ERROR_OUT_OF_MEMORY" :
						      "CUPTI_ERROR_OF_A_TEST";
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	(void)type;
	return mock_failure("cuptiSetThreadIdType", 0);
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
	/* The contexts of tests/probe/cuda are pointers, and all records are of the first one. */
	*id = (uintptr_t)context < 4096 ? (uint32_t)(uintptr_t)context : 1;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t is_per_thread,
			       uint32_t *id)
{
	(void)context;
	(void)is_per_thread;
	*id = (uintptr_t)stream > 2 ? ((const struct mock_stream *)(const void *)stream)->id : 7;
	errno = EAGAIN;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
	(void)context;
	*id = 0;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graph, uint32_t *id)
{
	*id = ((const struct mock_graph *)(const void *)graph)->id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	*id = ((const struct mock_graph *)(const void *)graph)->id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	*id = ((const struct mock_node *)(const void *)node)->id;
	errno = EAGAIN;
	return CUPTI_SUCCESS;
}
