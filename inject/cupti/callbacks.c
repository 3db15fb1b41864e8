// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What CUPTI calls in the program's launches: two callbacks for each function
 * of the API, and the runtime's functions call the driver's.
 */
#include <errno.h>

#include "activity.h"
#include "base/threads.h"
#include "callbacks.h"
#include "channel/call.h"
#include "channel/intern.h"
#include "graphs.h"
#include "hw_trace.h"
#include "nvtx.h"
#include "session/session.h"
#include "session/window.h"
#include "stalls.h"
#include "subscribe.h"

/* Ids of functions' names, for inject_kept_string(). */
static _Atomic uint64_t names[2][INJECT_FUNCTIONS];

static uint32_t function_name_id(struct inject_thread *thread, unsigned int domain, uint32_t id,
				 const CUpti_CallbackData *data)
{
	const char *name = NULL;
	uint32_t string;

	if (inject_kept_string(&names[domain][id], &string))
		return string;
	if (inject_cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API + domain, id, &name) !=
		    CUPTI_SUCCESS ||
	    !name)
		name = data->functionName;
	if (inject_class[domain][id] & INJECT_CLASS_GRAPH)
		atomic_store(&inject_cupti_state.has_graphs, true);
	return inject_keep_string(thread, &names[domain][id], name);
}

static inline void begin_api_call(struct inject_thread *thread, unsigned int domain, uint32_t id,
				  const CUpti_CallbackData *data, uint16_t class)
{
	if (!inject_call_joins(thread, data->correlationId, class))
		inject_call_begin(thread, data->correlationId, class,
				  function_name_id(thread, domain, id, data));
	if (INJECT_UNLIKELY(class & INJECT_CLASS_GRAPH))
		thread->call.graph = inject_graph_launched(data);
}

static inline void end_api_call(struct inject_thread *thread, unsigned int domain,
				const CUpti_CallbackData *data)
{
	struct inject_call *call = &thread->call;
	int32_t result;

	if (!inject_call_ends(thread, data->correlationId))
		return;
	if (INJECT_UNLIKELY(atomic_load_explicit(&inject_cupti_state.captures_open,
						 memory_order_relaxed) > 0) &&
	    !call->is_captured && (call->class & INJECT_CLASS_LAUNCH))
		call->is_captured =
			inject_call_is_captured(CUPTI_CB_DOMAIN_DRIVER_API + domain, data);
	if (INJECT_UNLIKELY(atomic_load_explicit(&inject_stalls_looks, memory_order_relaxed)))
		inject_stalls_see(data->context);
	/* cudaError_t and CUresult: both are 0 where all is well. */
	result = data->functionReturnValue ? *(const int32_t *)data->functionReturnValue : 0;
	inject_call_finish(thread, inject_now(), data->contextUid, result);
}

/* Calls that change what is recorded. */
#define CONTROL                                                                              \
	(INJECT_CLASS_PROFILER_ON | INJECT_CLASS_PROFILER_OFF | INJECT_CLASS_CAPTURE_BEGIN | \
	 INJECT_CLASS_CAPTURE_END)

static void control_capture(struct inject_thread *thread, uint16_t class, bool is_exit)
{
	/* cudaProfilerStart and Stop do not nest: the generation between them. */
	static _Atomic uint32_t profiled_in;
	uint32_t generation = atomic_load(&inject_session.generation);

	if (class & INJECT_CLASS_CAPTURE_BEGIN && is_exit)
		atomic_fetch_add(&inject_cupti_state.captures_open, 1);
	/* More ends than begins: those captures began before this one. */
	if (class & INJECT_CLASS_CAPTURE_END && is_exit &&
	    atomic_fetch_sub(&inject_cupti_state.captures_open, 1) <= 0)
		atomic_store(&inject_cupti_state.captures_open, 0);
	if (inject_session.settings.window != GPUMON_WINDOW_PROFILER)
		return;
	if (class & INJECT_CLASS_PROFILER_ON && is_exit &&
	    atomic_exchange(&profiled_in, generation) != generation)
		inject_window_open(thread, "cudaProfilerStart");
	if (class & INJECT_CLASS_PROFILER_OFF && !is_exit &&
	    atomic_exchange(&profiled_in, 0) == generation)
		inject_window_close(thread, "cudaProfilerStop");
}

