/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Functions that the program's libraries take from one another, replaced by this library's. */
#ifndef GPUMON_INJECT_BASE_IMPORTS_H
#define GPUMON_INJECT_BASE_IMPORTS_H

/**
 * struct inject_import - one
 * @name: of the function
 * @replacement: is called in its place
 */
struct inject_import {
	const char *name;
	void *replacement;
};

/**
 * inject_imports_replace - in all libraries that are loaded, but this one
 * @imports: the last one has no name
 *
 * What asks the loader for the function by its name goes on to get that one. Takes the loader's lock. Context:
 * one thread at a time.
 */
void inject_imports_replace(const struct inject_import *imports);

#endif /* GPUMON_INJECT_BASE_IMPORTS_H */
