// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A child of fork uses what another thread of its parent is in the middle of. */
#include <string.h>
#include <time.h>

#include "../opencl/held.h"
#include "program.h"

static void initialize(void)
{
	NEED(zeInit(0));
}

static void *initialize_held(void *argument)
{
	is_held_in_loader = true;
	initialize();
	return argument;
}

/* A child of fork initialises Level Zero, in the middle of which another thread of its parent is. */
void mode_fork_in_init(long number)
{
	(void)number;
	fork_while_held(initialize_held, initialize);
}

static __thread bool is_held_with_lock;

static bool is_in_library(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) && strstr(info.dli_fname, "gpumon");
}

/* Also used by the library: the thread is held with its first lock. */
BEFORE_SANITIZER int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static __typeof__(&pthread_mutex_unlock) next;

	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	if (is_held_with_lock && hold && is_in_library(__builtin_return_address(0)))
		hold_here();
	return next(mutex);
}

static void *launch_held(void *argument)
{
	is_held_with_lock = true;
	launch_add(immediate, 1, NULL);
	return argument;
}

static void destroy_context(void)
{
	NEED(zeContextDestroy(context));
}

/* A child destroys what it has inherited, with which another thread launched. */
void mode_fork_in_launch(long number)
{
	(void)number;
	launch_add(immediate, 1, NULL);
	fork_while_held(launch_held, destroy_context);
}

/*
 * Processor time of the thread for a thousand times two kernels, of which one has an event that is asked for
 * and reset, in microseconds.
 */
static long take_thousand(ze_event_handle_t event)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	for (int i = 0; i < 1000; i++) {
		launch_add(immediate, 1, NULL);
		launch_add(immediate, 1, event);
		while (zeEventQueryStatus(event) == ZE_RESULT_NOT_READY)
			;
		NEED(zeEventHostReset(event));
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000;
}

static long take_least(ze_event_handle_t event)
{
	long least = take_thousand(event), took;

	for (int i = 0; i < 4; i++) {
		took = take_thousand(event);
		if (took < least)
			least = took;
	}
	return least;
}

/* What kernels cost before and after many thousand others, none of which the library's thread looks at. */
void mode_reset(long number)
{
	ze_event_handle_t event = make_event(0);
	long before, after;

	holds_library = true;
	while (!is_held)
		usleep(1000);
	before = take_least(event);
	for (long i = 0; i < number; i++)
		take_thousand(event);
	after = take_least(event);
	hold = false;
	NEED(zeEventDestroy(event));
	printf("took %ld %ld\n", before, after);
}
