/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What the library's own threads sleep on. Not descriptors: the program might close
 * them and reuse their numbers. Not the C library: programs interpose its functions.
 */
#ifndef GPUMON_INJECT_FUTEX_H
#define GPUMON_INJECT_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject.h"

#define INJECT_FOR_EVER UINT64_MAX

/* Waits while a word has a value, at most @wait_ns or INJECT_FOR_EVER. May return early. */
static inline void inject_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t wait_ns)
{
	const struct timespec timeout = { .tv_sec = (time_t)(wait_ns / 1000000000),
					  .tv_nsec = (long)(wait_ns % 1000000000) };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value,
		wait_ns == INJECT_FOR_EVER ? NULL : &timeout, NULL, 0);
}

/* Waits while a word has a value, until @until_ns of inject_now() at most. */
static inline void inject_futex_wait_while(_Atomic uint32_t *word, uint32_t value,
					   uint64_t until_ns)
{
	uint64_t now;

	while (atomic_load(word) == value && (now = inject_now()) < until_ns)
		inject_futex_wait(word, value, until_ns - now);
}

/* Not nanosleep(): the program may have forbidden that one. */
static inline void inject_sleep(uint64_t ns)
{
	static _Atomic uint32_t never;

	inject_futex_wait(&never, 0, ns);
}

static inline void inject_futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif /* GPUMON_INJECT_FUTEX_H */
