// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "cupti/backend.h"
#include "entry.h"
#include "gpuprog/gpuprog.h"

int InitializeInjection(void);
int gpumon_enter_late(void);

/* libcuda calls it in the library that CUDA_INJECTION64_PATH names: from within cuInit, once. */
INJECT_EXPORT int InitializeInjection(void)
{
	/* First: a recording then uses the same subscription. */
	if (!inject_gpuprog_enter())
		inject_enter(&inject_cupti_backend);
	return 1;
}

/* `gpumon-user record -p` calls it in a program that was not prepared, in a thread of its own. */
INJECT_EXPORT int gpumon_enter_late(void)
{
	return inject_enter_late(&inject_cupti_backend);
}
