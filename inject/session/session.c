// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "backend.h"
#include "hooks/call.h"
#include "python/stack.h"
#include "session.h"
#include "write/intern.h"
#include "write/mappings.h"
#include "write/names.h"
#include "write/process.h"

/* If a thread is still within after that long, the channel stays mapped. */
#define OUTSIDE_MS 500

/* A thread that opens the window waits so long for another one that opens or closes it. */
#define OPEN_US 20000

/* So many hold it open. */
static _Atomic int windows;

/* A backend's window is switched by one thread at a time. */
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;

/* Between two windows nothing at all is recorded, whatever holds the window open. */
static _Atomic bool resting;

/* Windows of operations, protected by @switching. */
static bool operations_on;
static uint64_t next_switch_ns; /* 0: the first window has not begun */

static void write_note(struct inject_thread *thread, uint16_t flags, const char *text)
{
	struct gpumon_record_note record = {
		.head = { .type = GPUMON_RECORD_NOTE, .flags = flags, .size = sizeof(record) },
		.time_ns = inject_now(),
		.text = inject_intern_string(thread, text),
	};

	inject_append(thread, &record);
}

void inject_session_note(struct inject_thread *thread, uint16_t flags, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	write_note(thread, flags, text);
}

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

/* Not for ever: the one who has it may wait until this callback has returned. */
static bool take_switch(unsigned int wait_us)
{
	const struct timespec pause = { .tv_nsec = 50000 };

	while (pthread_mutex_trylock(&switching)) {
		if (!wait_us || !atomic_load(&inject_session.is_open))
			return false;
		wait_us -= wait_us < 50 ? wait_us : 50;
		nanosleep(&pause, NULL);
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

	do {
		/* What it misses is seen by the thread that has the switch, once it has let it go. */
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

static void rest_until_next_window(struct inject_thread *thread)
{
	const struct inject_backend *backend;

	atomic_store(&resting, true);
	follow_windows(thread, "sample", 0);
	inject_for_each_backend(backend)
		if (backend->rest)
			backend->rest(thread);
	next_switch_ns = inject_now() + pause_ns();
}

/* False where an API cannot be woken: it is tried again later. */
static bool wake_for_window(struct inject_thread *thread)
{
	const struct inject_backend *backend;
	bool awake = true;

	inject_for_each_backend(backend)
		if (backend->wake)
			awake &= backend->wake(thread);
	if (awake) {
		atomic_store(&resting, false);
		follow_windows(thread, "sample", 0);
	}
	return awake;
}

uint64_t inject_session_sample(struct inject_thread *thread)
{
	const struct gpumon_message_settings *settings = &inject_session.settings;
	bool has_graphs = launches_graphs();
	uint64_t now = inject_now(), next;

	if (!settings->operations_sampled &&
	    !(settings->graphs == GPUMON_GRAPHS_WINDOWS && has_graphs))
		return UINT64_MAX;
	if (atomic_load(&resting)) {
		if (now >= next_switch_ns && !wake_for_window(thread))
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
		rest_until_next_window(thread);
		return next_switch_ns;
	}
	return next;
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
		inject_session_note(thread, GPUMON_NOTE_MISSING, "%s", problem);
		told_in = generation;
	}
}

static bool reserve_for_backends(uint32_t mib)
{
	const struct inject_backend *backend;

	inject_for_each_backend(backend)
		if (!backend->reserve(mib))
			return false;
	return true;
}

/* Of this library, defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));

/*
 * Code that is not the program's, of an API that a stack may be walked for already: what is behind the
 * last one has all addresses until the new one is whole.
 */
static void add_api_code(const struct inject_backend *backend)
{
	struct inject_code found[INJECT_CODE_MAX], *to = inject_session.code;
	unsigned int count, room;

	while (to->size != UINTPTR_MAX)
		to++;
	room = (unsigned int)(inject_session.code + INJECT_CODE_MAX - to);
	count = backend->code(found, room);
	to[count] = (struct inject_code){ .size = UINTPTR_MAX };
	while (count-- > 0) {
		__atomic_store_n(&to[count].start, found[count].start, __ATOMIC_RELEASE);
		__atomic_store_n(&to[count].size, found[count].size, __ATOMIC_RELEASE);
	}
}

static void find_api_code(void)
{
	const struct inject_backend *backend;

	inject_session.code[0] =
		(struct inject_code){ (uintptr_t)__ehdr_start,
				      (uintptr_t)_etext - (uintptr_t)__ehdr_start };
	inject_session.code[1] = (struct inject_code){ .size = UINTPTR_MAX };
	inject_for_each_backend(backend)
		add_api_code(backend);
}

static bool load_backend(const struct inject_backend *backend, const char **why)
{
	return !backend->load || backend->load(why);
}

/* The code to be left out of stacks has to be known before a backend calls the first hook. */
static void start_backends(struct inject_thread *thread, bool at_start)
{
	const char *problems[INJECT_BACKENDS_MAX] = { NULL };
	bool is_loaded[INJECT_BACKENDS_MAX];
	struct inject_versions versions = { 0 };
	const struct inject_backend *backend;
	unsigned int i = 0;

	inject_for_each_backend(backend) {
		is_loaded[i] = load_backend(backend, &problems[i]);
		if (backend->versions)
			backend->versions(&versions);
		i++;
	}
	inject_process_write(thread, &versions);
	find_api_code();
	i = 0;
	inject_for_each_backend(backend) {
		if (backend->describe)
			backend->describe(thread);
		if (is_loaded[i])
			is_loaded[i] = backend->start(thread, at_start, &problems[i]);
		if (!is_loaded[i])
			write_note(thread, GPUMON_NOTE_NO_GPU, problems[i]);
		i++;
	}
}

static void join_backend(struct inject_thread *thread, const struct inject_backend *backend)
{
	const char *why = "no memory for what it reports";

	if (!backend->reserve(inject_session.settings.buffer_mib) || !load_backend(backend, &why)) {
		inject_session_note(thread, GPUMON_NOTE_MISSING, "%s: %s", backend->api, why);
		return;
	}
	if (backend->describe)
		backend->describe(thread);
	add_api_code(backend);
	if (!backend->start(thread, true, &why)) {
		inject_session_note(thread, GPUMON_NOTE_MISSING, "%s: %s", backend->api, why);
		return;
	}
	if (!atomic_load(&inject_session.recording))
		return;
	if (backend->window_calls)
		backend->window_calls(thread, true);
	if (backend->window_operations)
		backend->window_operations(thread, true);
}

void inject_session_join(const struct inject_backend *backend)
{
	struct inject_thread *thread;

	if (inject_backend_find(backend->api))
		return;
	if (backend->read_environment)
		backend->read_environment();
	/* Before others see it in the list: no window opens and no capture ends meanwhile. */
	pthread_mutex_lock(&switching);
	thread = inject_thread_enter(true);
	if (thread) {
		join_backend(thread, backend);
		inject_thread_leave(thread);
	}
	inject_backend_register(backend);
	pthread_mutex_unlock(&switching);
}

bool inject_session_begin(const struct gpumon_channel_map *map,
			  const struct gpumon_message_settings *settings, bool at_start)
{
	struct inject_thread *thread;

	if (!inject_intern_setup() || !reserve_for_backends(settings->buffer_mib))
		return false;
	inject_session.settings = *settings;
	inject_session.record = settings->record;
	inject_session.stack_depth = settings->stack_depth;
	inject_session.stack_room = settings->stack_depth + 16 < GPUMON_STACK_DEPTH_MAX ?
					    settings->stack_depth + 16 :
					    GPUMON_STACK_DEPTH_MAX;
	inject_mappings_reset();
	atomic_store(&windows, 0);
	atomic_store(&resting, false);
	atomic_fetch_add(&inject_session.generation, 1);
	inject_session.map = *map;
	atomic_store(&inject_session.is_open, true);
	thread = inject_thread_enter(true);
	if (!thread) {
		atomic_store(&inject_session.is_open, false);
		return false;
	}
	start_backends(thread, at_start);
	inject_mappings_write(thread);
	inject_session_look_for_python(thread);
	if (settings->window == GPUMON_WINDOW_ALWAYS)
		inject_window_open(thread, at_start ? "start" : "attach");
	inject_thread_leave(thread);
	return true;
}

void inject_session_end(bool recorder_lives, const char *reason, unsigned int settle_ms)
{
	struct gpumon_channel *channel = inject_session.map.channel;
	struct inject_thread *thread = inject_thread_enter(true);
	const struct inject_backend *backend;

	if (!thread)
		return;
	pthread_mutex_lock(&switching);
	inject_for_each_backend(backend)
		backend->end(thread, recorder_lives, settle_ms);
	if (recorder_lives) {
		inject_names_refresh(thread);
		inject_mappings_write(thread);
		if (atomic_load(&inject_session.recording))
			write_window(thread, GPUMON_WINDOW_END, reason);
	}
	atomic_store(&inject_session.recording, false);
	atomic_store(&inject_session.is_open, false);
	inject_thread_leave(thread);
	if (inject_thread_wait_outside(OUTSIDE_MS)) {
		if (recorder_lives)
			inject_call_finish_open();
		inject_thread_release_blocks();
		__atomic_store_n(&channel->stopped, 1, __ATOMIC_RELEASE);
		gpumon_channel_unmap(&inject_session.map);
	} else {
		/* A thread may still write to the channel: it stays mapped. */
		__atomic_store_n(&channel->stopped, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&switching);
}

void inject_session_forked(void)
{
	bool is_open = atomic_exchange(&inject_session.is_open, false);
	const struct inject_backend *backend;

	atomic_store(&inject_session.recording, false);
	pthread_mutex_init(&switching, NULL);
	inject_for_each_backend(backend)
		backend->forked();
	/* The channel is shared with the parent, and it is the parent's. */
	if (is_open)
		gpumon_channel_unmap(&inject_session.map);
}
