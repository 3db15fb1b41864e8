// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Uses Level Zero and says what it did: "did FUNCTION COUNT BYTES" for each function that appends to
 * an immediate list, and what else a test needs. "program MODE [NUMBER]".
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../opencl/did.h"
#include "program.h"

#define BYTES 4096

/* In headers that are newer than Debian 12's. */
#define MAPPED_TIMESTAMP (1u << 3)

ze_device_handle_t device;
ze_context_handle_t context;
ze_command_queue_handle_t queue;
ze_command_list_handle_t immediate;
static ze_driver_handle_t driver;
static ze_module_handle_t module;
static ze_kernel_handle_t add, scale;
static ze_event_pool_handle_t pool;
static void *on_device, *on_host;

void need(ze_result_t result, const char *what)
{
	if (result == ZE_RESULT_SUCCESS)
		return;
	fprintf(stderr, "%s: %#x\n", what, (unsigned int)result);
	exit(1);
}

static ze_kernel_handle_t make_kernel(const char *name)
{
	const ze_kernel_desc_t description = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
					       .pKernelName = name };
	ze_kernel_handle_t kernel;

	NEED(zeKernelCreate(module, &description, &kernel));
	NEED(zeKernelSetGroupSize(kernel, 32, 2, 1));
	return kernel;
}

ze_command_list_handle_t make_immediate(void)
{
	const ze_command_queue_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC
	};
	ze_command_list_handle_t list;

	NEED(zeCommandListCreateImmediate(context, device, &description, &list));
	return list;
}

ze_command_list_handle_t make_list(void)
{
	const ze_command_list_desc_t description = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_command_list_handle_t list;

	NEED(zeCommandListCreate(context, device, &description, &list));
	return list;
}

ze_event_handle_t make_event(uint32_t index)
{
	const ze_event_desc_t description = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
					      .index = index };
	ze_event_handle_t event;

	NEED(zeEventCreate(pool, &description, &event));
	return event;
}

static void begin(void)
{
	const ze_context_desc_t of_context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const ze_command_queue_desc_t of_queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	const ze_module_desc_t of_module = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC };
	const ze_event_pool_desc_t of_pool = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
					       .count = 1000 };
	const ze_device_mem_alloc_desc_t of_device = {
		.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC
	};
	const ze_host_mem_alloc_desc_t of_host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	uint32_t count = 1;

	NEED(zeInit(0));
	NEED(zeDriverGet(&count, &driver));
	NEED(zeDeviceGet(driver, &count, &device));
	NEED(zeContextCreate(driver, &of_context, &context));
	NEED(zeCommandQueueCreate(context, device, &of_queue, &queue));
	immediate = make_immediate();
	NEED(zeModuleCreate(context, device, &of_module, &module, NULL));
	add = make_kernel("add");
	scale = make_kernel("scale");
	NEED(zeEventPoolCreate(context, &of_pool, 0, NULL, &pool));
	NEED(zeMemAllocDevice(context, &of_device, BYTES, 0, device, &on_device));
	NEED(zeMemAllocHost(context, &of_host, BYTES, 0, &on_host));
}

static void end(void)
{
	NEED(zeEventPoolDestroy(pool));
	NEED(zeCommandListDestroy(immediate));
	NEED(zeCommandQueueDestroy(queue));
	NEED(zeContextDestroy(context));
}

void __attribute__((noinline))
launch_add(ze_command_list_handle_t list, uint32_t groups, ze_event_handle_t event)
{
	const ze_group_count_t count = { groups, 1, 1 };

	NEED(zeCommandListAppendLaunchKernel(list, add, &count, event, 0, NULL));
	__asm__ volatile("" ::: "memory");
}

static void __attribute__((noinline))
launch_scale(ze_command_list_handle_t list, uint32_t groups, ze_event_handle_t event)
{
	const ze_group_count_t count = { groups, 1, 1 };

	NEED(zeCommandListAppendLaunchKernel(list, scale, &count, event, 0, NULL));
	__asm__ volatile("" ::: "memory");
}

