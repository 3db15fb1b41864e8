// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>

#include "base/handles.h"
#include "calls.h"
#include "channel/intern.h"
#include "operations.h"
#include "stack/walk.h"

/* Bytes before the stream in a launch's arguments. */
#define STREAM_OF_HOST	 56
#define STREAM_OF_MODULE 40

/* From this version on hipPeekAtLastError() has the last error, not the last result. */
#define LAST_ERROR_STAYS 70000000

/* The stream for which there is no graph. */
#define NULL_STREAM NULL

/**
 * struct arguments - of a launch of one kernel, as all but the newest functions have them
 * @kernel: address of its stub, or its handle
 * @grid: numbers of groups, or of work-items
 * @local: work-items of a group
 */
struct arguments {
	const void *kernel;
	uint32_t grid[3];
	uint32_t local[3];
};

static _Atomic uint32_t last_correlation;

/* A graph may be captured. */
static _Atomic bool captures;

/* Names of kernels by their stubs. */
static struct inject_handles stubs = INJECT_HANDLES;

static uint64_t correlation_of(const void *call)
{
	uint64_t correlation;

	memcpy(&correlation, call, sizeof(correlation));
	return correlation;
}

/*
 * Id with the number of the capture, so that a launch left by an earlier capture is not taken for
 * one of this.
 */
static uint64_t correlation_in_session(uint32_t id)
{
	return (uint64_t)atomic_load(&inject_session.generation) << 32 | id;
}

static uint32_t name_of_stub(struct inject_thread *thread, const void *stub)
{
	uint64_t kept = inject_handle_number(&stubs, stub, 0);
	uint32_t generation = atomic_load(&inject_session.generation), id;

	if (kept >> 32 == generation)
		return (uint32_t)kept;
	id = inject_intern_string(thread, inject_hip.hipKernelNameRefByPtr(stub, NULL_STREAM));
	if (id && inject_string_is_written(id))
		inject_handle_set(&stubs, stub, 0, (uint64_t)generation << 32 | id);
	return id;
}

static void read_arguments(uint8_t where, const struct arguments *arguments,
			   struct inject_hip_launch *launch)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		launch->local[i] = arguments->local[i];
		launch->grid[i] = arguments->grid[i];
		launch->global[i] = (uint64_t)arguments->grid[i] * arguments->local[i];
		if (where == INJECT_HIP_ARGUMENTS_ITEMS) {
			launch->global[i] = arguments->grid[i];
			launch->grid[i] = launch->local[i] ?
						  (arguments->grid[i] - 1) / launch->local[i] + 1 :
						  0;
		}
	}
}

/* A handle is looked into, so that it has to be a good one: the launch has succeeded. */
static uint32_t name_of_kernel(struct inject_thread *thread, uint8_t where, const void *kernel)
{
	if (where == INJECT_HIP_ARGUMENTS_UNKNOWN)
		return 0;
	if (where == INJECT_HIP_ARGUMENTS_HOST)
		return name_of_stub(thread, kernel);
	return inject_intern_string(thread, inject_hip.hipKernelNameRef(kernel));
}

/* The tracer does not say the result of a call, so it is asked for. The program's last error stays as it is. */
static int result_of_call(void)
{
	int result;

	if (inject_hip.version < LAST_ERROR_STAYS)
		return inject_hip.hipPeekAtLastError();
	result = inject_hip.hipExtGetLastError();
	/* Which has set it to success; this sets it to the last error, the same. */
	if (result)
		inject_hip.hipPeekAtLastError();
	return result;
}

static bool is_captured(const struct inject_hip_function *function, const char *arguments)
{
	size_t at = function->arguments == INJECT_HIP_ARGUMENTS_HOST ? STREAM_OF_HOST :
								       STREAM_OF_MODULE;
	int status = 0;
	void *stream;

	if (!atomic_load_explicit(&captures, memory_order_relaxed) ||
	    function->arguments == INJECT_HIP_ARGUMENTS_UNKNOWN)
		return false;
	memcpy(&stream, arguments + at, sizeof(stream));
	return stream != NULL_STREAM && !inject_hip.hipStreamIsCapturing(stream, &status) && status;
}

/*
 * Added before the result is asked for: the operation may have ended already, and a launch that is
 * added after the end would wait for ever. So the launch is there while it runs, and is taken out
 * if it failed.
 */
