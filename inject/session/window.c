// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>

#include "backend.h"
#include "base/threads.h"
#include "channel/intern.h"
#include "session.h"
#include "window.h"

/* How long a thread that opens the window waits for another one that opens or closes it. */
#define OPEN_US 20000

/* How many hold it open. */
static _Atomic int windows;

/* A backend's window is switched by one thread at a time. */
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;

/* Why it was last opened or closed. The thread that switches it may be another one. */
static _Atomic(const char *) last_reason;

/* Between two windows nothing at all is recorded, whatever holds the window open. */
static _Atomic bool resting;

/*
 * The program's profiler and the library take turns (inject_window_yield()). The worker lets go, since
 * it is the one that reads an API's buffers, and it looks whether the API can be had again.
 */
static _Atomic uint32_t turn;
enum {
	TURN_OURS,
	TURN_WANTED,
	TURN_GIVEN
};

/* How long the program's profiler waits for the worker, and how often the worker asks for its turn. */
#define YIELD_NS     (INJECT_PATIENCE(2000) * 1000000ull)
#define TAKE_BACK_NS 200000000ull

/* Windows of operations, protected by @switching. */
static bool operations_on;
static uint64_t next_switch_ns; /* 0: the first window has not begun */

static void write_window(struct inject_thread *thread, uint16_t flags, const char *reason)
{
	struct gpumon_record_window record = {
		.head = { .type = GPUMON_RECORD_WINDOW, .flags = flags, .size = sizeof(record) },
		.time_ns = inject_now(),
		.reason = inject_intern_string(thread, reason),
	};

	inject_append(thread, &record);
}

static void switch_calls(struct inject_thread *thread, bool on)
{
	const struct inject_backend *backend;

	inject_for_each_backend(backend)
		if (backend->window_calls)
			backend->window_calls(thread, on);
}

static void switch_operations(struct inject_thread *thread, bool on)
{
	const struct inject_backend *backend;

	inject_for_each_backend(backend)
		if (backend->window_operations)
			backend->window_operations(thread, on);
}

static void switch_on(struct inject_thread *thread, const char *reason)
{
	atomic_store(&inject_session.recording, true);
	/*
	 * The program launches meanwhile. Calls come first: a launch without its kernel
	 * still has a stack, a kernel without its launch has none. Only a call that had
	 * begun before the window leaves such a kernel.
	 */
	switch_calls(thread, true);
	write_window(thread, 0, reason);
	operations_on = true;
	next_switch_ns = 0;
	switch_operations(thread, true);
}

static void switch_off(struct inject_thread *thread, const char *reason)
{
	switch_operations(thread, false);
	switch_calls(thread, false);
	atomic_store(&inject_session.recording, false);
	write_window(thread, GPUMON_WINDOW_END, reason);
}

/*
 * The wait has an end: the thread that has the switch may wait until this callback has returned, or for a
 * lock of the loader that the caller has.
 */
static bool take_switch(unsigned int wait_us)
{
	while (pthread_mutex_trylock(&switching)) {
		if (!wait_us || !atomic_load(&inject_session.is_open) ||
		    atomic_load(&inject_session.ends))
			return false;
		wait_us -= wait_us < 50 ? wait_us : 50;
		inject_sleep(50000);
	}
	return true;
}

static bool is_window_wanted(void)
{
	return atomic_load(&windows) > 0 && !atomic_load(&resting);
}

/* Recording follows the number of those that hold the window open. */
static void follow_windows(struct inject_thread *thread, const char *reason, unsigned int wait_us)
{
	bool wanted;

	atomic_store(&last_reason, reason);
	do {
		/* The thread that has the switch looks again when it has let go of it. */
		if (!take_switch(wait_us))
			return;
		wanted = is_window_wanted();
		if (!atomic_load(&inject_session.is_open))
			wanted = atomic_load(&inject_session.recording);
		if (wanted && !atomic_load(&inject_session.recording))
			switch_on(thread, reason);
		else if (!wanted && atomic_load(&inject_session.recording))
			switch_off(thread, reason);
		pthread_mutex_unlock(&switching);
	} while (atomic_load(&inject_session.is_open) && is_window_wanted() != wanted);
}

void inject_window_catch_up(struct inject_thread *thread)
{
	if (is_window_wanted() != atomic_load(&inject_session.recording))
		follow_windows(thread, atomic_load(&last_reason), OPEN_US);
}

void inject_window_open(struct inject_thread *thread, const char *reason)
{
	atomic_fetch_add(&windows, 1);
	follow_windows(thread, reason, OPEN_US);
}

void inject_window_close(struct inject_thread *thread, const char *reason)
{
	if (atomic_fetch_sub(&windows, 1) == 1)
		follow_windows(thread, reason, 0);
}

static bool launches_graphs(void)
{
	const struct inject_backend *backend;

	inject_for_each_backend(backend)
		if (backend->launches_graphs && backend->launches_graphs())
			return true;
	return false;
}

