// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "call.h"

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

static void finish_launch(struct inject_thread *thread, uint64_t end_ns, uint32_t context,
			  int32_t result)
{
	const struct inject_call *call = &thread->call;
	struct gpumon_channel *channel = inject_session.map.channel;
	bool is_long = (call->class & INJECT_CLASS_GRAPH) || call->name;
	size_t size = is_long ? sizeof(struct gpumon_record_launch) : GPUMON_LAUNCH_SIZE;
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
	if (call->is_unsampled)
		flags |= GPUMON_LAUNCH_UNSAMPLED;
	/* In place: this is what runs most. */
	record = gpumon_channel_reserve(&thread->writer, size);
	if (INJECT_UNLIKELY(!record && !gpumon_channel_is_alive(&inject_session.map)))
		return;
	__atomic_fetch_add(call->is_captured ? &channel->captured : &channel->launches, 1,
			   __ATOMIC_RELAXED);
	if (INJECT_UNLIKELY(!record)) {
		gpumon_channel_lose(&inject_session.map,
				    gpumon_channel_why(&thread->writer, size), 1);
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
	inject_call_finish(thread, 0, thread->call.context, 0);
	thread->call.context = 0;
}

void inject_call_finish_open(void)
{
	uint32_t generation = atomic_load(&inject_session.generation);
	struct inject_thread *thread;

	for (thread = inject_thread_first(); thread; thread = thread->next)
		if (thread->call.open && atomic_load(&thread->generation) == generation)
			inject_call_abandon(thread);
}
