// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * CUPTI alone, as a baseline. When preloaded, it records between cudaProfilerStart() and
 * cudaProfilerStop() according to BARE_MODE: kernels (kernel records), callback (also an empty
 * callback on launches), copies (as callback, also records of copies and memsets), runtime (records
 * of kernels and of all runtime calls), finalize (as callback, and detaches CUPTI at the end with
 * cuptiFinalize()). Buffers are discarded. Outside
 * that window it has no subscriber. With BARE_WHOLE it records from before main() to the end.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime_api.h>
#include <cupti.h>

#define BUFFER_SIZE (2u << 20)

#define FUNCTIONS(X)                              \
	X(cuptiActivityDisable)                   \
	X(cuptiActivityEnable)                    \
	X(cuptiActivityFlushAll)                  \
	X(cuptiActivityRegisterCallbacks)         \
	X(cuptiActivityRegisterTimestampCallback) \
	X(cuptiEnableCallback)                    \
	X(cuptiFinalize)                          \
	X(cuptiSubscribe)                         \
	X(cuptiUnsubscribe)
#define DECLARE(name) static __typeof__(&name) p_##name;
FUNCTIONS(DECLARE)

/* PyTorch launches by the second one. */
static const CUpti_CallbackId launch_functions[] = {
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
};
static CUpti_SubscriberHandle subscriber;
static const char *mode;
static bool is_on, is_registered;
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;

static void CUPTIAPI on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				 const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

static void CUPTIAPI on_request(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = calloc(1, BUFFER_SIZE);
	*size = BUFFER_SIZE;
	*records = 0;
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	(void)valid;
	free(buffer);
}

static uint64_t CUPTIAPI on_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void *keep_flushing(void *argument)
{
	const struct timespec half = { .tv_nsec = 500000000 };

	(void)argument;
	for (;;) {
		nanosleep(&half, NULL);
		pthread_mutex_lock(&switching);
		if (is_on)
			p_cuptiActivityFlushAll(0);
		pthread_mutex_unlock(&switching);
	}
	return NULL;
}

static void load(void)
{
	const char *path = getenv("BARE_CUPTI");
	/* PyTorch brings its own copy, and there must be only one. */
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	pthread_t thread;

	mode = getenv("BARE_MODE");
	if (!cupti)
		cupti = dlopen(path ? path : "libcupti.so.13", RTLD_NOW);
	if (!cupti || !mode) {
		fprintf(stderr, "bare: %s\n", cupti ? "no BARE_MODE" : dlerror());
		exit(1);
	}
#define FIND(name) p_##name = (__typeof__(&name))dlsym(cupti, #name);
	FUNCTIONS(FIND)
	pthread_create(&thread, NULL, keep_flushing, NULL);
}

static void check(CUptiResult result)
{
	if (result == CUPTI_SUCCESS)
		return;
	fprintf(stderr, "bare: CUPTI refuses: %d\n", result);
	exit(1);
}

static bool is_mode(const char *name)
{
	return strcmp(mode, name) == 0;
}

__attribute__((visibility("default"))) cudaError_t cudaProfilerStart(void)
{
	if (!mode)
		load();
	pthread_mutex_lock(&switching);
	check(p_cuptiSubscribe(&subscriber, on_callback, NULL));
	if (!is_registered) {
		check(p_cuptiActivityRegisterTimestampCallback(on_clock));
		check(p_cuptiActivityRegisterCallbacks(on_request, on_complete));
		is_registered = true;
	}
	check(p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	if (is_mode("callback") || is_mode("copies") || is_mode("finalize")) {
		for (size_t i = 0; i < sizeof(launch_functions) / sizeof(launch_functions[0]); i++)
			check(p_cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
						    launch_functions[i]));
	}
	if (is_mode("copies")) {
		check(p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
		check(p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	}
	if (is_mode("runtime"))
		check(p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
	is_on = true;
	pthread_mutex_unlock(&switching);
	return cudaSuccess;
}

__attribute__((visibility("default"))) cudaError_t cudaProfilerStop(void)
{
	pthread_mutex_lock(&switching);
	check(p_cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	if (is_mode("copies")) {
		check(p_cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY));
		check(p_cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET));
	}
	if (is_mode("runtime"))
		check(p_cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME));
	check(p_cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	check(p_cuptiUnsubscribe(subscriber));
	if (is_mode("finalize")) {
		check(p_cuptiFinalize());
		is_registered = false;
	}
	is_on = false;
	pthread_mutex_unlock(&switching);
	return cudaSuccess;
}

/* Before CUDA is initialised, as an injection library begins. */
__attribute__((constructor)) static void record_all(void)
{
	if (getenv("BARE_WHOLE"))
		cudaProfilerStart();
}
