// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What runs in the program's launches: two callbacks for each function of the
 * API, and the runtime's functions call the driver's. The first entry takes
 * time and stack, the last exit writes the record.
 */
#include "callbacks.h"
#include "graphs.h"
#include "nvtx/range.h"
#include "python/stack.h"
#include "session/session.h"
#include "stack/walk.h"
#include "subscribe.h"
#include "write/intern.h"

/* Of this library, defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));

/* String ids of functions' names, with the generation in which they were taken in the upper half. */
static _Atomic uint64_t names[2][INJECT_FUNCTIONS];

static uintptr_t own_start, own_end;

void inject_callbacks_setup(void)
{
	own_start = (uintptr_t)__ehdr_start;
	own_end = (uintptr_t)_etext;
}

/* Between the program and us there are CUPTI and the driver, and the function called says enough. */
static inline bool is_between(uint64_t address)
{
	return (address >= own_start && address < own_end) ||
	       (address >= inject_cupti.text_start && address < inject_cupti.text_end) ||
	       (address >= inject_cupti.driver_start && address < inject_cupti.driver_end);
}

static uint32_t python_frame(void *context, const struct gpumon_python_frame *frame)
{
	struct inject_thread *thread = context;

	return inject_intern_frame(
		thread, inject_intern_text(thread, frame->function, frame->function_length),
		inject_intern_text(thread, frame->file, frame->file_length), frame->line,
		frame->first_line);
}

/* The thread's stack, in its own memory or in the walker's. */
static inline bool walk(struct inject_thread *thread, unsigned int room,
			struct gpumon_stack_view *view)
{
	struct gpumon_python_intern intern;

	if (!atomic_load_explicit(&inject_session.has_python, memory_order_relaxed))
		return gpumon_stack_walk_view(view, room);
	intern.frame = python_frame;
	intern.context = thread;
	intern.generation = atomic_load_explicit(&inject_session.generation, memory_order_relaxed);
	view->count = gpumon_python_stack(thread->frames, room, &view->truncated, &intern);
	view->frames = thread->frames;
	view->stack = NULL;
	view->same = 0;
	return view->count;
}

uint32_t inject_stack_here(struct inject_thread *thread)
{
	unsigned int room = GPUMON_STACK_DEPTH_MAX, count, first = 0;
	struct gpumon_stack_view view;
	uint32_t id;

	if (inject_session.stack_depth + 16 < room)
		room = inject_session.stack_depth + 16;
	if (!walk(thread, room, &view)) {
		thread->hashed = 0;
		return 0;
	}
	count = view.count;
	while (first < count && is_between(view.frames[first]))
		first++;
	count -= first;
	if (INJECT_UNLIKELY(count > inject_session.stack_depth)) {
		count = inject_session.stack_depth;
		view.truncated = true;
	}
	/* Of a stack that is cut, the outermost frames are others each time; Python's are not the walk's. */
	if (INJECT_UNLIKELY(view.truncated || !view.stack))
		thread->hashed = 0;
	id = inject_intern_stack(thread, view.frames + first, count, view.truncated, view.same);
	if (INJECT_UNLIKELY(view.truncated || !view.stack))
		thread->hashed = 0;
	return id;
}

static uint32_t name_of(struct inject_thread *thread, unsigned int domain, uint32_t id,
			const CUpti_CallbackData *data)
{
	uint64_t generation =
		atomic_load_explicit(&inject_session.generation, memory_order_relaxed);
	uint64_t known = atomic_load_explicit(&names[domain][id], memory_order_relaxed);
	const char *name = NULL;

	if (INJECT_LIKELY(known >> 32 == generation))
		return (uint32_t)known;
	if (inject_cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API + domain, id, &name) !=
		    CUPTI_SUCCESS ||
	    !name)
		name = data->functionName;
	known = generation << 32 | inject_intern_string(thread, name);
	atomic_store_explicit(&names[domain][id], known, memory_order_relaxed);
	return (uint32_t)known;
}

