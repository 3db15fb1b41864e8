// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/imports.h"
#include "generation.h"
#include "other_profiler.h"
#include "session/session.h"
#include "session/window.h"
#include "sharing.h"
#include "subscribe.h"

/*
 * The clock that the program's profiler asked for while CUPTI was not its own. Such a profiler sets its
 * clock first and subscribes then. CUPTI has one clock, and forgets it when gpumon lets go.
 */
static _Atomic CUpti_TimestampCallbackFunc kept_clock;

/* The function @symbol that @caller would have called, @ours if that is not known, and its file's name. */
static void *find_original(const char *symbol, void *ours, const void *caller, const char **name)
{
	void *original = NULL;
	Dl_info info;
	void *handle;

	*name = "the program";
	if (dladdr(caller, &info) && info.dli_fname) {
		const char *slash = strrchr(info.dli_fname, '/');

		*name = slash ? slash + 1 : info.dli_fname;
		handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
		/* The program itself has no handle under its name. */
		if (!handle)
			handle = dlopen(NULL, RTLD_NOW);
		if (handle) {
			original = dlsym(handle, symbol);
			dlclose(handle);
		}
	}
	return original ? original : ours;
}

static __typeof__(&cuptiActivityRegisterTimestampCallback) find_set_clock(const void *caller)
{
	const char *name;

	return find_original("cuptiActivityRegisterTimestampCallback",
			     (void *)inject_cupti.cuptiActivityRegisterTimestampCallback, caller,
			     &name);
}

static void note_profiler(const char *name, bool yielded, CUptiResult result)
{
	struct inject_thread *thread = inject_thread_enter(true);

	if (!thread)
		return;
	if (yielded && result == CUPTI_SUCCESS)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"%s had CUPTI for its own profiler: nothing of CUDA was recorded meanwhile",
			name);
	else if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		inject_session_note(
			thread, 0,
			"%s wanted CUPTI for its own profiler and did not get it, because %s: that profiler lacks the GPU",
			name,
			inject_generation->shares ? "it does not ask to share it" :
						    "CUPTI serves one at a time");
	inject_thread_leave(thread);
}

/* Before the program subscribes. Returns whether gpumon let go of CUPTI. */
static bool let_program_go_first(void)
{
	return atomic_load(&inject_session.is_open) &&
	       (inject_session.record & GPUMON_RECORD_YIELD) && inject_window_yield();
}

/* After it. @caller: in the program's library, whose file's name is @name */
static void program_subscribed(const void *caller, const char *name, bool yielded,
			       CUptiResult result)
{
	CUpti_TimestampCallbackFunc clock =
		result == CUPTI_SUCCESS ? atomic_exchange(&kept_clock, NULL) : NULL;

	if (yielded || clock)
		inject_subscribe_clock_lost();
	if (clock)
		find_set_clock(caller)(clock);
	if (atomic_load(&inject_session.is_open))
		note_profiler(name, yielded, result);
}

/* In place of cuptiSubscribe(), in the program's libraries. */
static CUptiResult subscribe_for_program(CUpti_SubscriberHandle *subscriber,
					 CUpti_CallbackFunc callback, void *argument)
{
	const void *caller = __builtin_return_address(0);
	bool yielded = let_program_go_first();
	const char *name;
	__typeof__(&cuptiSubscribe) original =
		find_original("cuptiSubscribe", (void *)inject_cupti.cuptiSubscribe, caller, &name);
	CUptiResult result = original(subscriber, callback, argument);

	program_subscribed(caller, name, yielded, result);
	return result;
}

/* Whether the program's profiler and gpumon can have CUPTI at the same time. */
static bool shares_with_program(const struct inject_subscriber_params *params)
{
	return params && params->size > offsetof(struct inject_subscriber_params, shares) &&
	       params->shares == 1 && inject_generation_may_share() &&
	       (!inject_subscribed() || inject_generation->shares);
}

/* In place of cuptiSubscribe_v2(), likewise. */
static CUptiResult subscribe_v2_for_program(CUpti_SubscriberHandle *subscriber,
					    CUpti_CallbackFunc callback, void *argument,
					    struct inject_subscriber_params *params)
{
	const void *caller = __builtin_return_address(0);
	bool shares = shares_with_program(params), yielded = !shares && let_program_go_first();
	const char *name;
	CUptiResult result;
	CUptiResult (*original)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *,
				struct inject_subscriber_params *) =
		find_original("cuptiSubscribe_v2", dlsym(inject_cupti.handle, "cuptiSubscribe_v2"),
			      caller, &name);

	result = original(subscriber, callback, argument, params);
	if (!shares)
		program_subscribed(caller, name, yielded, result);
	return result;
}

/* In place of cuptiActivityRegisterTimestampCallback(), likewise. */
static CUptiResult set_clock_for_program(CUpti_TimestampCallbackFunc clock)
{
	if (inject_subscribed()) {
		atomic_store(&kept_clock, clock);
		return CUPTI_SUCCESS;
	}
	inject_subscribe_clock_lost();
	return find_set_clock(__builtin_return_address(0))(clock);
}

static const struct inject_import imports[] = {
	{ "cuptiSubscribe", (void *)subscribe_for_program },
	{ "cuptiSubscribe_v2", (void *)subscribe_v2_for_program },
	{ "cuptiActivityRegisterTimestampCallback", (void *)set_clock_for_program },
	{ NULL, NULL },
};

static int count_libraries(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size;
	*(unsigned long long *)argument = info->dlpi_adds;
	return 1;
}

void inject_other_profiler_look(void)
{
	static unsigned long long seen;
	unsigned long long loaded = 0;

	if (!(inject_session.record & GPUMON_RECORD_YIELD))
		return;
	dl_iterate_phdr(count_libraries, &loaded);
	if (loaded == seen)
		return;
	seen = loaded;
	inject_imports_replace(imports);
}