static void add_launch(struct inject_thread *thread, const struct inject_hip_function *function,
		       const void *call)
{
	const char *arguments = (const char *)call + INJECT_HIP_ARGUMENTS;
	struct inject_hip_launch launch = {
		.correlation = correlation_of(call),
		.begin_ns = thread->call.start_ns,
		.device = inject_hip.hipGetStreamDeviceId(NULL_STREAM),
	};

	if (function->arguments != INJECT_HIP_ARGUMENTS_UNKNOWN)
		read_arguments(function->arguments, (const struct arguments *)arguments, &launch);
	if (!inject_hip_launch_add(&launch))
		gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_API_DROPPED, 1);
}

/* The library has filled the arguments in. */
static void launch_begins(uint32_t number, void *call)
{
	const struct inject_hip_function *function = inject_hip_function(number);
	struct inject_thread *thread = inject_thread_enter(true);
	int kept = errno;

	if (thread) {
		if (thread->call.open && thread->call.correlation == (uint32_t)correlation_of(call))
			add_launch(thread, function, call);
		inject_thread_leave(thread);
	}
	errno = kept;
}

static void end_launch(struct inject_thread *thread, const struct inject_hip_function *function,
		       const void *call, int result)
{
	const char *arguments = (const char *)call + INJECT_HIP_ARGUMENTS;
	uint64_t correlation = correlation_of(call);
	struct inject_hip_launch launch;
	const void *kernel;
	uint32_t name;

	thread->call.is_captured = !result && is_captured(function, arguments);
	if (result || thread->call.is_captured) {
		inject_hip_launch_take(correlation, &launch);
		return;
	}
	memcpy(&kernel, arguments, sizeof(kernel));
	name = name_of_kernel(thread, function->arguments, kernel);
	thread->call.name = name;
	if (!(inject_session.record & GPUMON_RECORD_NO_TIMES)) {
		inject_hip_launch_name(correlation, name);
	} else if (inject_hip_launch_take(correlation, &launch)) {
		launch.name = name;
		inject_hip_operation_untimed(thread, &launch, GPUMON_WORK_UNTIMED);
	}
}

static void call_ends(uint32_t number, void *call)
{
	const struct inject_hip_function *function = inject_hip_function(number);
	struct inject_thread *thread = inject_thread_enter(true);
	uint32_t correlation = (uint32_t)correlation_of(call);
	int kept = errno, result = 0;

	if (thread) {
		if (inject_call_ends(thread, correlation)) {
			uint64_t end_ns = inject_now();

			if (function->class & INJECT_CLASS_LAUNCH)
				result = result_of_call();
			if (function->class & INJECT_CLASS_KERNEL)
				end_launch(thread, function, call, result);
			inject_call_finish_here(thread, end_ns, result);
		}
		inject_thread_leave(thread);
	} else if (inject_self && inject_self->call.correlation == correlation) {
		/* The capture has ended; in the next one it is no call. */
		inject_self->call.open = 0;
	}
	errno = kept;
}

static void set_phases(void *call, const struct inject_hip_layout *layout, uint64_t correlation,
		       bool is_kernel)
{
	const inject_hip_phase phases[2] = { is_kernel ? launch_begins : NULL, call_ends };

	memcpy(call, &correlation, sizeof(correlation));
	memcpy((char *)call + layout->enter, phases, sizeof(phases));
}

/* The call may have been left by longjmp(): something else may be at its address by now. */
__attribute__((no_sanitize("address", "thread"))) static bool has_correlation(const void *call,
									      uint64_t correlation)
{
	return *(const volatile uint64_t *)call == correlation;
}

/*
 * Whether the open call was left, by longjmp(): what it had on the stack is in the way of a new one, is no
 * longer below it, or was overwritten. A signal handler or a coroutine may have another stack: one that
 * is open there cannot have called what is on the thread's own stack.
 */
static bool is_left(const struct inject_thread *thread, const void *call,
		    const struct inject_hip_layout *layout)
{
	const char *open = thread->call.data, *new = call;
	size_t size = layout->enter + 2 * sizeof(inject_hip_phase);

	if (new < open + size && open < new + size)
		return true;
	if (!inject_stack_is_own(open))
		return inject_stack_is_own(new);
	return (inject_stack_is_own(new) && new > open) ||
	       !has_correlation(open, correlation_in_session(thread->call.correlation));
}

/* Calls of this library come with the thread within, and those of a function that is recorded. */
static bool is_nested(const struct inject_thread *thread, const void *call,
		      const struct inject_hip_layout *layout)
{
	if (thread->ours)
		return true;
	return thread->call.open && GPUMON_API_OF(thread->call.context) == GPUMON_API_HIP &&
	       !is_left(thread, call, layout);
}

