// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Level Zero as a backend of a session. The callbacks are there from the program's first call on;
 * whether they record is seen from the session at each call.
 */
#include "backend.h"
#include "base/fork.h"
#include "tracer.h"
#include "ze/command.h"
#include "ze/harvest.h"

static bool reserve_pending(const struct gpumon_message_settings *settings)
{
	inject_ze_events_reserve(settings->buffer_mib);
	inject_ze_pending_reserve(settings->buffer_mib);
	return true;
}

/* What is left of an earlier session is nobody's. */
static bool start_level_zero(struct inject_thread *thread, bool at_start, const char **why)
{
	(void)thread;
	(void)at_start;
	(void)why;
	inject_ze_harvest_end(NULL, 0);
	return true;
}

/* Drivers have locks, which a child of fork must not find locked. */
static void drain_level_zero(struct inject_thread *thread)
{
	inject_locks_begin();
	inject_ze_harvest(thread);
	inject_locks_end();
}

static void end_level_zero(struct inject_thread *thread, bool recorder_lives,
			   unsigned int settle_ms)
{
	inject_ze_harvest_end(recorder_lives ? thread : NULL, settle_ms);
}

static bool forget_level_zero(void)
{
	inject_ze_objects_forked();
	inject_ze_events_forked();
	inject_ze_commands_forked();
	inject_ze_harvest_forked();
	return true;
}

const struct inject_backend inject_ze_backend = {
	.api = "Level Zero",
	.reserve = reserve_pending,
	.load = inject_ze_is_traced,
	.code = inject_ze_code,
	.start = start_level_zero,
	.drain = drain_level_zero,
	.end = end_level_zero,
	.forked = forget_level_zero,
};
