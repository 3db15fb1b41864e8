// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "futex.h"
#include "fork.h"
#include "inject.h"

/* How long a fork may wait. */
#define FORK_MS INJECT_PATIENCE(200)

static _Atomic int holders, forks;

/* Neither side waits for the other with its own mark set. */
void inject_locks_begin(void)
{
	for (;;) {
		atomic_fetch_add(&holders, 1);
		if (!atomic_load(&forks))
			return;
		atomic_fetch_sub(&holders, 1);
		while (atomic_load(&forks))
			inject_sleep(50000);
	}
}

void inject_locks_end(void)
{
	atomic_fetch_sub(&holders, 1);
}

void inject_fork_begin(bool has_threads)
{
	uint64_t until = inject_now() + FORK_MS * 1000000ull;

	atomic_fetch_add(&forks, 1);
	while (has_threads && atomic_load(&holders) && inject_now() < until)
		inject_sleep(50000);
}

void inject_fork_end(void)
{
	atomic_fetch_sub(&forks, 1);
}

void inject_fork_child(void)
{
	atomic_store(&holders, 0);
	atomic_store(&forks, 0);
}
