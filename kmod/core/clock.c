// SPDX-License-Identifier: GPL-2.0-only
/* The clock that durations are measured with. */
#include <linux/log2.h>

#include "clock.h"
#include "compat/timekeeping.h"

/* gpumon_clock_mult if a tick is a nanosecond. */
#define NSEC_TICK (1ULL << 32)

DEFINE_STATIC_KEY_FALSE(gpumon_clock_tsc);
u64 gpumon_clock_mult __read_mostly = NSEC_TICK;

#ifdef CONFIG_X86_64
static u32 selected_khz;

/*
 * Rate of the TSC if the kernel keeps time by it, else 0. The kernel does not export which counter
 * it uses, but a snapshot has the counter's value: if it is the TSC's, it lies between two reads of
 * the TSC. So changes by the kernel's watchdog or the administrator are followed, too.
 */
static u32 tsc_rate_khz(void)
{
	u64 before, cycles, after;

	if (!boot_cpu_has(X86_FEATURE_TSC) || check_tsc_unstable())
		return 0;
	before = rdtsc_ordered();
	cycles = gpumon_compat_clocksource_cycles();
	after = rdtsc_ordered();
	return cycles - before <= after - before ? tsc_khz : 0;
}
#else
static const u32 selected_khz;

static u32 tsc_rate_khz(void)
{
	return 0;
}
#endif

/**
 * gpumon_clock_changed - does the kernel keep time in another way now
 *
 * The TSC may turn out to be unstable, or its rate be refined soon after boot.
 *
 * Context: may sleep.
 * Return: whether gpumon_clock_select() would choose something else.
 */
bool gpumon_clock_changed(void)
{
	return tsc_rate_khz() != selected_khz;
}

/**
 * gpumon_clock_select - choose the clock
 *
 * Context: may sleep; no probe runs, and what it remembers of a time is forgotten.
 */
void gpumon_clock_select(void)
{
#ifdef CONFIG_X86_64
	selected_khz = tsc_rate_khz();
	if (selected_khz) {
		gpumon_clock_mult = div_u64(NSEC_PER_MSEC * NSEC_TICK, selected_khz);
		static_branch_enable(&gpumon_clock_tsc);
	} else {
		gpumon_clock_mult = NSEC_TICK;
		static_branch_disable(&gpumon_clock_tsc);
	}
#endif
}

/**
 * gpumon_interval_sum - length of all intervals
 * @words: sum of the words of all CPUs, see gpumon_interval_begin()
 *
 * One that has not ended counts until now. The words are not read at one moment: if an interval ends
 * meanwhile, its begin or its end may be missing in @words, which then differ from the truth by no
 * more than the time that the reading took.
 *
 * Context: any.
 * Return: nanoseconds.
 */
u64 gpumon_interval_sum(u64 words)
{
	/* Without preemption the present time is read at once behind the words. */
	const s64 ended = (s64)(words + GPUMON_CLOCK_EPOCH / 2) >> ilog2(GPUMON_CLOCK_EPOCH);
	const u64 ticks = words - ended * (gpumon_clock() | GPUMON_CLOCK_EPOCH);

	return (s64)ticks < 0 ? 0 : gpumon_clock_ns(ticks);
}
