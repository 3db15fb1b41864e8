// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Whether an address is still that of the same code object. From 3.12 on the interpreter
 * reports each one that it is about to free. As long as it has reported none, no other object can be
 * where one was.
 */
#include <dlfcn.h>

#include "layout.h"

/* enum PyCodeEvent */
#define DESTROY 1

/* The interpreter that reports; 0 while none does. */
static _Atomic uint64_t watched;
/* Code objects that it freed since, plus 1. */
static _Atomic uint64_t epoch = 1;

/* With the interpreter's lock held, before the object's memory is given back. */
static int notice_code(int event, void *code)
{
	(void)code;
	if (event == DESTROY)
		atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed);
	return 0;
}

void gpumon_python_watch(void)
{
	int (*add)(int (*callback)(int event, void *code));
	void *(*interpreter)(void);

	*(void **)&add = dlsym(RTLD_DEFAULT, "PyCode_AddWatcher");
	*(void **)&interpreter = dlsym(RTLD_DEFAULT, "PyInterpreterState_Get");
	if (!add || !interpreter)
		return;
	if (add(notice_code) < 0)
		gpumon_python.clear_error();
	else
		atomic_store_explicit(&watched, (uint64_t)(uintptr_t)interpreter(),
				      memory_order_release);
}

uint64_t gpumon_python_code_epoch(uint64_t interpreter)
{
	if (atomic_load_explicit(&watched, memory_order_acquire) != interpreter)
		return 0;
	return atomic_load_explicit(&epoch, memory_order_relaxed);
}
