/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The library's own threads: what they sleep on, their descriptors, how the worker is woken, and forks of the
 * program. They sleep on futexes: the program might close descriptors and reuse their numbers, and interposes
 * functions of the C library.
 */
#ifndef GPUMON_INJECT_BASE_THREADS_H
#define GPUMON_INJECT_BASE_THREADS_H

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
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

/* Sleeps without nanosleep(), which the program may have forbidden. */
static inline void inject_sleep(uint64_t ns)
{
	static _Atomic uint32_t never;

	inject_futex_wait(&never, 0, ns);
}

static inline void inject_futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/*
 * Threads of the library, and descriptors of their own. A program that closes
 * all descriptors that it does not know, as daemons do, and opens something
 * else, would have the library's number for it when the library reads and closes.
 */

/**
 * inject_threads_start - start a thread of the library
 * @thread: to be joined or detached
 * @run: signals are blocked in it, but those of its own faults: the program's handlers run in the
 *       program's threads
 * @argument: for it
 *
 * Return: false where none can be had.
 */
bool inject_threads_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* The calling thread is one of the library's, for its whole life. */
void inject_threads_mark_ours(void);

/* Is this the number of such a thread? */
bool inject_threads_is_ours(uint32_t tid);

/* In a child after fork: there is none. */
void inject_threads_forked(void);

/**
 * inject_threads_for_each - the threads that the process has just now
 * @see: called with the number of each, in the calling thread's pid namespace
 * @data: for it
 *
 * Without malloc(), which is the program's. Context: a thread with descriptors of its own.
 */
void inject_threads_for_each(void (*see)(uint32_t tid, void *data), void *data);

/**
 * inject_threads_unshare_descriptors - the calling thread no longer shares descriptors with the program
 * @first: lower descriptors are copied, and stay open here when the program closes its own
 *
 * Where the kernel has no close_range() (before 5.9), or a seccomp filter refuses it, the thread
 * keeps the program's descriptors. Context: a thread of the library.
 *
 * Return: whether it has its own.
 */
bool inject_threads_unshare_descriptors(unsigned int first);

/**
 * inject_threads_run_unshared - run a function in a thread that shares none with the program
 * @work: opens, reads and closes; its descriptors are its own, and end with it
 * @argument: for it
 *
 * Waits for it. Where no thread can be created, @work runs with the program's descriptors.
 */
void inject_threads_run_unshared(void (*work)(void *argument), void *argument);

/*
 * How any part of the library wakes the thread that does its work
 * (session/worker.c). Also from an API's own callbacks, under its locks.
 */

void inject_wake(void);

/**
 * inject_wake_wait - sleep until inject_wake() is called
 * @wait_ns: at most; INJECT_FOR_EVER
 *
 * Does not sleep if inject_wake() was called since the last time. Context: the worker.
 */
void inject_wake_wait(uint64_t wait_ns);

/**
 * inject_wake_ask - have the worker write what the APIs have by now, and wait until it has
 * @until_ns: not longer, by inject_now(): an API may not answer
 *
 * Context: a thread of the program, outside of inject_thread_enter().
 *
 * Return: whether it has.
 */
bool inject_wake_ask(uint64_t until_ns);

/* inject_wake_ask() without a wait. */
void inject_wake_ask_soon(void);

/* How often it was asked, and that it has written for so many. Context: the worker. */
uint32_t inject_wake_asked(void);
void inject_wake_answer(uint32_t asked);

/* Forgets an earlier inject_wake(). */
void inject_wake_reset(void);

/*
 * A child of fork() has one thread, and every lock that another thread of the parent had stays
 * locked in it for ever. Locks of the loader and of an API are taken by threads of the library only
 * between inject_locks_begin() and _end(), for which a fork waits.
 */

/* Waits while the program forks. Not within a callback of an API. */
void inject_locks_begin(void);
void inject_locks_end(void);

/*
 * Around fork(), in the parent: where the library has threads, waits for those that hold locks, a fifth
 * of a second at most.
 */
void inject_fork_begin(bool has_threads);
void inject_fork_end(void);

/* Called in a child after fork: no thread is within. */
void inject_fork_child(void);

/**
 * struct inject_guard - a lock that threads of the program take, too, and with which a driver is asked
 * @lock: a thread that is cancelled in the driver would not give it back
 * @cancel_state: of the thread that has it
 */
struct inject_guard {
	pthread_mutex_t lock;
	int cancel_state;
};

#define INJECT_GUARD                              \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/**
 * inject_guard_take - take it; the thread cannot be cancelled until inject_guard_give()
 * @guard: lock
 * @wait_ns: so long at most; INJECT_FOR_EVER
 *
 * Return: false where another thread has had it for so long.
 */
bool inject_guard_take(struct inject_guard *guard, uint64_t wait_ns);
void inject_guard_give(struct inject_guard *guard);

/* Called in a child after fork. */
void inject_guard_forked(struct inject_guard *guard);

#endif /* GPUMON_INJECT_BASE_THREADS_H */
