// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "channel/intern.h"
#include "command.h"
#include "objects.h"

static struct inject_function functions[] = {
#define FUNCTION(name, class) [INJECT_##name] = { #name, class, 0 },
	INJECT_OPENCL_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* Taken once for many commands. */
static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER;
static struct inject_opencl_block *free_blocks, *full_blocks, **full_end = &full_blocks;
static uint32_t blocks_left;

void inject_opencl_command_reserve(uint32_t mib)
{
	static uint32_t reserved;
	uint32_t count = (uint32_t)(((uint64_t)mib << 20) / sizeof(struct inject_opencl_block));

	pthread_mutex_lock(&lists);
	if (count > reserved) {
		blocks_left += count - reserved;
		reserved = count;
	}
	pthread_mutex_unlock(&lists);
}

static struct inject_opencl_block *take_block(void)
{
	struct inject_opencl_block *block;

	pthread_mutex_lock(&lists);
	block = free_blocks;
	if (block) {
		free_blocks = block->next;
	} else if (blocks_left) {
		block = inject_memory_take(sizeof(*block));
		blocks_left -= block != NULL;
	}
	pthread_mutex_unlock(&lists);
	return block;
}

static void put_full(struct inject_opencl_block *block)
{
	pthread_mutex_lock(&lists);
	block->next = NULL;
	*full_end = block;
	full_end = &block->next;
	pthread_mutex_unlock(&lists);
	inject_wake();
}

struct inject_opencl_block *inject_opencl_command_full(void)
{
	struct inject_opencl_block *block;