static void finish_launch(struct inject_thread *thread, uint64_t end_ns,
			  const CUpti_CallbackData *data, int32_t result)
{
	const struct inject_call *call = &thread->call;
	struct gpumon_channel *channel = inject_session.map.channel;
	struct gpumon_record_launch *record;
	uint16_t flags = 0;

	if (call->is_captured)
		flags |= GPUMON_LAUNCH_CAPTURED;
	if (call->class & INJECT_CLASS_GRAPH)
		flags |= GPUMON_LAUNCH_GRAPH;
	if (call->class & INJECT_CLASS_COPY)
		flags |= GPUMON_LAUNCH_COPY;
	if (call->class & INJECT_CLASS_SET)
		flags |= GPUMON_LAUNCH_SET;
	if (result)
		flags |= GPUMON_LAUNCH_FAILED;
	__atomic_fetch_add(call->is_captured ? &channel->captured : &channel->launches, 1,
			   __ATOMIC_RELAXED);
	/* In place: this is what runs most. */
	record = gpumon_channel_reserve(&thread->writer, sizeof(*record));
	if (INJECT_UNLIKELY(!record)) {
		gpumon_channel_lose(&inject_session.map,
				    gpumon_channel_why(&thread->writer, sizeof(*record)), 1);
		return;
	}
	record->head.type = GPUMON_RECORD_LAUNCH;
	record->head.flags = flags;
	record->head.size = sizeof(*record);
	record->start_ns = call->start_ns;
	record->end_ns = end_ns;
	record->tid = thread->tid;
	record->correlation = call->correlation;
	record->stack = call->stack;
	record->function = call->function;
	record->context = data ? data->contextUid : 0;
	record->result = result;
	gpumon_channel_commit(&thread->writer, sizeof(*record));
}

static void finish_call(struct inject_thread *thread, uint64_t end_ns)
{
	const struct inject_call *call = &thread->call;
	const struct gpumon_record_call record = {
		.head = { .type = GPUMON_RECORD_CALL,
			  .flags = call->class & INJECT_CLASS_BLOCKING ? GPUMON_CALL_BLOCKING : 0,
			  .size = sizeof(record) },
		.start_ns = call->start_ns,
		.end_ns = end_ns,
		.tid = thread->tid,
		.correlation = call->correlation,
		.function = call->function,
		.stack = call->stack,
	};

	inject_append(thread, &record);
}

/* Recorded when it returns, so that the result is known. */
static void finish(struct inject_thread *thread, uint64_t end_ns, const CUpti_CallbackData *data,
		   int32_t result)
{
	if (INJECT_LIKELY(thread->call.class & INJECT_CLASS_LAUNCH))
		finish_launch(thread, end_ns, data, result);
	else
		finish_call(thread, end_ns);
	thread->call.open = 0;
}

void inject_callbacks_finish_open(void)
{
	uint32_t generation = atomic_load(&inject_session.generation);
	struct inject_thread *thread;

	for (thread = inject_thread_first(); thread; thread = thread->next)
		if (thread->call.open && atomic_load(&thread->generation) == generation)
			finish(thread, 0, NULL, 0);
}

static inline bool needs_stack(uint16_t class)
{
	return (inject_session.record & GPUMON_RECORD_STACKS) &&
	       (class & (INJECT_CLASS_LAUNCH | INJECT_CLASS_BLOCKING));
}

static inline void enter(struct inject_thread *thread, unsigned int domain, uint32_t id,
			 const CUpti_CallbackData *data, uint16_t class)
{
	struct inject_call *call = &thread->call;

	if (call->open && call->correlation == data->correlationId) {
		/* Called for something else, and yet it launches. */
		call->open++;
		call->class |= class;
		if (!call->stack && needs_stack(class))
			call->stack = inject_stack_here(thread);
		return;
	}
	/* Its exit was never told: left by longjmp, or callbacks were off at that time. */
	if (INJECT_UNLIKELY(call->open))
		finish(thread, 0, NULL, 0);
	call->start_ns = inject_now();
	call->correlation = data->correlationId;
	call->open = 1;
	call->class = class;
	call->is_captured = false;
	call->function = name_of(thread, domain, id, data);
	call->stack = needs_stack(class) ? inject_stack_here(thread) : 0;
}

static inline void leave(struct inject_thread *thread, unsigned int domain,
			 const CUpti_CallbackData *data)
{
	struct inject_call *call = &thread->call;
	int32_t result;

	if (INJECT_UNLIKELY(!call->open || call->correlation != data->correlationId))
		return;
	if (--call->open)
		return;
	if (INJECT_UNLIKELY(atomic_load_explicit(&inject_cupti_state.captures_open,
						 memory_order_relaxed) > 0) &&
	    !call->is_captured && (call->class & INJECT_CLASS_LAUNCH))
		call->is_captured =
			inject_call_is_captured(CUPTI_CB_DOMAIN_DRIVER_API + domain, data);
	/* cudaError_t and CUresult: both are 0 where all is well. */
	result = data->functionReturnValue ? *(const int32_t *)data->functionReturnValue : 0;
	finish(thread, inject_now(), data, result);
}

