/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of a function from entry to return, for kretprobes. */
#ifndef GPUMON_CALL_H
#define GPUMON_CALL_H

#include <linux/ktime.h>

#include "attach/probe.h"

#define GPUMON_CALL_ARGUMENTS 5

/**
 * struct gpumon_call - what is kept of a call until it returns
 * @time_ns: when it began, CLOCK_MONOTONIC
 * @argument: its first arguments, each may be any value
 */
struct gpumon_call {
	u64 time_ns;
	unsigned long argument[GPUMON_CALL_ARGUMENTS];
};

/* A kretprobe whose handler at the return gets a struct gpumon_call. */
#define GPUMON_CALL_AT(_module, _name, _role, _on_return, _prototype, _returns, ...)             \
	GPUMON_KRETPROBE_AT(_module, _name, _role, gpumon_call_begins, _on_return, _prototype,   \
			    _returns, .data_size = sizeof(struct gpumon_call), ##__VA_ARGS__)

GPUMON_KRETPROBE(gpumon_call_begins);

static __always_inline void gpumon_call_keep(struct gpumon_call *call, struct pt_regs *regs,
					     unsigned int arguments)
{
	unsigned int i;

	call->time_ns = ktime_get_mono_fast_ns();
	for (i = 0; i < arguments; i++)
		call->argument[i] = gpumon_compat_kernel_argument(regs, i);
}

static inline const struct gpumon_call *gpumon_call(const struct kretprobe_instance *instance)
{
	return (const void *)instance->data;
}

/*
 * Nanoseconds from the entry until now. A call that moved to another CPU may seem to have ended a
 * little before it began.
 */
static inline u64 gpumon_call_ns(const struct gpumon_call *call, u64 now)
{
	return max_t(s64, now - call->time_ns, 0);
}

#endif /* GPUMON_CALL_H */
