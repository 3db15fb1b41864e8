/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Walks up the stack of the calling thread, exact, and cheap enough for every
 * launch. walk.c says how.
 */
#ifndef GPUMON_INJECT_STACK_WALK_H
#define GPUMON_INJECT_STACK_WALK_H

#include <stdbool.h>
#include <stdint.h>

/* Frames of one walk at most; as GPUMON_STACK_DEPTH_MAX of the capture's format. */
#define INJECT_STACK_WALK_MAX 512

/**
 * inject_stack_init - once, before any walk
 *
 * Takes the loader's lock for a moment, as dlsym does.
 *
 * Return: false where there is no memory; walks then find nothing.
 */
bool inject_stack_init(void);

/**
 * struct inject_stack_view - the thread's last walk, valid until its next one
 * @frames: return addresses, the innermost first; the first one is where the walk returns to, in its
 *          caller
 * @stack: where the frame of each begins, and the last one ends: frame i has the addresses from
 *         @stack[i] up to, but without, @stack[i + 1]
 * @count: of @frames; @stack has one more
 * @same: how many of the outermost are the same as in the walk before, return address for
 *        return address and place for place
 * @walk: number of the walk, of the thread's
 * @truncated: the stack goes on beyond the last of @frames: no room, no rule how to go on, or an
 *             address that cannot be one
 */
struct inject_stack_view {
	const uint64_t *frames;
	const uint64_t *stack;
	unsigned int count;
	unsigned int same;
	uint64_t walk;
	bool truncated;
};

/**
 * inject_stack_walk_view - the return addresses on the calling thread's stack
 * @view: filled in
 * @room: frames at most, and at most INJECT_STACK_WALK_MAX
 *
 * Each is an address behind a call; for code that a signal interrupted it is one more than where it
 * was, so that looking up (address - 1) is right for all of them.
 *
 * Takes no lock, makes no system call and allocates nothing, except: at the first walk of a
 * thread, at an address never seen since a library was last loaded or unloaded, and on stacks
 * that are not the thread's own (coroutines, signal stacks: a system call for each page). Never
 * waits for the loader, nor for another thread longer than a quarter of a second. From within a
 * signal handler that interrupted a walk it finds nothing.
 *
 * Return: false where nothing was found.
 */
bool inject_stack_walk_view(struct inject_stack_view *view, unsigned int room);

/**
 * inject_stack_is_own - whether an address is on the stack with which the calling thread began
 *
 * Not for every launch: allocates at its first use by a thread that was not walked.
 *
 * Return: also false where that is not known.
 */
bool inject_stack_is_own(const void *address);

/**
 * inject_stack_notices_unload - does a walk see by itself that a library came or went
 *
 * Where it is false (a glibc whose counters are not where they always were), a thread that may
 * wait for the loader should call inject_stack_poll() now and then.
 */
bool inject_stack_notices_unload(void);

/* Asks the loader, under its lock, whether a library came or went since. */
void inject_stack_poll(void);

/* Another number whenever a library came or went, as far as that is noticed without a lock. */
uint64_t inject_stack_libraries(void);

/**
 * struct inject_stack_object - a library that is loaded
 * @start: of its lowest segment, where its ELF header is
 * @end: behind its highest one
 * @base: what its addresses are relative to
 * @name: the loader's, "" of the program; as long as it is loaded
 */
struct inject_stack_object {
	uint64_t start;
	uint64_t end;
	uint64_t base;
	const char *name;
};

/**
 * inject_stack_object_at - what an address on the calling thread's stack lies in
 * @address: of code
 * @object: filled in
 *
 * Takes no lock and makes no system call.
 *
 * Return: false where it is in no library, or the loader cannot be asked without its lock.
 */
bool inject_stack_object_at(uint64_t address, struct inject_stack_object *object);

/* In a child after fork, by the only thread there is. */
void inject_stack_forked(void);

#endif /* GPUMON_INJECT_STACK_WALK_H */
