// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>

#include "futex.h"
#include "wake.h"

static _Atomic uint32_t woken, asked, answered;

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

bool inject_wake_ask(uint64_t until_ns)
{
	uint32_t mine = atomic_fetch_add(&asked, 1) + 1, last = atomic_load(&answered);
	int before = errno;

	inject_wake();
	for (; (int32_t)(last - mine) < 0 && inject_now() < until_ns; last = atomic_load(&answered))
		inject_futex_wait_while(&answered, last, until_ns);
	errno = before;
	return (int32_t)(last - mine) >= 0;
}

void inject_wake_ask_soon(void)
{
	atomic_fetch_add(&asked, 1);
	inject_wake();
}

uint32_t inject_wake_asked(void)
{
	return atomic_load(&asked);
}

void inject_wake_answer(uint32_t count)
{
	if (atomic_exchange(&answered, count) != count)
		inject_futex_wake(&answered);
}