	pthread_mutex_lock(&lists);
	block = full_blocks;
	if (block) {
		full_blocks = block->next;
		if (!full_blocks)
			full_end = &full_blocks;
	}
	pthread_mutex_unlock(&lists);
	return block;
}

void inject_opencl_command_give_back(struct inject_opencl_block *block)
{
	block->read = 0;
	atomic_store(&block->used, 0);
	pthread_mutex_lock(&lists);
	block->next = free_blocks;
	free_blocks = block;
	pthread_mutex_unlock(&lists);
}

void inject_opencl_commands_forked(void)
{
	struct inject_opencl_block *block;

	pthread_mutex_init(&lists, NULL);
	/* The events in it are those of the parent. */
	while ((block = inject_opencl_command_full()))
		inject_opencl_command_give_back(block);
}

void inject_opencl_command_begin(struct inject_opencl_command *command, cl_command_queue handle,
				 cl_event *event, enum inject_opencl_function function)
{
	struct inject_opencl_queue *queue;
	struct inject_thread *thread;
	int kept;

	command->event = event;
	command->is_recorded = false;
	command->waits = false;
	if (!inject_session_takes_calls() || !inject_call_is_asked_for(functions[function].class))
		return;
	kept = errno;
	queue = inject_opencl_queue_find(handle);
	memset(&command->kept, 0, sizeof(command->kept));
	command->kept.queue = queue;
	thread = inject_call_enter(&functions[function],
				   queue ? queue->context : INJECT_OPENCL_ID(0));
	if (thread) {
		command->kept.correlation = thread->call.correlation;
		command->is_recorded = true;
		command->generation = atomic_load(&thread->generation);
		command->kept.begin_ns = thread->call.start_ns;
		inject_thread_leave(thread);
		if (queue && !event) {
			command->own = NULL;
			command->event = &command->own;
		}
	}
	errno = kept;
}

static uint32_t kernel_name_id(struct inject_thread *thread, cl_kernel handle)
{
	struct inject_opencl_kernel *kernel = inject_opencl_kernel_find(handle);

	if (!kernel || !kernel->name[0])
		kernel = inject_opencl_kernel_learn(handle);
	if (!kernel)
		return inject_intern_string(thread, "[unknown kernel]");
	return inject_string_again(thread, &kernel->id, kernel->name);
}

/* If the process ends before the kernel's record is written, its launch has the name. */
static void set_name(struct inject_thread *thread, const struct inject_opencl_command *command)
{
	if (thread->call.open && thread->call.correlation == command->kept.correlation)
		thread->call.name = command->kept.name;
}

void inject_opencl_command_named(struct inject_opencl_command *command, const char *name,
				 uint32_t graph)
{
	struct inject_thread *thread = command->is_recorded ? inject_thread_enter(true) : NULL;

	command->kept.record = GPUMON_RECORD_KERNEL;
	command->kept.graph = graph;
	if (!thread)
		return;
	command->kept.name = inject_intern_string(thread, name);
	set_name(thread, command);
	inject_thread_leave(thread);
}

void inject_opencl_command_kernel(struct inject_opencl_command *command, cl_kernel kernel,
				  cl_uint dimensions, const size_t *global, const size_t *local)
{
	struct inject_thread *thread = command->is_recorded ? inject_thread_enter(true) : NULL;
	struct inject_opencl_kept *kept = &command->kept;
	unsigned int i;

	kept->record = GPUMON_RECORD_KERNEL;
	if (!thread)
		return;
	for (i = 0; i < 3; i++) {
		kept->global[i] = i < dimensions && global ? global[i] : 1;
		kept->local[i] = !local ? 0 : i < dimensions ? (uint32_t)local[i] : 1;
	}
	kept->name = kernel_name_id(thread, kernel);
	set_name(thread, command);
	inject_thread_leave(thread);
}

void inject_opencl_command_copy(struct inject_opencl_command *command,
				enum gpumon_memory_place from, enum gpumon_memory_place to,
				uint64_t bytes)
{
	command->kept.record = GPUMON_RECORD_COPY;
	command->kept.from = (uint8_t)from;
	command->kept.to = (uint8_t)to;
	command->kept.bytes = bytes;
}

void inject_opencl_command_set(struct inject_opencl_command *command, uint64_t bytes,
			       const void *pattern, size_t pattern_size)
{
	uint32_t value = 0;

	if (pattern)
		memcpy(&value, pattern,
		       pattern_size < sizeof(value) ? pattern_size : sizeof(value));
	command->kept.record = GPUMON_RECORD_SET;
	command->kept.name = value;
	command->kept.bytes = bytes;
}

/* Puts it into the caller's block. False: no memory. */
static bool keep_command(struct inject_thread *thread, const struct inject_opencl_kept *kept)
{
	struct inject_opencl_block *block = thread->commands;
	uint32_t used;

	if (!block) {
		block = take_block();
		if (!block)
			return false;
		__atomic_store_n(&thread->commands, block, __ATOMIC_RELEASE);
	}
	used = atomic_load_explicit(&block->used, memory_order_relaxed);
	block->commands[used] = *kept;
	atomic_store_explicit(&block->used, used + 1, memory_order_release);
	if (used + 1 == INJECT_OPENCL_COMMANDS_PER_BLOCK) {
		__atomic_store_n(&thread->commands, NULL, __ATOMIC_RELEASE);
		put_full(block);
	}
	return true;
}

/* True if the command is kept. */
static bool end_in_session(struct inject_thread *thread,
			   const struct inject_opencl_command *command, cl_int result)
{
	const struct inject_opencl_kept *kept = &command->kept;
	struct inject_opencl_queue *queue = kept->queue;

	/* Another capture has begun since the call. */
	if (command->generation != atomic_load(&thread->generation))
		return false;
	if (queue && atomic_load_explicit(&queue->generation, memory_order_relaxed) !=
			     atomic_load_explicit(&inject_session.generation, memory_order_relaxed))
		inject_opencl_records_queue(thread, queue);
	/* Otherwise a call in a callback of the driver has begun within this one, and wrote this one's record. */
	if (inject_call_ends(thread, kept->correlation)) {
		if (command->waits)
			thread->call.class |= INJECT_CLASS_WAITS;
		inject_call_finish_here(thread, kept->end_ns, result);
	}
	if (result != CL_SUCCESS)
		return false;
	if (kept->event && keep_command(thread, kept))
		return true;
	gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_API_DROPPED, 1);
	return false;
}

void inject_opencl_command_end(struct inject_opencl_command *command, cl_int result)
{
	struct inject_opencl_kept *kept = &command->kept;
	struct inject_thread *thread;
	bool is_kept = false;
	int before;

	if (!command->is_recorded)
		return;
	before = errno;
	kept->end_ns = inject_now();
	if (result == CL_SUCCESS && kept->queue && command->event && *command->event) {
		kept->event = *command->event;
		/* The program may release its own at once. */
		if (command->event != &command->own)
			inject_opencl.clRetainEvent(kept->event);
	}
	thread = inject_thread_enter(true);
	if (thread) {
		is_kept = end_in_session(thread, command, result);
		inject_thread_leave(thread);
	}
	if (kept->event && !is_kept)
		inject_opencl.clReleaseEvent(kept->event);
	errno = before;
}

bool inject_opencl_other_begin(enum inject_opencl_function function)
{
	struct inject_thread *thread;
	int kept = errno;

	if (!inject_session_takes_calls() || !inject_call_is_wanted(functions[function].class))
		return false;
	thread = inject_call_enter(&functions[function], INJECT_OPENCL_ID(0));
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
	return thread;
}

void inject_opencl_other_end(void)
{
	struct inject_thread *thread = inject_thread_enter(true);
	int kept = errno;

	if (thread && inject_call_ends(thread, thread->call.correlation))
		inject_call_finish_here(thread, inject_now(), 0);
	if (thread)
		inject_thread_leave(thread);
	errno = kept;
}
