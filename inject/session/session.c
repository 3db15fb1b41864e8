// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "cupti/activity.h"
#include "cupti/callbacks.h"
#include "cupti/convert.h"
#include "cupti/graphs.h"
#include "cupti/subscribe.h"
#include "nvtx/range.h"
#include "python/stack.h"
#include "session.h"
#include "write/intern.h"
#include "write/names.h"
#include "write/mappings.h"
#include "write/process.h"

/* A thread that is still within after that long keeps the channel's memory in place. */
#define OUTSIDE_MS 500

/* CUPTI wants that who switches callbacks takes turns. */
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;

static void write_note(struct inject_thread *thread, uint16_t flags, const char *text)
{
	struct gpumon_record_note record = {
		.head = { .type = GPUMON_RECORD_NOTE, .flags = flags, .size = sizeof(record) },
		.time_ns = inject_now(),
		.text = inject_intern_string(thread, text),
	};

	inject_append(thread, &record);
}

void inject_session_note(struct inject_thread *thread, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	write_note(thread, 0, text);
}

static void write_window(struct inject_thread *thread, bool end, const char *reason)
{
	struct gpumon_record_window record = {
		.head = { .type = GPUMON_RECORD_WINDOW,
			  .flags = end ? GPUMON_WINDOW_END : 0,
			  .size = sizeof(record) },
		.time_ns = inject_now(),
		.reason = inject_intern_string(thread, reason),
	};

	inject_append(thread, &record);
}

void inject_window_open(struct inject_thread *thread, const char *reason)
{
	/* Somebody else opens or closes it just now: this is not waited for in a callback. */
	if (pthread_mutex_trylock(&switching))
		return;
	if (!atomic_load(&inject_session.recording) && atomic_load(&inject_session.is_open)) {
		atomic_store(&inject_session.recording, true);
		/*
		 * The program launches meanwhile. Calls come first: a launch without its kernel
		 * still has a stack, a kernel without its launch has none. Only a call that had
		 * begun before the window leaves such a kernel.
		 */
		inject_subscribe_calls(thread, true);
		write_window(thread, false, reason);
		inject_subscribe_kinds(thread, true);
	}
	pthread_mutex_unlock(&switching);
}

static void switch_off(struct inject_thread *thread)
{
	inject_subscribe_kinds(thread, false);
	inject_subscribe_calls(thread, false);
}

void inject_window_close(struct inject_thread *thread, const char *reason)
{
	if (pthread_mutex_trylock(&switching))
		return;
	if (atomic_load(&inject_session.recording)) {
		switch_off(thread);
		atomic_store(&inject_session.recording, false);
		write_window(thread, true, reason);
	}
	pthread_mutex_unlock(&switching);
}

void inject_session_look_for_python(struct inject_thread *thread)
{
	static uint32_t told_in;
	uint32_t generation = atomic_load(&inject_session.generation);
	const char *problem;

	if (!(inject_session.record & GPUMON_RECORD_PYTHON)) {
		atomic_store(&inject_session.has_python, false);
		return;
	}
	if (!atomic_load(&inject_session.has_python))
		atomic_store(&inject_session.has_python, gpumon_python_init());
	problem = gpumon_python_problem();
	if (problem && told_in != generation) {
		inject_session_note(thread, "%s", problem);
		told_in = generation;
	}
}

bool inject_session_begin(const struct gpumon_channel_map *map,
			  const struct gpumon_message_settings *settings, bool at_start)
{
	struct inject_versions versions = { 0 };
	struct inject_thread *thread;
	const char *why;
	bool is_subscribed;

	if (!inject_intern_setup() || !inject_activity_setup(settings->buffer_mib))
		return false;
	inject_session.settings = *settings;
	inject_session.record = settings->record;
	inject_session.stack_depth = settings->stack_depth;
	inject_mappings_reset();
	inject_convert_reset();
	inject_graphs_begin();
	atomic_fetch_add(&inject_session.generation, 1);
	inject_session.map = *map;
	atomic_store(&inject_session.is_open, true);
	thread = inject_thread_enter(true);
	if (!thread) {
		atomic_store(&inject_session.is_open, false);
		return false;
	}
	is_subscribed = inject_subscribe(&why);
	inject_cupti_versions(&versions);
	inject_process_write(thread, &versions);
	if (is_subscribed) {
		if (inject_subscribe_configure(thread, at_start)) {
			inject_subscribe_always(thread, at_start);
		} else {
			write_note(thread, GPUMON_NOTE_NO_GPU,
				   "nothing of the GPU is recorded: CUPTI takes no buffers");
			inject_unsubscribe();
		}
	} else {
		write_note(thread, GPUMON_NOTE_NO_GPU, why);
	}
	inject_mappings_write(thread);
	inject_session_look_for_python(thread);
	if (settings->window == GPUMON_WINDOW_ALWAYS)
		inject_window_open(thread, at_start ? "start" : "attach");
	inject_thread_leave(thread);
	return true;
}

/* Kernels that were launched before the end, and end soon after, come with their times. */
static void settle(struct inject_thread *thread, unsigned int settle_ms)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	uint64_t until = inject_now() + settle_ms * 1000000ull;

	while (!inject_activity_is_home() && inject_now() < until) {
		nanosleep(&pause, NULL);
		inject_cupti.cuptiActivityFlushAll(0);
		inject_activity_drain(thread);
	}
}

void inject_session_end(bool recorder_lives, const char *reason, unsigned int settle_ms)
{
	struct gpumon_channel *channel = inject_session.map.channel;
	struct inject_thread *thread = inject_thread_enter(true);

	if (!thread)
		return;
	pthread_mutex_lock(&switching);
	if (inject_subscribed()) {
		/* Whole buffers first: after the forced flush what still runs has no end for good. */
		if (recorder_lives)
			inject_cupti.cuptiActivityFlushAll(0);
		inject_activity_drain(recorder_lives ? thread : NULL);
		if (atomic_load(&inject_session.recording))
			switch_off(thread);
		if (recorder_lives) {
			settle(thread, settle_ms);
			inject_cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		}
		inject_activity_drain(recorder_lives ? thread : NULL);
		inject_unsubscribe();
	}
	if (recorder_lives) {
		inject_names_refresh(thread);
		inject_graphs_end(thread);
		inject_mappings_write(thread);
		if (atomic_load(&inject_session.recording))
			write_window(thread, true, reason);
	}
	atomic_store(&inject_session.recording, false);
	atomic_store(&inject_session.is_open, false);
	inject_thread_leave(thread);
	if (inject_thread_wait_outside(OUTSIDE_MS)) {
		if (recorder_lives)
			inject_callbacks_finish_open();
		inject_thread_release_blocks();
		__atomic_store_n(&channel->stopped, 1, __ATOMIC_RELEASE);
		gpumon_channel_unmap(&inject_session.map);
	} else {
		/* Memory that a thread may still write to is not taken from under it. */
		__atomic_store_n(&channel->stopped, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&switching);
}

void inject_session_forked(void)
{
	bool is_open = atomic_exchange(&inject_session.is_open, false);

	atomic_store(&inject_session.recording, false);
	atomic_store(&inject_cupti_state.captures_open, 0);
	pthread_mutex_init(&switching, NULL);
	/* Shared with the parent, whose it is. */
	if (is_open)
		gpumon_channel_unmap(&inject_session.map);
}
