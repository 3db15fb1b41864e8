// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"
#include "pm_library.h"

struct inject_pm_library inject_pm;

/* CUPTI loads it itself, by name. It does not look beside itself in every place where it may be installed. */
#define HOST_LIBRARY "libnvperf_host.so"

static bool load_host_library(void)
{
	char path[PATH_MAX + sizeof(HOST_LIBRARY)];
	const char *slash;
	Dl_info info;

	if (dlopen(HOST_LIBRARY, RTLD_NOW | RTLD_NOLOAD))
		return true;
	if (dladdr((void *)inject_cupti.cuptiGetVersion, &info) && info.dli_fname) {
		slash = strrchr(info.dli_fname, '/');
		if (slash) {
			snprintf(path, sizeof(path), "%.*s/" HOST_LIBRARY,
				 (int)(slash - info.dli_fname), info.dli_fname);
			if (dlopen(path, RTLD_NOW))
				return true;
		}
	}
	return dlopen(HOST_LIBRARY, RTLD_NOW);
}

static bool find_functions(void)
{
	bool is_complete = true;

#define FIND(member, name, type)                                                            \
	inject_pm.member = (__typeof__(inject_pm.member))dlsym(inject_cupti.handle, #name); \
	if (!inject_pm.member)                                                              \
		is_complete = false;
	INJECT_PM_FUNCTIONS(FIND)
#undef FIND
	inject_pm.supported = (__typeof__(inject_pm.supported))dlsym(inject_cupti.handle,
								     "cuptiProfilerDeviceSupported");
	return is_complete;
}

bool inject_pm_load(const char **why)
{
	static char text[640];
	char which[360];

	inject_cupti_describe(which, sizeof(which));
	if (!find_functions()) {
		snprintf(
			text, sizeof(text),
			"%s cannot sample metrics: that needs CUPTI of CUDA 12.6 or newer; say where one is with GPUMON_CUPTI=PATH",
			which);
		*why = text;
		return false;
	}
	if (load_host_library())
		return true;
	snprintf(
		text, sizeof(text),
		HOST_LIBRARY " is missing, which belongs to %s: install it beside it (it is a part of the same package), or put its folder into LD_LIBRARY_PATH",
		which);
	*why = text;
	return false;
}
