/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Walks up the stack of another thread, which is not stopped for that. All of its memory is read in copies
 * that the kernel makes, because it may go on at any time. Of the registers of one that is blocked only the
 * stack pointer and the address of the instruction are known, so a walk ends at a frame that needs another one
 * which no function has saved. Of one that runs, the kernel has taken all registers and a part of the stack.
 */
#ifndef GPUMON_INJECT_STACK_OTHER_H
#define GPUMON_INJECT_STACK_OTHER_H

#include <stddef.h>

#include "walk.h"

struct inject_stack_other;
struct inject_stack_registers;

/* Memory for walks, of one thread that makes them. NULL where there is none. */
struct inject_stack_other *inject_stack_other_new(void);

/**
 * inject_stack_other_walk - the return addresses on the stack of another thread
 * @other: memory; its last walk is over
 * @code: address of its instruction: in a system call, the one behind it
 * @stack: its stack pointer
 * @in_call: it is in a system call
 * @room: frames at most, and at most INJECT_STACK_WALK_MAX
 * @view: filled in, valid until the next walk. Nothing of it is kept for the next one
 *
 * The caller has to look afterwards whether the thread has run meanwhile: then it is nonsense.
 *
 * Return: false where nothing can be read.
 */
bool inject_stack_other_walk(struct inject_stack_other *other, uint64_t code, uint64_t stack,
			     bool in_call, unsigned int room, struct inject_stack_view *view);

/**
 * inject_stack_other_walk_copy - the return addresses on the stack of a thread that was interrupted
 * @other: memory; its last walk is over
 * @registers: as they were then
 * @bytes: of the stack then, from its stack pointer on; nothing else is read
 * @size: of these
 * @room: as of inject_stack_other_walk()
 * @view: likewise; truncated where the stack goes on behind @bytes. The first frame is one more than @rip
 *
 * Return: false where nothing can be read.
 */
bool inject_stack_other_walk_copy(struct inject_stack_other *other,
				  const struct inject_stack_registers *registers, const void *bytes,
				  size_t size, unsigned int room, struct inject_stack_view *view);

/* Where the function begins that an address is in, by its call frame information; the address, where it has none. */
uint64_t inject_stack_other_function(struct inject_stack_other *other, uint64_t code);

/* The kernel refuses to copy memory: no walk will find anything. */
bool inject_stack_other_is_refused(const struct inject_stack_other *other);

#endif /* GPUMON_INJECT_STACK_OTHER_H */
