// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* CUPTI as a backend of a session. */
#include <stdlib.h>
#include <string.h>

#include "activity.h"
#include "backend.h"
#include "base/affinity.h"
#include "base/threads.h"
#include "callbacks.h"
#include "convert.h"
#include "graphs.h"
#include "nvtx.h"
#include "other_profiler.h"
#include "pm_sampling.h"
#include "session/session.h"
#include "stalls.h"
#include "subscribe.h"

/* Time for kernels that still run at the end of a window, before CUPTI leaves until the next. */
#define REST_MS INJECT_PATIENCE(200)

/* How long the end of a capture waits for a moment without calls that wait for the GPU. */
#define CALLS_MS INJECT_PATIENCE(200)

struct inject_cupti_state inject_cupti_state;

/**
 * struct start - arguments of calls with which CUPTI begins
 * @is_configured: out
 */
struct start {
	struct inject_thread *thread;
	bool at_start;
	bool is_configured;
};

static void configure(void *data)
{
	struct start *start = data;

	start->is_configured = inject_subscribe_configure(start->thread, start->at_start);
}

static void enable_always(void *data)
{
	const struct start *start = data;

	inject_subscribe_always(start->thread, start->at_start);
}

/* The program may use CUDA meanwhile, with each of its threads. */
static void begin_with(void (*call)(void *data), struct start *start)
{
	if (start->at_start)
		call(start);
	else
		inject_affinity_run(call, start);
}

static void say_affinity(struct inject_thread *thread)
{
	unsigned int ms = inject_affinity_kept_ms();

	if (ms)
		inject_session_note(
			thread, 0,
			"the program's threads were kept on one processor for %u ms: their calls of CUDA left CUPTI no moment to begin",
			ms);
}

static bool start_cupti(struct inject_thread *thread, bool at_start, const char **why)
{
	struct start start = { .thread = thread, .at_start = at_start };

	inject_convert_reset();
	inject_activity_waits_begin();
	inject_cupti_state.from_start = at_start;
	atomic_store(&inject_cupti_state.launches_graphs, false);
	inject_graphs_begin();
	begin_with(configure, &start);
	if (!start.is_configured) {
		*why = "nothing of the GPU is recorded: CUPTI takes no buffers";
		inject_unsubscribe(false);
		return false;
	}
	if (inject_activity_is_old())
		inject_session_note(
			thread, 0,
			"CUPTI's buffers are those of the capture before, of which it has not given all back");
	inject_pm_begin(thread);
	inject_stalls_begin(thread, at_start);
	begin_with(enable_always, &start);
	say_affinity(thread);
	inject_other_profiler_look();
	if (inject_session.settings.graphs == GPUMON_GRAPHS_WHOLE && !at_start)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"graphs are recorded by node, not as a whole: that has to be asked for before CUDA is initialised");
	return true;
}

static void switch_cupti_operations(struct inject_thread *thread, bool on)
{
	inject_convert_switched(on);
	inject_subscribe_kinds(thread, on);
	inject_pm_window(on);
	inject_stalls_window(on);
}

static void drain_cupti(struct inject_thread *thread)
{
	inject_activity_drain(thread);
	if (thread)
		inject_stalls_work(thread);
}

static bool reserve_for_cupti(const struct gpumon_message_settings *settings)
{
	inject_stalls_reserve(settings);
	return inject_activity_setup(settings);
}

static void flush_cupti(void)
{
	if (!inject_subscribed())
		return;
	inject_other_profiler_look();
	inject_cupti.cuptiActivityFlushAll(0);
}

/* Kernels that end soon after the capture does are recorded with their times. */
static void wait_for_buffers(struct inject_thread *thread, unsigned int settle_ms)
{
	uint64_t until = inject_now() + settle_ms * 1000000ull;

	while (!inject_activity_is_home() && inject_now() < until) {
		inject_sleep(10000000);
		inject_cupti.cuptiActivityFlushAll(0);
		inject_activity_drain(thread);
	}
}

/* Everything that there is, within a time. */
static void collect_records(struct inject_thread *thread, unsigned int settle_ms)
{
	wait_for_buffers(thread, settle_ms);
	if (inject_subscribe_ends_alone()) {
		inject_cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		inject_activity_drain(thread);
		return;
	}
	inject_cupti.cuptiActivityFlushAll(0);
	inject_activity_drain(thread);
	if (!inject_activity_is_home())
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"operations that had not ended when recording did are missing, with what is in a buffer with them: another profiler shares CUPTI, and gpumon cannot have these buffers without those of that profiler");
}

/* For a moment in which no thread is in a call that waits: only then can CUPTI be left, see inject_detach(). */
static void wait_for_calls(void)
{
	uint64_t until = inject_now() + CALLS_MS * 1000000ull;

	while (inject_callbacks_left_calls() && inject_now() < until)
		inject_sleep(50000);
}

static void end_cupti(struct inject_thread *thread, bool recorder_lives, unsigned int settle_ms)
{
	bool is_over;

	if (!inject_subscribed())
		return;
	/* Samples are decoded meanwhile. */
	inject_pm_window(false);
	/* Complete buffers first: in the forced flush, kernels that still run get no end at all. */
	if (recorder_lives)
		inject_cupti.cuptiActivityFlushAll(0);
	inject_activity_drain(recorder_lives ? thread : NULL);
	if (atomic_load(&inject_session.recording)) {
		inject_subscribe_kinds(thread, false);
		if (settle_ms)
			wait_for_calls();
		inject_subscribe_calls(thread, false);
	}
	if (recorder_lives)
		collect_records(thread, settle_ms);
	else
		inject_activity_drain(NULL);
	inject_stalls_end(thread, recorder_lives, true);
	is_over = inject_pm_end();
	inject_unsubscribe(settle_ms && is_over);
	/* Without records of nodes CUPTI changes nodes itself. */
	if (recorder_lives && inject_session.settings.graphs != GPUMON_GRAPHS_WHOLE)
		inject_graphs_end(thread);
}

/* CUPTI has recorded, so launches are slower until it is gone, see inject_detach(). */
static void rest_cupti(struct inject_thread *thread)
{
	if (!inject_subscribed())
		return;
	inject_cupti.cuptiActivityFlushAll(0);
	collect_records(thread, REST_MS);
	inject_stalls_end(thread, true, false);
	inject_unsubscribe(inject_pm_end());
}

static bool wake_cupti(struct inject_thread *thread)
{
	const char *why;

	return inject_subscribe(&why) && start_cupti(thread, false, &why);
}

static bool launches_graphs(void)
{
	return atomic_load(&inject_cupti_state.launches_graphs);
}

static bool forget_cupti(void)
{
	atomic_store(&inject_cupti_state.captures_open, 0);
	inject_stalls_forked();
	inject_subscribe_forked();
	inject_pm_forked();
	return false;
}

const struct inject_backend inject_cupti_backend = {
	.api = "CUDA",
	.has_stalls = true,
	.read_environment = inject_cupti_read_environment,
	.reserve = reserve_for_cupti,
	.load = inject_subscribe,
	.versions = inject_cupti_versions,
	.describe = inject_cupti_write_api,
	.start = start_cupti,
	.code = inject_cupti_code,
	.window_calls = inject_subscribe_calls,
	.window_operations = switch_cupti_operations,
	.launches_graphs = launches_graphs,
	.rest = rest_cupti,
	.wake = wake_cupti,
	.flush = flush_cupti,
	.drain = drain_cupti,
	.end = end_cupti,
	.forked = forget_cupti,
	.name_stream = inject_cupti_name_stream,
};
