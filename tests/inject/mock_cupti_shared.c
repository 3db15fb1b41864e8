// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Stand-in for libcupti: the functions by which several subscribers share it, with the rules of NVIDIA's
 * reference of CUDA 13.4: the first subscriber decides for all, those of the older functions exclude these,
 * and each subscriber has its own kinds of records, buffers, callbacks and clock.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock_shared.h"

#include "mock_cupti.h"

/* What the first subscriber said; of the others, that they are there. */
static _Atomic bool is_shared;

/* Attributes of all subscribers. */
static _Atomic uint8_t has_hw_trace, has_whole_graphs;

/* Its subscriber, which is then served; NULL: there is none. */
static struct mock_subscriber *serve(CUpti_SubscriberHandle handle)
{
	for (unsigned int i = 1; i < MOCK_SUBSCRIBERS; i++)
		if (handle == (CUpti_SubscriberHandle)&mock_subscribers[i] &&
		    mock_subscribers[i].is_there) {
			mock_served = &mock_subscribers[i];
			return mock_served;
		}
	return NULL;
}

/* In this thread events are then everybody's again. */
static CUptiResult served(CUptiResult result)
{
	mock_served = mock_subscribers;
	return result;
}

static bool is_beside_older(void)
{
	return mock_subscribers[0].is_there;
}

static void say_first(const struct inject_subscriber_params *params)
{
	const char *name = "";

	for (unsigned int i = MOCK_SUBSCRIBERS; i-- > 1;)
		if (mock_subscribers[i].is_there)
			name = mock_subscribers[i].name;
	if (params && params->first && params->first_size)
		snprintf(params->first, params->first_size, "%s%s", *name ? "CUPTI for " : "",
			 name);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			      void *user, struct inject_subscriber_params *params)
{
	CUptiResult result = mock_failure("cuptiSubscribe_v2", 0);
	bool shares = params && params->size > offsetof(struct inject_subscriber_params, shares) &&
		      params->shares;
	struct mock_subscriber *place = NULL;

	if (result != CUPTI_SUCCESS)
		return result;
	if (params && params->size < offsetof(struct inject_subscriber_params, shares))
		return CUPTI_ERROR_INVALID_PARAMETER;
	say_first(params);
	if (is_beside_older() || (mock_is_subscribed() && !(shares && is_shared)))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	for (unsigned int i = 1; i < MOCK_SUBSCRIBERS && !place; i++)
		if (!mock_subscribers[i].is_there)
			place = &mock_subscribers[i];
	if (!place)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	if (!mock_is_subscribed())
		is_shared = shares;
	snprintf(place->name, sizeof(place->name), "%s",
		 params && params->name ? params->name : "");
	place->is_told = !strcmp(place->name, "gpumon");
	result = mock_join(place, callback, user);
	if (result == CUPTI_SUCCESS)
		*subscriber = (CUpti_SubscriberHandle)place;
	return result;
}

CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
				   void *configuration)
{
	if (configuration || !serve(subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return served(mock_enable("cuptiActivityEnable_v2", kind));
}

CUptiResult cuptiActivityEnableAndDump_v2(CUpti_SubscriberHandle subscriber,
					  CUpti_ActivityKind kind, void *configuration)
{
	CUptiResult result = cuptiActivityEnable_v2(subscriber, kind, configuration);

	if (result == CUPTI_SUCCESS && kind == CUPTI_ACTIVITY_KIND_CONTEXT && serve(subscriber))
		mock_put_context();
	return served(result);
}

CUptiResult cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
				    void *configuration)
{
	struct mock_subscriber *of = serve(subscriber);

	(void)configuration;
	mock_failure("cuptiActivityDisable_v2", (int)kind);
	if (!of)
		return CUPTI_ERROR_INVALID_PARAMETER;
	of->kinds[kind] = false;
	return served(CUPTI_SUCCESS);
}

CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber,
					      inject_shared_request request,
					      inject_shared_complete complete)
{
	CUptiResult result = mock_failure("cuptiActivityRegisterCallbacks_v2", 0);
	struct mock_subscriber *of = serve(subscriber);

	if (!of)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (result == CUPTI_SUCCESS) {
		mock_lock();
		of->request_v2 = request;
		of->complete_v2 = complete;
		mock_unlock();
	}
	return served(result);
}

