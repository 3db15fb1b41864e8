// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/threads.h"
#include "calls.h"
#include "channel/mappings.h"
#include "devices.h"
#include "operations.h"
#include "tracer.h"

/* A record of these addresses is none: newer versions say so that one will come. */
#define NO_RECORD 4096u

/*
 * Versions of the interface; before 5.4 there is another one. Sizes are those of the headers of
 * each version.
 */
static const struct inject_hip_layout layouts[] = {
	{ 504, 508, 856 },
	{ 600, 605, 1536 },
	{ 700, 703, 1536 },
};

struct inject_hip inject_hip;

/* Set by the first call of the program. */
static enum {
	NOT_YET,
	TRACED,
	NO_FUNCTIONS,
	UNKNOWN_VERSION,
} state;

static const struct inject_hip_layout *layout;
static void (*tell_first_call)(void);

/*
 * Calls wait for the first one; its own calls, by the thread's number, do not. In a child of fork,
 * pthread_once() does not wait for a thread of the parent.
 */
static pthread_once_t entering = PTHREAD_ONCE_INIT;
static _Atomic bool is_entered;
static _Atomic pid_t entering_thread;

static int find_path(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libamdhip64"))
		return 0;
	snprintf(argument, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

/* The library of any version, wherever it was found: of those that are loaded, not of files. Never closed. */
static void *find_library(void)
{
	static void *library;
	char path[PATH_MAX];

	if (!library && dl_iterate_phdr(find_path, path))
		library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	return library;
}

/* A function of the library; NULL: it is not loaded, or has none of that name. */
static void *find_symbol(const char *name)
{
	void *library = find_library();

	return library ? dlsym(library, name) : NULL;
}

static bool find_functions(void)
{
	bool all = true;

#define FIND(type, name, arguments)                                 \
	inject_hip.name = __extension__(void *) find_symbol(#name); \
	all &= inject_hip.name != NULL;
	INJECT_HIP_CALLED(FIND)
#undef FIND
	inject_hip.hipExtGetLastError = __extension__(void *) find_symbol("hipExtGetLastError");
	return all;
}

static const struct inject_hip_layout *find_layout(void)
{
	unsigned int version, i;

	if (inject_hip.hipRuntimeGetVersion(&inject_hip.version) || inject_hip.version < 0)
		return NULL;
	version = (unsigned int)inject_hip.version / 100000;
	if (version >= 700 && !inject_hip.hipExtGetLastError)
		return NULL;
	for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (version >= layouts[i].version && version < layouts[i].before)
			return &layouts[i];
	return NULL;
}

static pid_t thread_number(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static void enter(void)
{
	atomic_store(&entering_thread, thread_number());
	layout = find_layout();
	if (layout)
		inject_hip_functions_find();
	else
		inject_hip.hipRegisterTracerCallback(NULL);
	state = layout ? TRACED : UNKNOWN_VERSION;
	tell_first_call();
	atomic_store(&entering_thread, 0);
	atomic_store_explicit(&is_entered, true, memory_order_release);
}

/* False: the call is one of this library. */
static bool enter_once(void)
{
	if (INJECT_LIKELY(atomic_load_explicit(&is_entered, memory_order_acquire)))
		return true;
	if (atomic_load(&entering_thread) == thread_number())
		return false;
	pthread_once(&entering, enter);
	return true;
}

static int traced(uint32_t domain, uint32_t number, void *data)
{
	if (domain == INJECT_HIP_DOMAIN_CALL)
		return enter_once() && layout ? inject_hip_call_begin(number, data, layout) :
						INJECT_HIP_NO;
	if (domain != INJECT_HIP_DOMAIN_OPERATION ||
	    !atomic_load_explicit(&is_entered, memory_order_acquire) || !layout)
		return INJECT_HIP_NO;
	if (!data)
		return inject_hip_operation_is_wanted(number) ? INJECT_HIP_YES : INJECT_HIP_NO;
	if ((uintptr_t)data >= NO_RECORD && inject_hip_operation_is_wanted(number))
		inject_hip_operation_ended(data);
	return INJECT_HIP_YES;
}

void inject_hip_trace(void (*first_call)(void))
{
	static _Atomic bool is_registered;

	if (atomic_load(&is_registered) || !find_library() || atomic_exchange(&is_registered, true))
		return;
	tell_first_call = first_call;
	if (find_functions())
		inject_hip.hipRegisterTracerCallback(traced);
	else
		state = NO_FUNCTIONS;
	if (state == NO_FUNCTIONS)
		tell_first_call();
}

/*
 * Called after the first call of the program. Returns false, with @why, if nothing can be recorded.
 */
static bool is_traced(const char **why)
{
	static char text[128];

	if (state == NO_FUNCTIONS)
		*why = "HIP is not recorded: its library has no tracer (5.4 and newer have)";
	if (state == UNKNOWN_VERSION) {
		snprintf(
			text, sizeof(text),
			"HIP is not recorded: gpumon does not know version %d.%d of its library (it knows 5.4 to 5.7, 6.0 to 6.4, 7.0 to 7.2)",
			inject_hip.version / 10000000, inject_hip.version / 100000 % 100);
		*why = text;
	}
	return state == TRACED;
}

/* Finds the addresses of the library's code. */
static unsigned int find_code(struct inject_code *code, unsigned int room)
{
	return room && state == TRACED &&
	       inject_library_code(__extension__(void *) inject_hip.hipRuntimeGetVersion, code);
}

/*
 * HIP as a backend of a session. The tracer's callback is there from the program's first call on;
 * whether it records is seen from the session at each call.
 */

static bool reserve_launches(const struct gpumon_message_settings *settings)
{
	inject_hip_launches_reserve(settings->buffer_mib);
	return true;
}

/* Operations that an earlier session has left belong to no session. */
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

	if (!is_traced(&why))
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
	.load = is_traced,
	.code = find_code,
	.start = start_hip,
	.window_calls = switch_window,
	.drain = drain_hip,
	.end = end_hip,
	.forked = forget_hip,
};
