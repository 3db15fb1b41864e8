// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <signal.h>
#include <stddef.h>

#include "own_thread.h"

bool inject_own_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
	sigset_t all, before;
	bool created;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	created = pthread_create(thread, NULL, run, argument) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return created;
}
