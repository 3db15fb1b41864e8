/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The thread of the library that does the regular work: it has the API deliver
 * what is complete, writes records of it, and looks for new libraries.
 */
#ifndef GPUMON_INJECT_SESSION_WORKER_H
#define GPUMON_INJECT_SESSION_WORKER_H

#include "base/inject.h"

/* With a session or without. False where no thread can be created. */
bool inject_worker_start(void);

/**
 * inject_worker_answer - begin a session if a recorder waits for one
 * @at_start: the API is being initialised just now
 *
 * Context: before inject_worker_start(), or its thread.
 *
 * Return: whether there is a session now.
 */
bool inject_worker_answer(bool at_start);

/**
 * inject_worker_finish - the program ends: write everything that there is
 * @wait_ms: at most, then the program ends without the rest
 */
void inject_worker_finish(unsigned int wait_ms);

/* In a child after fork, which does not have the thread. */
void inject_worker_forked(void);

#endif /* GPUMON_INJECT_SESSION_WORKER_H */
