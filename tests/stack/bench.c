// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Measures the cost of a walk once the rules exist, in nanoseconds: our walker with and without the
 * last walk's result, libunwind, and glibc's backtrace(). With arguments, it makes that number of
 * walks of one kind and depth, for an instruction counter: bench KIND DEPTH TIMES.
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <execinfo.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare.h"
#include "stack/internal.h"

#define REPEATS 9

volatile int sink;
static uint64_t frames[FRAMES_MAX];
static int (*glibc_backtrace)(void **, int);
static volatile int toggle;

enum kind {
	KEPT,	 /* the same stack again */
	VIEW,	 /* without a copy */
	CHANGED, /* the same except the innermost frame, as from another line */
	RULES,	 /* nothing kept, only rules */
	LIBUNWIND,
	BACKTRACE,
	KINDS,
};

static const char *const kind_names[] = { "kept",  "view",	"changed",
					  "rules", "libunwind", "backtrace" };

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static NOINLINE unsigned int one(enum kind kind)
{
	struct inject_stack_view view;
	bool truncated;

	switch (kind) {
	case RULES:
		if (inject_stack_thread())
			inject_stack_thread()->count = 0;
		return copy_walk(frames, INJECT_STACK_WALK_MAX, &truncated);
	case KEPT:
	case CHANGED:
		return copy_walk(frames, INJECT_STACK_WALK_MAX, &truncated);
	case VIEW:
		inject_stack_walk_view(&view, INJECT_STACK_WALK_MAX);
		return view.count;
	case LIBUNWIND:
		return (unsigned int)unw_backtrace((void **)frames, FRAMES_MAX);
	default:
		return (unsigned int)glibc_backtrace((void **)frames, FRAMES_MAX);
	}
}

static NOINLINE unsigned int repeat(enum kind kind, unsigned int times)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < times; i++) {
		if (kind == CHANGED && i & 1)
			count = one(KEPT) + (unsigned int)toggle;
		else
			count = one(kind);
	}
	return count;
}

static NOINLINE void measure(unsigned int depth)
{
	double best[KINDS];

	for (int kind = 0; kind < KINDS; kind++) {
		unsigned int times = kind == BACKTRACE ? 2000 : 20000;

		best[kind] = 1e99;
		for (int i = 0; i < REPEATS; i++) {
			double begin = now();
			double took;

			repeat((enum kind)kind, times);
			took = (now() - begin) / times;
			if (took < best[kind])
				best[kind] = took;
		}
	}
	printf("%6u", one(KEPT));
	for (int kind = 0; kind < KINDS; kind++)
		printf(" %9.0f", best[kind]);
	printf("\n");
	(void)depth;
}

static int only = -1;
static unsigned int times;

static NOINLINE void recurse(unsigned int depth, unsigned int whole)
{
	volatile char space[24];

	space[0] = 1;
	if (depth)
		recurse(depth - 1, whole);
	else if (only < 0)
		measure(whole);
	else
		sink = (int)repeat((enum kind)only, times);
	sink = space[0];
}

int main(int argc, char **argv)
{
	static const unsigned int depths[] = { 5, 20, 80 };
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	unsigned int around;

	/* With libunwind linked in, the program's own backtrace() is libunwind's. */
	*(void **)&glibc_backtrace = dlsym(libc, "backtrace");
	inject_stack_init();
	around = repeat(KEPT, 1) + 2; /* frames that exist without any recursion */
	if (argc == 4) {
		for (only = 0; only < KINDS && strcmp(argv[1], kind_names[only]); only++)
			;
		times = (unsigned int)atoi(argv[3]);
		recurse((unsigned int)atoi(argv[2]) - around, 0);
		return 0;
	}
	printf("frames");
	for (int kind = 0; kind < KINDS; kind++)
		printf(" %9s", kind_names[kind]);
	printf("   [ns]\n");
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		recurse(depths[i] > around ? depths[i] - around : 0, depths[i]);
	return 0;
}
