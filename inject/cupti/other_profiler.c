// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/imports.h"
#include "other_profiler.h"
#include "session/session.h"
#include "session/window.h"
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
			"%s wanted CUPTI for its own profiler and did not get it, because CUPTI serves one at a time: that profiler lacks the GPU",
			name);
	inject_thread_leave(thread);
}

/* In place of cuptiSubscribe(), in the program's libraries. */
static CUptiResult subscribe_for_program(CUpti_SubscriberHandle *subscriber,
					 CUpti_CallbackFunc callback, void *argument)
{
	bool is_open = atomic_load(&inject_session.is_open), yielded = false;
	CUpti_TimestampCallbackFunc clock;
	CUptiResult result;
	const char *name;
	const void *caller = __builtin_return_address(0);
	__typeof__(&cuptiSubscribe) original =
		find_original("cuptiSubscribe", (void *)inject_cupti.cuptiSubscribe, caller, &name);

	if (is_open && (inject_session.record & GPUMON_RECORD_YIELD))
		yielded = inject_window_yield();
	result = original(subscriber, callback, argument);
	clock = result == CUPTI_SUCCESS ? atomic_exchange(&kept_clock, NULL) : NULL;
	if (yielded || clock)
		inject_subscribe_clock_lost();
	if (clock)
		find_set_clock(caller)(clock);
	if (is_open)
		note_profiler(name, yielded, result);
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