static inline void handle_call(unsigned int which, CUpti_CallbackId id, uint16_t class, bool is_exit,
			       const CUpti_CallbackData *data)
{
	/* A call that began within the window is recorded even if the window has closed since. */
	struct inject_thread *thread = inject_thread_enter(is_exit || (class & CONTROL));

	if (INJECT_UNLIKELY(!thread)) {
		if (is_exit)
			inject_detach_in_call();
		/* A launch of the runtime is one of the driver, too. */
		else if (!which)
			inject_call_interrupts(class);
		return;
	}
	if (INJECT_UNLIKELY(class & CONTROL))
		control_capture(thread, class, is_exit);
	if (INJECT_UNLIKELY(thread->ours))
		;
	else if (is_exit)
		end_api_call(thread, which, data);
	else if (inject_call_is_wanted(class))
		begin_api_call(thread, which, id, data, class);
	inject_thread_leave(thread);
}

/* Threads in callbacks that may wait for the library's own thread. */
static _Atomic uint32_t waiting;

/* How long a thread may take from the library's code back to the program, through CUPTI's. */
#define RETURN_NS 20000000ull
#define STEP_NS	  1000000ull

static bool is_any_inside(void)
{
	const struct inject_thread *thread;

	if (atomic_load(&waiting))
		return true;
	for (thread = inject_thread_first(); thread; thread = thread->next)
		if (!thread->ours && atomic_load(&thread->inside))
			return true;
	return false;
}

bool inject_callbacks_left_calls(void)
{
	const uint16_t long_ones = INJECT_CLASS_BLOCKING | INJECT_CLASS_ENDED | INJECT_CLASS_WAITS;
	const struct inject_thread *thread;

	for (thread = inject_thread_first(); thread; thread = thread->next)
		if (!thread->ours && atomic_load(&thread->taken) &&
		    __atomic_load_n(&thread->call.open, __ATOMIC_RELAXED) &&
		    __atomic_load_n(&thread->call.class, __ATOMIC_RELAXED) & long_ones)
			return true;
	return false;
}

bool inject_callbacks_are_over(uint64_t until_ns)
{
	while (is_any_inside()) {
		if (inject_now() >= until_ns)
			return false;
		inject_wake_answer(inject_wake_asked());
		inject_sleep(STEP_NS);
	}
	inject_sleep(RETURN_NS);
	return true;
}

static inline void handle_api_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id,
				       const CUpti_CallbackData *data)
{
	unsigned int which = domain - CUPTI_CB_DOMAIN_DRIVER_API;
	bool is_exit = data->callbackSite == CUPTI_API_EXIT, may_wait;
	uint16_t class;
	int kept;

	if (INJECT_UNLIKELY(id >= INJECT_FUNCTIONS))
		return;
	class = inject_class[which][id];
	if (INJECT_LIKELY(!(class & CONTROL)) &&
	    inject_call_is_nested(data->correlationId, class, is_exit))
		return;
	may_wait = class & (CONTROL | (is_exit ? INJECT_CLASS_ENDED : 0));
	if (INJECT_UNLIKELY(may_wait))
		atomic_fetch_add(&waiting, 1);
	/* What the program sees of its errno is its own. */
	kept = errno;
	handle_call(which, id, class, is_exit, data);
	if (INJECT_UNLIKELY(class & INJECT_CLASS_ENDED) && is_exit)
		inject_activity_waited();
	errno = kept;
	if (INJECT_UNLIKELY(may_wait))
		atomic_fetch_sub(&waiting, 1);
}

/* What the client does before and after a call is not part of its recorded time. */
static void handle_with_client(CUpti_CallbackDomain domain, CUpti_CallbackId id,
			       const CUpti_CallbackData *data)
{
	bool is_for_client = domain == CUPTI_CB_DOMAIN_DRIVER_API;
	bool is_exit = data->callbackSite == CUPTI_API_EXIT;

	if (inject_cupti_client->is_inside())
		return;
	if (is_for_client && !is_exit)
		inject_cupti_client->call(id, data);
	if (inject_subscribed())
		handle_api_callback(domain, id, data);
	if (is_for_client && is_exit)
		inject_cupti_client->call(id, data);
}

static void handle_resource(CUpti_CallbackId id, const void *data)
{
	struct inject_thread *thread = inject_thread_enter(true);
	int kept = errno;

	if (!thread)
		return;
	inject_resource(thread, id, data);
	inject_thread_leave(thread);
	errno = kept;
}

void CUPTIAPI inject_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	(void)user;
	switch (domain) {
	case CUPTI_CB_DOMAIN_RUNTIME_API:
	case CUPTI_CB_DOMAIN_DRIVER_API:
		if (INJECT_UNLIKELY(inject_cupti_client))
			handle_with_client(domain, id, data);
		else
			handle_api_callback(domain, id, data);
		break;
	case CUPTI_CB_DOMAIN_RESOURCE:
		handle_resource(id, data);
		break;
	case CUPTI_CB_DOMAIN_NVTX:
		inject_cupti_nvtx(id, data);
		break;
	default:
		if ((unsigned int)domain == INJECT_DOMAIN_STATE)
			inject_hw_trace_state(data);
		break;
	}
}
