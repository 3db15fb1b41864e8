/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Stand-in for libcupti, in generations built from the same files. 12 writes records of
 * CUpti_ActivityKernel9 and Memcpy5 into one buffer for all threads, 13 those of Kernel10 and
 * Memcpy6 into a buffer per thread. If the headers lack a record, the newest available one is used. With
 * MOCK_SHARES, 13 is that of CUDA 13.5: subscribers can share it.
 */
#ifndef GPUMON_TESTS_INJECT_MOCK_CUPTI_H
#define GPUMON_TESTS_INJECT_MOCK_CUPTI_H

#include <cupti.h>

#include "mock.h"

#define MOCK_NEW_RECORDS (MOCK_GENERATION == 13 && CUPTI_API_VERSION >= 130000)
#if MOCK_NEW_RECORDS
typedef CUpti_ActivityKernel10 mock_kernel;
typedef CUpti_ActivityMemcpy6 mock_copy;
typedef CUpti_ActivityDevice5 mock_device;
typedef CUpti_ActivityContext3 mock_context_record;
typedef CUpti_ActivitySynchronization2 mock_sync;
typedef CUpti_ActivityMemory4 mock_memory;
typedef CUpti_ActivityUnifiedMemoryCounter3 mock_unified;
#else
#if CUPTI_API_VERSION >= 22
typedef CUpti_ActivityKernel9 mock_kernel;
#else
typedef CUpti_ActivityKernel8 mock_kernel;
#endif
typedef CUpti_ActivityMemcpy5 mock_copy;
typedef CUpti_ActivityDevice4 mock_device;
typedef CUpti_ActivityContext mock_context_record;
typedef CUpti_ActivitySynchronization mock_sync;
typedef CUpti_ActivityMemory3 mock_memory;
typedef CUpti_ActivityUnifiedMemoryCounter2 mock_unified;
#endif
#ifdef MOCK_SHARES
#define MOCK_CUPTI_VERSION 130500
#else
#define MOCK_CUPTI_VERSION (MOCK_GENERATION == 13 ? 130001 : 24)
#endif

/* MOCK_CUPTI_VERSION, or that of MOCK_VERSION. */
uint32_t mock_version(void);

/* As CUPTI 12.4 has it. 12.0 has it without what comes after @base, 12.2 without @data. */
struct mock_overhead {
	CUpti_ActivityOverhead base;
	uint32_t correlation;
	uint32_t reserved;
	void *data;
};

size_t mock_overhead_size(void);

/*
 * The failure of a function from MOCK_FAIL: "cuptiActivityEnable:8" or "cuptiActivityEnable@10:8".
 */
CUptiResult mock_failure(const char *function, int argument);

/* Add a broken rule of CUPTI to the account. */
void mock_broken(unsigned int rule);

enum {
	MOCK_RULE_CALL_IN_BUFFER_CALLBACK = 1, /* CUPTI's lock is held in that callback */
	MOCK_RULE_CLOCK_TWICE = 2,
	MOCK_RULE_CLOCK_AFTER_ENABLE = 3,
	MOCK_RULE_BEFORE_SUBSCRIBE = 4,
	MOCK_RULE_NOT_ZEROED = 5,
	MOCK_RULE_FOREIGN_SUBSCRIBER = 6,
	MOCK_RULE_FINALIZE_OUTSIDE = 7, /* not at the exit of a call */
	MOCK_RULE_METRICS_TWICE = 8,	/* added to a host object that has some */
	MOCK_RULE_FINALIZE_SAMPLES = 9, /* while a GPU's performance monitors are sampled */
	MOCK_RULE_SAMPLED_CONTEXT = 10, /* a context goes that is still sampled */
	MOCK_RULE_SAMPLED_DETACH = 11,	/* cuptiFinalize() with one */
	MOCK_RULE_SAMPLED_TWICE = 12,
	MOCK_RULE_NOT_SAMPLED = 13,
	MOCK_RULE_SAMPLES_IN_PROGRAM = 14, /* read in a thread of the program's */
	MOCK_RULE_SAMPLING_ROOM = 15,	   /* no room for the reasons of an instruction */
	MOCK_RULE_MIXED = 16, /* a function of the older set beside a subscriber of the newer */
	MOCK_RULE_FORCED_OTHERS = 17, /* a forced flush while another subscriber gets records */
	MOCK_RULE_HW_TRACE_LATE = 18, /* asked for when there was a subscriber */
	MOCK_RULE_FINALIZE_CALLBACKS = 19, /* while another thread is in a callback */
	MOCK_RULE_FINALIZE_CALLS = 20, /* while one is in a synchronisation that had a callback */
};

