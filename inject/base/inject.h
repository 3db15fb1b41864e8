/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Small things that all parts of the injection library use. */
#ifndef GPUMON_INJECT_BASE_INJECT_H
#define GPUMON_INJECT_BASE_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define INJECT_EXPORT __attribute__((visibility("default")))
/*
 * Attribute of variables that other files use: loads need not go through the table of global
 * offsets.
 */
#define INJECT_HIDDEN	   __attribute__((visibility("hidden")))
#define INJECT_LIKELY(x)   __builtin_expect(!!(x), 1)
#define INJECT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Tests have other times: a busy machine holds up recorders and threads for longer. */
#ifndef INJECT_PATIENCE
#define INJECT_PATIENCE(ms) (ms)
#endif

/* How long the library may take to say what it has to say, when the program wants to end. */
#define INJECT_EXIT_MS INJECT_PATIENCE(5000)

/* The kernel's clock_gettime(): programs interpose that of the C library, and let it say other times. */
extern int (*inject_clock)(clockid_t id, struct timespec *time) INJECT_HIDDEN;

/*
 * Difference from this process's CLOCK_MONOTONIC to the recorder's; they differ in a time
 * namespace.
 */
extern _Atomic int64_t inject_clock_ns INJECT_HIDDEN;

/* CLOCK_MONOTONIC of the recorder, ns */
static inline uint64_t inject_now(void)
{
	struct timespec now;

	inject_clock(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec +
	       (uint64_t)atomic_load_explicit(&inject_clock_ns, memory_order_relaxed);
}

/* The upper bits are the good ones. Not random(): its numbers are the program's. */
static inline uint32_t inject_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state;
}

#endif /* GPUMON_INJECT_BASE_INJECT_H */
