// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The preloaded library (preload/preload.c) calls this in a program that is linked with HIP's
 * library, before the program's own constructors, and whenever one of its libraries registers
 * kernels. The program's library may be another one with HIP's functions, such as chipStar's, which
 * is left alone.
 */
#include <sys/auxv.h>

#include "entry.h"
#include "hip/tracer.h"

void gpumon_enter_hip(void);

static void enter_hip(void)
{
	inject_enter(&inject_hip_backend);
}

INJECT_EXPORT void gpumon_enter_hip(void)
{
	if (!getauxval(AT_SECURE))
		inject_hip_trace(enter_hip);
}