#define MOCK_SUBSCRIBERS 4
#define MOCK_IDS	 2048

/**
 * struct mock_subscriber - who is served: the first is that of the older set of functions
 * @is_there: it has subscribed
 * @is_told: the account is of its records
 * @name: what it calls itself
 * @callback: with @user
 * @calls: callbacks that are on
 * @kinds: of records that are on
 * @was_enabled: one was on
 * @request, @complete: give and take buffers, of the older set
 * @request_v2, @complete_v2: of the newer one
 * @clock: NULL: CUPTI's own
 * @dropped: records without a buffer
 */
struct mock_subscriber {
	_Atomic bool is_there;
	_Atomic bool is_told;
	char name[64];
	CUpti_CallbackFunc callback;
	void *user;
	_Atomic bool calls[CUPTI_CB_DOMAIN_SIZE][MOCK_IDS];
	_Atomic bool kinds[CUPTI_ACTIVITY_KIND_COUNT];
	_Atomic bool was_enabled;
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
	void (*request_v2)(uint8_t **buffer, size_t *size, size_t *records, void *info);
	void (*complete_v2)(uint8_t *buffer, size_t size, size_t valid, void *info);
	_Atomic(CUpti_TimestampCallbackFunc) clock;
	size_t dropped;
};

extern struct mock_subscriber mock_subscribers[MOCK_SUBSCRIBERS];

/* Whose records are written and whose clock is read, in this thread. */
extern __thread struct mock_subscriber *mock_served;

/* Serve the @i-th from now on: the first always, others if they are there. False behind the last. */
bool mock_serve(unsigned int *i);

/* mock_account() if the served one's records are told of. */
struct mock_account *mock_tell(enum mock_account_type type);

bool mock_is_subscribed(void);
unsigned int mock_subscribed_n(void);

/* As cuptiSubscribe(), into that place. */
CUptiResult mock_join(struct mock_subscriber *subscriber, CUpti_CallbackFunc callback, void *user);

/* For the functions of either set: for the served one. */
CUptiResult mock_enable(const char *function, CUpti_ActivityKind kind);
CUptiResult mock_set_clock(CUptiResult result, CUpti_TimestampCallbackFunc function);
void mock_next(uint8_t *buffer, size_t valid, CUpti_Activity **record, CUptiResult *result);
size_t mock_take_dropped(void);

/* Its buffers are lost, if CUPTI still has some. */
void mock_leave(struct mock_subscriber *subscriber);

/* activity */
struct mock_buffer;

void mock_lock(void);
void mock_unlock(void);
uint64_t mock_now(void);

/* Get a record in one of the library's buffers, or NULL. Called under the lock. */
void *mock_put(CUpti_ActivityKind kind, struct mock_buffer **in);

/* Let the GPU work on it. Called under the lock. */
void mock_add_task(struct mock_buffer *buffer, enum mock_account_type type, uint64_t *start,
		   uint64_t *end, uint32_t correlation, uint64_t node, bool is_stuck);
void mock_put_device(void);
bool mock_kind_enabled(CUpti_ActivityKind kind);
bool mock_any_enabled(CUpti_ActivityKind kind); /* for any subscriber */
void mock_do_work(enum mock_work work, const char *name, uint32_t correlation, CUstream stream,
		  uint64_t node, uint32_t graph, uint64_t bytes);
void mock_put_context(void);
bool mock_in_buffer_callback(void);
void mock_wait_for_gpu(uint32_t correlation, CUstream stream);
void mock_put_stream(uint32_t id);
void mock_allocate_memory(uint32_t correlation, uint64_t address, uint64_t bytes);
void mock_prepare_for_fork(void);
void mock_forget_activity(void);

/* Samples of performance monitors, which older generations lack. */
bool mock_pm_is_enabled(void) __attribute__((weak));

/* sampling. Called under the lock: a kernel runs. */
void mock_sample_kernel(const char *name);
void mock_module_loaded(const struct mock_image *module);

/* Add a broken rule if a context is still sampled. */
void mock_sampling_ends(unsigned int rule);

#endif /* GPUMON_TESTS_INJECT_MOCK_CUPTI_H */
