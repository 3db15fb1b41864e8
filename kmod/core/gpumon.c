// SPDX-License-Identifier: GPL-2.0-only
/*
 * The per-CPU anchor; events that are not recorded, and the first event after a while without any.
 */
#include <linux/cpumask.h>

#include "gpumon.h"
#include "memory.h"

/* A CPU is turned away until it has its memory, see counters.c. */
DEFINE_PER_CPU(struct gpumon_cpu, gpumon_cpu) = { .active = GPUMON_CPU_TURNED_AWAY };

static bool cpu_awoke;

/*
 * gpumon_probe_enter() where the CPU is asleep, has no memory, or a probe runs already. Returns
 * false if the event was counted as dropped.
 */
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
 * The fast path of a job does not look, but the first event of a scheduler that is not remembered does.
 *
 * Context: any.
 */
void gpumon_cpus_sleep(void)
{
	int cpu;

	WRITE_ONCE(cpu_awoke, false);
	/* A probe that begins at this moment overwrites the mark: then the CPU is awake. */
	for_each_possible_cpu(cpu)
		cmpxchg(&per_cpu(gpumon_cpu, cpu).active, 0, GPUMON_CPU_ASLEEP);
}

/* Was there no event since gpumon_cpus_sleep()? */
bool gpumon_cpus_slept(void)
{
	return !READ_ONCE(cpu_awoke);
}
