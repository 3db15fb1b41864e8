/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * How any part of the library wakes the thread that does its work
 * (run/worker.c). Also from an API's own callbacks, under its locks.
 */
#ifndef GPUMON_INJECT_WAKE_H
#define GPUMON_INJECT_WAKE_H

#include <stdbool.h>
#include <stdint.h>

void inject_wake(void);

/**
 * inject_wake_wait - sleep until inject_wake() is called
 * @wait_ns: at most; INJECT_FOR_EVER
 *
 * Does not sleep if inject_wake() was called since the last time. Context: the worker.
 */
void inject_wake_wait(uint64_t wait_ns);

/**
 * inject_wake_ask - have the worker write what the APIs have by now, and wait until it has
 * @until_ns: not longer, by inject_now(): an API may not answer
 *
 * Context: a thread of the program, outside of inject_thread_enter().
 *
 * Return: whether it has.
 */
bool inject_wake_ask(uint64_t until_ns);

/* The same without a wait. */
void inject_wake_ask_soon(void);

/* How often it was asked, and that it has written for so many. Context: the worker. */
uint32_t inject_wake_asked(void);
void inject_wake_answer(uint32_t asked);

/* Forgets an earlier inject_wake(). */
void inject_wake_reset(void);

#endif /* GPUMON_INJECT_WAKE_H */
