/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * CUPTI has two sets of functions for the same: with the older one a process has one subscriber, with the
 * newer one as many as ask to share. They exclude each other in a process. The rest of this folder
 * does not know which one is used.
 */
#ifndef GPUMON_INJECT_CUPTI_GENERATION_H
#define GPUMON_INJECT_CUPTI_GENERATION_H

#include "library.h"

/**
 * struct inject_generation - a set of CUPTI's functions
 * @shares: other subscribers may be there as well
 * @enable: records of a kind
 * @dump: likewise, and first one of each thing that exists
 * @disable: no more of them
 * @get: an attribute that both sets have
 * @set: likewise
 * @set_thread_ids: to those of the system
 * @set_clock: to inject_now()
 * @set_latency: kernels get queued and submitted times
 * @set_hw_trace: kernels' times come from the hardware: for all subscribers, and for good
 * @take_buffers: have CUPTI use inject_activity_request() and inject_activity_complete()
 * @next: record of a buffer, as cuptiActivityGetNextRecord()
 * @dropped: records that had no buffer since the last call
 *
 * All but @set_hw_trace are for the subscriber.
 */
struct inject_generation {
	bool shares;
	CUptiResult (*enable)(CUpti_ActivityKind kind);
	CUptiResult (*dump)(CUpti_ActivityKind kind);
	CUptiResult (*disable)(CUpti_ActivityKind kind);
	CUptiResult (*get)(CUpti_ActivityAttribute attribute, size_t *size, void *value);
	CUptiResult (*set)(CUpti_ActivityAttribute attribute, size_t *size, void *value);
	CUptiResult (*set_thread_ids)(void);
	CUptiResult (*set_clock)(void);
	CUptiResult (*set_latency)(void);
	CUptiResult (*set_hw_trace)(void);
	CUptiResult (*take_buffers)(void);
	CUptiResult (*next)(uint8_t *buffer, size_t valid, CUpti_Activity **record);
	CUptiResult (*dropped)(size_t *count);
};

/* The one that the subscription, or the last one, is of. */
extern const struct inject_generation *inject_generation INJECT_HIDDEN;

/* The subscription of the recording and of the client, which may be there alone. NULL: none. */
extern CUpti_SubscriberHandle inject_subscriber INJECT_HIDDEN;

/**
 * inject_generation_subscribe - become a subscriber: the first call of CUPTI
 *
 * Asks to share CUPTI where inject_generation_may_share() says so, and is the only subscriber where CUPTI
 * refuses that. A subscriber that shares has its clock set.
 *
 * Return: CUPTI's answer; only with CUPTI_SUCCESS is inject_subscriber set.
 */
CUptiResult inject_generation_subscribe(void);

/* After CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: a sentence about who has CUPTI, valid until the next call. */
const char *inject_generation_refused(void);

/**
 * inject_generation_may_share - whether this CUPTI, its driver and the settings of the session let gpumon share
 *
 * CUPTI has no shared form of what --graphs=whole, --stalls and --gpu-metrics need, and none is used with a
 * client (subscribe.h).
 */
bool inject_generation_may_share(void);

/*
 * Whether no subscriber gets records. Only then may CUPTI be told to give back buffers with records of
 * operations that still run: it does so with the buffers of all subscribers.
 */
bool inject_generation_is_idle(void);

/* Whether another subscriber has CUPTI record graphs as a whole, so that there are no records of nodes. */
bool inject_generation_graphs_are_whole(void);

#endif /* GPUMON_INJECT_CUPTI_GENERATION_H */
