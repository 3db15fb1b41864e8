// SPDX-License-Identifier: GPL-2.0-only
#include "call.h"

/* A kretprobe's body at the function's entry. */
GPUMON_KRETPROBE(gpumon_call_begins)
{
	gpumon_call_keep((void *)instance->data, regs, GPUMON_CALL_ARGUMENTS);
	return 0;
}
