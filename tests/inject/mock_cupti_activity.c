// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Stand-in for libcupti: activity records. Buffers are requested and returned under a lock. A
 * thread plays the GPU and completes records some time later. A normal flush returns complete
 * buffers, a forced one all buffers.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mock_cupti.h"

#define BUFFERS 512

/**
 * struct mock_buffer - a buffer of a subscriber
 * @data: NULL if there is none
 * @served: whose
 * @pending: number of incomplete records in it
 * @owner: thread, in generation 13
 */
struct mock_buffer {
	uint8_t *data;
	size_t size;
	size_t used;
	unsigned int pending;
	bool is_full;
	pthread_t owner;
	struct mock_subscriber *served;
};

/* A record whose operation is running. */
struct task {
	struct task *next;
	struct mock_buffer *buffer;
	uint64_t *start;
	uint64_t *end;
	uint32_t correlation;
	uint64_t node;
	uint64_t generation;
	enum mock_account_type type;
	bool is_stuck;
	struct mock_subscriber *served;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static struct mock_buffer buffers[BUFFERS];
static struct task *first_task, **last_task = &first_task;
static __thread bool in_buffer_callback;

bool mock_in_buffer_callback(void)
{
	return in_buffer_callback;
}

bool mock_kind_enabled(CUpti_ActivityKind kind)
{
	return atomic_load(&mock_served->kinds[kind]);
}

bool mock_any_enabled(CUpti_ActivityKind kind)
{
	for (unsigned int i = 0; i < MOCK_SUBSCRIBERS; i++)
		if (mock_subscribers[i].kinds[kind])
			return true;
	return false;
}

CUpti_TimestampCallbackFunc mock_clock(void)
{
	return mock_subscribers[0].clock;
}

uint64_t mock_now(void)
{
	struct timespec real;

	if (mock_served->clock && !getenv("MOCK_REALTIME"))
		return mock_served->clock();
	clock_gettime(CLOCK_REALTIME, &real);
	return (uint64_t)real.tv_sec * 1000000000ull + (uint64_t)real.tv_nsec;
}

static size_t record_size(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return sizeof(CUpti_ActivityGraphTrace);
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(mock_kernel);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(mock_copy);
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return sizeof(CUpti_ActivityMemcpyPtoP4);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(CUpti_ActivityMemset4);
	case CUPTI_ACTIVITY_KIND_DEVICE:
		return sizeof(mock_device);
	case CUPTI_ACTIVITY_KIND_CONTEXT:
		return sizeof(mock_context_record);
	case CUPTI_ACTIVITY_KIND_STREAM:
		return sizeof(CUpti_ActivityStream);
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		return sizeof(mock_sync);
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		return sizeof(mock_memory);
	case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
		return sizeof(mock_unified);
	case CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API:
		return sizeof(CUpti_ActivityAPI);
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		return mock_overhead_size();
	default:
		return 64; /* MOCK_UNKNOWN */
	}
}

/* Called under the lock, like every change of buffers. */
static void deliver(struct mock_buffer *buffer)
{
	struct mock_subscriber *served = mock_served;
	struct mock_buffer copy = *buffer;
	struct task *task;

	mock_served = copy.served;
	for (task = first_task; task; task = task->next) {
		if (task->buffer != buffer)
			continue;
		task->buffer = NULL;
		if (!*task->start)
			mock_tell(MOCK_NO_TIME)->correlation = task->correlation;
	}
	memset(buffer, 0, sizeof(*buffer));
	in_buffer_callback = true;
	if (copy.served->complete_v2)
		copy.served->complete_v2(copy.data, copy.size, copy.used, NULL);
	else
		copy.served->complete(NULL, 0, copy.data, copy.size, copy.used);
	in_buffer_callback = false;
	mock_served = served;
}

static bool is_ours(const struct mock_buffer *buffer)
{
	return buffer->data && !buffer->is_full && buffer->served == mock_served &&
	       (MOCK_GENERATION < 13 || pthread_equal(buffer->owner, pthread_self()));
}

static struct mock_buffer *new_buffer(void)
{
	struct mock_buffer *buffer = NULL;
	size_t records = 0, i;

	for (i = 0; i < BUFFERS && !buffer; i++)
		if (!buffers[i].data)
			buffer = &buffers[i];
	if (!buffer)
		return NULL;
	in_buffer_callback = true;
	if (mock_served->request_v2)
		mock_served->request_v2(&buffer->data, &buffer->size, &records, NULL);
	else
		mock_served->request(&buffer->data, &buffer->size, &records);
	in_buffer_callback = false;
	for (i = 0; buffer->data && i < buffer->size; i += 4096)
		if (buffer->data[i])
			mock_broken(MOCK_RULE_NOT_ZEROED);
	buffer->owner = pthread_self();
	buffer->served = mock_served;
	mock_tell(MOCK_BUFFER)->other = buffer->size;
	return buffer->data ? buffer : NULL;
}