static bool is_wanted(uint16_t class)
{
	return class & INJECT_CLASS_LAUNCH ? inject_call_is_asked_for(class) :
					     inject_call_is_wanted(class);
}

void inject_hip_calls_forked(void)
{
	inject_handles_forked(&stubs);
	atomic_store(&captures, false);
}

int inject_hip_call_begin(uint32_t number, void *call, const struct inject_hip_layout *layout)
{
	struct inject_hip_function *function = inject_hip_function(number);
	struct inject_thread *thread;
	int kept = errno, answer = INJECT_HIP_NO;
	uint32_t id;

	if (!function)
		return INJECT_HIP_NO;
	if (function->captures)
		atomic_store(&captures, true);
	if (!inject_session_takes_calls() || !is_wanted(function->class))
		return INJECT_HIP_NO;
	thread = inject_thread_enter(false);
	if (thread) {
		if (!is_nested(thread, call, layout)) {
			id = inject_next_correlation(&last_correlation);
			inject_call_begin(thread, id, function->class,
					  inject_string_again(thread, &function->name_id,
							      function->name));
			thread->call.context = INJECT_HIP_ID(0);
			thread->call.data = call;
			set_phases(call, layout, correlation_in_session(id),
				   function->class & INJECT_CLASS_KERNEL);
			answer = INJECT_HIP_YES;
		}
		inject_thread_leave(thread);
	} else {
		inject_call_interrupts(function->class);
	}
	errno = kept;
	return answer;
}

/* More than any version has; 7.2 has 449. */
#define FUNCTIONS 1024

static struct inject_hip_function functions[FUNCTIONS];

static const struct {
	const char *name;
	uint8_t arguments;
} kernels[] = {
	{ "hipLaunchKernel", INJECT_HIP_ARGUMENTS_HOST },
	{ "hipExtLaunchKernel", INJECT_HIP_ARGUMENTS_HOST },
	{ "hipLaunchCooperativeKernel", INJECT_HIP_ARGUMENTS_HOST },
	{ "hipModuleLaunchKernel", INJECT_HIP_ARGUMENTS_MODULE },
	{ "hipModuleLaunchCooperativeKernel", INJECT_HIP_ARGUMENTS_MODULE },
	{ "hipExtModuleLaunchKernel", INJECT_HIP_ARGUMENTS_ITEMS },
	{ "hipHccModuleLaunchKernel", INJECT_HIP_ARGUMENTS_ITEMS },
	{ "hipLaunchByPtr", INJECT_HIP_ARGUMENTS_UNKNOWN },
	{ "hipLaunchKernelExC", INJECT_HIP_ARGUMENTS_UNKNOWN },
	{ "hipDrvLaunchKernelEx", INJECT_HIP_ARGUMENTS_UNKNOWN },
	{ "hipExtLaunchMultiKernelMultiDevice", INJECT_HIP_ARGUMENTS_UNKNOWN },
	{ "hipLaunchCooperativeKernelMultiDevice", INJECT_HIP_ARGUMENTS_UNKNOWN },
	{ "hipModuleLaunchCooperativeKernelMultiDevice", INJECT_HIP_ARGUMENTS_UNKNOWN },
};

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static void classify(struct inject_hip_function *function)
{
	const char *name = function->name;
	size_t i;

	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (strcmp(name, kernels[i].name) == 0) {
			function->class = INJECT_CLASS_KERNEL;
			function->arguments = kernels[i].arguments;
		}
	if (strcmp(name, "hipGraphLaunch") == 0)
		function->class = INJECT_CLASS_GRAPH;
	else if (begins(name, "hipMemcpy") || begins(name, "hipDrvMemcpy"))
		function->class = INJECT_CLASS_COPY |
				  (inject_call_is_waiting_copy(name) ? INJECT_CLASS_WAITS : 0);
	else if (begins(name, "hipMemset"))
		function->class = INJECT_CLASS_SET;
	else if (strstr(name, "Synchronize"))
		function->class = INJECT_CLASS_BLOCKING;
	function->captures = begins(name, "hipStreamBeginCapture");
}

void inject_hip_functions_find(void)
{
	const char *none = inject_hip.hipApiName(UINT32_MAX), *name;
	uint32_t i;

	for (i = 0; i < FUNCTIONS; i++) {
		name = inject_hip.hipApiName(i);
		if (!name || (none && strcmp(name, none) == 0))
			continue;
		functions[i].name = name;
		classify(&functions[i]);
	}
}

struct inject_hip_function *inject_hip_function(uint32_t number)
{
	return number < FUNCTIONS && functions[number].name ? &functions[number] : NULL;
}
