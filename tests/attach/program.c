// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program that uses CUDA and checks all the time that nobody disturbs it: registers, red zone, errno,
 * signal mask, alternate stack, results and times of its system calls, its descriptors. It was not prepared.
 *
 *	program THREAD...	runs these threads, until SIGTERM; "ready" on standard output
 *
 * Its status is 0, or 1 with a line on standard error for what was disturbed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>

#include "state.h"

#define MS	   1000000ull
#define STACK_SIZE 65536

static _Atomic bool ends, failed;
static _Atomic unsigned int signals;
static int never[2], often[2], epoll;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

#define FAIL(...)                                      \
	do {                                           \
		if (!atomic_exchange(&failed, true)) { \
			fprintf(stderr, __VA_ARGS__);  \
			fputc('\n', stderr);           \
		}                                      \
		atomic_store(&ends, true);             \
	} while (0)

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000 * MS + (unsigned long long)now.tv_nsec;
}

/* --- threads, each a function that returns after a while */

static void do_state(long wide)
{
	long what;

	errno = 4711;
	what = state_check(200000, wide);
	if (what)
		FAIL("%s was changed (%ld)", state_name(what), what);
	if (errno != 4711)
		FAIL("errno was changed");
}

static void run_state(void)
{
	do_state(0);
}

static void run_wide(void)
{
	__builtin_cpu_init();
	do_state(__builtin_cpu_supports("avx512f") ? 2 : __builtin_cpu_supports("avx2") ? 1 : 0);
}

static void run_malloc(void)
{
	void *blocks[32];

	for (unsigned int i = 0; i < 32; i++)
		blocks[i] = malloc(100u + 3000u * (i % 7));
	for (unsigned int i = 0; i < 32; i++)
		free(blocks[i]);
	/* Only there it can be used. */
	(void)state_check(5000, 0);
}

/* Sleeps with a relative time: the rest of it counts, not all of it again. */
static void run_sleep(void)
{
	const struct timespec wait = { 0, 200 * (long)MS };
	unsigned long long begin = now_ns(), took;

	if (nanosleep(&wait, NULL))
		FAIL("nanosleep: %s", strerror(errno));
	took = now_ns() - begin;
	if (took < 200 * MS)
		FAIL("nanosleep took %llu ms of 200", took / MS);
}

static void run_poll(void)
{
	struct pollfd fds = { .fd = never[0], .events = POLLIN };
	unsigned long long begin = now_ns(), took;
	int result = poll(&fds, 1, 200);

	took = now_ns() - begin;
	if (result || took < 199 * MS)
		FAIL("poll: %d (%s) after %llu ms of 200", result, strerror(errno), took / MS);
}

static void run_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	char byte;

	if (epoll_wait(epoll, &event, 1, -1) != 1) {
		FAIL("epoll_wait: %s", strerror(errno));
		return;
	}
	if (read(often[0], &byte, 1) != 1 && errno != EAGAIN)
		FAIL("read: %s", strerror(errno));
}

static void run_write(void)
{
	usleep(20000);
	if (write(often[1], "", 1) != 1)
		FAIL("write: %s", strerror(errno));
}

static void run_futex(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2;
	pthread_mutex_lock(&mutex);
	if (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT && !atomic_load(&ends))
		FAIL("pthread_cond_timedwait returned early");
	pthread_mutex_unlock(&mutex);
}

/* Waits for ever, so that it is always the same place. */
static void run_forever(void)
{
	struct pollfd fds = { .fd = never[0], .events = POLLIN };

	(void)poll(&fds, 1, -1);
	if (!atomic_load(&ends))
		FAIL("poll without a time limit returned");
}

static void run_launch(void)
{
	cuLaunchKernel((CUfunction)(uintptr_t) "kernel", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	usleep(1000);
}

static void on_signal(int number)
{
	volatile unsigned int i;
	int kept = errno;

	(void)number;
	for (i = 0; i < 5000; i++)
		;
	atomic_fetch_add(&signals, 1);
	errno = kept;
}

/* A thread with an alternate stack and a timer signal each 3 ms. */
static void run_signals(void)
{
	static __thread bool is_set;
	static __thread char *stack;
	stack_t alternate = { .ss_size = STACK_SIZE }, is;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2 };
	const struct itimerspec times = { { 0, 3 * MS }, { 0, 3 * MS } };
	unsigned int before = atomic_load(&signals);
	timer_t timer;
	sigset_t mask;

	if (!is_set) {
		is_set = true;
		stack = malloc(STACK_SIZE);
		alternate.ss_sp = stack;
		sigaltstack(&alternate, NULL);
		sigaction(SIGUSR2, &action, NULL);
		event._sigev_un._tid = (int)syscall(SYS_gettid);
		timer_create(CLOCK_MONOTONIC, &event, &timer);
		timer_settime(timer, 0, &times, NULL);
	}
	for (unsigned int i = 0; i < 20; i++)
		do_state(1);
	if (atomic_load(&signals) == before && now_ns() == 0)
		FAIL("no signals");
	sigaltstack(NULL, &is);
	if (is.ss_sp != stack || is.ss_size != STACK_SIZE)
		FAIL("the alternate stack was changed");
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	if (sigismember(&mask, SIGUSR2) || sigismember(&mask, SIGINT) ||
	    !sigismember(&mask, SIGTERM))
		FAIL("the signal mask was changed");
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "state", run_state },	    { "wide", run_wide },     { "malloc", run_malloc },
	{ "sleep", run_sleep },	    { "poll", run_poll },     { "epoll", run_epoll },
	{ "write", run_write },	    { "futex", run_futex },   { "forever", run_forever },
	{ "signals", run_signals }, { "launch", run_launch },
};

static void *run_thread(void *argument)
{
	const char *name = argument;
	sigset_t before, mask;

	prctl(PR_SET_NAME, name, 0, 0, 0);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(name, kinds[i].name) != 0)
			continue;
		while (!atomic_load(&ends)) {
			kinds[i].run();
			pthread_sigmask(SIG_SETMASK, NULL, &mask);
			if (memcmp(&mask, &before, 8) != 0)
				FAIL("%s: the signal mask was changed", name);
		}
	}
	return NULL;
}

/* --- descriptors */

static unsigned int open_files(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	struct epoll_event event = { .events = EPOLLIN };
	unsigned int before;
	sigset_t term;
	int number;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	if (cuInit(0) || pipe2(never, O_CLOEXEC) || pipe2(often, O_CLOEXEC | O_NONBLOCK))
		return 2;
	epoll = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(epoll, EPOLL_CTL_ADD, often[0], &event);
	before = open_files();
	for (int i = 1; i < argc && i < 64; i++)
		pthread_create(&threads[i], NULL, run_thread, argv[i]);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	/* Threads that wait for ever are left behind. */
	while (!atomic_load(&ends)) {
		const struct timespec wait = { 0, 100 * MS };

		number = sigtimedwait(&term, NULL, &wait);
		if (number == SIGTERM)
			break;
		/* SIGSTOP and SIGCONT interrupt it. */
		if (number < 0 && errno != EAGAIN && errno != EINTR)
			FAIL("sigtimedwait: %s", strerror(errno));
	}
	atomic_store(&ends, true);
	printf("files %d\n", (int)(open_files() - before));
	fflush(stdout);
	_exit(atomic_load(&failed));
}