#define LAUNCH(kernel, groups, event)                      \
	do {                                               \
		launch_##kernel(immediate, groups, event); \
		did("zeCommandListAppendLaunchKernel", 0); \
	} while (0)

/* Every function, with an event of the program where @event is. */
static void every_command(ze_event_handle_t *event)
{
	const ze_group_count_t groups = { 4, 1, 1 };
	const ze_copy_region_t region = { 0, 0, 0, 16, 8, 0 };
	const ze_image_handle_t image = (void *)(uintptr_t)16;
	const uint32_t pattern = 0x01020304, one = 1;
	char pageable[BYTES] = { 0 };

#define EVENT (event ? *event++ : NULL), 0, NULL
	LAUNCH(add, 7, event ? *event++ : NULL);
	DID(zeCommandListAppendLaunchCooperativeKernel, 0, immediate, scale, &groups, EVENT);
	DID(zeCommandListAppendLaunchKernelIndirect, 0, immediate, scale, &groups, EVENT);
	DID(zeCommandListAppendLaunchMultipleKernelsIndirect, 0, immediate, 1, &scale, &one,
	    &groups, EVENT);
	DID(zeCommandListAppendMemoryCopy, BYTES, immediate, on_device, on_host, BYTES, EVENT);
	DID(zeCommandListAppendMemoryCopy, 100, immediate, pageable, on_device, 100, EVENT);
	DID(zeCommandListAppendMemoryCopyRegion, 128, immediate, on_device, &region, 16, 0, on_host,
	    &region, 16, 0, EVENT);
	DID(zeCommandListAppendMemoryCopyFromContext, BYTES, immediate, on_device, context, on_host,
	    BYTES, EVENT);
	DID(zeCommandListAppendMemoryFill, BYTES, immediate, on_device, &pattern, sizeof(pattern),
	    BYTES, EVENT);
	DID(zeCommandListAppendImageCopy, 0, immediate, image, image, EVENT);
	DID(zeCommandListAppendImageCopyRegion, 0, immediate, image, image, NULL, NULL, EVENT);
	DID(zeCommandListAppendImageCopyToMemory, 0, immediate, on_host, image, NULL, EVENT);
	DID(zeCommandListAppendImageCopyFromMemory, 0, immediate, image, on_host, NULL, EVENT);
	DID(zeCommandListAppendImageCopyToMemoryExt, 0, immediate, on_host, image, NULL, 0, 0,
	    EVENT);
	DID(zeCommandListAppendImageCopyFromMemoryExt, 0, immediate, image, on_host, NULL, 0, 0,
	    EVENT);
	NEED(zeCommandListAppendBarrier(immediate, EVENT));
#undef EVENT
}

static void mode_commands(long number)
{
	ze_event_handle_t events[17];

	for (uint32_t i = 0; i < 17; i++)
		events[i] = make_event(i);
	for (long i = 0; i < number; i++) {
		every_command(NULL);
		every_command(events);
		NEED(zeEventHostSynchronize(events[15], UINT64_MAX));
		for (uint32_t at = 0; at < 16; at++)
			NEED(zeEventHostReset(events[at]));
	}
	for (uint32_t i = 0; i < 17; i++)
		NEED(zeEventDestroy(events[i]));
	end();
	say_what();
}

static void *thread_body(void *argument)
{
	ze_command_list_handle_t list = make_immediate();

	for (long i = 0; i < *(long *)argument; i++) {
		launch_add(list, 1, NULL);
		did("zeCommandListAppendLaunchKernel", 0);
	}
	return list;
}

static void mode_threads(long number)
{
	pthread_t threads[8];
	void *list;

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, thread_body, &number);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &list);
		NEED(zeCommandListDestroy(list));
	}
	say_what();
}

