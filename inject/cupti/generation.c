// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "activity.h"
#include "callbacks.h"
#include "generation.h"
#include "hw_trace.h"
#include "sharing.h"
#include "subscribe.h"

#if CUPTI_API_VERSION >= 130000
/* As far as CUDA 13.0 has them. */
#define SAME(theirs, ours)                                                      \
	_Static_assert(offsetof(CUpti_SubscriberParams, theirs) ==              \
			       offsetof(struct inject_subscriber_params, ours), \
		       #ours)
SAME(structSize, size);
SAME(subscriberName, name);
SAME(oldSubscriberName, first);
SAME(oldSubscriberSize, first_size);
_Static_assert((int)CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS + 2 ==
		       (int)INJECT_SHARED_STATE,
	       "the attribute after CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS");
#endif

CUpti_SubscriberHandle inject_subscriber;

static struct inject_shared_cupti shared;
/* The functions are there. */
static bool has_shared;
/* Of the subscriber that was there first, where it does not share; "": it is not known, or there is none. */
static char first[INJECT_SUBSCRIBER_NAME];

/* A single subscriber */

static CUptiResult enable_alone(CUpti_ActivityKind kind)
{
	return inject_cupti.cuptiActivityEnable(kind);
}

static CUptiResult dump_alone(CUpti_ActivityKind kind)
{
	return inject_cupti.cuptiActivityEnableAndDump ?
		       inject_cupti.cuptiActivityEnableAndDump(kind) :
		       CUPTI_ERROR_NOT_SUPPORTED;
}

static CUptiResult disable_alone(CUpti_ActivityKind kind)
{
	return inject_cupti.cuptiActivityDisable(kind);
}

static CUptiResult get_alone(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
	return inject_cupti.cuptiActivityGetAttribute ?
		       inject_cupti.cuptiActivityGetAttribute(attribute, size, value) :
		       CUPTI_ERROR_NOT_SUPPORTED;
}

static CUptiResult set_alone(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
	return inject_cupti.cuptiActivitySetAttribute ?
		       inject_cupti.cuptiActivitySetAttribute(attribute, size, value) :
		       CUPTI_ERROR_NOT_SUPPORTED;
}

static CUptiResult set_thread_ids_alone(void)
{
	return inject_cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

static CUptiResult set_clock_alone(void)
{
	return inject_cupti.cuptiActivityRegisterTimestampCallback(inject_now);
}

static CUptiResult set_latency_alone(void)
{
	return inject_cupti.cuptiActivityEnableLatencyTimestamps ?
		       inject_cupti.cuptiActivityEnableLatencyTimestamps(1) :
		       CUPTI_SUCCESS;
}

static CUptiResult set_hw_trace_alone(void)
{
	CUptiResult (*set)(uint8_t on) =
		(CUptiResult (*)(uint8_t))dlsym(inject_cupti.handle, "cuptiActivityEnableHWTrace");

	return set ? set(1) : CUPTI_ERROR_NOT_SUPPORTED;
}

static CUptiResult take_buffers_alone(void)
{
	return inject_cupti.cuptiActivityRegisterCallbacks(inject_activity_request,
							   inject_activity_complete);
}

static CUptiResult next_alone(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	return inject_cupti.cuptiActivityGetNextRecord(buffer, valid, record);
}

static CUptiResult count_dropped_alone(size_t *count)
{
	return inject_cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, count);
}

static const struct inject_generation alone = {
	.enable = enable_alone,
	.dump = dump_alone,
	.disable = disable_alone,
	.get = get_alone,
	.set = set_alone,
	.set_thread_ids = set_thread_ids_alone,
	.set_clock = set_clock_alone,
	.set_latency = set_latency_alone,
	.set_hw_trace = set_hw_trace_alone,
	.take_buffers = take_buffers_alone,
	.next = next_alone,
	.dropped = count_dropped_alone,
};

const struct inject_generation *inject_generation = &alone;

/* One of several */

static CUptiResult enable_shared(CUpti_ActivityKind kind)
{
	return shared.enable(inject_subscriber, kind, NULL);
}

static CUptiResult dump_shared(CUpti_ActivityKind kind)
{
	return shared.dump(inject_subscriber, kind, NULL);
}

static CUptiResult disable_shared(CUpti_ActivityKind kind)
{
	return shared.disable(inject_subscriber, kind, NULL);
}

static CUptiResult get_shared(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
	return shared.get(inject_subscriber, attribute, size, value);
}

static CUptiResult set_shared(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
	return shared.set(inject_subscriber, attribute, size, value);
}

static CUptiResult set_thread_ids_shared(void)
{
	CUpti_ActivityThreadIdType type = CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
	size_t size = sizeof(type);

	return set_shared((CUpti_ActivityAttribute)INJECT_SHARED_THREAD_ID_TYPE, &size, &type);
}

/* Read back: under another number this would be the address of something else. */
static CUptiResult set_clock_shared(void)
{
	CUpti_TimestampCallbackFunc ours = inject_now, set = NULL;
	size_t size = sizeof(ours);
	CUptiResult result = set_shared((CUpti_ActivityAttribute)INJECT_SHARED_CLOCK, &size, &ours);

	if (result != CUPTI_SUCCESS)
		return result;
	size = sizeof(set);
	result = get_shared((CUpti_ActivityAttribute)INJECT_SHARED_CLOCK, &size, &set);
	return result == CUPTI_SUCCESS && set != ours ? CUPTI_ERROR_NOT_COMPATIBLE : result;
}

static CUptiResult set_flag(CUpti_SubscriberHandle subscriber, enum inject_shared_attribute which)
{
	uint8_t one = 1;
	size_t size = sizeof(one);

	return shared.set(subscriber, (CUpti_ActivityAttribute)which, &size, &one);
}

static CUptiResult set_latency_shared(void)
{
	return set_flag(inject_subscriber, INJECT_SHARED_LATENCY);
}

/* For all, so of no subscriber. */
static CUptiResult set_hw_trace_shared(void)
{
	return set_flag(NULL, INJECT_SHARED_HW_TRACE);
}

static void CUPTIAPI request_shared(uint8_t **buffer, size_t *size, size_t *records, void *info)
{
	(void)info;
	inject_activity_request(buffer, size, records);
}

static void CUPTIAPI complete_shared(uint8_t *buffer, size_t size, size_t valid, void *info)
{
	(void)info;
	inject_activity_complete(NULL, 0, buffer, size, valid);
}

static CUptiResult take_buffers_shared(void)
{
	return shared.take_buffers(inject_subscriber, request_shared, complete_shared);
}

static CUptiResult next_shared(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	return shared.next(inject_subscriber, buffer, valid, record);
}

static CUptiResult count_dropped_shared(size_t *count)
{
	return shared.dropped(inject_subscriber, NULL, 0, count);
}

static const struct inject_generation sharing = {
	.shares = true,
	.enable = enable_shared,
	.dump = dump_shared,
	.disable = disable_shared,
	.get = get_shared,
	.set = set_shared,
	.set_thread_ids = set_thread_ids_shared,
	.set_clock = set_clock_shared,
	.set_latency = set_latency_shared,
	.set_hw_trace = set_hw_trace_shared,
	.take_buffers = take_buffers_shared,
	.next = next_shared,
	.dropped = count_dropped_shared,
};

/* 0xff: CUPTI does not say. */
static uint8_t get_flag(CUpti_SubscriberHandle subscriber, enum inject_shared_attribute which)
{
	uint8_t value = 0xff;
	size_t size = sizeof(value);

	return shared.get(subscriber, (CUpti_ActivityAttribute)which, &size, &value) ==
			       CUPTI_SUCCESS ?
		       value :
		       0xff;
}

/* The version is asked before the subscription only where CUPTI allows that. */
static void find_shared(void)
{
	static bool is_looked_for;

	if (is_looked_for)
		return;
	is_looked_for = true;
	has_shared = true;
#define FIND(member, name)                                                           \
	shared.member = (__typeof__(shared.member))dlsym(inject_cupti.handle, name); \
	has_shared &= shared.member != NULL;
	INJECT_SHARED_FUNCTIONS(FIND)
#undef FIND
	if (has_shared)
		inject_cupti.cuptiGetVersion(&inject_cupti.version);
}

static bool is_new_enough(void)
{
	find_shared();
	return has_shared && inject_cupti.version >= INJECT_SHARING_VERSION &&
	       inject_cupti_driver() >= INJECT_SHARING_DRIVER;
}

static bool is_sharing_wanted(void)
{
	const struct gpumon_message_settings *settings = &inject_session.settings;

	return !inject_cupti_client && settings->graphs != GPUMON_GRAPHS_WHOLE &&
	       !settings->stalls_period && !settings->metrics_interval_ns;
}

bool inject_generation_may_share(void)
{
	return is_new_enough() && is_sharing_wanted();
}

static CUptiResult subscribe_shared(void)
{
	struct inject_subscriber_params params = {
		.size = sizeof(params),
		.name = "gpumon",
		.first = first,
		.first_size = sizeof(first),
		.shares = 1,
	};
	CUptiResult result;
	uint8_t state = get_flag(NULL, INJECT_SHARED_STATE);

	/* The first subscriber decides for all. */
	if (inject_hw_trace_is_due() && get_flag(NULL, INJECT_SHARED_HW_TRACE) == 1)
		inject_hw_trace_asked(CUPTI_SUCCESS);
	else if (inject_hw_trace_is_due() && state == INJECT_SHARING_OPEN)
		inject_hw_trace_asked(set_hw_trace_shared());
	result = shared.subscribe(&inject_subscriber, inject_callback, NULL, &params);
	first[sizeof(first) - 1] = '\0';
	if (result != CUPTI_SUCCESS) {
		if (state != INJECT_SHARING_OFF)
			first[0] = '\0';
		else if (!*first)
			strcpy(first, "another profiler");
		return result;
	}
	first[0] = '\0';
	if (get_flag(inject_subscriber, INJECT_SHARED_STATE) != INJECT_SHARING_ON)
		result = CUPTI_ERROR_NOT_COMPATIBLE;
	else
		result = set_clock_shared();
	if (result == CUPTI_SUCCESS)
		inject_generation = &sharing;
	else
		inject_cupti.cuptiUnsubscribe(inject_subscriber);
	return result;
}

CUptiResult inject_generation_subscribe(void)
{
	CUptiResult result;

	first[0] = '\0';
	if (inject_generation_may_share() && subscribe_shared() == CUPTI_SUCCESS)
		return CUPTI_SUCCESS;
	inject_generation = &alone;
	result = inject_cupti.cuptiSubscribe(&inject_subscriber, inject_callback, NULL);
	if (result != CUPTI_SUCCESS) {
		inject_subscriber = NULL;
		return result;
	}
	inject_cupti.cuptiGetVersion(&inject_cupti.version);
	if (inject_hw_trace_is_due())
		inject_hw_trace_asked(set_hw_trace_alone());
	return result;
}

const char *inject_generation_refused(void)
{
	static const char prefix[] = "CUPTI for ";
	static char text[160];

	/* CUPTI puts that before a name. */
	if (*first) {
		snprintf(text, sizeof(text),
			 "%s holds CUPTI and does not share it (cuptiSubscribe_v2() can)",
			 strncmp(first, prefix, strlen(prefix)) ? first : first + strlen(prefix));
		return text;
	}
	if (is_new_enough() && !is_sharing_wanted())
		return "another profiler holds CUPTI, and gpumon does not share it with --graphs=whole, --stalls, --gpu-metrics and --probe";
	if (has_shared && inject_cupti.version < INJECT_SHARING_VERSION)
		return "another profiler holds CUPTI, which gpumon shares from CUDA 13.4 on";
	return "another profiler holds CUPTI, which serves one at a time";
}

bool inject_generation_is_idle(void)
{
	uint32_t count = 0;

	return !inject_generation->shares ||
	       (shared.kinds(NULL, NULL, NULL, &count) == CUPTI_SUCCESS && !count);
}

bool inject_generation_graphs_are_whole(void)
{
	return inject_generation->shares &&
	       get_flag(inject_subscriber, INJECT_SHARED_WHOLE_GRAPHS) == 1;
}
