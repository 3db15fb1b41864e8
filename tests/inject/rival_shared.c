// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program's own profiler, as rival.c, of CUPTI's newer functions. RIVAL=share: it asks to share CUPTI;
 * otherwise it does not. RIVAL_GRAPHS: it has CUPTI record graphs as a whole.
 */
#include "mock_shared.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUFFERS	     64
#define BUFFER_BYTES 65536
/* Its clock is ahead of CLOCK_MONOTONIC by more than CLOCK_REALTIME. */
#define AHEAD 4000000000000000000ull

int rival_begin(bool with_clock);
bool rival_has_clock(void);
unsigned int rival_end(void);
unsigned int rival_kernels(void);

static CUpti_SubscriberHandle subscriber;
static _Atomic unsigned int calls;
static unsigned int kernels;
static struct {
	uint8_t *data;
	size_t valid;
} complete[BUFFERS];
static _Atomic unsigned int complete_n;

static uint64_t rival_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return AHEAD + (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void CUPTIAPI count_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				const void *data)
{
	(void)user;
	(void)data;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
		calls++;
}

static void give(uint8_t **buffer, size_t *size, size_t *records, void *info)
{
	(void)info;
	*buffer = calloc(1, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*records = 0;
}

static void take(uint8_t *buffer, size_t size, size_t valid, void *info)
{
	unsigned int n = complete_n++;

	(void)size;
	(void)info;
	if (n < BUFFERS) {
		complete[n].data = buffer;
		complete[n].valid = valid;
	}
}

bool rival_has_clock(void)
{
	CUpti_TimestampCallbackFunc clock = NULL;
	size_t size = sizeof(clock);

	cuptiActivityGetAttribute_v2(subscriber, (CUpti_ActivityAttribute)INJECT_SHARED_CLOCK,
				     &size, &clock);
	return clock == rival_clock;
}

int rival_begin(bool with_clock)
{
	const char *how = getenv("RIVAL");
	struct inject_subscriber_params params = {
		.size = sizeof(params),
		.name = "a rival",
		.shares = how && !strcmp(how, "share"),
	};
	CUpti_TimestampCallbackFunc clock = rival_clock;
	size_t size = sizeof(clock);
	uint8_t one = 1;
	int result =
		(int)cuptiSubscribe_v2(&subscriber, (CUpti_CallbackFunc)count_call, NULL, &params);

	(void)with_clock;
	if (result != CUPTI_SUCCESS)
		return result;
	cuptiActivitySetAttribute_v2(subscriber, (CUpti_ActivityAttribute)INJECT_SHARED_CLOCK,
				     &size, &clock);
	size = sizeof(one);
	if (getenv("RIVAL_GRAPHS"))
		cuptiActivitySetAttribute_v2(subscriber,
					     (CUpti_ActivityAttribute)INJECT_SHARED_WHOLE_GRAPHS,
					     &size, &one);
	cuptiActivityRegisterCallbacks_v2(subscriber, give, take);
	cuptiActivityEnable_v2(subscriber, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL);
	cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
			    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	return result;
}

/* Kernels with times of its clock. The program has waited for all. */
unsigned int rival_end(void)
{
	const CUpti_ActivityKernel4 *kernel;
	CUpti_Activity *record;

	cuptiActivityDisable_v2(subscriber, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL);
	cuptiActivityFlushAll(0);
	for (unsigned int i = 0; i < complete_n && i < BUFFERS; i++) {
		record = NULL;
		while (cuptiActivityGetNextRecord_v2(subscriber, complete[i].data,
						     complete[i].valid, &record) == CUPTI_SUCCESS) {
			kernel = (const void *)record;
			if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
			    kernel->start > AHEAD && kernel->end > kernel->start &&
			    kernel->end < rival_clock())
				kernels++;
		}
		free(complete[i].data);
	}
	cuptiUnsubscribe(subscriber);
	return calls;
}

unsigned int rival_kernels(void)
{
	return kernels;
}
