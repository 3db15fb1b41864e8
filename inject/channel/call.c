// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "annotations.h"
#include "call.h"
#include "intern.h"
#include "mappings.h"
#include "python/stack.h"
#include "stack/walk.h"

static uint32_t intern_python_frame(void *context, const struct inject_python_frame *frame,
				    bool *is_written)
{
	struct inject_thread *thread = context;
	uint32_t function = inject_intern_text(thread, frame->function, frame->function_length);
	uint32_t file = inject_intern_text(thread, frame->file, frame->file_length);
	uint32_t id = inject_intern_frame(thread, function, file, frame->line, frame->first_line);

	*is_written = inject_string_is_written(function) && inject_string_is_written(file) &&
		      inject_frame_is_written(id);
	return id;
}

void inject_call_python_intern(struct inject_thread *thread, struct inject_python_intern *intern)
{
	intern->frame = intern_python_frame;
	intern->context = thread;
	intern->generation = atomic_load_explicit(&inject_session.generation, memory_order_relaxed);
}

/* @view is in the walker's memory. */
static inline bool walk_with_python(struct inject_thread *thread, unsigned int room,
				    struct inject_stack_view *view)
{
	struct inject_python_intern intern;

	if (!atomic_load_explicit(&inject_session.has_python, memory_order_relaxed))
		return inject_stack_walk_view(view, room);
	inject_call_python_intern(thread, &intern);
	return inject_python_stack(view, room, &intern);
}

/* A plug-in may be closed before the worker looks, and another one be where it was. */
static void notice_libraries(struct inject_thread *thread, const uint64_t *frames,
			     unsigned int count)
{
	struct inject_stack_object object = { 0 };
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (frames[i] & GPUMON_STACK_FRAME_ID ||
		    (frames[i] >= object.start && frames[i] < object.end) ||
		    !inject_stack_object_at(frames[i] - 1, &object))
			continue;
		inject_mappings_notice(thread, object.start, object.end, object.base, object.name);
	}
}

static inline uint32_t intern_path(struct inject_thread *thread, const uint64_t *frames,
				   unsigned int count, bool truncated, unsigned int same)
{
	uint32_t id = inject_intern_stack(thread, frames, count, truncated, same);
	uint64_t libraries = inject_stack_libraries();

	if (INJECT_UNLIKELY(thread->has_new_stack || thread->libraries != libraries)) {
		if (thread->has_new_stack)
			inject_mappings_expect();
		thread->has_new_stack = false;
		thread->libraries = libraries;
		notice_libraries(thread, frames, count);
	}
	return id;
}

#ifdef GPUMON_COMPARE

static _Atomic uint64_t compared;
static _Atomic uint64_t different;

/* A path that was taken against one for which nothing was kept. */
static void compare_path(struct inject_thread *thread, const uint64_t *frames, unsigned int count,
			 bool truncated)
{
	struct inject_stack_view view;
	unsigned int first;

	inject_python_forget();
	atomic_fetch_add(&compared, 1);
	if (!walk_with_python(thread, inject_session.stack_room, &view)) {
		atomic_fetch_add(&different, 1);
		return;
	}
	first = inject_call_count_api(view.frames, view.count);
	/* This walk has one more frame of the library, so a path that is cut has one less. */
	if (truncated && view.truncated && view.count - first < count)
		count = view.count - first;
	if (view.count - first != count || view.truncated != truncated ||
	    memcmp(view.frames + first, frames, count * sizeof(*frames)))
		atomic_fetch_add(&different, 1);
}

void inject_call_path_compared(uint64_t *all, uint64_t *wrong)
{
	*all = atomic_exchange(&compared, 0);
	*wrong = atomic_exchange(&different, 0);
}

#endif

/* The id of a path in the walker's memory. */
static inline uint32_t intern_view(struct inject_thread *thread, struct inject_stack_view *view,
				   unsigned int first)
{
	unsigned int count = view->count - first;
	uint32_t id;

	if (INJECT_UNLIKELY(count > inject_session.stack_depth)) {
		count = inject_session.stack_depth;
		view->truncated = true;
	}
	if (INJECT_LIKELY(!view->truncated))
		return intern_path(thread, view->frames + first, count, false, view->same);
	/* No hashes are kept: frames of a cut stack differ each time. */
	thread->hashed = 0;
	id = intern_path(thread, view->frames + first, count, true, 0);
	thread->hashed = 0;
	return id;
}

uint32_t inject_call_path(struct inject_thread *thread)
{
	struct inject_stack_view view;
	unsigned int first;
	uint32_t id;

	if (!walk_with_python(thread, inject_session.stack_room, &view)) {
		thread->hashed = 0;
		return 0;
	}
	first = inject_call_count_api(view.frames, view.count);
#ifdef GPUMON_COMPARE
	uint64_t frames[GPUMON_STACK_DEPTH_MAX];
	unsigned int count = view.count - first;
	bool truncated = view.truncated;

	memcpy(frames, view.frames + first, count * sizeof(frames[0]));
#endif
	id = intern_view(thread, &view, first);
#ifdef GPUMON_COMPARE
	compare_path(thread, frames, count, truncated);
#endif
	return id;
}

uint32_t inject_call_stack(struct inject_thread *thread, uint16_t class)
{
	uint32_t sample = inject_session.settings.sample;

	if (INJECT_LIKELY(sample == 1) || !(class & INJECT_CLASS_LAUNCH))
		return inject_call_path(thread);
	if (thread->skip) {
		thread->skip--;
		thread->call.is_unsampled = true;
		return 0;
	}
	thread->skip =
		(uint32_t)((uint64_t)inject_random(&thread->chance) * (2 * sample - 1) >> 32);
	return inject_call_path(thread);
}

