// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * HIP's library loads no other one that a variable names, so this one is preloaded. A program that is
 * linked with HIP's has it before this one's constructor; one that loads it later, such as Python,
 * registers its kernels with it through a function that is here in front of HIP's. Both only look
 * whether it is there: a program without HIP does not notice them.
 */
#include <sys/auxv.h>

#include "entry.h"
#include "hip/backend.h"
#include "hip/tracer.h"

void **__hipRegisterFatBinary(const void *binary);

static void enter_hip(void)
{
	inject_enter(&inject_hip_backend);
}

static __attribute__((constructor)) void look_for_hip(void)
{
	if (!getauxval(AT_SECURE))
		inject_hip_trace(enter_hip);
}

INJECT_EXPORT void **__hipRegisterFatBinary(const void *binary)
{
	void **(*below)(const void *) = __extension__(void *)
		inject_hip_symbol("__hipRegisterFatBinary");

	look_for_hip();
	return below ? below(binary) : NULL;
}
