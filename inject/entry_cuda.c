// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "cupti/backend.h"
#include "entry.h"
#include "gpuprog/gpuprog.h"

int InitializeInjection(void);

/* libcuda calls it in the library that CUDA_INJECTION64_PATH names: from within cuInit, once. */
INJECT_EXPORT int InitializeInjection(void)
{
	/* First: a recording then uses the same subscription. */
	if (!inject_gpuprog_enter())
		inject_enter(&inject_cupti_backend);
	return 1;
}
