/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Resources that the library gets beforehand, so that it asks the kernel for nothing later. A
 * program may forbid itself system calls at any time (seccomp, also for threads that it did not
 * make), and a call that is refused can end it. Once a capture has begun, the library makes futex()
 * alone, and reads the clock.
 */
#ifndef GPUMON_INJECT_BASE_PREPARED_H
#define GPUMON_INJECT_BASE_PREPARED_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * inject_prepare - reserve memory, find the kernel's clock, and the main thread's stack
 *
 * More than once does no harm. Context: the program's thread, when the library begins.
 */
void inject_prepare(void);

/* inject_prepare() for a thread of the library: a place that is right in several threads is certain. */
void inject_prepare_from_thread(void);

/**
 * inject_memory_take - memory for the whole life of the process, all 0
 * @size: bytes
 *
 * From the reserve; only when that is used up, from the kernel. Return: NULL where there is none.
 */
void *inject_memory_take(size_t size);

/* Gives it back, for the next one that takes as much. NULL: nothing happens. */
void inject_memory_give(void *memory, size_t size);

/* The number of the calling thread in its pid namespace. */
uint32_t inject_tid(void);

/**
 * inject_stack_bounds - the stack with which the calling thread began
 * @low: its lowest address
 * @size: bytes
 *
 * Return: false where that is not known.
 */
bool inject_stack_bounds(uintptr_t *low, size_t *size);

/*
 * The recorder has seen that the program forbids itself system calls: what can only be done with one
 * is left out from now on.
 */
extern _Atomic bool inject_is_sandboxed __attribute__((visibility("hidden")));

/**
 * inject_grow - room in an array, by inject_memory_take(): malloc() is the program's
 * @array: array, may move; NULL as long as it has no room
 * @room: elements that it has room for, doubled as often as necessary
 * @needed: elements that there must be room for
 * @size: bytes of an element
 *
 * Return: false without memory; the array is as it was then.
 */
bool inject_grow(void **array, size_t *room, size_t needed, size_t size);

/**
 * struct inject_environment - what the environment said when the library came
 * @listen: GPUMON_LISTEN, a folder
 * @rank: of a parallel job, by the launcher's variables; ~0 where there is none
 */
struct inject_environment {
	char listen[PATH_MAX];
	uint32_t rank;
};

extern struct inject_environment inject_environment;

/**
 * inject_environment_read - once, in the program's own thread
 *
 * Later, and in ours, the program might be changing it.
 */
void inject_environment_read(void);

/**
 * inject_environment_late - the library comes to a program that runs already
 *
 * From then on inject_variable() has what the program was started with, because its threads may be changing
 * its environment just now.
 */
void inject_environment_late(void);

/* As getenv(). */
const char *inject_variable(const char *name);

#endif /* GPUMON_INJECT_BASE_PREPARED_H */