/* Kernels of two functions, a copy and a fill, all in one list; some with events of the program. */
static ze_command_list_handle_t fill_list(ze_event_handle_t event)
{
	ze_command_list_handle_t list = make_list();
	const char pattern = 7;

	if (event)
		NEED(zeCommandListAppendEventReset(list, event));
	launch_add(list, 5, NULL);
	launch_scale(list, 10, event);
	launch_add(list, 15, NULL);
	NEED(zeCommandListAppendBarrier(list, NULL, 0, NULL));
	NEED(zeCommandListAppendMemoryCopy(list, on_device, on_host, 3000, NULL, 0, NULL));
	NEED(zeCommandListAppendMemoryFill(list, on_device, &pattern, 1, 2000, NULL, 0, NULL));
	NEED(zeCommandListClose(list));
	return list;
}

void __attribute__((noinline))
execute(ze_command_list_handle_t *lists, uint32_t count, ze_fence_handle_t fence)
{
	NEED(zeCommandQueueExecuteCommandLists(queue, count, lists, fence));
	__asm__ volatile("" ::: "memory");
}

/* Waits in turn for the queue, for a fence, for an event. */
static void mode_lists(long number)
{
	const ze_fence_desc_t of_fence = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
	ze_event_handle_t event = make_event(0);
	ze_command_list_handle_t lists[2] = { fill_list(event), fill_list(NULL) };
	ze_fence_handle_t fence;

	NEED(zeFenceCreate(queue, &of_fence, &fence));
	for (long i = 0; i < number; i++) {
		execute(lists, 2, i % 2 ? fence : NULL);
		if (i % 2) {
			NEED(zeFenceHostSynchronize(fence, UINT64_MAX));
			NEED(zeFenceReset(fence));
		} else {
			NEED(zeCommandQueueSynchronize(queue, UINT64_MAX));
		}
	}
	NEED(zeFenceDestroy(fence));
	NEED(zeEventDestroy(event));
	NEED(zeCommandListReset(lists[0]));
	launch_scale(lists[0], 3, NULL);
	NEED(zeCommandListClose(lists[0]));
	execute(lists, 1, NULL);
	NEED(zeCommandQueueSynchronize(queue, UINT64_MAX));
	for (int i = 0; i < 2; i++)
		NEED(zeCommandListDestroy(lists[i]));
	end();
	printf("executed %ld\n", number);
}

/* Asks the fence until it is signalled. */
static void mode_polled(long number)
{
	const ze_fence_desc_t of_fence = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
	ze_command_list_handle_t list = fill_list(NULL);
	ze_fence_handle_t fence;

	NEED(zeFenceCreate(queue, &of_fence, &fence));
	for (long i = 0; i < number; i++) {
		execute(&list, 1, fence);
		while (zeFenceQueryStatus(fence) == ZE_RESULT_NOT_READY)
			;
		NEED(zeFenceReset(fence));
	}
	NEED(zeFenceDestroy(fence));
	NEED(zeCommandListDestroy(list));
	end();
	printf("executed %ld\n", number);
}

/* The same list again and again, without a wait. */
static void mode_overtaken(long number)
{
	ze_command_list_handle_t list = fill_list(NULL);

	for (long i = 0; i < number; i++)
		execute(&list, 1, NULL);
	NEED(zeCommandQueueSynchronize(queue, UINT64_MAX));
	printf("executed %ld\n", number);
}

/* The program's own measurement, in milliseconds. */
static void own_times(ze_event_pool_flags_t flag)
{
	const ze_event_pool_desc_t of_pool = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
					       .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | flag,
					       .count = 1 };
	const ze_event_desc_t of_event = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	const ze_group_count_t some = { 5500, 1, 1 };
	ze_kernel_timestamp_result_t times;
	ze_event_pool_handle_t timed;
	ze_event_handle_t event;

	NEED(zeEventPoolCreate(context, &of_pool, 0, NULL, &timed));
	NEED(zeEventCreate(timed, &of_event, &event));
	printf("not yet %#x\n", zeEventQueryKernelTimestamp(event, &times));
	NEED(zeCommandListAppendLaunchKernel(immediate, add, &some, event, 0, NULL));
	NEED(zeEventHostSynchronize(event, UINT64_MAX));
	NEED(zeEventQueryKernelTimestamp(event, &times));
	printf("own time %lu\n", (times.global.kernelEnd - times.global.kernelStart) / 19200);
	NEED(zeEventDestroy(event));
	NEED(zeEventPoolDestroy(timed));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What a kernel gives that takes @takes_ns since @begun, or later, and may have ended on a busy machine. */
