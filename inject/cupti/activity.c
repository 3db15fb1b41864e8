// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>
#include <sys/mman.h>

#include "activity.h"
#include "base/threads.h"
#include "convert.h"
#include "generation.h"
#include "subscribe.h"

#define NONE UINT32_MAX

/* At most one part in so many of the program's time goes into waits for the worker, after the first 20 ms. */
#define WAITS_SHARE  256
#define WAITS_FIRST  ((int64_t)INJECT_PATIENCE(20) * 1000000)
/* After so many waits without an answer there are no more in this capture. */
#define WAIT_NS	     (INJECT_PATIENCE(50) * 1000000ull)
#define SILENCES_MAX 3
/* How often the worker does it without a wait otherwise. */
#define SOON_NS	     100000000u

/* A lock-free stack: a buffer, and a count in the upper half, so that no two heads are equal. */
struct list {
	_Atomic uint64_t head;
};

static uint8_t *pool;
static uint32_t pool_count;
static uint32_t buffer_bytes;
static bool pool_is_old;
static struct list free_buffers = { .head = NONE };
static struct list complete_buffers = { .head = NONE };
static _Atomic uint32_t next[GPUMON_BUFFERS_MAX];
static uint32_t valid_bytes[GPUMON_BUFFERS_MAX];
static _Atomic uint32_t at_home;

static void push_buffer(struct list *list, uint32_t buffer)
{
	uint64_t head = atomic_load(&list->head), with;

	do {
		atomic_store_explicit(&next[buffer], (uint32_t)head, memory_order_relaxed);
		with = ((head >> 32) + 1) << 32 | buffer;
	} while (!atomic_compare_exchange_weak(&list->head, &head, with));
}

