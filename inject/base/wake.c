// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>

#include "futex.h"
#include "wake.h"

static _Atomic uint32_t woken;

void inject_wake(void)
{
	int before = errno;

	if (!atomic_exchange(&woken, 1))
		inject_futex_wake(&woken);
	errno = before;
}

void inject_wake_wait(uint64_t wait_ns)
{
	inject_futex_wait(&woken, 0, wait_ns);
	atomic_store(&woken, 0);
}

void inject_wake_reset(void)
{
	atomic_store(&woken, 0);
}
