/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The thread of ours that does the work: it asks the API for what is complete,
 * makes records of it, and looks for new libraries.
 */
#ifndef GPUMON_INJECT_WORKER_H
#define GPUMON_INJECT_WORKER_H

#include "base/inject.h"

/* Begins it, with a session or without. False where no thread can be had. */
bool inject_worker_start(void);

/**
 * inject_worker_answer - begin a session, if a recorder waits for one
 * @at_start: the API is being initialised just now
 *
 * Context: before inject_worker_start(), or its thread.
 *
 * Return: whether there is a session now.
 */
bool inject_worker_answer(bool at_start);

/**
 * inject_worker_finish - the program ends: have all written that there is
 * @wait_ms: at most, then the program goes on
 */
void inject_worker_finish(unsigned int wait_ms);

/**
 * inject_worker_before_fork - a child should not inherit a lock of the API's that our thread has
 *
 * Waits for a flush that is going on, a fifth of a second at most.
 */
void inject_worker_before_fork(void);

/* In the parent. */
void inject_worker_after_fork(void);

/* In a child after fork: there is no such thread here. */
void inject_worker_forked(void);

#endif /* GPUMON_INJECT_WORKER_H */
