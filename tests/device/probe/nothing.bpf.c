// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What it costs that a program is there at all. */
#include "gpumon_gpu.h"

SEC("gpu/entry")
int nothing_entry(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
