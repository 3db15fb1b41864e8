/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the tests of the stack walker: reporting results, and libunwind as the reference. */
#ifndef GPUMON_TEST_STACK_COMPARE_H
#define GPUMON_TEST_STACK_COMPARE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "stack/walk.h"

#define FRAMES_MAX 600

struct walk {
	uint64_t frames[FRAMES_MAX];
	unsigned int count;
	bool truncated;
};

/* Print "ok" or "not ok" with a name and, for a failure, the reason. Returns @good. */
bool test_says(bool good, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define SAY(good, ...) test_says(good, __VA_ARGS__)

void test_skips(const char *name, const char *reason);

/* Exit status: 0 if all tests passed. Prints their number, so that none can be missing. */
int test_end(void);

/* errno before each walk; test_end() checks that no walk changed it. */
#define ERRNO_BEFORE 4711
void test_errno(void);

/* A walk whose frames are copied, from the function that this is inlined in. */
static inline __attribute__((always_inline)) unsigned int
copy_walk(uint64_t *frames, unsigned int room, bool *truncated)
{
	struct inject_stack_view view;

	*truncated = true;
	if (!inject_stack_walk_view(&view, room))
		return 0;
	memcpy(frames, view.frames, view.count * sizeof(*frames));
	*truncated = view.truncated;
	return view.count;
}

/* The start of both. The address in the test's function differs. */
#define WALK(walk)                                                                             \
	(errno = ERRNO_BEFORE,                                                                 \
	 (walk)->count = copy_walk((walk)->frames, INJECT_STACK_WALK_MAX, &(walk)->truncated), \
	 test_errno())

/* Walk with libunwind from this function's caller on; a signal's frames appear as in our walk. */
void reference_walk(struct walk *walk);

/**
 * test_same - compare two walks from about the same place, except the first address
 * @name: name of the test
 * @ours: walk by inject_stack_walk_view()
 * @theirs: walk by libunwind
 *
 * Both must have reached the end.
 */
bool test_same(const char *name, const struct walk *ours, const struct walk *theirs);

/* Walk three times, as the first, the second, and one that finds the last one kept, and compare. */
#define COMPARE(name)                                           \
	do {                                                    \
		static __thread struct walk ours_[3];           \
		static __thread struct walk theirs_;            \
		WALK(&ours_[0]);                                \
		WALK(&ours_[1]);                                \
		WALK(&ours_[2]);                                \
		reference_walk(&theirs_);                       \
		test_same(name, &ours_[0], &theirs_);           \
		test_same(name ", again", &ours_[1], &theirs_); \
		test_same(name ", kept", &ours_[2], &theirs_);  \
	} while (0)

/* True if the function at an address has that name in the dynamic symbols. */
bool is_in(uint64_t frame, const char *function);

/* Index of the first frame in a function, by the dynamic symbols; -1 if there is none. */
int find_in(const struct walk *walk, const char *function);

/* Keeps a call from being the last instruction of its function, or being inlined. */
#define KEEP() __asm__ volatile("" ::: "memory")
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

#ifdef __cplusplus
}
#endif

#endif /* GPUMON_TEST_STACK_COMPARE_H */
