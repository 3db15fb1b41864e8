// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#include "sanitizer.h"

struct inject_sanitizer inject_sanitizer;

bool inject_sanitizer_load(const char *path, const char **why)
{
	static char text[200];
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *error = handle ? NULL : dlerror();

	*why = text;
	if (!handle) {
		snprintf(text, sizeof(text), "the sanitizer's library cannot be loaded: %.140s",
			 error ? error : path);
		return false;
	}
#define FIND(member, symbol, parameters)                                                        \
	inject_sanitizer.member = (__typeof__(inject_sanitizer.member))dlsym(handle, symbol);   \
	if (!inject_sanitizer.member) {                                                         \
		snprintf(text, sizeof(text), "%.120s has no %s: take that of CUDA 12 or later", \
			 path, symbol);                                                         \
		return false;                                                                   \
	}
	INJECT_SANITIZER(FIND)
#undef FIND
	return true;
}
