// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * HIP as a backend of a session. The tracer's callback is there from the program's first call on;
 * whether it records is seen from the session at each call.
 */
#include "base/futex.h"
#include "backend.h"
#include "base/fork.h"
#include "calls.h"
#include "devices.h"
#include "operations.h"
#include "tracer.h"

static bool reserve_launches(const struct gpumon_message_settings *settings)
{
	inject_hip_launches_reserve(settings->buffer_mib);
	return true;
}

/* What is left of an earlier session is nobody's. */
static bool start_hip(struct inject_thread *thread, bool at_start, const char **why)
{
	struct inject_hip_launch launch;

	(void)thread;
	(void)at_start;
	(void)why;
	while (inject_hip_launch_take_any(&launch))
		;
	return true;
}

static void switch_window(struct inject_thread *thread, bool on)
{
	(void)thread;
	inject_hip_operations_window(on);
}

/* The library has locks, which a child of fork must not find locked. */
static void drain_hip(struct inject_thread *thread)
{
	if (!thread)
		return;
	inject_locks_begin();
	inject_hip_devices_write(thread, false);
	inject_locks_end();
}

static void end_hip(struct inject_thread *thread, bool recorder_lives, unsigned int settle_ms)
{
	uint64_t until = inject_now() + settle_ms * 1000000ull;
	struct inject_hip_launch launch;
	const char *why;

	if (!inject_hip_is_traced(&why))
		return;
	/* The thread that reports them is not this one. */
	while (recorder_lives && inject_hip_launches_count() && inject_now() < until)
		inject_sleep(10000000);
	while (inject_hip_launch_take_any(&launch))
		if (recorder_lives)
			inject_hip_operation_untimed(thread, &launch, GPUMON_WORK_UNFINISHED);
	if (recorder_lives)
		inject_hip_devices_write(thread, true);
}

static bool forget_hip(void)
{
	inject_hip_launches_forked();
	inject_hip_devices_forked();
	inject_hip_calls_forked();
	return true;
}

const struct inject_backend inject_hip_backend = {
	.api = "HIP",
	.reserve = reserve_launches,
	.load = inject_hip_is_traced,
	.code = inject_hip_code,
	.start = start_hip,
	.window_calls = switch_window,
	.drain = drain_hip,
	.end = end_hip,
	.forked = forget_hip,
};