static CUptiResult get_value(void *value, size_t *size, const void *from, size_t from_size)
{
	if (*size < from_size)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	memcpy(value, from, from_size);
	*size = from_size;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle subscriber,
					 CUpti_ActivityAttribute attribute, size_t *size,
					 void *value)
{
	const uint8_t state = mock_subscribed_n() == mock_subscribers[0].is_there ?
				      INJECT_SHARING_OPEN :
				      is_shared;
	struct mock_subscriber *of = serve(subscriber);
	const size_t buffer = attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE ? 3200000 : 3;
	CUpti_TimestampCallbackFunc clock = of ? of->clock : NULL;
	uint8_t flag;

	served(CUPTI_SUCCESS);
	switch ((int)attribute) {
	case INJECT_SHARED_STATE:
		return get_value(value, size, &state, sizeof(state));
	case INJECT_SHARED_HW_TRACE:
		flag = has_hw_trace;
		return get_value(value, size, &flag, sizeof(flag));
	case INJECT_SHARED_WHOLE_GRAPHS:
		flag = has_whole_graphs;
		return get_value(value, size, &flag, sizeof(flag));
	case INJECT_SHARED_CLOCK:
		/* As if that number were of another attribute. */
		if (getenv("MOCK_OTHER_ATTRIBUTES"))
			clock = NULL;
		return get_value(value, size, &clock, sizeof(clock));
	default:
		return of ? get_value(value, size, &buffer, sizeof(buffer)) :
			    CUPTI_ERROR_INVALID_PARAMETER;
	}
}

static CUptiResult set_hw_trace(const char *function, uint8_t on)
{
	CUptiResult result = mock_failure(function, 0);

	if (result == CUPTI_SUCCESS && on) {
		has_hw_trace = on;
		mock_account(MOCK_HW_TRACE);
	}
	return result;
}

CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber,
					 CUpti_ActivityAttribute attribute, size_t *size,
					 void *value)
{
	CUptiResult result = mock_failure("cuptiActivitySetAttribute_v2", (int)attribute);
	CUpti_TimestampCallbackFunc clock;

	if (attribute == (CUpti_ActivityAttribute)INJECT_SHARED_HW_TRACE) {
		if (mock_is_subscribed())
			mock_broken(MOCK_RULE_HW_TRACE_LATE);
		return *size == 1 ? set_hw_trace("cuptiActivityEnableHWTrace_v2",
						 *(const uint8_t *)value) :
				    CUPTI_ERROR_INVALID_PARAMETER;
	}
	if (!serve(subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (attribute == (CUpti_ActivityAttribute)INJECT_SHARED_WHOLE_GRAPHS)
		has_whole_graphs = *(const uint8_t *)value;
	if (attribute != (CUpti_ActivityAttribute)INJECT_SHARED_CLOCK)
		return served(result);
	if (*size != sizeof(clock))
		return served(CUPTI_ERROR_INVALID_PARAMETER);
	memcpy(&clock, value, sizeof(clock));
	return served(mock_set_clock(result, clock));
}

CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t *buffer,
					  size_t valid, CUpti_Activity **record)
{
	CUptiResult result;

	if (!serve(subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	mock_next(buffer, valid, record, &result);
	return served(result);
}

#ifndef MOCK_PARTLY
CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber,
						 CUcontext context, uint32_t stream, size_t *count)
{
	(void)context;
	(void)stream;
	mock_failure("cuptiActivityGetNumDroppedRecords_v2", 0);
	if (!serve(subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	*count = mock_take_dropped();
	return served(CUPTI_SUCCESS);
}
#endif

CUptiResult cuptiActivityGetEnabledKinds(CUpti_SubscriberHandle subscriber,
					 CUpti_ActivityKind *kinds, uint32_t *size, uint32_t *count)
{
	(void)kinds;
	(void)size;
	*count = 0;
	for (unsigned int i = 0; i < MOCK_SUBSCRIBERS; i++)
		for (unsigned int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++)
			if (mock_subscribers[i].is_there && mock_subscribers[i].kinds[kind] &&
			    (!subscriber ||
			     subscriber == (CUpti_SubscriberHandle)&mock_subscribers[i]))
				++*count;
	return CUPTI_SUCCESS;
}

/* For a single subscriber. */
CUptiResult cuptiActivityEnableHWTrace(uint8_t on)
{
	return set_hw_trace("cuptiActivityEnableHWTrace", on);
}