void inject_call_interrupts(uint16_t class)
{
	const struct inject_thread *thread = inject_self;

	/* As long as it is within, and something is recorded, the channel is mapped. */
	if (!(class & INJECT_CLASS_LAUNCH) || !thread || thread->ours ||
	    !atomic_load(&thread->inside) || !atomic_load(&inject_session.recording) ||
	    !gpumon_channel_is_alive(&inject_session.map))
		return;
	__atomic_fetch_add(&inject_session.map.channel->launches, 1, __ATOMIC_RELAXED);
	gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_INTERRUPTED, 1);
}

/* Bits of a class that are those of a launch's flags. */
#define FLAGS_OF_CLASS \
	(GPUMON_LAUNCH_GRAPH | GPUMON_LAUNCH_COPY | GPUMON_LAUNCH_SET | GPUMON_LAUNCH_WAITS)
_Static_assert(GPUMON_LAUNCH_GRAPH == INJECT_CLASS_GRAPH &&
		       GPUMON_LAUNCH_COPY == INJECT_CLASS_COPY &&
		       GPUMON_LAUNCH_SET == INJECT_CLASS_SET &&
		       GPUMON_LAUNCH_WAITS == INJECT_CLASS_WAITS,
	       "a launch's flags are not the bits of its class");

static void finish_launch(struct inject_thread *thread, uint64_t end_ns, uint32_t context,
			  int32_t result)
{
	const struct inject_call *call = &thread->call;
	struct gpumon_channel *channel = inject_session.map.channel;
	bool is_long = (call->class & INJECT_CLASS_GRAPH) || call->name;
	size_t size = is_long ? sizeof(struct gpumon_record_launch) : GPUMON_LAUNCH_SIZE;
	struct gpumon_record_launch *record;
	uint16_t flags = call->class & FLAGS_OF_CLASS;

	if (call->is_captured)
		flags |= GPUMON_LAUNCH_CAPTURED;
	if (result)
		flags |= GPUMON_LAUNCH_FAILED;
	if (call->is_unsampled)
		flags |= GPUMON_LAUNCH_UNSAMPLED;
	/* In place: this is what runs most. */
	record = gpumon_channel_reserve(&thread->writer, size);
	if (INJECT_UNLIKELY(!record && !gpumon_channel_is_alive(&inject_session.map)))
		return;
	__atomic_fetch_add(call->is_captured ? &channel->captured : &channel->launches, 1,
			   __ATOMIC_RELAXED);
	if (INJECT_UNLIKELY(!record)) {
		gpumon_channel_lose(&inject_session.map, gpumon_channel_why(&thread->writer, size),
				    1);
		return;
	}
	record->head.type = GPUMON_RECORD_LAUNCH;
	record->head.flags = flags;
	record->head.size = (uint32_t)size;
	record->start_ns = call->start_ns;
	record->end_ns = end_ns;
	record->tid = thread->tid;
	record->correlation = call->correlation;
	record->stack = call->stack;
	record->function = call->function;
	record->context = context;
	record->result = result;
	if (is_long) {
		record->graph = call->graph;
		record->name = call->name;
	}
	gpumon_channel_commit(&thread->writer, size);
}

static void finish_call(struct inject_thread *thread, uint64_t end_ns, uint32_t context)
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
		.context = context,
	};

	inject_append(thread, &record);
}

void inject_call_finish(struct inject_thread *thread, uint64_t end_ns, uint32_t context,
			int32_t result)
{
	if (INJECT_LIKELY(thread->call.class & INJECT_CLASS_LAUNCH))
		finish_launch(thread, end_ns, context, result);
	else
		finish_call(thread, end_ns, context);
	thread->call.open = 0;
}

void inject_call_abandon(struct inject_thread *thread)
{
	inject_call_finish_here(thread, 0, 0);
}

void inject_call_finish_open(void)
{
	uint32_t generation = atomic_load(&inject_session.generation);
	struct inject_thread *thread;

	for (thread = inject_thread_first(); thread; thread = thread->next)
		if (thread->call.open && atomic_load(&thread->generation) == generation)
			inject_call_abandon(thread);
}

struct inject_thread *inject_call_enter(struct inject_function *function, uint32_t context)
{
	static _Atomic uint32_t last_correlation;
	struct inject_thread *thread = inject_thread_enter(false);

	if (!thread) {
		inject_call_interrupts(function->class);
		return NULL;
	}
	if (thread->ours) {
		inject_thread_leave(thread);
		return NULL;
	}
	inject_call_begin(thread, inject_next_correlation(&last_correlation), function->class,
			  inject_string_again(thread, &function->name_id, function->name));
	thread->call.context = context;
	return thread;
}

bool inject_call_is_waiting_copy(const char *name)
{
	/* Copies between two places in GPUs do not, although the functions are not called Async. */
	static const char *const others[] = { "Async", "Batch", "Peer", "DtoD",
					      "DtoA",  "AtoD",	"AtoA" };
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strstr(name, others[i]))
			return false;
	return true;
}

static void introduce_thread(struct inject_thread *thread)
{
	inject_names_introduce(thread);
	inject_open_ranges_write(thread);
}

static void forget_thread(struct inject_thread *thread)
{
	inject_names_leave(thread->tid);
}

bool inject_call_setup(void)
{
	static const struct inject_thread_hooks hooks = {
		.introduce = introduce_thread,
		.end_call = inject_call_abandon,
		.forget = forget_thread,
	};

	return inject_thread_setup(&hooks);
}