/* The time between two windows varies by half, so that they do not follow the program's steps. */
static uint64_t pause_ns(void)
{
	static uint32_t chance;
	const struct gpumon_message_settings *settings = &inject_session.settings;
	uint64_t pause_us = (settings->period_ms - settings->window_ms) * 1000ull;

	return (pause_us / 2 + (pause_us * inject_random(&chance) >> 32)) * 1000;
}

/*
 * A launch without operations that is not within the times of a window counts as one that was left
 * out, so these times lie within those in which operations are on.
 */
static void switch_window(struct inject_thread *thread)
{
	operations_on = !operations_on;
	if (!operations_on)
		write_window(thread, GPUMON_WINDOW_OPERATIONS | GPUMON_WINDOW_END, "sample");
	switch_operations(thread, operations_on);
	if (operations_on)
		write_window(thread, GPUMON_WINDOW_OPERATIONS, "sample");
}

static void rest_backends(struct inject_thread *thread, const char *reason)
{
	const struct inject_backend *backend;

	atomic_store(&resting, true);
	follow_windows(thread, reason, OPEN_US);
	inject_for_each_backend(backend)
		if (backend->rest)
			backend->rest(thread);
}

/* False if an API cannot be woken. Then the caller tries again later. */
static bool wake_backends(struct inject_thread *thread, const char *reason)
{
	const struct inject_backend *backend;
	bool awake = true;

	inject_for_each_backend(backend)
		if (backend->wake)
			awake &= backend->wake(thread);
	if (awake) {
		atomic_store(&resting, false);
		follow_windows(thread, reason, 0);
	}
	return awake;
}

static uint64_t give_turn(struct inject_thread *thread, uint64_t now)
{
	if (!atomic_load(&resting))
		rest_backends(thread, "yield");
	atomic_store(&turn, TURN_GIVEN);
	inject_futex_wake(&turn);
	next_switch_ns = now + TAKE_BACK_NS;
	return next_switch_ns;
}

static uint64_t take_turn_back(struct inject_thread *thread, uint64_t now)
{
	if (now < next_switch_ns)
		return next_switch_ns;
	next_switch_ns = now + TAKE_BACK_NS;
	if (wake_backends(thread, "yield"))
		atomic_store(&turn, TURN_OURS);
	return next_switch_ns;
}

bool inject_window_yield(void)
{
	uint64_t until = inject_now() + YIELD_NS;

	if (!atomic_load(&inject_session.is_open))
		return false;
	atomic_store(&turn, TURN_WANTED);
	inject_wake();
	inject_futex_wait_while(&turn, TURN_WANTED, until);
	return atomic_load(&turn) == TURN_GIVEN;
}

uint64_t inject_window_sample(struct inject_thread *thread)
{
	const struct gpumon_message_settings *settings = &inject_session.settings;
	bool has_graphs = launches_graphs();
	uint64_t now = inject_now(), next;

	if (atomic_load(&turn) == TURN_WANTED)
		return give_turn(thread, now);
	if (atomic_load(&turn) == TURN_GIVEN)
		return take_turn_back(thread, now);
	if (!settings->operations_sampled &&
	    !(settings->graphs == GPUMON_GRAPHS_WINDOWS && has_graphs))
		return UINT64_MAX;
	if (atomic_load(&resting)) {
		if (now >= next_switch_ns && !wake_backends(thread, "sample"))
			next_switch_ns = now + pause_ns();
		return next_switch_ns;
	}
	if (!atomic_load(&inject_session.recording) || pthread_mutex_trylock(&switching))
		return UINT64_MAX;
	/* In the first window operations are on already. */
	if (!next_switch_ns)
		next_switch_ns = now + settings->window_ms * 1000000ull;
	next = next_switch_ns;
	if (now >= next && has_graphs) {
		switch_window(thread);
		next = now + (operations_on ? settings->window_ms * 1000000ull : pause_ns());
		next_switch_ns = next;
	}
	pthread_mutex_unlock(&switching);
	if (now >= next) {
		/* Where there are no graphs, what costs is the launch itself. */
		rest_backends(thread, "sample");
		next_switch_ns = inject_now() + pause_ns();
		return next_switch_ns;
	}
	return next;
}

void inject_window_reset(void)
{
	atomic_store(&windows, 0);
	atomic_store(&resting, false);
	atomic_store(&turn, TURN_OURS);
}

void inject_window_end(struct inject_thread *thread, const char *reason)
{
	if (atomic_load(&inject_session.recording))
		write_window(thread, GPUMON_WINDOW_END, reason);
}

void inject_window_lock(void)
{
	pthread_mutex_lock(&switching);
}

bool inject_window_lock_in_program(void)
{
	return take_switch(INJECT_PATIENCE(1000) * 1000u);
}

void inject_window_unlock(void)
{
	pthread_mutex_unlock(&switching);
}

void inject_window_forked(void)
{
	pthread_mutex_init(&switching, NULL);
}