void *mock_put(CUpti_ActivityKind kind, struct mock_buffer **in)
{
	size_t size = record_size(kind), i;
	struct mock_buffer *buffer = NULL;
	CUpti_Activity *record;

	for (i = 0; i < BUFFERS && !buffer; i++)
		if (is_ours(&buffers[i]))
			buffer = &buffers[i];
	if (buffer && buffer->used + size > buffer->size) {
		buffer->is_full = true;
		if (!buffer->pending)
			deliver(buffer);
		buffer = NULL;
	}
	if (!buffer)
		buffer = new_buffer();
	if (!buffer) {
		mock_served->dropped++;
		mock_tell(MOCK_DROPPED);
		return NULL;
	}
	record = (void *)(buffer->data + buffer->used);
	buffer->used += size;
	record->kind = kind;
	*in = buffer;
	return record;
}

static void finish_task(struct task *task)
{
	struct mock_account *account;

	if (!task->buffer)
		return;
	mock_served = task->served;
	*task->start = mock_now();
	*task->end = mock_now() + 1;
	account = mock_tell(task->type);
	account->correlation = task->correlation;
	account->node = task->node;
	account->start = *task->start;
	account->end = *task->end;
	task->buffer->pending--;
	if (task->buffer->is_full && !task->buffer->pending)
		deliver(task->buffer);
}

static void *be_gpu(void *argument)
{
	struct task *task, **from;

	(void)argument;
	pthread_mutex_lock(&lock);
	for (;;) {
		for (from = &first_task; *from && (*from)->is_stuck; from = &(*from)->next)
			;
		task = *from;
		if (!task) {
			pthread_cond_wait(&more, &lock);
			continue;
		}
		*from = task->next;
		if (last_task == &task->next)
			last_task = from;
		finish_task(task);
		free(task);
		pthread_cond_broadcast(&done);
	}
	return NULL;
}