/* Calls that change what is recorded. */
#define CONTROL                                                                              \
	(INJECT_CLASS_PROFILER_ON | INJECT_CLASS_PROFILER_OFF | INJECT_CLASS_CAPTURE_BEGIN | \
	 INJECT_CLASS_CAPTURE_END)

static void control(struct inject_thread *thread, uint16_t class, bool is_exit)
{
	if (class & INJECT_CLASS_CAPTURE_BEGIN && is_exit)
		atomic_fetch_add(&inject_cupti_state.captures_open, 1);
	/* More ends than begins: those began before us. */
	if (class & INJECT_CLASS_CAPTURE_END && is_exit &&
	    atomic_fetch_sub(&inject_cupti_state.captures_open, 1) <= 0)
		atomic_store(&inject_cupti_state.captures_open, 0);
	if (inject_session.settings.window != GPUMON_WINDOW_PROFILER)
		return;
	if (class & INJECT_CLASS_PROFILER_ON && is_exit)
		inject_window_open(thread, "cudaProfilerStart");
	if (class & INJECT_CLASS_PROFILER_OFF && !is_exit)
		inject_window_close(thread, "cudaProfilerStop");
}

/*
 * The driver's call within the runtime's: half of all callbacks. It touches
 * nothing but the thread's own, so it need not keep the channel in place.
 */
static inline bool is_nested(const CUpti_CallbackData *data, uint16_t class, bool is_exit)
{
	struct inject_thread *thread = inject_self;
	struct inject_call *call;

	if (INJECT_UNLIKELY(!thread || atomic_load_explicit(&thread->inside, memory_order_relaxed)))
		return false;
	call = &thread->call;
	if (!call->open || call->correlation != data->correlationId)
		return false;
	/* A call for something else that launches is a launch from there on. */
	if (INJECT_UNLIKELY((class & INJECT_CLASS_LAUNCH) && !(call->class & INJECT_CLASS_LAUNCH)))
		return false;
	if (INJECT_UNLIKELY(class & CONTROL))
		return false;
	if (!is_exit)
		call->open++;
	else if (call->open > 1)
		call->open--;
	else
		return false;
	return true;
}

static inline void api(CUpti_CallbackDomain domain, CUpti_CallbackId id,
		       const CUpti_CallbackData *data)
{
	unsigned int which = domain - CUPTI_CB_DOMAIN_DRIVER_API;
	bool is_exit = data->callbackSite == CUPTI_API_EXIT;
	struct inject_thread *thread;
	uint16_t class;

	if (INJECT_UNLIKELY(id >= INJECT_FUNCTIONS))
		return;
	class = inject_class[which][id];
	if (is_nested(data, class, is_exit))
		return;
	/* What was begun within the window is also ended where it closes meanwhile. */
	thread = inject_thread_enter(is_exit || (class & CONTROL));
	if (INJECT_UNLIKELY(!thread))
		return;
	if (INJECT_UNLIKELY(class & CONTROL))
		control(thread, class, is_exit);
	if (INJECT_UNLIKELY(thread->ours))
		;
	else if (is_exit)
		leave(thread, which, data);
	else if (INJECT_LIKELY(class & INJECT_CLASS_LAUNCH) ||
		 (atomic_load(&inject_session.recording) &&
		  ((inject_session.record & GPUMON_RECORD_ALL_CALLS) ||
		   (class & INJECT_CLASS_BLOCKING &&
		    inject_session.record & GPUMON_RECORD_SYNCHRONISATION))))
		enter(thread, which, id, data, class);
	inject_thread_leave(thread);
}

void CUPTIAPI inject_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	struct inject_thread *thread;

	(void)user;
	switch (domain) {
	case CUPTI_CB_DOMAIN_RUNTIME_API:
	case CUPTI_CB_DOMAIN_DRIVER_API:
		api(domain, id, data);
		break;
	case CUPTI_CB_DOMAIN_RESOURCE:
		thread = inject_thread_enter(true);
		if (!thread)
			break;
		inject_resource(thread, id, data);
		inject_thread_leave(thread);
		break;
	case CUPTI_CB_DOMAIN_NVTX:
		inject_nvtx_callback(id, data);
		break;
	default:
		break;
	}
}
