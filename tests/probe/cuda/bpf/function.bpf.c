// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* count.bpf.c, and a program for a device function, for which machine code has no place. */
#include "count.bpf.c"

SEC("gpu/function/helper")
int count_function(void *ctx)
{
	return 0;
}
