// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * libgpumon-preload.so is preloaded into programs that may use Level Zero or HIP, whose libraries load no
 * other one that a variable names. libgpumon-preload-gl.so has OpenGL (gl.c) as well, and is preloaded in its place
 * with "record --gl". Both need no library, so that a program starts with them whatever C library it has. They
 * load gpumon's library, which needs glibc, when the program initialises one of these APIs, or presents an image; a
 * program that does not stays without it. Programs of 32 bits get an empty one.
 */
#ifdef __LP64__

#include "preload.h"

/* The same in each C library for Linux. */
#define RTLD_NOW    2
#define RTLD_NOLOAD 4

#define ZE_SUCCESS	 0
#define ZE_UNINITIALIZED 0x78000001

#define FOLDER	 "/gpumon-preload/"
#define LIBRARY	 "/libgpumon-inject.so"
#define PATH_MAX 4096

struct library_of_address {
	const char *file;
	void *base;
	const char *symbol;
	void *address;
};

void *dlopen(const char *file, int mode) OPTIONAL;
int dlclose(void *handle) OPTIONAL;
char *dlerror(void) OPTIONAL;
int dladdr(const void *address, struct library_of_address *library) OPTIONAL;
const char *gnu_get_libc_version(void) OPTIONAL;
/* HIP's own: there if the program is linked with it. */
int hipRuntimeGetVersion(int *version) OPTIONAL;

int zeInit(unsigned int flags);
int zeInitDrivers(unsigned int *count, void *drivers, void *description);
void **__hipRegisterFatBinary(const void *binary);

static unsigned long length_of(const char *text)
{
	unsigned long length = 0;

	while (text[length])
		length++;
	return length;
}

/* Where @part begins last in @text, or its end. */
static unsigned long find_last(const char *text, const char *part)
{
	unsigned long at = length_of(text), end = at, same;

	while (at-- > 0) {
		for (same = 0; part[same] && text[at + same] == part[same];)
			same++;
		if (!part[same])
			return at;
	}
	return end;
}

/* gpumon's library is beside this one's folder. */
static int find_path(char *path)
{
	struct library_of_address self = { 0 };
	unsigned long length, i;

	if (!dladdr((const void *)find_path, &self) || !self.file)
		return 0;
	length = find_last(self.file, FOLDER);
	if (!self.file[length] || length + sizeof(LIBRARY) > PATH_MAX)
		return 0;
	for (i = 0; i < length; i++)
		path[i] = self.file[i];
	for (i = 0; i < sizeof(LIBRARY); i++)
		path[length + i] = LIBRARY[i];
	return 1;
}

static void *load_library(void)
{
	static void *library;
	static int is_refused;
	char path[PATH_MAX];
	void *loaded = __atomic_load_n(&library, __ATOMIC_ACQUIRE);

	if (loaded || __atomic_load_n(&is_refused, __ATOMIC_RELAXED))
		return loaded;
	if (gnu_get_libc_version && dlopen && dlsym && dladdr && find_path(path))
		loaded = dlopen(path, RTLD_NOW);
	/* The program's next dlerror() is about its own calls. */
	if (!loaded && dlerror)
		(void)dlerror();
	__atomic_store_n(&is_refused, !loaded, __ATOMIC_RELAXED);
	__atomic_store_n(&library, loaded, __ATOMIC_RELEASE);
	return loaded;
}

void *preload_function(const char *name)
{
	void *library = load_library();

	return library ? dlsym(library, name) : 0;
}

/* @name: what gpumon's library has for an API, if it was built with that. */
static void enter(const char *name)
{
	void (*function)(void) = (void (*)(void))preload_function(name);

	if (function)
		function();
}

void *preload_below(const char *name, const void *caller)
{
	struct library_of_address of_caller = { 0 };
	void *found, *handle;

	found = dlsym ? dlsym(RTLD_NEXT, name) : 0;
	if (found || !dlsym || !dlopen || !dlclose || !dladdr || !dladdr(caller, &of_caller) ||
	    !of_caller.file)
		return found;
	handle = dlopen(of_caller.file, RTLD_NOW | RTLD_NOLOAD);
	if (handle) {
		found = dlsym(handle, name);
		dlclose(handle);
	}
	return found;
}

/* Programs call one of these first. */
EXPORT int zeInit(unsigned int flags)
{
	int (*below)(unsigned int) =
		(int (*)(unsigned int))preload_below("zeInit", __builtin_return_address(0));
	int result = below ? below(flags) : ZE_UNINITIALIZED;

	if (result == ZE_SUCCESS)
		enter("gpumon_enter_ze");
	return result;
}

/* From version 1.10 on. */
EXPORT int zeInitDrivers(unsigned int *count, void *drivers, void *description)
{
	int (*below)(unsigned int *, void *, void *) =
		(int (*)(unsigned int *, void *, void *))preload_below("zeInitDrivers",
								       __builtin_return_address(0));
	int result = below ? below(count, drivers, description) : ZE_UNINITIALIZED;

	if (result == ZE_SUCCESS)
		enter("gpumon_enter_ze");
	return result;
}

static __attribute__((constructor)) void look_for_hip(void)
{
	if (hipRuntimeGetVersion)
		enter("gpumon_enter_hip");
}

/* A program that loads HIP's library later, such as Python, registers its kernels by this. */
EXPORT void **__hipRegisterFatBinary(const void *binary)
{
	void **(*below)(const void *) = (void **(*)(const void *))preload_below(
		"__hipRegisterFatBinary", __builtin_return_address(0));

	enter("gpumon_enter_hip");
	return below ? below(binary) : 0;
}

#endif
