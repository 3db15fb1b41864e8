/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the files of the preloaded library share. Functions of the C library may be missing. */
#ifndef GPUMON_INJECT_PRELOAD_PRELOAD_H
#define GPUMON_INJECT_PRELOAD_PRELOAD_H

#define OPTIONAL __attribute__((weak))
#define EXPORT	 __attribute__((visibility("default")))

/* The same in each C library for Linux. */
#define RTLD_NEXT ((void *)-1l)

void *dlsym(void *handle, const char *name) OPTIONAL;

/**
 * preload_function - a function of gpumon's library, which is loaded if it is not there yet
 * @name: of the function
 *
 * Return: NULL where the library cannot be loaded, or was built without it.
 */
void *preload_function(const char *name);

/**
 * preload_below - what a program would have called
 * @name: of the function
 * @caller: an address in the program or library that calls it
 *
 * It is looked for in the libraries that all see, and then in those that only the caller sees, as in Python.
 */
void *preload_below(const char *name, const void *caller);

#endif /* GPUMON_INJECT_PRELOAD_PRELOAD_H */
