/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The stack of a thread that runs: a clock of the kernel's (perf_event_open(), software event cpu-clock)
 * interrupts it once, and the kernel copies its registers and the inner part of its stack. It gets no signal,
 * and is not stopped. Between looks the clock is off.
 */
#ifndef GPUMON_INJECT_WAITS_RUNNING_H
#define GPUMON_INJECT_WAITS_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/internal.h"

/* How long a thread that runs has to be waited for after inject_running_ask(). */
#define INJECT_RUNNING_WAIT_NS 120000u

/**
 * struct inject_running - the clock of a thread
 * @file: of the calling thread's own descriptors
 * @ring: what it writes to; NULL: there is no clock
 */
struct inject_running {
	int file;
	void *ring;
};

/**
 * struct inject_running_stack - what a thread was doing
 * @registers: in @rsp and @rip those of the instruction that was interrupted
 * @bytes: from its stack pointer on; valid until the next one is taken
 * @size: of these
 */
struct inject_running_stack {
	struct inject_stack_registers registers;
	const void *bytes;
	size_t size;
};

/* A session begins: what was refused in the last one is tried again, unless it must not. */
void inject_running_begin(bool may_ask);

/**
 * inject_running_ask - have the stack of a thread taken as soon as it runs
 * @one: its clock, made if there is none
 * @tid: thread
 *
 * Return: false where it cannot be asked for.
 */
bool inject_running_ask(struct inject_running *one, uint32_t tid);

/**
 * inject_running_take - what came of inject_running_ask()
 * @one: clock
 * @stack: filled in
 *
 * Return: false where the thread did not run outside of the kernel meanwhile.
 */
bool inject_running_take(struct inject_running *one, struct inject_running_stack *stack);

/* @is_open: false where it is another process's, or cannot be closed. */
void inject_running_close(struct inject_running *one, bool is_open);

/* Why there were no stacks in this session, and what would give them; NULL: nothing was refused. */
const char *inject_running_problem(void);

#endif /* GPUMON_INJECT_WAITS_RUNNING_H */
