// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The preloaded library (preload/gl.c) calls this at the program's first call that presents an image with EGL or
 * GLX.
 */
#include <pthread.h>
#include <sys/auxv.h>

#include "entry.h"
#include "gl/gl.h"

gpumon_swap_through_t *gpumon_enter_gl(void);

static void enter_gl(void)
{
	inject_enter(&inject_gl_backend);
}

/* A flag, as for Level Zero. NULL: nothing is recorded here, and the program's calls go their own way. */
INJECT_EXPORT gpumon_swap_through_t *gpumon_enter_gl(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (getauxval(AT_SECURE))
		return NULL;
	pthread_once(&once, enter_gl);
	return inject_gl_swap;
}
