// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own.h"

/* linux/close_range.h, which headers before 5.9 do not have. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

/* Standard input, output and error stay: sanitizers write to them. */
#define FIRST_TO_LEAVE 3

bool inject_own_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
	static const int faults[] = { SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	sigset_t all, before;
	bool created;

	sigfillset(&all);
	/* The kernel ends a process in which one of these is blocked when its own thread causes it. */
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	created = pthread_create(thread, NULL, run, argument) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return created;
}

/*
 * Descriptors are left out of the copy, not closed after it: otherwise the end of a pipe that the
 * program closes would stay open here for a moment. unshare(CLONE_FILES) copies all of them.
 */
bool inject_own_descriptors(unsigned int first)
{
	return syscall(SYS_close_range, first, ~0u, CLOSE_RANGE_UNSHARE) == 0;
}

struct errand {
	void (*work)(void *argument);
	void *argument;
};

static void *run_errand(void *argument)
{
	const struct errand *errand = argument;

	inject_own_descriptors(FIRST_TO_LEAVE);
	errand->work(errand->argument);
	return NULL;
}

void inject_with_own_descriptors(void (*work)(void *argument), void *argument)
{
	struct errand errand = { work, argument };
	pthread_t thread;

	if (inject_own_thread(&thread, run_errand, &errand))
		pthread_join(thread, NULL);
	else
		work(argument);
}
