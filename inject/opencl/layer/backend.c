// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * OpenCL as a backend of a session. The layer is there from the first call of OpenCL on; whether it
 * records is seen from the session at each call.
 */
#include "backend.h"
#include "base/fork.h"
#include "opencl/command.h"
#include "opencl/harvest.h"
#include "layer.h"

static bool reserve_commands(const struct gpumon_message_settings *settings)
{
	inject_command_reserve(settings->buffer_mib);
	return true;
}

static unsigned int loader_code(struct inject_code *code, unsigned int room)
{
	return room && inject_layer_loader(code);
}

/* Commands of an earlier session are nobody's. */
static bool start_opencl(struct inject_thread *thread, bool at_start, const char **why)
{
	(void)thread;
	(void)at_start;
	(void)why;
	inject_harvest_end(NULL, 0, true);
	return true;
}

/* Drivers have locks, which a child of fork must not find locked. */
static void drain_opencl(struct inject_thread *thread)
{
	inject_locks_begin();
	inject_harvest(thread);
	inject_locks_end();
}

static void end_opencl(struct inject_thread *thread, bool recorder_lives, unsigned int settle_ms)
{
	inject_harvest_end(recorder_lives ? thread : NULL, settle_ms, settle_ms);
}

static bool forget_opencl(void)
{
	inject_objects_forked();
	inject_harvest_forked();
	return true;
}

const struct inject_backend inject_opencl_backend = {
	.api = "OpenCL",
	.reserve = reserve_commands,
	.code = loader_code,
	.start = start_opencl,
	.drain = drain_opencl,
	.end = end_opencl,
	.forked = forget_opencl,
};
