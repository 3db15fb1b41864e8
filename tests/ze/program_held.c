// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A child of fork uses what another thread of its parent is in the middle of. */
#include <string.h>

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
