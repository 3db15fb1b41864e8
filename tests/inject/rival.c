// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A program's own profiler: a library that is linked to CUPTI, as PyTorch's is. */
#include <cupti.h>

#include <stdbool.h>

CUpti_TimestampCallbackFunc mock_clock(void);

int rival_begin(bool with_clock);
bool rival_has_clock(void);
unsigned int rival_end(void);

static CUpti_SubscriberHandle subscriber;
static unsigned int calls;
static bool finalizes;

static void CUPTIAPI count_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)user;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
		calls++;
	else if (call->callbackSite == CUPTI_API_EXIT)
		cuptiFinalize();
}

static uint64_t rival_clock(void)
{
	return 1;
}

bool rival_has_clock(void)
{
	return mock_clock() == rival_clock;
}

/* PyTorch's sets its clock before it subscribes, and can be told to finalize CUPTI in the end. */
int rival_begin(bool with_clock)
{
	int result;

	finalizes = with_clock;
	if (with_clock)
		cuptiActivityRegisterTimestampCallback(rival_clock);
	result = (int)cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)count_call, NULL);
	if (result == CUPTI_SUCCESS)
		cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	return result;
}

unsigned int rival_end(void)
{
	int version;

	if (finalizes) {
		cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				    CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion);
		cuDriverGetVersion(&version);
	} else {
		cuptiUnsubscribe(subscriber);
	}
	return calls;
}
