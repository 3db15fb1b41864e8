// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The preloaded library (preload/preload.c) calls this after the program has initialised Level
 * Zero.
 */
#include <pthread.h>
#include <sys/auxv.h>

#include "entry.h"
#include "ze/tracer/tracer.h"

void gpumon_enter_ze(void);

static void enter_ze(void)
{
	inject_ze_trace();
	inject_enter(&inject_ze_backend);
}

/*
 * A flag, not a lock: in a child of fork, pthread_once() does not wait for a thread of the parent.
 */
INJECT_EXPORT void gpumon_enter_ze(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!getauxval(AT_SECURE))
		pthread_once(&once, enter_ze);
}
