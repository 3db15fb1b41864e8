// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/threads.h"
#include "callbacks.h"
#include "channel/mappings.h"
#include "tracer.h"
#include "ze/command.h"
#include "ze/completion.h"

#define LOADER "libze_loader.so.1"
#define LAYER  "libze_tracing_layer.so"

static enum {
	NOT_YET,
	TRACED,
	NO_LOADER,
	NO_LAYER,
} state;

/* Never closed. A program that has called Level Zero has loaded it. */
static void *find_loader(void)
{
	static void *loader;

	if (!loader)
		loader = dlopen(LOADER, RTLD_NOW | RTLD_NOLOAD);
	return loader;
}

static void *find_symbol(const char *name)
{
	void *loader = find_loader();

	return loader ? dlsym(loader, name) : NULL;
}

static bool find_functions(void)
{
	bool all = true;

#define FIND(name)                                                 \
	inject_ze.name = __extension__(void *) find_symbol(#name); \
	all &= inject_ze.name != NULL;
	INJECT_ZE_CALLED(FIND)
#undef FIND
#define FIND(name) inject_ze.name = __extension__(void *) find_symbol(#name);
	INJECT_ZE_OPTIONAL(FIND)
#undef FIND
	return all;
}

/* From 1.19 on the layer can be switched on at any time; before, by ZE_ENABLE_TRACING_LAYER. */
static void enable_layer(void)
{
	ze_result_t (*enable)(void) = __extension__(void *) find_symbol("zelEnableTracingLayer");

	if (enable)
		enable();
}

static bool start_tracer(void)
{
	static zel_core_callbacks_t before, after;
	const zel_tracer_desc_t description = {
		.stype = ZEL_STRUCTURE_TYPE_TRACER_DESC,
		.pUserData = &inject_ze,
	};
	zel_tracer_handle_t tracer;

	enable_layer();
	if (inject_ze.zelTracerCreate(&description, &tracer) != ZE_RESULT_SUCCESS)
		return false;
	inject_ze_callbacks_set(&before, &after);
	if (inject_ze.zelTracerSetPrologues(tracer, &before) != ZE_RESULT_SUCCESS ||
	    inject_ze.zelTracerSetEpilogues(tracer, &after) != ZE_RESULT_SUCCESS)
		return false;
	inject_ze_callbacks_register(tracer, find_symbol);
	return inject_ze.zelTracerSetEnabled(tracer, true) == ZE_RESULT_SUCCESS;
}

void inject_ze_trace(void)
{
	if (state != NOT_YET)
		return;
	state = !find_functions() ? NO_LOADER : start_tracer() ? TRACED : NO_LAYER;
}

/* Whether there are callbacks; otherwise @why is a sentence. */
static bool is_traced(const char **why)
{
	if (state == NO_LOADER)
		*why = "Level Zero is not recorded: its loader has no functions for tracing (1.8 and newer have)";
	else if (state == NO_LAYER)
		*why = "Level Zero is not recorded: its loader has no tracing layer, or it is switched off (libze_tracing_layer.so.1, ZE_ENABLE_TRACING_LAYER=1)";
	return state == TRACED;
}

static int find_layer(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size;
	if (!strstr(info->dlpi_name, LAYER) || !info->dlpi_phnum)
		return 0;
	*(const void **)argument = (const char *)info->dlpi_addr + info->dlpi_phdr[0].p_vaddr;
	return 1;
}

/* The code of the loader and its tracing layer; how many of @room were filled. */
static unsigned int find_code(struct inject_code *code, unsigned int room)
{
	const void *layer = NULL;
	unsigned int count = 0;

	if (state != TRACED || room < 2)
		return 0;
	count += inject_library_code(__extension__(void *) inject_ze.zelTracerCreate, &code[count]);
	if (dl_iterate_phdr(find_layer, &layer))
		count += inject_library_code(layer, &code[count]);
	return count;
}

/*
 * Level Zero as a backend of a session. The callbacks are there from the program's first call on;
 * whether they record is seen from the session at each call.
 */

static bool reserve_pending(const struct gpumon_message_settings *settings)
{
	inject_ze_events_reserve(settings->buffer_mib);
	inject_ze_pending_reserve(settings->buffer_mib);
	return true;
}

/* Operations that an earlier session has left belong to no session. */
static bool start_level_zero(struct inject_thread *thread, bool at_start, const char **why)
{
	(void)thread;
	(void)at_start;
	(void)why;
	inject_ze_completion_end(NULL, 0);
	return true;
}

/* Drivers have locks, which a child of fork must not find locked. */
static void drain_level_zero(struct inject_thread *thread)
{
	inject_locks_begin();
	inject_ze_completion_look(thread);
	inject_locks_end();
}

static void end_level_zero(struct inject_thread *thread, bool recorder_lives,
			   unsigned int settle_ms)
{
	inject_ze_completion_end(recorder_lives ? thread : NULL, settle_ms);
}

static bool forget_level_zero(void)
{
	inject_ze_objects_forked();
	inject_ze_events_forked();
	inject_ze_completion_forked();
	return true;
}

const struct inject_backend inject_ze_backend = {
	.api = "Level Zero",
	.reserve = reserve_pending,
	.load = is_traced,
	.code = find_code,
	.start = start_level_zero,
	.drain = drain_level_zero,
	.end = end_level_zero,
	.forked = forget_level_zero,
};
