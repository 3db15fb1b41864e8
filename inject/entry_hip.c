// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * HIP's library loads no other one that a variable names, so this one is preloaded. A program that is
 * linked with HIP's has it before this one's constructor; one that loads it later, such as Python,
 * registers its kernels with it through a function that is here in front of HIP's. Both only look
 * whether it is there: a program without HIP does not notice them.
 */
#include <dlfcn.h>
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

/*
 * The program's library may be another one with HIP's functions, such as chipStar's: the one that the
 * caller is linked with. The program itself has no handle under its name, and its libraries come next.
 */
static void *find_of_caller(const char *name, const void *caller)
{
	void *handle = NULL, *found = NULL;
	Dl_info info;

	if (dladdr(caller, &info) && info.dli_fname)
		handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if (handle) {
		found = dlsym(handle, name);
		dlclose(handle);
	}
	return found ? found : dlsym(RTLD_NEXT, name);
}

INJECT_EXPORT void **__hipRegisterFatBinary(const void *binary)
{
	static const char name[] = "__hipRegisterFatBinary";
	void **(*below)(const void *) = __extension__(void *) inject_hip_symbol(name);

	if (!below)
		below = __extension__(void *) find_of_caller(name, __builtin_return_address(0));
	look_for_hip();
	return below ? below(binary) : NULL;
}