/* Except operations that never end. */
void mock_wait_for_gpu(uint32_t correlation, CUstream stream)
{
	CUpti_ActivitySynchronization *sync;
	const struct task *task;
	uint64_t starts[MOCK_SUBSCRIBERS];
	struct mock_buffer *buffer;

	for (unsigned int i = 0; mock_serve(&i); i++)
		starts[i] = mock_now();
	pthread_mutex_lock(&lock);
	for (;;) {
		for (task = first_task; task && task->is_stuck; task = task->next)
			;
		if (!task)
			break;
		pthread_cond_wait(&done, &lock);
	}
	for (unsigned int i = 0; mock_serve(&i); i++) {
		if (!mock_kind_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
			continue;
		sync = mock_put(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, &buffer);
		if (sync) {
			sync->type =
				(uintptr_t)stream > 2 ?
					CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE :
					CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
			sync->start = starts[i];
			sync->end = mock_now();
			sync->correlationId = correlation;
			sync->contextId = 1;
			sync->streamId =
				(uintptr_t)stream > 2 ?
					((const struct mock_stream *)(const void *)stream)->id :
					(uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE;
		}
	}
	pthread_mutex_unlock(&lock);
}

void mock_lock(void)
{
	pthread_mutex_lock(&lock);
}

void mock_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* What cuptiFinalize() does. */
void mock_forget_activity(void)
{
	unsigned int s, i;

	pthread_mutex_lock(&lock);
	for (s = 0; s < MOCK_SUBSCRIBERS; s++) {
		for (i = 0; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
			atomic_store(&mock_subscribers[s].kinds[i], false);
		mock_subscribers[s].clock = NULL;
		mock_subscribers[s].was_enabled = false;
	}
	pthread_mutex_unlock(&lock);
}

void mock_prepare_for_fork(void)
{
	static bool done_before;

	if (!done_before)
		done_before = pthread_atfork(mock_lock, mock_unlock, mock_unlock) == 0;
}

void mock_add_task(struct mock_buffer *buffer, enum mock_account_type type, uint64_t *start,
		   uint64_t *end, uint32_t correlation, uint64_t node, bool is_stuck)
{
	static bool has_gpu;
	struct task *task = calloc(1, sizeof(*task));
	struct mock_account *account;
	pthread_t thread;

	if (is_stuck) {
		*start = mock_now();
		account = mock_tell(MOCK_UNFINISHED);
		account->correlation = correlation;
	}
	*task = (struct task){ .buffer = buffer,
			       .start = start,
			       .end = end,
			       .correlation = correlation,
			       .node = node,
			       .type = type,
			       .is_stuck = is_stuck,
			       .served = mock_served };
	buffer->pending++;
	*last_task = task;
	last_task = &task->next;
	if (!has_gpu)
		has_gpu = pthread_create(&thread, NULL, be_gpu, NULL) == 0;
	pthread_cond_signal(&more);
}

CUptiResult mock_enable(const char *function, CUpti_ActivityKind kind)
{
	CUptiResult result = mock_failure(function, (int)kind);
	const char *pause_us = getenv("MOCK_ENABLE_US");

	if (result != CUPTI_SUCCESS)
		return result;
	mock_served->was_enabled = true;
	atomic_store(&mock_served->kinds[kind], true);
	if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
		mock_put_device();
	/* In a live process this takes some time, during which the program continues. */
	if (pause_us)
		usleep((useconds_t)atoi(pause_us));
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return mock_enable("cuptiActivityEnable", kind);
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	CUptiResult result = cuptiActivityEnable(kind);

	if (result == CUPTI_SUCCESS && kind == CUPTI_ACTIVITY_KIND_CONTEXT)
		mock_put_context();
	return result;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	mock_failure("cuptiActivityDisable", (int)kind);
	atomic_store(&mock_subscribers[0].kinds[kind], false);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc new_request,
					   CUpti_BuffersCallbackCompleteFunc new_complete)
{
	CUptiResult result = mock_failure("cuptiActivityRegisterCallbacks", 0);

	if (result != CUPTI_SUCCESS)
		return result;
	mock_subscribers[0].request = new_request;
	mock_subscribers[0].complete = new_complete;
	return CUPTI_SUCCESS;
}

CUptiResult mock_set_clock(CUptiResult result, CUpti_TimestampCallbackFunc function)
{
	/* After another profiler's clock, its own again. */
	if (mock_served->clock == function)
		mock_broken(MOCK_RULE_CLOCK_TWICE);
	if (mock_served->was_enabled && !mock_served->clock)
		mock_broken(MOCK_RULE_CLOCK_AFTER_ENABLE);
	if (result == CUPTI_SUCCESS)
		mock_served->clock = function;
	return result;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function)
{
	return mock_set_clock(mock_failure("cuptiActivityRegisterTimestampCallback", 0), function);
}

static bool gets_records(const struct mock_subscriber *subscriber)
{
	for (unsigned int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++)
		if (subscriber->is_there && subscriber->kinds[kind])
			return true;
	return false;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	CUptiResult result = mock_failure("cuptiActivityFlushAll", (int)flag);
	const char *hang = getenv("MOCK_FLUSH_HANGS"), *takes = getenv("MOCK_FLUSH_MS");
	const char *keeps = getenv("MOCK_KEEPS_BUFFERS");
	const struct timespec forever = { .tv_sec = 1000 };
	unsigned int i;

	if (hang && (uint32_t)atoi(hang) == flag)
		nanosleep(&forever, NULL);
	if (takes)
		usleep((useconds_t)atoi(takes) * 1000);
	if (result != CUPTI_SUCCESS)
		return result;
	for (i = 1; flag && i < MOCK_SUBSCRIBERS; i++)
		if (gets_records(&mock_subscribers[i]))
			mock_broken(MOCK_RULE_FORCED_OTHERS);
	pthread_mutex_lock(&lock);
	for (i = keeps ? (unsigned int)atoi(keeps) : 0; i < BUFFERS; i++)
		if (buffers[i].data && buffers[i].used &&
		    (!buffers[i].pending || (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)))
			deliver(&buffers[i]);
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

void mock_next(uint8_t *buffer, size_t valid, CUpti_Activity **record, CUptiResult *result)
{
	uint8_t *at = (uint8_t *)*record;

	if (in_buffer_callback)
		mock_broken(MOCK_RULE_CALL_IN_BUFFER_CALLBACK);
	at = at ? at + record_size((*record)->kind) : buffer;
	*result = at < buffer + valid ? CUPTI_SUCCESS : CUPTI_ERROR_MAX_LIMIT_REACHED;
	if (*result == CUPTI_SUCCESS)
		*record = (void *)at;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	CUptiResult result;

	/* Also of a subscriber that has left. */
	if (mock_subscribed_n() > mock_subscribers[0].is_there)
		mock_broken(MOCK_RULE_MIXED);
	mock_next(buffer, valid, record, &result);
	return result;
}

size_t mock_take_dropped(void)
{
	size_t count;

	pthread_mutex_lock(&lock);
	count = mock_served->dropped;
	mock_served->dropped = 0;
	pthread_mutex_unlock(&lock);
	return count;
}

void mock_leave(struct mock_subscriber *subscriber)
{
	struct task *task;
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (task = first_task; task; task = task->next)
		if (task->served == subscriber)
			task->buffer = NULL;
	for (i = 0; i < BUFFERS; i++)
		if (buffers[i].served == subscriber)
			memset(&buffers[i], 0, sizeof(buffers[i]));
	for (i = 0; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
		atomic_store(&subscriber->kinds[i], false);
	subscriber->clock = NULL;
	subscriber->was_enabled = false;
	subscriber->dropped = 0;
	pthread_mutex_unlock(&lock);
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *count)
{
	(void)context;
	(void)stream;
	mock_failure("cuptiActivityGetNumDroppedRecords", 0);
	*count = mock_take_dropped();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
	*size = sizeof(size_t);
	*(size_t *)value = attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE ? 3200000 : 3;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
	(void)size;
	(void)value;
	return mock_failure("cuptiActivitySetAttribute", (int)attribute);
}

CUptiResult
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
					   uint32_t count)
{
	(void)config;
	(void)count;
	return mock_failure("cuptiActivityConfigureUnifiedMemoryCounter", 0);
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	(void)enable;
	return mock_failure("cuptiActivityEnableLatencyTimestamps", 0);
}
