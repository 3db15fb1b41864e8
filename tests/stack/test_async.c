// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Walks from a timer's signal, which can hit any instruction: in prologues and epilogues, PLTs and
 * the C library. Each is compared with libunwind. No launch is like that, but it is the hardest
 * test for .eh_frame.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "compare.h"

volatile int sink;
static volatile unsigned long walks;
static volatile unsigned long inside;
static volatile unsigned long different;
static volatile unsigned long truncated;
static struct walk ours;
static struct walk theirs;
static struct walk bad_ours;
static struct walk bad_theirs;

static void on_timer(int signal)
{
	(void)signal;
	WALK(&ours);
	if (!ours.count) {
		inside++;
		return;
	}
	reference_walk(&theirs);
	walks++;
	truncated += ours.truncated;
	if (ours.count != theirs.count ||
	    memcmp(ours.frames + 1, theirs.frames + 1, (ours.count - 1) * 8)) {
		different++;
		bad_ours = ours;
		bad_theirs = theirs;
	}
}

static NOINLINE int leaf(int value)
{
	return value * 3 + sink;
}

static NOINLINE int saves_registers(int a, int b)
{
	int c = leaf(a);
	int d = leaf(b);
	int e = leaf(c);

	return a + b + c + d + e + leaf(d) + leaf(e);
}

static NOINLINE int with_array(int size)
{
	volatile char space[size];

	space[0] = (char)size;
	return saves_registers(size, space[0]);
}

static NOINLINE int aligned(int value)
{
	volatile int space[16] __attribute__((aligned(64)));

	space[3] = value;
	return with_array(16 + value % 64) + space[3];
}

static int compare(const void *left, const void *right)
{
	return leaf(*(const int *)left) - leaf(*(const int *)right);
}

static NOINLINE int work(int depth)
{
	int numbers[32];
	char text[64];

	if (depth)
		return work(depth - 1) + 1;
	for (int i = 0; i < 32; i++)
		numbers[i] = rand() % 100;
	qsort(numbers, 32, sizeof(int), compare);
	snprintf(text, sizeof(text), "%d %g", numbers[3], sin(numbers[4]));
	return aligned(numbers[0] & 63) + (int)strlen(text);
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 0, 200 }, { 0, 200 } };
	struct timespec begin;
	struct timespec now;

	inject_stack_init();
	WALK(&ours);
	reference_walk(&theirs);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 200; i++)
			sink += work(i % 9);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < 2 || (walks < 200 && now.tv_sec - begin.tv_sec < 120));
	timer.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
	if (!SAY(!different && walks > 100, "walks at any instruction",
		 "%lu of %lu walks differ from libunwind's, %lu are truncated", different, walks,
		 truncated))
		test_same("the last one that differs", &bad_ours, &bad_theirs);
	printf("# %lu walks, %lu truncated, %lu in a walk\n", walks, truncated, inside);
	return test_end();
}
