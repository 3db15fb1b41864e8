// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * CUPTI and nothing else, to be compared with: BARE_MODE says kernels (records
 * of kernels), callback (and an empty callback on cuLaunchKernel), runtime
 * (records of kernels and of all calls of the runtime), apis (and of all of the
 * driver). Buffers are thrown away.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cupti.h>

#define BUFFER_SIZE (2u << 20)

static __typeof__(&cuptiActivityFlushAll) flush;

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
		flush(0);
	}
	return NULL;
}

int InitializeInjection(void);

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	const char *mode = getenv("BARE_MODE"), *path = getenv("BARE_CUPTI");
	/* PyTorch brings its own: there is to be one of them. */
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	CUpti_SubscriberHandle subscriber;
	pthread_t thread;

	if (!cupti)
		cupti = dlopen(path ? path : "libcupti.so.13", RTLD_NOW);
	if (!cupti || !mode) {
		fprintf(stderr, "bare: %s\n", cupti ? "no BARE_MODE" : dlerror());
		return 1;
	}
#define GET(name) __typeof__(&name) p_##name = (__typeof__(&name))dlsym(cupti, #name)
	GET(cuptiSubscribe);
	GET(cuptiEnableCallback);
	GET(cuptiActivityRegisterCallbacks);
	GET(cuptiActivityRegisterTimestampCallback);
	GET(cuptiActivityEnable);
	GET(cuptiActivityFlushAll);
	flush = p_cuptiActivityFlushAll;
	p_cuptiSubscribe(&subscriber, on_callback, NULL);
	p_cuptiActivityRegisterTimestampCallback(on_clock);
	p_cuptiActivityRegisterCallbacks(on_request, on_complete);
	p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (strcmp(mode, "callback") == 0)
		p_cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	if (strcmp(mode, "runtime") == 0 || strcmp(mode, "apis") == 0)
		p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
	if (strcmp(mode, "apis") == 0)
		p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
	pthread_create(&thread, NULL, keep_flushing, NULL);
	return 1;
}
