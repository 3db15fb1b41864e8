// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A library that uses the program when it is loaded. */
void in_constructor(void);

static __attribute__((constructor)) void begin(void)
{
	in_constructor();
}
