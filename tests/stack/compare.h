/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the stack walker's tests share: saying what was tested, and libunwind as the reference. */
#ifndef GPUMON_TEST_STACK_COMPARE_H
#define GPUMON_TEST_STACK_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

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

/* "ok" or "not ok", with a name and, where it failed, why. Returns @good. */
bool test_says(bool good, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define SAY(good, ...) test_says(good, __VA_ARGS__)

void test_skips(const char *name, const char *reason);

/* Exit status: 0 if all was good. Says how many tests there were, so that none can go missing. */
int test_end(void);

/* Where both begin: the address in the test's function is each one's own. */
#define WALK(walk)       \
	((walk)->count = \
		 gpumon_stack_walk((walk)->frames, GPUMON_STACK_WALK_MAX, &(walk)->truncated))

/* libunwind from the caller of this function on, with what a signal interrupted as in a walk. */
void reference_walk(struct walk *walk);

/**
 * test_same - are two walks from about the same place the same, but for the first address
 * @name: of the test
 * @ours: by gpumon_stack_walk()
 * @theirs: by libunwind
 *
 * Both must have come to the end.
 */
bool test_same(const char *name, const struct walk *ours, const struct walk *theirs);

/* Walks three times, as the first, the second and one that finds the last one kept, and compares. */
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

/* Is the function that an address is in called so, by the dynamic symbols? */
bool is_in(uint64_t frame, const char *function);

/* Number of the first frame in a function, by the dynamic symbols; -1 where there is none. */
int find_in(const struct walk *walk, const char *function);

/* So that a call is neither the last thing in a function, nor inlined. */
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