static ze_result_t while_it_runs(ze_result_t result, uint64_t begun, uint64_t takes_ns)
{
	return now_ns() - begun < takes_ns ? result : ZE_RESULT_NOT_READY;
}

/* What the program sees of its events and fences, and of a call that fails. */
static void mode_answers(long number)
{
	const ze_group_count_t none = { 0, 1, 1 }, some = { 200000, 1, 1 };
	const uint64_t takes_ns = some.groupCountX * 1000ull;
	ze_event_handle_t event = make_event(0);
	uint64_t begun;

	for (long i = 0; i < number; i++) {
		printf("refused %#x\n",
		       zeCommandListAppendLaunchKernel(immediate, add, &none, event, 0, NULL));
		printf("status before %#x\n", zeEventQueryStatus(event));
		begun = now_ns();
		NEED(zeCommandListAppendLaunchKernel(immediate, add, &some, event, 0, NULL));
		printf("status during %#x\n",
		       while_it_runs(zeEventQueryStatus(event), begun, takes_ns));
		printf("too short %#x\n",
		       while_it_runs(zeEventHostSynchronize(event, 1000), begun, takes_ns));
		NEED(zeEventHostSynchronize(event, UINT64_MAX));
		printf("status after %#x\n", zeEventQueryStatus(event));
		NEED(zeEventHostReset(event));
		printf("status reset %#x\n", zeEventQueryStatus(event));
	}
	NEED(zeEventDestroy(event));
	own_times(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	own_times(MAPPED_TIMESTAMP);
	end();
}

static void *destroy_cancelled(void *argument)
{
	ze_command_list_handle_t list = make_immediate();

	launch_add(list, 1, NULL);
	did("zeCommandListAppendLaunchKernel", 0);
	pthread_cancel(pthread_self());
	zeCommandListDestroy(list);
	return argument;
}

/* A thread is cancelled where it destroys a list, of which the library asks for times. */
static void mode_cancelled(long number)
{
	pthread_t thread;

	for (long i = 0; i < number; i++) {
		pthread_create(&thread, NULL, destroy_cancelled, NULL);
		pthread_join(thread, NULL);
	}
	end();
	say_what();
}

/* An event that is used for the next kernel while it is that of the last. */
static void mode_reused(long number)
{
	ze_event_handle_t event = make_event(0);

	for (long i = 0; i < number; i++)
		LAUNCH(add, 1000, event);
	NEED(zeEventHostSynchronize(event, UINT64_MAX));
	NEED(zeEventDestroy(event));
	end();
	say_what();
}

static void mode_exit(long number)
{
	for (long i = 0; i < number; i++)
		LAUNCH(scale, 1, NULL);
	say_what();
	exit(3);
}

static void mode_kill(long number)
{
	for (long i = 0; i < number; i++)
		LAUNCH(scale, 1, NULL);
	say_what();
	raise(SIGKILL);
}

/* Has waited in one of the ways, and ends at once. Of lists, mode_lists() has the rest. */
static void mode_ends(long number)
{
	const ze_command_queue_desc_t of_list = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
						  .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS };
	ze_event_handle_t event = make_event(0);

	if (number == 2)
		NEED(zeCommandListCreateImmediate(context, device, &of_list, &immediate));
	for (int i = 0; i < 299; i++)
		LAUNCH(scale, 1, NULL);
	LAUNCH(scale, 1, event);
	if (number == 0)
		NEED(zeEventHostSynchronize(event, UINT64_MAX));
	while (number == 1 && zeEventQueryStatus(event) == ZE_RESULT_NOT_READY)
		;
	say_what();
	_exit(0);
}

