// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/api_loader.h"
#include "variables.h"

static size_t count_variables(const struct gpumon_variables *variables)
{
	size_t n = 0;

	while (variables->list[n])
		n++;
	return n;
}

/* False without memory. */
static bool add_variable(struct gpumon_variables *variables, const char *name, const char *before,
			 const char *value)
{
	size_t at = count_variables(variables);

	if (!before)
		before = "";
	if (asprintf(&variables->list[at], "%s=%s%s%s", name, before, *before ? ":" : "", value) >=
	    0)
		return true;
	variables->list[at] = NULL;
	return false;
}

/*
 * Level Zero's loader and HIP's library load none that a variable names, so that gpumon's is preloaded: on
 * machines with a driver for one of them only, because a program that cannot open it, such as one in a
 * container, says so. Its path cannot be written with a blank or a colon in it. A program with gcc's
 * AddressSanitizer would end at once, because its library is not the first one.
 */
static bool add_preloaded(struct gpumon_variables *variables, const char *library)
{
	char loader[PATH_MAX];
	bool has_ze = gpumon_level_zero_loader("", loader) == GPUMON_LEVEL_ZERO_TRACED;

	if ((!has_ze && !gpumon_hip_has_driver("")) || strpbrk(library, " :"))
		return true;
	return add_variable(variables, "LD_PRELOAD", getenv("LD_PRELOAD"), library) &&
	       add_variable(variables, "ASAN_OPTIONS", getenv("ASAN_OPTIONS"),
			    "verify_asan_link_order=0") &&
	       (!has_ze || getenv("ZE_ENABLE_TRACING_LAYER") ||
		add_variable(variables, "ZE_ENABLE_TRACING_LAYER", NULL, "1"));
}

/* False without memory. @whole: NAME=VALUE, or NULL. */
static bool add_whole(struct gpumon_variables *variables, const char *whole)
{
	size_t at = count_variables(variables);

	if (whole)
		variables->list[at] = strdup(whole);
	return !whole || variables->list[at];
}

/*
 * NVTX has one of its own. OpenCL's layers that there are stay; the last one is next to the drivers.
 * Its loader has no layers before ocl-icd 2.3 and Khronos's 3.0: it ignores the variable.
 */
int gpumon_variables_make(struct gpumon_variables *variables, const char *library,
			  const char *socket, const char *more)
{
	memset(variables, 0, sizeof(*variables));
	return add_variable(variables, "CUDA_INJECTION64_PATH", NULL, library) &&
			       add_variable(variables, "NVTX_INJECTION64_PATH", NULL, library) &&
			       add_variable(variables, "OPENCL_LAYERS", getenv("OPENCL_LAYERS"),
					    library) &&
			       add_variable(variables, "GPUMON_SOCKET", NULL, socket) &&
			       add_preloaded(variables, library) && add_whole(variables, more) ?
		       0 :
		       -ENOMEM;
}

void gpumon_variables_free(struct gpumon_variables *variables)
{
	size_t i;

	for (i = 0; i < GPUMON_VARIABLES_MAX; i++)
		free(variables->list[i]);
}
