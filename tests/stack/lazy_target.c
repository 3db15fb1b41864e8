// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A function that is selected on its first call, by the loader, within the call. */
#include "called.h"

static int chosen(void)
{
	return 7;
}

static int (*choose(void))(void)
{
	from_constructor();
	__asm__ volatile("" ::: "memory");
	return chosen;
}

int lazily_chosen(void) __attribute__((ifunc("choose")));
