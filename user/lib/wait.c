// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "wait.h"

static struct sigaction usr1_before;
static bool has_started;

void gpumon_signals_start(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigemptyset(&ignore.sa_mask);
	has_started = !sigaction(SIGUSR1, &ignore, &usr1_before);
}

void gpumon_signals_give_back(void)
{
	if (has_started)
		sigaction(SIGUSR1, &usr1_before, NULL);
}

/* Lock-free, so a signal handler may write it. */
static atomic_bool caught;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&caught, true);
}

void gpumon_signals_catch(void)
{
	/* No SA_RESTART: the signal must interrupt a blocking read or sleep. */
	struct sigaction action = { .sa_handler = on_signal };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool gpumon_signals_caught(void)
{
	return atomic_load(&caught);
}

uint64_t gpumon_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

uint64_t gpumon_monotonic_ns(void)
{
	return gpumon_clock_ns(CLOCK_MONOTONIC);
}

bool gpumon_sleep_until(uint64_t monotonic_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(monotonic_ns / 1000000000ULL),
		.tv_nsec = (long)(monotonic_ns % 1000000000ULL),
	};

	while (!caught && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	return !caught;
}
