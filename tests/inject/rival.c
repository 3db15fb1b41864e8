// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A program's own profiler: a library that is linked to CUPTI, as PyTorch's is. */
#include <cupti.h>

int rival_begin(void);
unsigned int rival_end(void);

static CUpti_SubscriberHandle subscriber;
static unsigned int calls;

static void CUPTIAPI count_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
	calls++;
}

int rival_begin(void)
{
	int result = (int)cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)count_call, NULL);

	if (result == CUPTI_SUCCESS)
		cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	return result;
}

unsigned int rival_end(void)
{
	cuptiUnsubscribe(subscriber);
	return calls;
}