static uint32_t pop_buffer(struct list *list)
{
	uint64_t head = atomic_load(&list->head), without;

	do {
		if ((uint32_t)head == NONE)
			return NONE;
		without = ((head >> 32) + 1) << 32 |
			  atomic_load_explicit(&next[(uint32_t)head], memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(&list->head, &head, without));
	return (uint32_t)head;
}

/* All of a list at once, the oldest first, linked by next[]. */
static uint32_t take_all_buffers(struct list *list)
{
	uint64_t head = atomic_load(&list->head);
	uint32_t at, oldest = NONE, following;

	while (!atomic_compare_exchange_weak(&list->head, &head, ((head >> 32) + 1) << 32 | NONE))
		;
	for (at = (uint32_t)head; at != NONE; at = following) {
		following = atomic_load_explicit(&next[at], memory_order_relaxed);
		atomic_store_explicit(&next[at], oldest, memory_order_relaxed);
		oldest = at;
	}
	return oldest;
}

bool inject_activity_setup(const struct gpumon_message_settings *settings)
{
	uint32_t bytes = settings->buffer_kib << 10;
	uint32_t count = (uint32_t)(((uint64_t)settings->buffer_mib << 20) / bytes), i;
	void *memory;

	if (count > GPUMON_BUFFERS_MAX)
		count = GPUMON_BUFFERS_MAX;
	pool_is_old = pool && (count != pool_count || bytes != buffer_bytes);
	/* CUPTI may still have buffers of the previous capture: then the pool stays as it is. */
	if (pool && (!pool_is_old || !inject_activity_is_home()))
		return true;
	memory = mmap(NULL, (size_t)count * bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return pool;
	if (pool)
		munmap(pool, (size_t)pool_count * buffer_bytes);
	take_all_buffers(&free_buffers);
	pool = memory;
	pool_count = count;
	buffer_bytes = bytes;
	pool_is_old = false;
	for (i = count; i-- > 0;)
		push_buffer(&free_buffers, i);
	atomic_store(&at_home, count);
	return true;
}

void CUPTIAPI inject_activity_request(uint8_t **buffer, size_t *size, size_t *records)
{
	uint32_t which = pop_buffer(&free_buffers);

	*records = 0;
	*buffer = NULL;
	*size = 0;
	/* CUPTI then drops records, and counts them. */
	if (which == NONE)
		return;
	atomic_fetch_sub_explicit(&at_home, 1, memory_order_relaxed);
	*buffer = pool + (size_t)which * buffer_bytes;
	*size = buffer_bytes;
}

void CUPTIAPI inject_activity_complete(CUcontext context, uint32_t stream, uint8_t *buffer,
				       size_t size, size_t valid)
{
	size_t offset = (size_t)(buffer - pool);

	(void)context;
	(void)stream;
	(void)size;
	if (!buffer || buffer < pool || offset >= (size_t)pool_count * buffer_bytes)
		return;
	valid_bytes[offset / buffer_bytes] =
		(uint32_t)(valid < buffer_bytes ? valid : buffer_bytes);
	push_buffer(&complete_buffers, (uint32_t)(offset / buffer_bytes));
	inject_wake();
}

bool inject_activity_is_home(void)
{
	return atomic_load(&at_home) == pool_count;
}

bool inject_activity_is_old(void)
{
	return pool_is_old;
}

void inject_activity_drain(struct inject_thread *thread)
{
	uint32_t which = take_all_buffers(&complete_buffers), following;
	size_t dropped = 0;
	uint8_t *buffer;

	for (; which != NONE; which = following) {
		following = atomic_load_explicit(&next[which], memory_order_relaxed);
		buffer = pool + (size_t)which * buffer_bytes;
		if (thread)
			inject_convert(thread, buffer, valid_bytes[which]);
		/* CUPTI expects zeroed buffers, and may have begun a record behind the last one. */
		memset(buffer, 0, buffer_bytes);
		push_buffer(&free_buffers, which);
		atomic_fetch_add_explicit(&at_home, 1, memory_order_relaxed);
	}
	if (thread && inject_subscribed() &&
	    inject_generation->dropped(&dropped) == CUPTI_SUCCESS && dropped)
		gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_API_DROPPED, dropped);
}

/* Time that may go into waits, its begin, and how many waits in a row had no answer. */
static _Atomic int64_t credit;
static _Atomic uint64_t credit_ns;
static _Atomic unsigned int silences;

/* When the worker was asked without a wait. */
static _Atomic uint64_t soon_ns;

/* Launches at the last wait after which CUPTI had nothing left. */
static _Atomic uint64_t written_launches;

void inject_activity_waits_begin(void)
{
	atomic_store(&credit, WAITS_FIRST);
	atomic_store(&credit_ns, inject_now());
	atomic_store(&silences, 0);
	atomic_store(&written_launches, 0);
}

static bool has_credit(uint64_t now)
{
	uint64_t since = atomic_exchange(&credit_ns, now);
	int64_t more = now > since ? (int64_t)((now - since) / WAITS_SHARE) : 0;
	int64_t sum = atomic_fetch_add(&credit, more) + more;

	if (sum > WAITS_FIRST)
		atomic_store(&credit, WAITS_FIRST);
	return sum > 0;
}

static bool is_wait_due(uint64_t *launches)
{
	struct inject_thread *thread = inject_thread_enter(false);
	bool is_due;

	if (!thread)
		return false;
	*launches = __atomic_load_n(&inject_session.map.channel->launches, __ATOMIC_RELAXED);
	is_due = !thread->ours && *launches != atomic_load(&written_launches) &&
		 atomic_load(&silences) < SILENCES_MAX;
	inject_thread_leave(thread);
	return is_due;
}

/* Has the worker do it, too, but does not wait for it. */
static void have_it_soon(uint64_t now)
{
	uint64_t since = atomic_load(&soon_ns);

	if (now - since > SOON_NS && atomic_compare_exchange_strong(&soon_ns, &since, now))
		inject_wake_ask_soon();
}

void inject_activity_waited(void)
{
	uint64_t launches, begin_ns;

	if (!is_wait_due(&launches))
		return;
	begin_ns = inject_now();
	if (!has_credit(begin_ns)) {
		have_it_soon(begin_ns);
		return;
	}
	if (!inject_wake_ask(begin_ns + WAIT_NS)) {
		atomic_fetch_add(&silences, 1);
	} else {
		atomic_store(&silences, 0);
		/* An operation that still runs elsewhere withholds the buffer that its record is in. */
		if (inject_activity_is_home())
			atomic_store(&written_launches, launches);
	}
	atomic_fetch_sub(&credit, (int64_t)(inject_now() - begin_ns));
}
