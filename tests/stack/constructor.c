// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A library that calls back when it is loaded, on request, and when it is unloaded. */
#include "called.h"

static __attribute__((constructor)) void begin(void)
{
	from_constructor();
	__asm__ volatile("" ::: "memory");
}

static __attribute__((destructor)) void end(void)
{
	from_constructor();
	__asm__ volatile("" ::: "memory");
}

void constructor_call(void (*function)(void))
{
	function();
	__asm__ volatile("" ::: "memory");
}
