// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* How long a walk waits, and for what, if it needs a rule that another thread is making. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compare.h"
#include "stack/rule.h"

#define MS 1000000ll

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 * MS + time.tv_nsec;
}

static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS }, NULL);
}

/* Two places from which no walk has started before. */
static NOINLINE void *walk_here(void *walk)
{
	WALK((struct walk *)walk);
	KEEP();
	return NULL;
}

static NOINLINE void *walk_there(void *walk)
{
	WALK((struct walk *)walk);
	KEEP();
	return NULL;
}

/* As a shell's Ctrl-Z, a debugger, or a virtual machine without CPU time. */
static pid_t stop_us_soon(void)
{
	pid_t us = getpid();
	pid_t stopper = fork();

	if (stopper)
		return stopper;
	pause_ms(30);
	kill(us, SIGSTOP);
	pause_ms(600);
	kill(us, SIGCONT);
	_exit(0);
}

/* A walk waits for a rule while the program is stopped. Returns whether it was. */
static bool walk_over_a_stop(struct walk *walk)
{
	pthread_t thread;
	int64_t began;
	int64_t before;
	int64_t last;
	bool stopped;
	pid_t stopper;

	inject_rule_lock();
	stopper = stop_us_soon();
	pthread_create(&thread, NULL, walk_here, walk);
	began = last = now();
	/* The stop may come between any two lines. */
	do {
		before = last;
		pause_ms(1);
		last = now();
		stopped = last - before > 300 * MS;
	} while (!stopped && last - began < 60000 * MS);
	/* Longer than it takes to continue, shorter than a walk waits. */
	pause_ms(5);
	inject_rule_unlock();
	pthread_join(thread, NULL);
	waitpid(stopper, NULL, 0);
	return stopped;
}

int main(void)
{
	static struct walk first;
	static struct walk second;
	pthread_t thread;
	int64_t began;
	bool stopped;

	inject_stack_init();

	/* On a busy machine, the pauses around the stop can be longer than a walk waits. */
	for (int i = 0; i < 10; i++) {
		stopped = walk_over_a_stop(&first);
		if (!stopped || !first.truncated)
			break;
	}
	SAY(stopped, "the program was stopped", "it was not");
	SAY(first.count > 2 && !first.truncated, "what was stopped is not what it waited",
	    "%u frames%s", first.count, first.truncated ? ", truncated" : "");

	inject_rule_lock();
	began = now();
	pthread_create(&thread, NULL, walk_there, &second);
	pthread_join(thread, NULL);
	inject_rule_unlock();
	SAY(second.truncated && now() - began >= 250 * MS && now() - began < 60000 * MS,
	    "it does not wait for ever", "%u frames%s after %lld ms", second.count,
	    second.truncated ? ", truncated" : "", (long long)((now() - began) / MS));
	return test_end();
}
