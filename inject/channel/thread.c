// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <string.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "thread.h"

struct inject_session inject_session = { .code = { { .size = UINTPTR_MAX } } };

__thread struct inject_thread *inject_self;

static _Atomic(struct inject_thread *) threads;
static pthread_key_t key;
static bool key_made;
static const struct inject_thread_hooks *hooks;

/* The next new thread reuses its struct. */
static void give_back_thread(struct inject_thread *thread)
{
	thread->call.open = 0;
	thread->range_count = 0;
	thread->ranges_beyond = 0;
	atomic_store(&thread->taken, false);
}

/* At a thread's end. */
static void end_thread(void *argument)
{
	struct inject_thread *thread = argument;

	/* A thread that was cancelled within the library has not left it. */
	inject_thread_leave(thread);
	hooks->forget(thread);
	atomic_store(&thread->inside, true);
	if (atomic_load(&inject_session.is_open) &&
	    atomic_load(&thread->generation) == atomic_load(&inject_session.generation)) {
		if (thread->call.open)
			hooks->end_call(thread);
		gpumon_channel_writer_end(&thread->writer);
	}
	inject_thread_leave(thread);
	inject_self = NULL;
	give_back_thread(thread);
}

struct inject_thread *inject_thread_first(void)
{
	return atomic_load(&threads);
}

/* In a child after fork: only the caller lives. */
static void forget_threads(void)
{
	struct inject_thread *thread, *self = inject_self;

	for (thread = atomic_load(&threads); thread; thread = thread->next) {
		atomic_store(&thread->inside, false);
		atomic_store(&thread->generation, 0);
		if (thread != self)
			give_back_thread(thread);
	}
	if (!self)
		return;
	self->call.open = 0;
	self->tid = inject_tid();
}

bool inject_thread_setup(const struct inject_thread_hooks *with)
{
	hooks = with;
	/* Not with the rest of what a child forgets: NVTX may be there before any API. */
	if (!key_made)
		key_made = pthread_key_create(&key, end_thread) == 0 &&
			   pthread_atfork(NULL, NULL, forget_threads) == 0;
	return key_made;
}

/* Not from malloc: the program may be within its own allocator. */
struct inject_thread *inject_thread_new(void)
{
	struct inject_thread *thread;
	bool is_taken;

	for (thread = atomic_load(&threads); thread; thread = thread->next) {
		is_taken = false;
		if (!atomic_load_explicit(&thread->taken, memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&thread->taken, &is_taken, true))
			break;
	}
	if (!thread) {
		thread = inject_memory_take(sizeof(*thread));
		if (!thread)
			return NULL;
		atomic_store(&thread->taken, true);
		thread->next = atomic_load(&threads);
		while (!atomic_compare_exchange_weak(&threads, &thread->next, thread))
			;
	}
	thread->tid = inject_tid();
	thread->ours = false;
	thread->hashed = 0;
	thread->is_presenting = false;
	atomic_store(&thread->generation, 0);
	/* So that end_thread() runs, once more if callbacks follow it. */
	if (pthread_setspecific(key, thread)) {
		atomic_store(&thread->taken, false);
		return NULL;
	}
	inject_self = thread;
	return thread;
}

void inject_thread_introduce(struct inject_thread *thread, uint32_t generation)
{
	atomic_store_explicit(&thread->generation, generation, memory_order_relaxed);
	gpumon_channel_writer_begin(&thread->writer, &inject_session.map, thread->tid);
	thread->call.open = 0;
	/* The last stack may be of another kind: with functions of Python, or without. */
	thread->hashed = 0;
	if (!thread->ours)
		hooks->introduce(thread);
}

bool inject_thread_wait_outside(unsigned int wait_ms)
{
	const struct inject_thread *self = inject_thread_get();
	uint64_t until = inject_now() + wait_ms * 1000000ull;
	struct inject_thread *thread;

	for (thread = atomic_load(&threads); thread; thread = thread->next) {
		if (thread == self)
			continue;
		while (atomic_load(&thread->inside)) {
			if (inject_now() > until)
				return false;
			inject_sleep(200000);
		}
	}
	return true;
}

void inject_thread_release_blocks(void)
{
	struct inject_thread *thread;

	for (thread = atomic_load(&threads); thread; thread = thread->next) {
		if (atomic_load(&thread->generation) == atomic_load(&inject_session.generation))
			gpumon_channel_writer_end(&thread->writer);
		atomic_store(&thread->generation, 0);
	}
}
