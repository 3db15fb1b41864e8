// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "backend.h"
#include "base/prepared.h"
#include "base/threads.h"
#include "channel/mappings.h"
#include "recorder/recorder.h"
#include "recorder/socket.h"
#include "session.h"
#include "stack/walk.h"
#include "waits/waits.h"
#include "window.h"
#include "worker.h"

/* How often the worker reads the recorder's command. */
#define COMMAND_MS 100

/* Time for operations that the GPU still has, when a capture of a live process ends. */
#define SETTLE_MS 500

/* How long the program waits for the thread's first instructions. */
#define READY_NS 1000000000ull

static _Atomic uint32_t finished, ready;
static _Atomic bool finish;
static _Atomic bool runs;

bool inject_worker_answer(bool at_start)
{
	struct inject_request *request = inject_recorder_request();
	bool recorded;

	if (!request)
		return false;
	recorded = inject_session_begin(&request->map, &request->settings, at_start);
	if (!recorded)
		gpumon_channel_unmap(&request->map);
	inject_recorder_answer(recorded);
	return recorded;
}

/* A flush holds locks of the API. */
static void flush_backends(void)
{
	const struct inject_backend *backend;

	inject_for_each_backend(backend) {
		if (!backend->flush)
			continue;
		inject_locks_begin();
		backend->flush();
		inject_locks_end();
	}
}

/* Returns when the next window of operations begins or ends. */
static uint64_t do_regular_work(bool flush)
{
	struct inject_thread *thread = inject_thread_enter(true);
	const struct inject_backend *backend;
	uint64_t next_switch;
	bool changed;

	if (!thread)
		return UINT64_MAX;
	inject_locks_begin();
	next_switch = inject_window_sample(thread);
	inject_locks_end();
	if (flush)
		flush_backends();
	inject_for_each_backend(backend)
		backend->drain(thread);
	if (inject_mappings_expected() || flush) {
		/* The loader's lock. */
		inject_locks_begin();
		changed = inject_mappings_write(thread);
		if (changed || atomic_load(&inject_session.has_python))
			inject_session_look_for_python(thread);
		if (changed)
			inject_waits_libraries();
		if (!inject_stack_notices_unload())
			inject_stack_poll();
		inject_locks_end();
	}
	inject_thread_leave(thread);
	return next_switch;
}

/* A thread of the program has waited for its work: it may end in any way as soon as it goes on. */
static void answer_program(void)
{
	static uint32_t answered;
	uint32_t asked = inject_wake_asked();
	const struct inject_backend *backend;
	struct inject_thread *thread;

	if (asked == answered)
		return;
	thread = inject_thread_enter(true);
	if (thread) {
		flush_backends();
		inject_for_each_backend(backend)
			backend->drain(thread);
		inject_thread_leave(thread);
	}
	answered = asked;
	inject_wake_answer(asked);
}

static void end_session(bool recorder_lives, const char *reason)
{
	inject_locks_begin();
	inject_session_end(recorder_lives, reason, SETTLE_MS);
	inject_locks_end();
	inject_recorder_hang_up();
}

/* Until a recorder connects. The program's end does not wait for this. */
static void sleep_dormant(void)
{
	inject_wake_wait(INJECT_FOR_EVER);
	if (atomic_load(&finish))
		return;
	inject_locks_begin();
	inject_worker_answer(false);
	inject_locks_end();
}

static void work_in_session(uint64_t *last_flush)
{
	static uint64_t next_switch = UINT64_MAX;
	uint64_t flush_ns = inject_session.settings.flush_ms * 1000000ull;
	uint64_t pause_ns = COMMAND_MS * 1000000ull, now = inject_now();
	bool flush;

	if (flush_ns < pause_ns)
		pause_ns = flush_ns;
	if (next_switch < now + pause_ns)
		pause_ns = next_switch > now ? next_switch - now : 0;
	inject_wake_wait(pause_ns);
	if (atomic_load(&finish))
		return;
	if (inject_recorder_is_gone()) {
		end_session(false, "recorder is gone");
		return;
	}
	if (__atomic_load_n(&inject_session.map.channel->command, __ATOMIC_ACQUIRE) ==
	    GPUMON_CHANNEL_STOP) {
		end_session(true, "stop");
		return;
	}
	answer_program();
	now = inject_now();
	flush = now - *last_flush >= flush_ns;
	if (flush)
		*last_flush = now;
	next_switch = do_regular_work(flush);
}

static void *run_worker(void *argument)
{
	struct inject_thread *self;
	uint64_t last_flush = inject_now();

	(void)argument;
	prctl(PR_SET_NAME, "gpumon", 0, 0, 0);
	inject_prepare_from_thread();
	inject_threads_mark_ours();
	/* The C library makes a thread's heap at its first use: an API may free something here later. */
	free(malloc(1));
	self = inject_thread_get();
	atomic_store(&ready, 1);
	inject_futex_wake(&ready);
	if (self)
		self->ours = true;
	while (self && !atomic_load(&finish)) {
		if (atomic_load(&inject_session.is_open))
			work_in_session(&last_flush);
		else
			sleep_dormant();
	}
	if (atomic_load(&inject_session.is_open))
		inject_session_end(!inject_recorder_is_gone(), "exit", 0);
	inject_wake_answer(inject_wake_asked());
	/* The recorder sees that the program ends when it does. */
	atomic_store(&finished, 1);
	inject_futex_wake(&finished);
	/* The end of a thread needs calls that the program may have forbidden. */
	for (;;)
		inject_sleep(INJECT_FOR_EVER);
	return NULL;
}

bool inject_worker_start(void)
{
	pthread_t thread;

	atomic_store(&finish, false);
	atomic_store(&finished, 0);
	atomic_store(&ready, 0);
	/* A recorder may have connected before this thread was there. */
	inject_wake();
	if (!inject_threads_start(&thread, run_worker, NULL))
		return false;
	pthread_detach(thread);
	atomic_store(&runs, true);
	inject_futex_wait_while(&ready, 0, inject_now() + READY_NS);
	return true;
}

void inject_worker_finish(unsigned int wait_ms)
{
	uint64_t until = inject_now() + wait_ms * 1000000ull;

	inject_socket_unlisten();
	/* The program's end calls this once for each API that was loaded: only the first one waits. */
	if (atomic_exchange(&finish, true))
		return;
	/* Without a session it has nothing to write, and sleeps until a recorder connects. */
	if (!atomic_load(&runs) || !atomic_load(&inject_session.is_open))
		return;
	inject_wake_reset();
	inject_wake();
	inject_futex_wait_while(&finished, 0, until);
}

void inject_worker_forked(void)
{
	atomic_store(&runs, false);
}
