// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject.h"
#include "prepared.h"
#include "threads.h"

/* linux/close_range.h, which headers before 5.9 do not have. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

/* Standard input, output and error stay: sanitizers write to them. */
#define FIRST_TO_LEAVE 3

bool inject_threads_start(pthread_t *thread, void *(*run)(void *), void *argument)
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

/* There are few: those for recorders, for the regular work, and for looks at waiting threads. */
static _Atomic uint32_t ours[8];

void inject_threads_mark_ours(void)
{
	uint32_t tid = inject_tid(), none;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		none = 0;
		if (atomic_compare_exchange_strong(&ours[i], &none, tid))
			return;
	}
}

bool inject_threads_is_ours(uint32_t tid)
{
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (atomic_load_explicit(&ours[i], memory_order_relaxed) == tid)
			return true;
	return false;
}

void inject_threads_forked(void)
{
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		atomic_store(&ours[i], 0);
}

/* The kernel's struct linux_dirent64. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

void inject_threads_for_each(void (*see)(uint32_t tid, void *data), void *data)
{
	long length, folder = syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
				      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(8) char part[4096];
	const struct entry *entry;
	uint32_t tid;

	if (folder < 0)
		return;
	while ((length = syscall(SYS_getdents64, folder, part, sizeof(part))) > 0) {
		for (long at = 0; at < length; at += entry->length) {
			entry = (const struct entry *)(const void *)(part + at);
			tid = (uint32_t)strtoul(entry->name, NULL, 10);
			if (tid)
				see(tid, data);
		}
	}
	syscall(SYS_close, folder);
}

/*
 * Descriptors are left out of the copy, not closed after it: otherwise the end of a pipe that the
 * program closes would stay open here for a moment. unshare(CLONE_FILES) copies all of them.
 */
bool inject_threads_unshare_descriptors(unsigned int first)
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

	inject_threads_unshare_descriptors(FIRST_TO_LEAVE);
	errand->work(errand->argument);
	return NULL;
}

void inject_threads_run_unshared(void (*work)(void *argument), void *argument)
{
	struct errand errand = { work, argument };
	pthread_t thread;

	if (inject_threads_start(&thread, run_errand, &errand))
		pthread_join(thread, NULL);
	else
		work(argument);
}

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

/*
 * Reads the kernel's clock: the program may have replaced clock_gettime() by one with other times.
 */
static bool lock_until(pthread_mutex_t *lock, uint64_t wait_ns)
{
	struct timespec until;

	if (!wait_ns)
		return false;
	inject_clock(CLOCK_REALTIME, &until);
	wait_ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(wait_ns / 1000000000);
	until.tv_nsec = (long)(wait_ns % 1000000000);
	return !pthread_mutex_timedlock(lock, &until);
}

bool inject_guard_take(struct inject_guard *guard, uint64_t wait_ns)
{
	bool is_taken = true;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (wait_ns == INJECT_FOR_EVER)
		pthread_mutex_lock(&guard->lock);
	else
		is_taken = !pthread_mutex_trylock(&guard->lock) ||
			   lock_until(&guard->lock, wait_ns);
	if (is_taken)
		guard->cancel_state = state;
	else
		pthread_setcancelstate(state, NULL);
	return is_taken;
}

void inject_guard_give(struct inject_guard *guard)
{
	int state = guard->cancel_state;

	pthread_mutex_unlock(&guard->lock);
	pthread_setcancelstate(state, NULL);
}

void inject_guard_forked(struct inject_guard *guard)
{
	pthread_mutex_init(&guard->lock, NULL);
}
