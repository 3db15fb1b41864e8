/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock that probes measure durations with.
 *
 * Where the kernel itself keeps time by the TSC, a tick is one of the TSC's, and a duration costs
 * one multiplication; ktime_get_mono_fast_ns() reads the same counter behind two calls and a
 * sequence count. Everywhere else a tick is a nanosecond of that clock. Times that leave the kernel
 * are always CLOCK_MONOTONIC.
 */
#ifndef GPUMON_CLOCK_H
#define GPUMON_CLOCK_H

#include <linux/bits.h>
#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <asm/local64.h>
#ifdef CONFIG_X86_64
#include <asm/tsc.h>
#endif

DECLARE_STATIC_KEY_FALSE(gpumon_clock_tsc);
/* Nanoseconds of a tick, times 2^32. */
extern u64 gpumon_clock_mult;

void gpumon_clock_select(void);
bool gpumon_clock_changed(void);

/**
 * gpumon_clock_quick - gpumon_clock() where that calls nothing
 * @ticks: set to the time, or 0
 *
 * Context: any, NMI included.
 * Return: false if gpumon_clock() has to be asked.
 */
static __always_inline bool gpumon_clock_quick(u64 *ticks)
{
#ifdef CONFIG_X86_64
	if (static_branch_likely(&gpumon_clock_tsc)) {
		/*
		 * Not ordered: the processor may read it some tens of nanoseconds before what is in
		 * front of it. Durations are of microseconds, and a step back is noticed.
		 */
		*ticks = rdtsc();
		return true;
	}
#endif
	*ticks = 0;
	return false;
}

/* Present time in ticks, for durations. Between two CPUs it may step back by a little. */
static __always_inline u64 gpumon_clock(void)
{
	u64 ticks;

	return gpumon_clock_quick(&ticks) ? ticks : ktime_get_mono_fast_ns();
}

/**
 * gpumon_clock_ns - a duration
 * @ticks: difference of two times of gpumon_clock()
 *
 * At the rate that the kernel found the TSC to have at boot: NTP's corrections, of at
 * most 0.05 %, are not in it.
 *
 * Context: any, NMI included.
 * Return: nanoseconds. If the clock stepped back in between it is a number without a meaning: with a
 * TSC of 1 to 4 GHz more than 2^62, with others it may be any. gpumon_clock_elapsed() notices that.
 */
static __always_inline u64 gpumon_clock_ns(u64 ticks)
{
#ifdef CONFIG_X86_64
	/* With mul_u64_u64_shr() the compiler aligns the stack. */
	asm("mulq %[mult]\n\tshrdq $32, %%rdx, %%rax"
	    : "+a"(ticks)
	    : [mult] "m"(gpumon_clock_mult)
	    : "rdx", "cc");
#endif
	return ticks;
}

/**
 * gpumon_clock_elapsed - time since something
 * @since: when it was, gpumon_clock()
 * @now: gpumon_clock()
 * @ns: set to the nanoseconds between them, 0 if the clock stepped back
 *
 * Context: any, NMI included.
 * Return: false if the clock stepped back by a little, seen from two CPUs.
 */
static __always_inline bool gpumon_clock_elapsed(u64 since, u64 now, u64 *ns)
{
	u64 ticks = now - since;
	bool forwards = likely((s64)ticks >= 0);

	*ns = forwards ? gpumon_clock_ns(ticks) : 0;
	return forwards;
}

/*
 * A sum of intervals of which each ends once and begins once, maybe on another CPU: the sum of the
 * times at which they ended, less those at which they began. Each CPU adds to a word of its own, in
 * any order. GPUMON_CLOCK_EPOCH is more than any time, so that a sum of such words also shows how
 * many intervals have not ended.
 */
#define GPUMON_CLOCK_EPOCH BIT_ULL(60)

static __always_inline void gpumon_interval_begin(local64_t *word, u64 now)
{
	local64_sub(now | GPUMON_CLOCK_EPOCH, word);
}

static __always_inline void gpumon_interval_end(local64_t *word, u64 now)
{
	local64_add(now | GPUMON_CLOCK_EPOCH, word);
}

u64 gpumon_interval_sum(u64 words);

#endif /* GPUMON_CLOCK_H */
