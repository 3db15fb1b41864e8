// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

#define LIBRARY "libcuda.so.1"

int gpumon_cuda_load(struct gpumon_cuda_driver *driver, struct gpumon_error *err)
{
	static const struct {
		const char *symbol;
		size_t place;
	} functions[] = {
#define FUNCTION(member, symbol, parameters) \
	{ symbol, offsetof(struct gpumon_cuda_driver, member) },
		GPUMON_CUDA_DRIVER(FUNCTION)
#undef FUNCTION
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_REFUSED,
					"there is no NVIDIA driver here: %s", dlerror());
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(library, functions[i].symbol);

		if (!function)
			return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ENOSYS,
						GPUMON_ERROR_REFUSED,
						"the NVIDIA driver is too old: " LIBRARY
						" has no %s",
						functions[i].symbol);
		memcpy((char *)driver + functions[i].place, &function, sizeof(function));
	}
	return 0;
}

const char *gpumon_cuda_error(const struct gpumon_cuda_driver *driver, int error)
{
	static char text[160];
	const char *name = NULL;

	if (driver->error_text(error, &name) || !name)
		name = "CUDA error";
	snprintf(text, sizeof(text), "%.140s (%d)", name, error);
	return text;
}