static void mode_fork(long number)
{
	int status;
	pid_t child;

	for (long i = 0; i < number; i++) {
		LAUNCH(add, 1, NULL);
		if (i % 10)
			continue;
		child = fork();
		if (!child) {
			/* Its calls go through, and are not recorded. */
			launch_add(immediate, 1, NULL);
			_exit(7);
		}
		waitpid(child, &status, 0);
		if (WEXITSTATUS(status) != 7)
			exit(1);
	}
	say_what();
}

static volatile sig_atomic_t is_asked_to_fill;

static void ask_to_fill(int number)
{
	(void)number;
	is_asked_to_fill = 1;
}

/* One that says times in any case. */
static ze_event_handle_t make_timed_event(void)
{
	const ze_event_pool_desc_t description = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
						   .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE |
							    ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
						   .count = 1 };

	NEED(zeEventPoolCreate(context, &description, 0, NULL, &pool));
	return make_event(0);
}

/*
 * Kernels of an immediate list, and of one that was filled before. SIGUSR1: it is made again, now with an
 * event that says times.
 */
static void mode_until_killed(long number)
{
	ze_command_list_handle_t list = fill_list(NULL);

	(void)number;
	signal(SIGUSR1, ask_to_fill);
	puts("ready");
	fflush(stdout);
	for (;;) {
		if (is_asked_to_fill) {
			is_asked_to_fill = 0;
			NEED(zeCommandListDestroy(list));
			list = fill_list(make_timed_event());
			puts("filled");
			fflush(stdout);
		}
		launch_scale(immediate, 10, NULL);
		execute(&list, 1, NULL);
		NEED(zeCommandQueueSynchronize(queue, UINT64_MAX));
		usleep(1000);
	}
}

/* Processor time of the process for a launch. */
static void mode_bench(long number)
{
	for (long i = 0; i < number; i++)
		launch_add(immediate, 1, NULL);
}

/* More events than a table of the library has room for, and then launches with new objects. */
static void mode_many_events(long number)
{
	ze_event_handle_t *events = calloc((size_t)number, sizeof(*events));
	ze_command_list_handle_t list;

	for (uint32_t i = 0; i < number; i++)
		events[i] = make_event(i);
	add = make_kernel("late");
	list = make_immediate();
	launch_add(list, 1, NULL);
	did("zeCommandListAppendLaunchKernel", 0);
	for (long i = 0; i < number; i++)
		NEED(zeEventDestroy(events[i]));
	NEED(zeCommandListDestroy(list));
	free(events);
	end();
	say_what();
}

static const struct {
	const char *name;
	void (*run)(long number);
} modes[] = {
	{ "commands", mode_commands },
	{ "threads", mode_threads },
	{ "lists", mode_lists },
	{ "overtaken", mode_overtaken },
	{ "polled", mode_polled },
	{ "answers", mode_answers },
	{ "reused", mode_reused },
	{ "cancelled", mode_cancelled },
	{ "exit", mode_exit },
	{ "kill", mode_kill },
	{ "ends", mode_ends },
	{ "fork", mode_fork },
	{ "fork-in-init", mode_fork_in_init },
	{ "fork-in-launch", mode_fork_in_launch },
	{ "until-killed", mode_until_killed },
	{ "many-events", mode_many_events },
	{ "queue-each", mode_queue_each },
	{ "list-each", mode_list_each },
	{ "unknown-list", mode_unknown_list },
	{ "reset", mode_reset },
	{ "bench", mode_bench },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		if (modes[i].run != mode_fork_in_init)
			begin();
		modes[i].run(argc > 2 ? atol(argv[2]) : 1);
		return 0;
	}
	fprintf(stderr, "program MODE [NUMBER]\n");
	return 2;
}
