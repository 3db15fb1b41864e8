// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Calls it through its PLT. */
#include "called.h"

int lazy_call(void)
{
	return lazily_chosen() + 1;
}
