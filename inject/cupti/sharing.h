/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Own declarations of what subscribers that share CUPTI use, which headers before CUDA 13.2 lack: from
 * NVIDIA's reference of CUPTI 13.4 (docs.nvidia.com/cupti: "Multiple Subscribers", "CUPTI Activity API").
 */
#ifndef GPUMON_INJECT_CUPTI_SHARING_H
#define GPUMON_INJECT_CUPTI_SHARING_H

#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/*
 * cuptiGetVersion() of CUDA 13.4. In 13.3, too, CUPTI is shared, but with one clock for all subscribers,
 * so that gpumon's would be in the other one's records. In 13.2 that is a beta.
 */
#define INJECT_SHARING_VERSION 130400u

/* cuDriverGetVersion() of r610, the first driver beside which CUPTI can be shared. */
#define INJECT_SHARING_DRIVER 13030u

/*
 * Attributes behind the last one of CUDA 13.0's header. The reference has their order and no numbers, so what
 * can be read back is (inject_generation_subscribe()).
 */
enum inject_shared_attribute {
	INJECT_SHARED_STATE = 12,	   /* uint8_t, to be read: one of INJECT_SHARING_* */
	INJECT_SHARED_HW_TRACE = 13,	   /* uint8_t, of all subscribers */
	INJECT_SHARED_LATENCY = 15,	   /* uint8_t */
	INJECT_SHARED_WHOLE_GRAPHS = 20,   /* uint8_t, of all subscribers */
	INJECT_SHARED_THREAD_ID_TYPE = 21, /* CUpti_ActivityThreadIdType */
	INJECT_SHARED_CLOCK = 22,	   /* CUpti_TimestampCallbackFunc */
};

enum {
	INJECT_SHARING_OFF = 0, /* the first subscriber does not share */
	INJECT_SHARING_ON = 1,
	INJECT_SHARING_OPEN = 2, /* no subscriber has said so far */
};

/* CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN */
#define INJECT_SUBSCRIBER_NAME 64

/**
 * struct inject_subscriber_params - CUpti_SubscriberParams
 * @size: of this struct
 * @name: of the new subscriber
 * @first: out: that of the first one
 * @first_size: room of @first
 * @shares: 1: with others. All subscribers have to say the same. CUDA 13.0 to 13.1 lack it
 */
struct inject_subscriber_params {
	size_t size;
	const char *name;
	char *first;
	size_t first_size;
	uint8_t shares;
	uint8_t padding[7];
};

typedef void (*inject_shared_request)(uint8_t **buffer, size_t *size, size_t *records, void *info);
typedef void (*inject_shared_complete)(uint8_t *buffer, size_t size, size_t valid, void *info);

/*
 * Members of struct inject_shared_cupti, and their names in CUPTI.
 * A configuration is CUpti_ActivityConfig, NULL for all fields of a record.
 */
#define INJECT_SHARED_FUNCTIONS(f)					\
	f(subscribe, "cuptiSubscribe_v2")				\
	f(enable, "cuptiActivityEnable_v2")				\
	f(dump, "cuptiActivityEnableAndDump_v2")			\
	f(disable, "cuptiActivityDisable_v2")				\
	f(get, "cuptiActivityGetAttribute_v2")				\
	f(set, "cuptiActivitySetAttribute_v2")				\
	f(take_buffers, "cuptiActivityRegisterCallbacks_v2")		\
	f(next, "cuptiActivityGetNextRecord_v2")			\
	f(dropped, "cuptiActivityGetNumDroppedRecords_v2")		\
	f(kinds, "cuptiActivityGetEnabledKinds")

/* What several subscribers call CUPTI by. */
struct inject_shared_cupti {
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
				 void *user, struct inject_subscriber_params *params);
	CUptiResult (*enable)(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
			      void *configuration);
	CUptiResult (*dump)(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
			    void *configuration);
	CUptiResult (*disable)(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
			       void *configuration);
	CUptiResult (*get)(CUpti_SubscriberHandle subscriber, CUpti_ActivityAttribute attribute,
			   size_t *size, void *value);
	CUptiResult (*set)(CUpti_SubscriberHandle subscriber, CUpti_ActivityAttribute attribute,
			   size_t *size, void *value);
	CUptiResult (*take_buffers)(CUpti_SubscriberHandle subscriber,
				    inject_shared_request request, inject_shared_complete complete);
	CUptiResult (*next)(CUpti_SubscriberHandle subscriber, uint8_t *buffer, size_t valid,
			    CUpti_Activity **record);
	CUptiResult (*dropped)(CUpti_SubscriberHandle subscriber, CUcontext context,
			       uint32_t stream, size_t *count);
	CUptiResult (*kinds)(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind *kinds,
			     uint32_t *size, uint32_t *count);
};

#endif /* GPUMON_INJECT_CUPTI_SHARING_H */
