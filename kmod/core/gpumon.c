// SPDX-License-Identifier: GPL-2.0-only
/* The per-CPU anchor; events that are not recorded, and the first one after a while without any. */
#include <linux/cpumask.h>

#include "gpumon.h"
#include "memory.h"

/* Until a CPU has its memory, see counters.c. */
DEFINE_PER_CPU(struct gpumon_cpu, gpumon_cpu) = { .active = GPUMON_CPU_TURNED_AWAY };

static bool cpu_awoke;

/* gpumon_probe_enter() finds an event that is not the usual one. False: it was counted as dropped. */
noinline bool gpumon_probe_awakes(struct gpumon_event_context *ctx)
{
	local64_t *dropped = ctx->probe + GPUMON_PROBE_DROPPED;

	if (ctx->outer == GPUMON_CPU_ASLEEP) {
		ctx->outer = 0;
		if (!READ_ONCE(cpu_awoke)) {
			WRITE_ONCE(cpu_awoke, true);
			gpumon_memory_ask();
		}
		return true;
	}
	/* CPUs without memory share these counters. */
	if (ctx->outer == GPUMON_CPU_TURNED_AWAY)
		atomic64_inc((atomic64_t *)&dropped[GPUMON_DROP_NO_MEMORY]);
	else
		local64_inc(&dropped[GPUMON_DROP_RECURSION]);
	return false;
}

/**
 * gpumon_cpus_sleep - let the next event of each CPU call gpumon_memory_ask()
 *
 * That of a job's fast path does not, but the first one of a scheduler that is not remembered does.
 *
 * Context: any.
 */
void gpumon_cpus_sleep(void)
{
	int cpu;

	WRITE_ONCE(cpu_awoke, false);
	/* A probe that begins at this moment overwrites it: that CPU is awake then. */
	for_each_possible_cpu(cpu)
		cmpxchg(&per_cpu(gpumon_cpu, cpu).active, 0, GPUMON_CPU_ASLEEP);
}

/* Was there no event since gpumon_cpus_sleep()? */
bool gpumon_cpus_slept(void)
{
	return !READ_ONCE(cpu_awoke);
}
